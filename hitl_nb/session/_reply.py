"""What a finished run gives back."""

from dataclasses import dataclass

from ag_ui.core import AssistantMessage, Message

from hitl_nb._calls import Call


@dataclass(frozen=True, kw_only=True, repr=False)
class Reply:
    """The end of a run. Its repr is one line, since the record already stands in the cell."""

    messages: list[Message]
    """The whole thread so far, as AG-UI messages."""

    decisions: list[Call]
    """The calls of this run in the order in which they were made, all complete."""

    @property
    def text(self) -> str:
        """The assistant's last words; empty if it said nothing."""
        last = self.messages[-1] if self.messages else None
        return (last.content or "") if isinstance(last, AssistantMessage) else ""

    def __repr__(self) -> str:
        words = " ".join(self.text.split())
        words = words if len(words) <= 60 else words[:59] + "…"
        count = len(self.decisions)
        return f'<Reply "{words}" · {count} decision{"" if count == 1 else "s"}>'
