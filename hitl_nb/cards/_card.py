"""What a built-in card is in Python: which browser module draws it, with what, and what its answer means.

The browser sends only what the person did (which boxes are ticked); the answer itself is made here from the
validated arguments, so that nothing is rounded, reordered or invented on the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hitl_nb._calls import Call, Handle
from hitl_nb.cards._text import visible_tree


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a record or of a read-only view."""

    label: str = ""
    """What it is; empty for a plain list."""

    text: str
    """What it says."""

    mark: Literal["on", "off", ""] = ""
    """Chosen, not chosen, or neither."""


class Card:
    """The base of the built-in cards: made from a `Call`, drawn by ``widgets/<module>.js``.

    Subclasses say what the browser needs (`props`), what a person's click means (`answer`) and what stays in the
    notebook (`headline`, `rows`).
    """

    module: ClassVar[str]
    """The name of the ES module in ``widgets/``."""

    streams: ClassVar[bool] = True
    """Drawn from ``inProgress`` on, with the partial arguments as a preview."""

    confirm: ClassVar[str] = "Confirm"
    """The label of the button that answers."""

    decline: ClassVar[str | None] = "Decline"
    """The label of the button that says no."""

    tells_edits: ClassVar[bool] = False
    """Whether the model is told what a person changed, beside the answer; else the answer travels alone, as on the web
    for a renderer of its own."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def props(self) -> dict[str, Any]:
        """Give what the browser draws, from ``call.args`` as far as they are there: plain JSON."""
        raise NotImplementedError

    def shown(self) -> tuple[dict[str, Any], bool]:
        """Give `props` with every invisible character written out, and whether there was any."""
        return visible_tree(self.props())

    async def prepare(self) -> None:
        """Fetch what the card needs, once ``executing`` has begun; it is drawn before, and again afterwards."""

    def answer(self, value: Any) -> Any:
        """Give the answer for ``call.respond`` from what the browser sent.

        Raises:
            InvalidValue: It cannot be an answer; the card shows why and stays open.
        """
        raise NotImplementedError

    def decide(self, value: Any) -> bool:
        """Answer the call with what the browser sent, for whoever is being asked; gives whether this answer counts.

        Raises:
            InvalidValue: It cannot be an answer, or code has changed the arguments of a tool since they were shown;
                the card says so and stays open. A checkpoint about something that was changed ends, not approved.
        """
        if self.was_changed():
            return self.call.respond(value)
        return self.call.respond(self.answer(value))

    def was_changed(self) -> bool:
        """Whether a checkpoint is about something that code has changed since; whoever answers it then ends it.

        Raises:
            InvalidValue: A tool's arguments were changed; the call stays open.
        """
        handle = Handle.of(self.call)
        if self.call.kind == "tool":
            handle.check_unchanged()
        return handle.was_changed

    def headline(self) -> str:
        """Give the first line of the record of an answered call."""
        return "Confirmed"

    def rows(self) -> Sequence[Row]:
        """Give the lines of the record: what was asked, and what was answered."""
        raise NotImplementedError


def value_of(args: Any, name: str, default: Any = None) -> Any:
    """Give one argument, whether the arguments are a partial dict, plain data or a pydantic instance."""
    return args.get(name, default) if isinstance(args, dict) else getattr(args, name, default)


def names_of(args: Any) -> list[str]:
    """Give the names of the arguments that are there."""
    if isinstance(args, dict):
        return [str(name) for name in args]
    return list(type(args).model_fields) if hasattr(type(args), "model_fields") else []
