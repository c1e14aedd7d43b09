"""What a card is in Python: what draws it, with what, what its answer means, and what it leaves to read.

The browser sends only what the person did (which boxes are ticked); the answer itself is made here from the
validated arguments, so that nothing is rounded, reordered or invented on the way. The plainest of all is here, too: it
stands in for any other.
"""

import functools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from hitl_nb._calls import Call, Handle, confirmed, is_as_proposed
from hitl_nb._schema import (
    NAMES,
    FormNode,
    Hider,
    by_text,
    facts_of,
    form_of,
    hide_secrets,
    opened,
    readable,
    validator_for,
)
from hitl_nb._secrets import secrets_in
from hitl_nb._text import json_line, visible_tree
from hitl_nb.cards._faults import refusal_of
from hitl_nb.cards._figures import drawn_args, drawn_of
from hitl_nb.cards._nodes import Node, line_text, tree_text
from hitl_nb.cards._seen import OpenPage, changed_nodes, seen
from hitl_nb.errors import InvalidValue, ToolDefinitionError


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a record or of a read-only view."""

    label: str = ""
    """What it is; empty for a plain list."""

    text: str
    """What it says."""

    mark: Literal["on", "off", ""] = ""
    """Chosen, not chosen, or neither."""

    tree: tuple[Any, ...] = ()
    """How it is shown where it is more than a text: a table, a picture, code."""

    @classmethod
    def of(cls, label: str, nodes: Sequence[Node], text: str | None = None) -> "Row":
        """Return a row that shows these nodes."""
        said = (line_text(nodes) or tree_text(nodes)) if text is None else text
        return cls(label=label, text=said, tree=() if all(map(_is_text, nodes)) else tuple(nodes))


def _is_text(node: Node) -> bool:
    return isinstance(node, str) or (node[0] == "plain" and all(isinstance(part, str) for part in node[2:]))


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

    cancel: ClassVar[str | None] = None
    """The label of a button that withdraws the question: neither a yes nor a no. None: it can only be answered."""

    tells_edits: ClassVar[bool] = False
    """Whether the model is told what a person changed, beside the answer; else the answer travels alone, as on the web
    for a renderer of its own."""

    risk: str | None = None
    """``high`` where a mistake is dear: then it is not approved together with others, but one by one."""

    sample_ok = False
    """Whether a long table may be approved without its last page having been opened."""

    one_key = False
    """Whether one key decides; it goes to the browser as ``props.keys``. Never where the risk is high."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._open: dict[str, int] = {}
        self._unread: dict[str, int] = {}

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
        """Return what the browser draws, from ``call.args`` as far as they are there: plain JSON."""
        raise NotImplementedError

    def context(self) -> list[dict[str, Any]]:
        """Give what the question is about, its arguments, as ``drawContext`` of ``context.js`` draws them."""
        return row_props(argument_rows(self.call, page=self.page))

    def page(self, path: str, last: int) -> int:
        """Give the page that is open of the table at `path`, whose last one is `last`."""
        page = min(self._open.get(path, 0), last)
        if page < last:
            self._unread.setdefault(path, last)
        else:
            self._unread[path] = 0
        return page

    def look(self, path: str, page: int) -> None:
        """Open another page of a table."""
        self._open[path] = max(page, 0)

    def unread(self) -> str:
        """Give what a person must see before they approve, in words; empty if they have seen all, or need not."""
        if self.sample_ok or not any(self._unread.values()):
            return ""
        return "Look at the last page of the table first."

    def check_read(self) -> None:
        """Look whether a person can have seen what they approve.

        Raises:
            InvalidValue: There are pages that nobody has opened.
        """
        if words := self.unread():
            raise InvalidValue(f"{words} Whoever may approve by a sample: write `sample_ok=True`.")

    def shown(self) -> tuple[dict[str, Any], bool]:
        """Give `props` with every invisible character written out, and whether there was any."""
        return visible_tree(self.props())

    async def prepare(self) -> None:
        """Fetch what the card needs, once ``executing`` has begun; it is drawn before, and again afterwards."""

    async def reply(self, asked: Mapping[str, Any], *, open_to: bool) -> dict[str, Any]:
        """Give what its module asks for while it is drawn (``frame.ask``): plain JSON, ready to be shown.

        Args:
            asked: What it has sent. It is sent again until it is answered, so what is done must be done once.
            open_to: Whether who asks is also asked now; else nothing may be changed.

        Raises:
            InvalidValue: It cannot be given; the module hears why.
        """
        raise InvalidValue(f"`{type(self).__name__}` gives nothing but what it draws.")

    def instead(self) -> "Card | None":
        """Give what is drawn where this card cannot be; None for the default, which shows all arguments."""
        return None

    async def confirming(self) -> None:
        """Do what takes its time between a click on Confirm and its decision, beside the loop."""

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
            return False
        answer = Handle.of(self.call).made = self.answer(value)
        try:
            return self.call.respond(answer)
        except InvalidValue as error:
            words = refusal_of(error)
            Handle.of(self.call).problem(words)
            raise InvalidValue(words, error.errors) from error

    def was_changed(self) -> bool:
        """Whether a checkpoint is about something that code has changed since; it has ended then.

        Raises:
            InvalidValue: A tool's arguments were changed; the call stays open.
        """
        return not Handle.of(self.call).may_be_approved()

    def headline(self) -> str:
        """Return the first line of the record of an answered call."""
        return "Confirmed"

    def rows(self) -> Sequence[Row]:
        """Return the lines of the record: what was asked, and what was answered."""
        answer = [answer_row(self.call)] if self.call.approved and self.call.answer is not None else []
        return [*argument_rows(self.call), *answer]


