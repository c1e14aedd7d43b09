"""From a stream of events to a conversation: messages, state, what is left open.

The reducer of an AG-UI client, with the rules of the released one, `defaultApplyEvents` of @ag-ui/client 1.0.
Which event goes where is the table behind `Conversation`; an event that names something unknown is logged
and skipped, as is a patch that does not fit.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivityMessage,
    ActivitySnapshotEvent,
    AssistantMessage,
    DeveloperMessage,
    Event,
    EventType,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    SystemMessage,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)
from pydantic_core import to_jsonable_python

from hitl_nb._text import logger
from hitl_nb.agui._messages import MessageList
from hitl_nb.errors import ProtocolError

_logger = logger("hitl_nb.agui")
_Document = TypeVar("_Document")

_CHUNKS = frozenset({EventType.TEXT_MESSAGE_CHUNK, EventType.TOOL_CALL_CHUNK, EventType.REASONING_MESSAGE_CHUNK})
_BESIDE = frozenset(
    {
        EventType.TEXT_MESSAGE_CONTENT,
        EventType.REASONING_MESSAGE_CONTENT,
        EventType.TOOL_CALL_ARGS,
        EventType.STATE_SNAPSHOT,
        EventType.STATE_DELTA,
    }
)
"""What nobody reads a text for."""
_OFTEN_LOCAL = frozenset({"activity", "reasoning"})
_CLASS_OF_ROLE: dict[str, type[Message]] = {
    "assistant": AssistantMessage,
    "developer": DeveloperMessage,
    "reasoning": ReasoningMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "user": UserMessage,
}


class Conversation:
    """What the events so far amount to.

    ```python
    conversation = Conversation([UserMessage(id="1", content="Plan a trip to Mars")])
    for event in events:
        conversation.apply(event)
    conversation.messages[-1].tool_calls
    ```

    Args:
        messages: The history so far. Neither the list nor a message in it is changed.
        state: The shared state so far, any JSON value.
        before: The conversation as it was in an earlier run: what is known of its messages is not looked for again, and
            it is of no use any more.
    """

    state: Any
    """The shared state. A delta makes a new object; the old one stays as it was."""

    took_patch: bool
    """Whether the last delta of the shared state fitted."""

    pending_interrupts: list[Interrupt]
    """What the last run stopped at and wants to hear about before it goes on; empty after any other end of a
    run."""

    pending_tool_call_ids: list[str]
    """The tool calls that the last run leaves to the client: as RUN_FINISHED names them, or else those it
    started and did not answer."""

    def __init__(
        self, messages: Iterable[Message] = (), state: object = None, *, before: "Conversation | None" = None
    ) -> None:
        if before is not None:
            before._join()
        self._list: MessageList = MessageList([]) if before is None else before._list
        self._list.begin(list(messages))
        self.state = state
        self.took_patch = True
        self.pending_interrupts = []
        self.pending_tool_call_ids = []
        # In the order in which they were started: a dict, since a set has none.
        self._started: dict[str, None] = {}
        self._answered: set[str] = set()
        self._growing: dict[int, tuple[Message | FunctionCall, str, list[str]]] = {}
        """By Python's id, what grows, the name of its text, and the fragments that are not in there yet."""

    @property
    def messages(self) -> list[Message]:
        """The history. Between runs the list is yours to change; during a run the events do it.

        Read it again after an event: the fragments of a text are joined when somebody looks, not as each comes.
        """
        self._join()
        return self._list.items

    @messages.setter
    def messages(self, messages: Iterable[Message]) -> None:
        self._join()
        self._list.begin(list(messages))

    def apply(self, event: Event) -> None:
        """Take one event; its cost does not grow with the history, except for starts, results and snapshots.

        An event that names something unknown is logged and skipped, as is a patch that does not fit; whether
        the stream is legal is for a `Verifier` to say.

        Raises:
            ProtocolError: A chunk: put a `ChunkExpander` in front.
        """
        if rule := _RULES.get(event.type):
            if event.type not in _BESIDE:
                self._join()
            rule(self, event)
        elif event.type in _CHUNKS:
            raise ProtocolError(f"`{event.type.value}` has to be expanded first; write `apply(expand_chunks(events))`.")

    def _grow(self, what: Message | FunctionCall, name: str, delta: str) -> None:
        """Add a fragment: to put each into the text would copy all of it each time."""
        self._growing.setdefault(id(what), (what, name, []))[2].append(delta)

    def _join(self) -> None:
        for what, name, fragments in self._growing.values():
            setattr(what, name, "".join((getattr(what, name), *fragments)))
        self._growing.clear()

    # -- runs and whole histories -----------------------------------------------------------------------------

    def _begin_run(self, event: RunStartedEvent) -> None:
        """Let go of the last run's messages, and take in those the echoed input holds and we do not."""
        self._started.clear()
        self._answered.clear()
        self._list.begin(self._list.items)
        if event.input is not None:
            known = {message.id for message in self.messages}
            for message in event.input.messages:
                if message.id not in known:
                    known.add(message.id)
                    self.messages.append(message)

    def _finish_run(self, event: RunFinishedEvent) -> None:
        outcome = event.outcome
        self.pending_interrupts = list(outcome.interrupts) if outcome and outcome.type == "interrupt" else []
        self.pending_tool_call_ids = []
        if outcome is None or outcome.type == "success":
            named = outcome.pending_tool_call_ids if outcome else None
            self.pending_tool_call_ids = list(named or (it for it in self._started if it not in self._answered))

    def _merge_snapshot(self, event: MessagesSnapshotEvent) -> None:
        """Take a snapshot: its messages replace those with the same id, in place; new ones follow; the others go.

        Most servers never send activities and reasoning back, so those stay where they are; but once a snapshot
        holds one of that kind, the server keeps track of them, and one it leaves out is gone.
        """
        incoming = {message.id: message for message in event.messages}
        stays = _OFTEN_LOCAL - {message.role for message in event.messages}
        merged = [
            incoming.get(message.id, message)
            for message in self.messages
            if message.id in incoming or message.role in stays
        ]
        known = {message.id for message in merged}
        self.messages = merged + [message for message in event.messages if message.id not in known]

    def _set_state(self, event: StateSnapshotEvent) -> None:
        self.state = event.snapshot

    def _patch_state(self, event: StateDeltaEvent) -> None:
        self.state, self.took_patch = _patched(self.state, event.delta, "the shared state")

    # -- text and reasoning: messages that grow by fragments --------------------------------------------------

    def _start_text(self, event: TextMessageStartEvent | ReasoningMessageStartEvent) -> None:
        """Begin a message, or go on with the one that has this id: a tool call may have made it already."""
        message = self._list.edit(event.message_id)
        if isinstance(message, ActivityMessage):
            _logger.warning("Skipped the text of `%s`: the id belongs to an activity", event.message_id)
            return
        if message is None:
            message = _new_text(event)
            self._list.append(message)
        _merge_metadata(message, event)

    def _append_text(self, event: TextMessageContentEvent | ReasoningMessageContentEvent) -> None:
        message = self._list.edit(event.message_id)
        if message is None or isinstance(message, ActivityMessage):
            _logger.warning("Skipped a fragment: there is no message `%s` to add it to", event.message_id)
            return
        if not isinstance(message.content, str):
            message.content = ""
        self._grow(message, "content", event.delta)
        _merge_metadata(message, event)

    def _end_text(self, event: TextMessageEndEvent | ReasoningMessageEndEvent) -> None:
        """Close a message; what is known only now (token counts, why it ended) comes as metadata."""
        message = self._list.edit(event.message_id)
        if message is None or isinstance(message, ActivityMessage):
            _logger.warning("Skipped the end of `%s`: there is no such message", event.message_id)
            return
        _merge_metadata(message, event)

    def _set_encrypted_value(self, event: ReasoningEncryptedValueEvent) -> None:
        """Keep a provider's sealed reasoning with the message or tool call it belongs to; it goes back unread."""
        find = self._list.edit_call if event.subtype == "tool-call" else self._list.edit
        target = find(event.entity_id)
        if target is not None and not isinstance(target, ActivityMessage):
            target.encrypted_value = event.encrypted_value

    # -- tool calls: where they stand in the history, their arguments as text, their results -------------------

    def _start_call(self, event: ToolCallStartEvent) -> None:
        """Begin a tool call, once.

        The same start may come twice: a server that re-syncs after an answer replays what the history holds. A
        second copy would stay without arguments and without a result, and a provider refuses such a history
        (ag-ui issue 1524).
        """
        self._started[event.tool_call_id] = None
        call = self._list.edit_call(event.tool_call_id)
        if call is None:
            call = ToolCall(id=event.tool_call_id, function=FunctionCall(name=event.tool_call_name, arguments=""))
            self._list.append_call(self._caller(event), call)
        elif call.function.name != event.tool_call_name:
            _logger.warning(
                "The tool call `%s` was named `%s` and is now `%s`", call.id, call.function.name, event.tool_call_name
            )
            call.function.name = event.tool_call_name
        _merge_metadata(call, event)

    def _caller(self, event: ToolCallStartEvent) -> AssistantMessage:
        """Find the message a call belongs to, or make it: named as the event says, or else as the call itself."""
        parent_id = event.parent_message_id
        parent = self._list.edit(parent_id) if parent_id else None
        if isinstance(parent, AssistantMessage):
            return parent
        if parent is not None:
            _logger.warning(
                "The parent `%s` of the tool call `%s` is no assistant message", parent_id, event.tool_call_id
            )
        made = AssistantMessage(id=parent_id if parent_id and parent is None else event.tool_call_id)
        if event.subagent_run_id is not None:
            made.subagent_run_id = event.subagent_run_id
        self._list.append(made)
        return made

    def _append_arguments(self, event: ToolCallArgsEvent) -> None:
        call = self._list.edit_call(event.tool_call_id)
        if call is None:
            _logger.warning("Skipped arguments: there is no tool call `%s`", event.tool_call_id)
            return
        self._grow(call.function, "arguments", event.delta)
        _merge_metadata(call, event)

    def _end_call(self, event: ToolCallEndEvent) -> None:
        call = self._list.edit_call(event.tool_call_id)
        if call is None:
            _logger.warning("Skipped the end of the tool call `%s`: there is no such call", event.tool_call_id)
            return
        _merge_metadata(call, event)

    def _add_result(self, event: ToolCallResultEvent) -> None:
        self._answered.add(event.tool_call_id)
        result = ToolMessage.model_construct(
            id=event.message_id, tool_call_id=event.tool_call_id, role="tool", content=event.content
        )
        if event.subagent_run_id is not None:
            result.subagent_run_id = event.subagent_run_id
        _merge_metadata(result, event)
        self._list.insert_result(result)

    # -- activities: structured content (a plan, a search) that never goes back to the model --------------------

    def _set_activity(self, event: ActivitySnapshotEvent) -> None:
        """Make an activity, or replace the one with this id unless the event says `replace: false`.

        A replacement keeps the metadata gathered so far; its owner is the event's. A message of another kind
        under this id is replaced as well.
        """
        existing = self._list.get(event.message_id)
        if existing is not None and event.replace is False:
            if (activity := self._list.edit_activity(event.message_id)) is not None:
                _merge_metadata(activity, event)
            return
        made = ActivityMessage.model_construct(
            id=event.message_id, role="activity", activity_type=event.activity_type, content=event.content
        )
        if event.subagent_run_id is not None:
            made.subagent_run_id = event.subagent_run_id
        if isinstance(existing, ActivityMessage) and existing.metadata is not None:
            made.metadata = existing.metadata
        _merge_metadata(made, event)
        if existing is None:
            self._list.append(made)
        else:
            self._list.put(existing, made)

    def _patch_activity(self, event: ActivityDeltaEvent) -> None:
        """Patch the content of an activity; its metadata is merged even if the patch does not fit."""
        activity = self._list.edit_activity(event.message_id)
        if activity is None:
            return
        _merge_metadata(activity, event)
        before = activity.content
        activity.content, _ = _patched(before, event.patch, f"the activity `{event.message_id}`")
        if activity.content is not before:
            activity.activity_type = event.activity_type


