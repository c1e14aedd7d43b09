"""AG-UI interrupts: the agent's code stopped at a checkpoint, and the next run brings it the answer.

The rules are those of AG-UI 1.0 (https://docs.ag-ui.com/concepts/interrupts): every open interrupt is addressed in
one ``resume``, a refusal is ``cancelled`` and never looks like an answer, and nothing else is run in between. The
older ``CUSTOM on_interrupt`` event travels as ``forwardedProps.command`` (facts/copilotkit.md §2).
"""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from ag_ui.core import CustomEvent, Event, Interrupt, ResumeEntry, ToolMessage
from pydantic_core import to_jsonable_python

from hitl_nb._calls import Call
from hitl_nb._encoding import encode
from hitl_nb._schema import MISSING, validator_for
from hitl_nb.cards import Form


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """One open interrupt, in either form."""

    interrupt: Interrupt
    """The interrupt; made from the event's value in the legacy form."""

    legacy: Any = None
    """The value of the ``on_interrupt`` event, None for a standard interrupt."""

    is_legacy: bool = False
    """Whether it came as the ``on_interrupt`` event."""

    @property
    def is_addressed_by_resume(self) -> bool:
        """Whether the agent waits for a ``resume`` entry: also CrewAI's server does, which sends the older event."""
        return not self.is_legacy or (isinstance(self.legacy, dict) and {"id", "reason"} <= self.legacy.keys())

    @property
    def takes_a_no(self) -> bool:
        """Whether a refusal may be sent.

        CrewAI's server reads it as no words, and no words as its first outcome,
        usually "approved" (facts/crewai.md §4.1): a no to it is kept here, and the flow stays where it is.
        """
        return not self.is_legacy and not self.interrupt.reason.startswith("crewai:")

    @property
    def expires_at(self) -> datetime | None:
        """When it can no longer be answered (aware), or None; what is no date never expires."""
        try:
            moment = datetime.fromisoformat(self.interrupt.expires_at or "")
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.astimezone()

    def call(self, **identity: Any) -> Call:
        """Give the call that asks for its answer."""
        interrupt, schema = self.interrupt, self._schema
        render = identity.pop("render", None)
        return Call(
            id=interrupt.id,
            name=interrupt.reason,
            kind="interrupt",
            message=interrupt.message or "",
            answer_type=validator_for(schema) if schema else None,
            render=render or (partial(Form, initial={"approved": True}) if self._knows_yes else None),
            # A yes has the form that AG-UI's own examples use, unless the schema has none; a no is never a payload.
            offer={"approved": True} if self._knows_yes or not schema else MISSING,
            offers_arguments=False,
            compares=False,
            **identity,
        )

    @property
    def _schema(self) -> dict[str, Any]:
        schema = self.interrupt.response_schema
        return schema if isinstance(schema, dict) else {}

    @property
    def _knows_yes(self) -> bool:
        properties = self._schema.get("properties")
        return isinstance(properties, dict) and "approved" in properties

    @property
    def args(self) -> dict[str, Any]:
        """What the person is shown."""
        shown = self.legacy if self.is_legacy else self.interrupt.metadata
        return shown if isinstance(shown, dict) else ({} if shown is None else {"value": shown})

    def resume_entry(self, call: Call) -> ResumeEntry:
        """Give the entry of the next run's ``resume``."""
        if not call.approved:
            return ResumeEntry(interrupt_id=call.id, status="cancelled")
        return ResumeEntry(interrupt_id=call.id, status="resolved", payload=to_jsonable_python(call.answer))

    def command(self, call: Call) -> dict[str, Any]:
        """Give the ``forwardedProps`` of the next run in the legacy form."""
        return {"command": {"resume": to_jsonable_python(call.answer), "interruptEvent": self.legacy}}

    def tool_message(self, call: Call) -> ToolMessage | None:
        """Give the tool result that a tool-bound interrupt leaves in the history, else None."""
        interrupt = self.interrupt
        if interrupt.reason != "tool_call" or not interrupt.tool_call_id:
            return None
        refused, empty = {"status": "cancelled"}, {"status": "resolved"}
        value = (empty if call.answer is None else call.answer) if call.approved else refused
        content = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else encode(value)
        return ToolMessage(id=f"result-{call.id}", tool_call_id=interrupt.tool_call_id, content=content)


def checkpoint_of(source: Event | Interrupt) -> Any:
    """Give the checkpoint of an interrupt or of a legacy event; None for any other event."""
    if isinstance(source, Interrupt):
        return Checkpoint(interrupt=source)
    if not isinstance(source, CustomEvent) or source.name != "on_interrupt":
        return None
    value = source.value
    fields = value if isinstance(value, dict) else {}
    interrupt = Interrupt(
        id=str(fields.get("id") or "on_interrupt"),
        reason=str(fields.get("reason") or "on_interrupt"),
        message=fields.get("message") or (value if isinstance(value, str) else None),
        response_schema=fields.get("responseSchema"),
    )
    return Checkpoint(interrupt=interrupt, legacy=value, is_legacy=True)