def value_of(args: object, name: str, default: object = None) -> Any:
    """Return one argument, whether the arguments are a partial dict, plain data or a pydantic instance."""
    return args.get(name, default) if isinstance(args, dict) else getattr(args, name, default)


def names_of(args: Any) -> list[str]:
    """Return the names of the arguments that are there."""
    if isinstance(args, dict):
        return [str(name) for name in args]
    return list(type(args).model_fields) if hasattr(type(args), "model_fields") else []


# -- rows: what was asked and what was answered, as lines to read; a secret in them is stars -----------------
#
# What is a secret by its name only is seen by whoever decides about it, and is stars in what stays.

_LONG = 80
"""Characters from which on a text gets a box of its own; nothing is ever cut off."""


def argument_rows(call: Call, *, without: Collection[str] = (), page: OpenPage = None) -> list[Row]:
    """Give the arguments, one a row, but those whose names are in `without`.

    Args:
        call: The call.
        without: Names.
        page: Which pages are open where somebody decides, who must see what they approve; None for what stays.
    """
    hider = hider_of(call.args_type) if page is None else None
    drawn, shown = drawn_of(call), drawn_args(call)
    form = args_form_of(call) if shown is call.args else None
    rows = rows_of(shown, form, page=page, hider=hider, drawn=drawn) if shown is not None else []
    if call.kind != "tool" and [row.label for row in rows] == ["value"] and rows[0].tree:
        return [replace(rows[0], label="")]  # the payload of a checkpoint has no name
    return [row for row in rows if row.label not in without]


def rows_of(
    value: object,
    form: FormNode | None,
    name: str = "",
    page: OpenPage = None,
    *,
    hider: Hider | None = NAMES,
    drawn: Mapping[int, list[Node]] | None = None,
) -> list[Row]:
    """Give a value: an object as one row a key, anything else as one row called `name`.

    Args:
        value: Any value.
        form: What it is a value of.
        name: What it is called.
        page: Which pages are open.
        hider: Hides what is no declared secret and yet has the name of one; None: it is seen.
        drawn: As for `seen`.
    """
    shown = value if form is None else hide_secrets(value, form)
    inside = opened(shown)
    if isinstance(inside, Mapping):
        return [
            Row.of(text, seen(_kept(inside[key], text, hider), name=text, page=page, drawn=drawn))
            for text, key in by_text(inside).items()
        ]
    return [Row.of(name, seen(_kept(shown, name, hider), name=name, page=page, drawn=drawn))]


def answer_row(call: Call, *, form: FormNode | None = None) -> Row:
    """Give the answer as one row."""
    form, hider = form or answer_form_of(call) or args_form_of(call), hider_of(call.answer_type or call.args_type)
    shown = call.answer if form is None else hide_secrets(call.answer, form)
    return Row.of("answer", seen(_kept(shown, "", hider)))


def instead_row(call: Call, value: object) -> Row:
    """Give what the code goes on with, although nobody has answered, as one row; it is no answer of anybody."""
    form, hider = answer_form_of(call), hider_of(call.answer_type)
    shown = value if form is None else hide_secrets(value, form)
    return Row.of("went on with", seen(_kept(shown, "", hider)))


def result_row(value: object) -> Row:
    """Give what a tool has returned as one row; what has the name of a secret is stars."""
    return Row.of("result", seen(_kept(value, "", NAMES)))