_RULES: dict[EventType, Callable[..., None]] = {
    EventType.RUN_STARTED: Conversation._begin_run,
    EventType.RUN_FINISHED: Conversation._finish_run,
    EventType.MESSAGES_SNAPSHOT: Conversation._merge_snapshot,
    EventType.STATE_SNAPSHOT: Conversation._set_state,
    EventType.STATE_DELTA: Conversation._patch_state,
    EventType.TEXT_MESSAGE_START: Conversation._start_text,
    EventType.TEXT_MESSAGE_CONTENT: Conversation._append_text,
    EventType.TEXT_MESSAGE_END: Conversation._end_text,
    EventType.REASONING_MESSAGE_START: Conversation._start_text,
    EventType.REASONING_MESSAGE_CONTENT: Conversation._append_text,
    EventType.REASONING_MESSAGE_END: Conversation._end_text,
    EventType.REASONING_ENCRYPTED_VALUE: Conversation._set_encrypted_value,
    EventType.TOOL_CALL_START: Conversation._start_call,
    EventType.TOOL_CALL_ARGS: Conversation._append_arguments,
    EventType.TOOL_CALL_END: Conversation._end_call,
    EventType.TOOL_CALL_RESULT: Conversation._add_result,
    EventType.ACTIVITY_SNAPSHOT: Conversation._set_activity,
    EventType.ACTIVITY_DELTA: Conversation._patch_activity,
}


