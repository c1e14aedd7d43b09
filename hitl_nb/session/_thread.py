"""A session's conversation: messages, state, the answers that people gave, and what the agent still waits for."""

from typing import Any

from ag_ui.core import Message, ResumeEntry, ToolCall, ToolMessage

from hitl_nb import _history
from hitl_nb._calls import Call, Handle, Outcome
from hitl_nb.session._ask import result_of
from hitl_nb.session._checkpoints import Checkpoint


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