def hider_of(checks: object) -> Hider:
    """Give what hides the secrets of a type: those that it declares, and those that have the name of one."""
    return facts_of(checks).hider or NAMES


def _kept(value: object, name: str, hider: Hider | None) -> Any:
    """Give a value as it stays in a file: the same object, but where something in it has the name of a secret."""
    if hider is None or not secrets_in({name: value})[1]:
        return value
    held: Any = hider.hide({name: readable(value)}, [])
    return held[name]


def plain(value: object) -> str:
    """Give any argument or answer as text for a reader: strings as they are, the rest as indented JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    shown = readable(value)
    return shown if isinstance(shown, str) else json.dumps(shown, indent=2, ensure_ascii=False)


def change_rows(call: Call, *, without: Callable[[dict[str, Any]], bool] | None = None) -> list[Row]:
    """Give what was changed in the proposal, but those changes that `without` is true of."""
    return [_change_row(change) for change in call.edits if without is None or not without(change)]


def approved_headline(call: Call) -> str:
    """Return what became of an approved proposal: how much of it was changed, if it was."""
    count = len(call.edits)
    return f"Approved with {count} change{'s' if count > 1 else ''}" if count else "Approved"


def _change_row(change: dict[str, Any]) -> Row:
    path = change["path"]
    name = path.rsplit(".", 1)[-1]
    change = {side: part if side == "path" else _kept(part, name, NAMES) for side, part in change.items()}
    if "from" not in change:
        return Row.of(f"added {path}", seen(change["to"], name=name))
    if "to" not in change:
        return Row.of(f"removed {path}", seen(change["from"], name=name))
    before, after = (tree_text(seen(change[side], name=name)) for side in ("from", "to"))
    gap = " " if len(before) + len(after) < _LONG and "\n" not in before + after else "\n"
    return Row.of(f"changed {path}", changed_nodes(change["from"], change["to"], name), f"{before}{gap}→ {after}")


def row_props(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Give rows as the browser draws them, to read."""
    return [_row_prop(row) for row in rows]


def _row_prop(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"tree": list(row.tree)} if row.tree else {"text": row.text}
    return {"label": row.label, **shown, "long": len(row.text) > _LONG or "\n" in row.text}


# -- form trees: built once a type, however many calls have it -----------------------------------------------


def args_form_of(call: Call) -> FormNode | None:
    """Return the tree of a call's arguments, None if nothing is known about them."""
    if call.args_type is not None:
        return _form_or_none(call.args_type)
    return _form_of_model(type(call.args)) if isinstance(call.args, BaseModel) else None


def answer_form_of(call: Call) -> FormNode | None:
    """Return the tree of a call's answers, None if anything may be answered."""
    return None if call.answer_type is None else _form_or_none(call.answer_type)


def _form_or_none(validator: object) -> FormNode | None:
    try:
        return form_of(validator)
    except ToolDefinitionError:
        return None


@functools.lru_cache(maxsize=256)
def _form_of_model(model: type[BaseModel]) -> FormNode | None:
    return _form_or_none(validator_for(model))


class Plain(Card):
    """Shows all arguments, read-only. Confirm answers with what was proposed, exactly.

    Args:
        call: The call.
        sample_ok: Whether a long table may be confirmed without its last page having been opened.
    """

    module: ClassVar[str | Path] = "plain"

    def __init__(self, call: Call, *, sample_ok: bool = False) -> None:
        super().__init__(call)
        self.sample_ok = sample_ok

    def props(self) -> dict[str, Any]:
        """Give one row an argument."""
        return {"rows": self.context()}

    def answer(self, value: Any) -> Any:
        """Give the proposal itself as the answer, in the form that the answer type takes.

        Raises:
            InvalidValue: The tool asks for something that is not among its arguments (a text, a date): confirming
                cannot answer that.
        """
        return confirmed(self.call)

    def headline(self) -> str:
        """Return whether it was confirmed as proposed; else what was answered."""
        answer = self.call.answer
        if answer is None or answer is True or is_as_proposed(self.call):
            return "Confirmed"
        return f"Answered: {_compact(readable(answer, answer_form_of(self.call)))}"

    def rows(self) -> Sequence[Row]:
        """Return the arguments, one a row, and what code has changed in them where code has answered."""
        return [*argument_rows(self.call), *change_rows(self.call)]


def _compact(shown: object) -> str:
    return shown if isinstance(shown, str) else json_line(shown)
