"""A conversation: messages, state, the answers that people gave; and what of it is kept for the next kernel.

With a journal and a `thread_id` an open question is asked again, an answer that never reached the model is delivered
once, an answered one is drawn as a record, and nothing that has an effect runs twice.

What the agent's own code has stopped at is kept as well, with what people have answered: the agent is brought all of it
in one run, before anything else is said. The tool calls behind it are the agent's, and so are their results.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence

from ag_ui.core import Message, ToolCall, ToolMessage, UserMessage
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from hitl_nb._calls import ERASED, MAY_HAVE_RUN, Call, Handle, Outcome
from hitl_nb._encoding import encode, encode_error, whole_text
from hitl_nb._secrets import MASK
from hitl_nb._tools import GateTool, ToolBox
from hitl_nb.agui import Conversation, Grown, Proven, open_calls, tool_calls
from hitl_nb.errors import InvalidValue
from hitl_nb.journal import Journal, OpenCall, StoredDecision, ThreadRecord
from hitl_nb.session._attached import Sent, recalled
from hitl_nb.session._checkpoints import Checkpoint, Directive, directive_of
from hitl_nb.session._shared import State


def result_of(call: Call) -> ToolMessage:
    """Return the tool message of a decided call."""
    decision = Handle.of(call).decision
    assert decision is not None
    error = decision.reason if decision.outcome == "invalid" else None
    content = whole_text(decision.result if call.delivered is None else call.delivered)
    return ToolMessage(id=f"result-{call.id}", tool_call_id=call.id, content=content, error=error)


class Thread:
    """What outlives a run.

    Attributes:
        messages: The history.
        state: The shared state, of both sides.
        results: What people answered, by tool call id; kept beside the history, so that no snapshot can lose it.
        waiting: What the agent has stopped at, and has not been told of yet.
        sent: By a user's message, what was said in it and what went with it, where that is not all one text.
        held: The tool calls that it gives the results of itself, once it goes on.
        proven: What of the history needs no second look.
        conversation: The last agent run's, whose index the next one goes on with.
    """

    def __init__(self, state: State) -> None:
        self._messages: list[Message] = []
        self._paired = True
        self.proven = Proven()
        self.conversation: Conversation | None = None
        self.state = state
        self.results: dict[str, ToolMessage] = {}
        self.sent: dict[str, Sent] = {}
        self.waiting: list[Checkpoint] = []
        self.held: frozenset[str] = frozenset()
        self._answers: dict[str, Call] = {}
        self._taken: set[Call] = set()

    @property
    def messages(self) -> list[Message]:
        """The history; every result that there is stands behind its call."""
        if not self._paired:
            # Put off until somebody looks: a thousand parallel answers are then paired once.
            self._messages = self.proven.paired(self._messages, self.results)
            self._paired = True
        return self._messages

    @messages.setter
    def messages(self, messages: list[Message]) -> None:
        self._messages = messages

    def check(self) -> None:
        """Prove the history before the agent sees it; see `hitl_nb.agui.check`."""
        self.proven.check(self.messages, held=self.held)

    def wait_at(self, checkpoints: Sequence[Checkpoint], held: Collection[str]) -> None:
        """Take down what the agent has stopped at now."""
        self.waiting, self.held, self._answers = list(checkpoints), frozenset(held), {}

    @property
    def unanswered(self) -> list[Checkpoint]:
        """What it has stopped at that nobody has decided yet."""
        return [checkpoint for checkpoint in self.waiting if checkpoint.id not in self._answers]

    @property
    def directive(self) -> Directive:
        """What the next run has to carry to it; nothing as long as something of it is open."""
        if self.unanswered:
            return Directive()
        return directive_of([(checkpoint, self._answers[checkpoint.id]) for checkpoint in self.waiting])

    def take(self, call: Call, source: ToolCall | Checkpoint) -> None:
        """Put a decision where the agent finds it: into the history, or into what the next run carries."""
        self._taken.add(call)
        if isinstance(source, Checkpoint):
            self._answers[source.id] = call
        else:
            self.results[call.id] = result_of(call)
            self.pair()

    def pair(self) -> None:
        """Put every result behind its call."""
        self._paired = False

    def has_taken(self, call: Call) -> bool:
        """Whether the decision of this call is in the thread."""
        return call in self._taken

    def has_result(self, tool_call_id: str) -> bool:
        """Whether this tool call is decided, or held by an interrupt so that the agent itself gives its result."""
        return tool_call_id in self.results or tool_call_id in self.held

    def addressed(self) -> list[Call]:
        """The agent has run with the directive: it is not told twice, and a call it left open gets the decision.

        Returns:
            The checkpoints whose answers it has been given.
        """
        still_open = {call.id for call in open_calls(self.proven.rest(self.messages))}
        given = []
        for checkpoint in self.waiting:
            call, bound = self._answers[checkpoint.id], checkpoint.interrupt.tool_call_id
            said = checkpoint.said(call)
            if said is None:
                continue
            given.append(call)
            if bound in still_open:
                content = encode(said.payload) if call.approved else result_of(call).content
                self.results[bound] = ToolMessage(id=f"result-{call.id}", tool_call_id=bound, content=content)
        self.wait_at((), ())
        self.pair()
        return given

    def close(self, ending: Outcome, end: "Callable[[Call, Outcome], None] | None" = None) -> None:
        """Leave a history that every provider takes, and nothing undecided, whatever the run left.

        Args:
            ending: How what is open is closed.
            end: Closes a call; default: here alone.
        """
        end = end or _close
        for checkpoint in self.unanswered:
            call = checkpoint.unasked()
            Handle.of(call).open_now(checkpoint.args)
            end(call, ending)
            self.take(call, checkpoint)
        self.messages = self.proven.without_torn_calls(self.messages)
        for tool_call in open_calls(self.proven.rest(self.messages)):
            if tool_call.id not in self.held:
                call = Call(id=tool_call.id, name=tool_call.function.name)
                end(call, ending)
                self.results[call.id] = result_of(call)
        self.pair()


def _close(call: Call, ending: Outcome) -> None:
    Handle.of(call).close(ending)


_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
_CHECKPOINTS: TypeAdapter[list[Checkpoint]] = TypeAdapter(list[Checkpoint])

_SECRET = "the answer held a secret, which is not kept, and the kernel was restarted; call the tool again"


class ThreadStore:
    """One thread in a journal.

    Args:
        journal: The journal, or None: then nothing is kept.
        thread_id: The conversation.
        tools: The session's tools: they say which arguments are secret.
    """

    def __init__(self, journal: Journal | None, thread_id: str, tools: ToolBox) -> None:
        self.journal = journal
        self._thread_id = thread_id
        self._tools = tools
        self._delivered: set[str] = set()
        self._given: Grown[Message] = Grown()
        self._saved: Grown[Message] = Grown()
        self._texts: list[str] = []
        """The JSON text of each message that was saved last."""
        self._asked: dict[tuple[str, str], OpenCall] = {}
        """Kind and id of a call → the question that an earlier kernel has left open."""
        self.notes: list[str] = []
        """What the screen of the next run has to say about it."""
        self.untold = False
        """Whether the restored thread holds an answer that the model was never given."""

    def save(self, thread: Thread) -> None:
        """Write the conversation down as it is now."""
        if self.journal is not None:
            new = self._saved.new(thread.messages)
            known = [] if new is None else self._texts
            new = thread.messages if new is None else new
            self._texts = [*known, *(it.model_dump_json(by_alias=True, exclude_none=True) for it in new)]
            state = json.dumps(to_jsonable_python(thread.state.data, serialize_unknown=True, inf_nan_mode="strings"))
            waiting = _CHECKPOINTS.dump_python(thread.waiting, mode="json", by_alias=True) if thread.waiting else []
            kept = {"gates": self._gates(), "waiting": waiting, "state": thread.state.beside()}
            if thread.sent:
                kept["sent"] = {name: sent.kept() for name, sent in thread.sent.items()}
            beside = json.dumps({name: part for name, part in kept.items() if part is not None})
            self.journal.begin_save_thread(
                self._thread_id, self._texts, state, beside_json=beside, parameters=self._tools.parameters()
            )

    def delivered(self, messages: list[Message], checkpoints: Iterable[Call] = ()) -> None:
        """Note that the agent has been given the answers in `messages`, and those to its checkpoints."""
        if self.journal is None:
            return
        added = self._given.new(messages)
        given = {it.tool_call_id for it in (messages if added is None else added) if isinstance(it, ToolMessage)}
        new: list[Call | str] = [*sorted(given - self._delivered), *checkpoints]
        if new:
            self.journal.begin_delivered(new, thread=self._thread_id)
            self._delivered |= given

    def restore(self, thread: Thread) -> bool:
        """Put what an earlier kernel left into `thread`; gives whether the agent has to be told or asked something."""
        record = self.journal.load_thread(self._thread_id) if self.journal is not None else None
        if record is None:
            return False
        thread.messages = _MESSAGES.validate_python(record.messages)
        if record.state is not None:
            thread.state.restore(record.state, record.beside.get("state"))
        sent = record.beside.get("sent", {})
        for message in thread.messages:
            if isinstance(message, UserMessage) and message.id in sent:
                said = recalled(message.content, sent[message.id])
                thread.sent.update({message.id: said} if said else {})
        made = {call.id for call in tool_calls(thread.messages)}
        self._asked = {("tool", it.id): it for it in record.open if it.kind == "tool"}
        for stored in record.undelivered:
            if stored.call in made:
                self.untold = self.untold or stored.outcome not in _ENDED_WITH_THE_RUN
                if self._is_to_run(stored, record):
                    continue
                content = self._told(stored, record)
                thread.results[stored.call] = ToolMessage(
                    id=f"result-{stored.call}", tool_call_id=stored.call, content=content
                )
        for call in open_calls(thread.messages):
            # A question whose secret argument is gone cannot be asked as it was.
            if MASK in call.function.arguments and call.id not in thread.results:
                content = encode_error(_SECRET)
                thread.results[call.id] = ToolMessage(id=f"result-{call.id}", tool_call_id=call.id, content=content)
        thread.pair()
        self._restore_waiting(thread, record)
        return self.untold or bool(thread.waiting or open_calls(thread.messages))

    def _restore_waiting(self, thread: Thread, record: ThreadRecord) -> None:
        """What the agent's code had stopped at: asked again, or already decided and not told yet."""
        waiting = _CHECKPOINTS.validate_python(record.beside.get("waiting", []))
        made = {checkpoint.interrupt.tool_call_id for checkpoint in waiting}
        mine = set(self._tools.names)
        held = [it.id for it in open_calls(thread.messages) if it.id in made or it.function.name not in mine]
        thread.wait_at(waiting, held if waiting else ())
        rows: list[OpenCall | StoredDecision] = [*record.open, *record.undelivered]
        rows.sort(key=lambda row: row.question)
        for checkpoint in waiting:
            last = next((row for row in reversed(rows) if _is_asking(row, checkpoint)), None)
            if isinstance(last, OpenCall) and MASK not in json.dumps(last.args):
                self._asked["interrupt", checkpoint.id] = last
            elif last is not None and (call := self._decided(checkpoint, last)) is not None:
                thread.take(call, checkpoint)
                self.untold = self.untold or call.outcome not in _ENDED_WITH_THE_RUN

    def _decided(self, checkpoint: Checkpoint, row: "OpenCall | StoredDecision") -> Call | None:
        """Return the call with the decision that an earlier kernel has left; None if somebody has to be asked."""
        assert self.journal is not None
        call = checkpoint.call(thread_id=self._thread_id)
        handle = Handle.of(call)
        handle.open_now(checkpoint.args)
        self.journal.adopt(call, row)
        if isinstance(row, OpenCall) or "answer" in row.redacted:
            handle.close("cancelled", ERASED if row.is_gone else _SECRET)
            return call
        try:
            handle.adopt(row, mine=True)
        except InvalidValue:  # it does not fit any more
            return None
        return call

    def asked_before(self, call: Call) -> None:
        """Take a call for another asking of the question that an earlier kernel has left open."""
        if self.journal is not None and (stored := self._asked.get((call.kind, call.id))) is not None:
            self.journal.adopt(call, stored)

    def end(self, call: Call, ending: Outcome) -> None:
        """Close a call, and the question that an earlier kernel has left open; what has an answer by now has that."""
        stored = None if self.journal is None else self._asked.get((call.kind, call.id))
        if self.journal is None or stored is None:
            _close(call, ending)
            return
        self.journal.adopt(call, stored)
        answered = self.journal.winner(call)
        if (
            answered is not None
            and not answered.redacted
            and not (answered.approved and answered.tool in self._gates())
        ):
            Handle.of(call).adopt(answered, mine=True)
            return
        _close(call, ending)
        self.journal.begin_answered(call)

    def _gates(self) -> list[str]:
        return [name for name in self._tools.names if isinstance(self._tools.get(name), GateTool)]

    def _is_to_run(self, stored: StoredDecision, record: ThreadRecord) -> bool:
        """Whether it is the approval of a gate: left open, so that it runs if it never has (`Handle.begin` tells)."""
        is_gate = stored.tool in self._gates() and stored.tool in record.beside.get("gates", [stored.tool])
        return stored.approved and is_gate and "answer" not in stored.redacted

    def _told(self, stored: StoredDecision, record: ThreadRecord) -> str:
        """What the model is told of a decision that it never got; an approval is not what a function returned."""
        if "result" in stored.redacted:
            return encode_error(ERASED if stored.is_gone else _SECRET)
        if not stored.approved or stored.tool not in record.beside.get("gates", []):
            return stored.result
        assert self.journal is not None
        call = Call(id=stored.call, name=stored.tool, thread_id=self._thread_id)
        self.journal.adopt(call, stored)
        started = self.journal.started(call)
        if started is not None:
            return MAY_HAVE_RUN if started.ended is None else started.ended
        self.notes.append(
            f"`{stored.tool}` ({stored.call}) was approved before the kernel was restarted, and is no gate here now: "
            "it was not run, and the model is told so."
        )
        return encode_error(
            f"a person approved this, but it was not executed: there is no gate `{stored.tool}` any more"
        )


def _is_asking(row: OpenCall | StoredDecision, checkpoint: Checkpoint) -> bool:
    """Whether a row of the journal is about this question: ids of agents say little."""
    name = row.id if isinstance(row, OpenCall) else row.call
    shown = to_jsonable_python(checkpoint.args, serialize_unknown=True)
    return (row.kind, name, row.message, row.args) == ("interrupt", checkpoint.id, checkpoint.message, shown)


_ENDED_WITH_THE_RUN = ("aborted", "superseded", "invalid")
"""Nobody waits for the model to hear of these; it does with the next message."""
