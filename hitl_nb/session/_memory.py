"""What a session writes down as it goes, and finds again after a kernel restart (with a journal and a `thread_id`).

An open question is asked again, an answer that never reached the model is delivered once, an answered one is drawn as
a record, and nothing that has an effect runs twice.
"""

import json
from collections.abc import Iterable

from ag_ui.core import Message, ToolMessage
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from hitl_nb import _history
from hitl_nb._calls import Call
from hitl_nb._encoding import encode_error
from hitl_nb._tools import GateTool, ToolBox
from hitl_nb.journal import MASK, Journal, StoredDecision
from hitl_nb.session._thread import Thread

_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])

_SECRET = "the answer held a secret, which is not kept, and the kernel was restarted; call the tool again"


class Memory:
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
        new = [*sorted(given - self._delivered), *checkpoints]
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
