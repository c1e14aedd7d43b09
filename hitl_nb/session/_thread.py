"""A conversation: messages, state, the answers that people gave; and what of it is kept for the next kernel.

With a journal and a `thread_id` an open question is asked again, an answer that never reached the model is delivered
once, an answered one is drawn as a record, and nothing that has an effect runs twice.
"""

import json
from collections.abc import Iterable
from typing import Any

from ag_ui.core import Message, ResumeEntry, ToolCall, ToolMessage
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from hitl_nb import _history
from hitl_nb._calls import Call, Handle, Outcome
from hitl_nb._encoding import encode_error
from hitl_nb._tools import GateTool, ToolBox
from hitl_nb.journal import MASK, Journal, StoredDecision
from hitl_nb.session._checkpoints import Checkpoint


def result_of(call: Call) -> ToolMessage:
    """Give the tool message of a decided call."""
    decision = Handle.of(call).decision
    assert decision is not None
    error = decision.reason if decision.outcome == "invalid" else None
    content = decision.result if call.delivered is None else call.delivered
    return ToolMessage(id=f"result-{call.id}", tool_call_id=call.id, content=content, error=error)


class Thread:
    """What outlives a run.

    Attributes:
        messages: The history.
        state: The shared state.
        results: What people answered, by tool call id; kept beside the history, so that no snapshot can lose it.
        resume, command: What the next agent run has to carry to the checkpoints it stopped at.
    """

    def __init__(self, state: Any) -> None:
        self._messages: list[Message] = []
        self._paired = True
        self.state = state
        self.results: dict[str, ToolMessage] = {}
        self.resume: list[ResumeEntry] = []
        self.command: dict[str, Any] = {}
        self._held: dict[str, ToolMessage] = {}
        self._taken: set[Call] = set()
        self._addressing: list[Call] = []

    @property
    def messages(self) -> list[Message]:
        """The history; every result that there is stands behind its call."""
        if not self._paired:
            # Put off until somebody looks: a thousand parallel answers are then paired once.
            self._messages = _history.paired(self._messages, self.results)
            self._paired = True
        return self._messages

    @messages.setter
    def messages(self, messages: list[Message]) -> None:
        self._messages = messages

    def check(self) -> None:
        """Prove the history before the agent sees it; see `_history.check`."""
        _history.check(self.messages, held=self._held)

    def take(self, call: Call, source: ToolCall | Checkpoint) -> None:
        """Put a decision where the agent finds it: into the history, or into the next run's ``resume``."""
        self._taken.add(call)
        if not isinstance(source, Checkpoint):
            self.results[call.id] = result_of(call)
        elif call.approved or source.takes_a_no:
            self.command = source.command(call) if source.is_legacy else {}
            if source.is_addressed_by_resume:
                self.resume.append(source.resume_entry(call))
            if (message := source.tool_message(call)) is not None:
                self.results[message.tool_call_id] = message
            elif source.interrupt.tool_call_id:
                bound = source.interrupt.tool_call_id
                self._held[bound] = result_of(call).model_copy(update={"tool_call_id": bound})
            self._addressing.append(call)
        self.pair()

    def pair(self) -> None:
        """Put every result behind its call."""
        self._paired = False

    def has_taken(self, call: Call) -> bool:
        """Whether the decision of this call is in the thread."""
        return call in self._taken

    def has_result(self, tool_call_id: str) -> bool:
        """Whether this tool call is decided, or held by an interrupt so that the agent itself gives its result."""
        return tool_call_id in self.results or tool_call_id in self._held

    def addressed(self) -> list[Call]:
        """The agent has run with ``resume``: it is not sent twice, and a call it left open gets the decision.

        Returns:
            The checkpoints whose answers it has been given.
        """
        given, self._addressing = self._addressing, []
        self.resume, self.command = [], {}
        for tool_call in _history.open_calls(self.messages):
            if tool_call.id in self._held:
                self.results[tool_call.id] = self._held[tool_call.id]
        self._held.clear()
        self.pair()
        return given

    def close(self, ending: Outcome) -> None:
        """Leave a history that every provider takes, whatever the run left."""
        self.messages = _history.without_torn_calls(self.messages)
        for tool_call in _history.open_calls(self.messages):
            if tool_call.id not in self._held:
                call = Call(id=tool_call.id, name=tool_call.function.name)
                Handle.of(call).close(ending)
                self.results[call.id] = result_of(call)
        self.pair()


_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])

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
        self.untold = False
        """Whether the restored thread holds an answer that the model was never given."""

    def save(self, thread: Thread) -> None:
        """Write the conversation down as it is now."""
        if self.journal is not None:
            messages = _MESSAGES.dump_json(thread.messages, by_alias=True, exclude_none=True).decode()
            state = json.dumps(to_jsonable_python(thread.state, serialize_unknown=True, inf_nan_mode="strings"))
            self.journal.begin_save_thread(self._thread_id, messages, state, parameters=self._tools.parameters())

    def delivered(self, messages: Iterable[Message], checkpoints: Iterable[Call] = ()) -> None:
        """Note that the agent has been given the answers in `messages`, and those to its checkpoints."""
        if self.journal is None:
            return
        given = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
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
        thread.state = record.state if record.state is not None else thread.state
        made = {call.id for call in _history.tool_calls(thread.messages)}
        for stored in record.undelivered:
            if stored.call in made:
                self.untold = self.untold or stored.outcome not in _ENDED_WITH_THE_RUN
                if self._is_to_run(stored):
                    continue
                content = encode_error(_SECRET) if "result" in stored.redacted else stored.result
                thread.results[stored.call] = ToolMessage(
                    id=f"result-{stored.call}", tool_call_id=stored.call, content=content
                )
        for call in _history.open_calls(thread.messages):
            # A question whose secret argument is gone cannot be asked as it was.
            if MASK in call.function.arguments and call.id not in thread.results:
                content = encode_error(_SECRET)
                thread.results[call.id] = ToolMessage(id=f"result-{call.id}", tool_call_id=call.id, content=content)
        thread.pair()
        return self.untold or bool(_history.open_calls(thread.messages))

    def _is_to_run(self, stored: StoredDecision) -> bool:
        """Whether it is the approval of a gate: left open, so that it runs if it never has (`Handle.begin` tells)."""
        is_gate = isinstance(self._tools.get(stored.tool), GateTool)
        return stored.approved and is_gate and "answer" not in stored.redacted


_ENDED_WITH_THE_RUN = ("aborted", "superseded", "invalid")
"""Nobody waits for the model to hear of these; it does with the next message."""