def apply(events: Iterable[Event], messages: Iterable[Message] = (), state: object = None) -> Conversation:
    """Reduce a whole stream; see `Conversation`.

    Args:
        events: The stream, verified and without chunks.
        messages: The history that it goes on from.
        state: The shared state that it goes on from.

    Raises:
        ProtocolError: See `Conversation.apply`.
    """
    conversation = Conversation(messages, state)
    for event in events:
        conversation.apply(event)
    return conversation


def _new_text(event: TextMessageStartEvent | ReasoningMessageStartEvent) -> Message:
    role = "reasoning" if isinstance(event, ReasoningMessageStartEvent) else event.role or "assistant"
    made = _CLASS_OF_ROLE[role].model_construct(id=event.message_id, role=role, content="")
    for optional in ("name", "subagent_run_id"):
        if (value := getattr(event, optional, None)) is not None:
            setattr(made, optional, value)
    return made


def _merge_metadata(target: Message | ToolCall, event: Event) -> None:
    """Fold an event's metadata into what it builds, key by key; the last value wins, and null is a value."""
    if event.metadata is not None:
        target.metadata = {**(target.metadata or {}), **event.metadata}


def _patched(document: _Document, operations: Iterable[object], what: str) -> tuple[_Document, bool]:
    """Return the patched document as a new object (RFC 6902), and whether they fit: all operations apply, or none.

    A patch that does not fit is logged and skipped, and the document comes back as it was: the sender's
    picture of it is stale, and the snapshot that ends a run puts it right. `what` names the document in the
    log.
    """
    # Imported at the first patch: few agents send any, and every `import hitl_nb` would pay for it.
    import jsonpatch

    try:
        patched: _Document = jsonpatch.apply_patch(document, to_jsonable_python(operations, by_alias=True))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError) as error:
        # TypeError: how older versions of jsonpatch say that a step leads into a number or a string.
        _logger.warning("Skipped a patch of %s: %s", what, error)
        return document, False
    return patched, True
