"""Who said it: the parent agent, or one of its subagents.

An event may carry the id of the subagent it comes from. What one producer opened, another must not continue:
its text would stand in the other's message. So the opener is remembered for the whole run, also after the
close (an encrypted value may come later). No tag on a continuation means "whoever owns it".
"""

from collections.abc import Iterable
from typing import Any, Literal

from ag_ui.core import AssistantMessage, Event, Message
from pydantic import BaseModel

from hitl_nb.errors import ProtocolError

Kind = Literal["message", "tool call", "activity", "reasoning"]
"""Ids are unique within a kind only: a message and a tool call may share one."""

_KIND_OF_ROLE: dict[str, Kind] = {"reasoning": "reasoning", "activity": "activity"}


class Owners:
    """The owner (a subagent's run id, or None for the parent agent) of each id of this run."""

    def __init__(self) -> None:
        self._owner: dict[tuple[Kind, str], str | None] = {}

    def __contains__(self, key: tuple[Kind, str]) -> bool:
        return key in self._owner

    def __getitem__(self, key: tuple[Kind, str]) -> str | None:
        return self._owner[key]

    def check(self, event: Event, key: tuple[Kind, str]) -> None:
        """Refuse an event whose tag names another owner than the one on record."""
        tag: str | None = getattr(event, "subagent_run_id", None)
        if tag is not None and key in self._owner and self._owner[key] != tag:
            raise disagreement(event, key, self._owner[key])

    def claim(self, key: tuple[Kind, str], owner: str | None) -> None:
        """Record an owner; the first one stays, so an untagged re-opening takes nothing away from anyone."""
        self._owner.setdefault(key, owner)

    def replace(self, key: tuple[Kind, str], owner: str | None) -> None:
        """Record the owner of something that is made anew: a tool's result, a replaced activity."""
        self._owner[key] = owner

    def seed(self, messages: Iterable[Message], *, replace: bool) -> None:
        """Record the owners in a history; a snapshot replaces what is known, an echoed input does not."""
        record = self.replace if replace else self.claim
        for message in messages:
            refuse_null_tag(message, f"the message `{message.id}`")
            record((_KIND_OF_ROLE.get(message.role, "message"), message.id), message.subagent_run_id)
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    record(("tool call", call.id), message.subagent_run_id)


def refuse_null_tag(model: BaseModel, what: str) -> None:
    """Refuse `subagentRunId: null`: absent is the only spelling of "the parent agent"."""
    if "subagent_run_id" in model.model_fields_set and getattr(model, "subagent_run_id", None) is None:
        raise ProtocolError(f"`subagentRunId` is null on {what}; leave the field out for the parent agent.")


def disagreement(event: Event, key: tuple[Kind, str], owner: str | None) -> ProtocolError:
    """Give the error for an event that touches what somebody else owns."""
    kind, entity = key
    tag: Any = getattr(event, "subagent_run_id", None)
    whose = "the parent agent" if owner is None else f"subagent `{owner}`"
    return ProtocolError(
        f"`{event.type.value}` of subagent `{tag}` touches the {kind} `{entity}`, which belongs to {whose}; "
        "use an id of its own."
    )
