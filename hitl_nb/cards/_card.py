"""What a card is in Python: what draws it, with what, what its answer means, and what it leaves to read.

The browser sends only what the person did (which boxes are ticked); the answer itself is made here from the
validated arguments, so that nothing is rounded, reordered or invented on the way.
"""

import functools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from hitl_nb._calls import Call, Handle
from hitl_nb._schema import FormNode, form_of, readable, validator_for
from hitl_nb.cards._text import plain, visible_tree
from hitl_nb.errors import ToolDefinitionError


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a record or of a read-only view."""

    label: str = ""
    """What it is; empty for a plain list."""

    text: str
    """What it says."""

    mark: Literal["on", "off", ""] = ""
    """Chosen, not chosen, or neither."""


known_cards: "dict[str, type[Card]]" = {}
"""The cards that were defined so far, by what the browser calls them."""


class Card:
    """The base of all cards: made from a `Call`, drawn by an ES module.

    Subclasses say what the browser needs (`props`), what a person's click means (`answer`) and what stays in the
    notebook (`headline`, `rows`). A package adds a card by a subclass in ``render=``; with an entry point in the group
    ``hitl_nb.cards`` it is in every run from its beginning, and in the gallery.
    """

    module: ClassVar[str | Path]
    """The ES module that draws it: ``Path(__file__).with_name("stars.js")``, or the name of one of ours."""

    style: ClassVar[str | Path | None] = None
    """Its stylesheet, in the same way; what another package writes there reaches the inside of the card only."""

    example: ClassVar[Mapping[str, Any] | None] = None
    """Arguments of a call that the gallery draws it with."""

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

    def __init_subclass__(cls, **options: Any) -> None:
        """Be known to the next run that is shown."""
        super().__init_subclass__(**options)
        if "module" in vars(cls):
            known_cards[cls.called()] = cls

    @classmethod
    def called(cls) -> str:
        """Return what the browser calls it: one of ours by its module, another by the class that has one."""
        if isinstance(cls.module, str):
            return cls.module
        owner = next(each for each in cls.__mro__ if "module" in vars(each))
        return f"{owner.__module__}.{owner.__qualname__}"

    def props(self) -> dict[str, Any]:
        """Give what the browser draws, from ``call.args`` as far as they are there: plain JSON."""
        raise NotImplementedError

    def context(self) -> list[dict[str, Any]]:
        """Give what the question is about, its arguments, as ``drawContext`` of ``context.js`` draws them."""
        return row_props(argument_rows(self.call))

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
        answer = [answer_row(self.call)] if self.call.approved and self.call.answer is not None else []
        return [*argument_rows(self.call), *answer]


def value_of(args: Any, name: str, default: Any = None) -> Any:
    """Give one argument, whether the arguments are a partial dict, plain data or a pydantic instance."""
    return args.get(name, default) if isinstance(args, dict) else getattr(args, name, default)


def names_of(args: Any) -> list[str]:
    """Give the names of the arguments that are there."""
    if isinstance(args, dict):
        return [str(name) for name in args]
    return list(type(args).model_fields) if hasattr(type(args), "model_fields") else []


# -- rows: what was asked and what was answered, as lines to read; a secret in them is stars -----------------

_LONG = 80
"""Characters from which on a text gets a box of its own; nothing is ever cut off."""


def argument_rows(call: Call, *, without: Collection[str] = ()) -> list[Row]:
    """Give the arguments, one a row, but those whose names are in `without`."""
    rows = rows_of(call.args, args_form_of(call)) if call.args is not None else []
    return [row for row in rows if row.label not in without]


def rows_of(value: Any, form: FormNode | None, name: str = "") -> list[Row]:
    """Give a value: an object as one row a key, anything else as one row called `name`."""
    shown = readable(value, form)
    if isinstance(shown, dict):
        return [Row(label=str(key), text=_words(part)) for key, part in shown.items()]
    return [Row(label=name, text=_words(shown))]


def answer_row(call: Call, *, form: FormNode | None = None) -> Row:
    """Give the answer as one row."""
    return Row(label="answer", text=_words(readable(call.answer, form or answer_form_of(call) or args_form_of(call))))


def _words(shown: Any, pad: str = "") -> str:
    """Give readable data as text: a list or object in one line where it fits, else one line a part."""
    if not isinstance(shown, dict | list):
        return plain(shown) if not pad else json.dumps(shown, ensure_ascii=False)
    line = json.dumps(shown, ensure_ascii=False)
    if len(pad) + len(line) <= _LONG:
        return line
    inner = f"{pad}  "
    if isinstance(shown, list):
        opening, closing, parts = "[", "]", [_words(part, inner) for part in shown]
    else:
        opening, closing = "{", "}"
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_words(part, inner)}" for key, part in shown.items()]
    body = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{body}\n{pad}{closing}"


def change_rows(call: Call, *, without: Callable[[dict[str, Any]], bool] | None = None) -> list[Row]:
    """Give what was changed in the proposal, but those changes that `without` is true of."""
    return [_change_row(change) for change in call.edits if without is None or not without(change)]


def approved_headline(call: Call) -> str:
    """Give what became of an approved proposal: how much of it was changed, if it was."""
    count = len(call.edits)
    return f"Approved with {count} change{'s' if count > 1 else ''}" if count else "Approved"


def _change_row(change: dict[str, Any]) -> Row:
    path = change["path"]
    if "from" not in change:
        return Row(label=f"added {path}", text=_words(change["to"]))
    if "to" not in change:
        return Row(label=f"removed {path}", text=_words(change["from"]))
    before, after = _words(change["from"]), _words(change["to"])
    gap = " " if len(before) + len(after) < _LONG and "\n" not in before + after else "\n"
    return Row(label=f"changed {path}", text=f"{before}{gap}→ {after}")


def row_props(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Give rows as the browser draws them, to read."""
    return [{"label": row.label, "text": row.text, "long": len(row.text) > _LONG or "\n" in row.text} for row in rows]


# -- form trees: built once a type, however many calls have it -----------------------------------------------


def args_form_of(call: Call) -> FormNode | None:
    """Give the tree of a call's arguments, None if nothing is known about them."""
    if call.args_type is not None:
        return _form_or_none(call.args_type)
    return _form_of_model(type(call.args)) if isinstance(call.args, BaseModel) else None


def answer_form_of(call: Call) -> FormNode | None:
    """Give the tree of a call's answers, None if anything may be answered."""
    return None if call.answer_type is None else _form_or_none(call.answer_type)


def _form_or_none(validator: Any) -> FormNode | None:
    try:
        return form_of(validator)
    except ToolDefinitionError:
        return None


@functools.lru_cache(maxsize=256)
def _form_of_model(model: type[BaseModel]) -> FormNode | None:
    return _form_or_none(validator_for(model))
