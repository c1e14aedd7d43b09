"""The card of every tool that has no other: a form, drawn from the schema of the arguments or of the answer.

The browser sends only what the person changed; it is applied here, to the proposed object itself, and checked. So an
untouched Confirm answers with exactly what was proposed, and an edit changes exactly one place: no form library for
JSON Schema does both.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from hitl_nb._calls import AnswerType, Call, Handle, edits_of, is_as_proposed, proposal_of
from hitl_nb._schema import MISSING, FormNode, apply_edits, blank_of, form_of, hide_secrets, layout_of, node_at, to_wire
from hitl_nb._text import suspicious, visible, visible_tree
from hitl_nb.cards._card import (
    Card,
    Row,
    answer_row,
    approved_headline,
    argument_rows,
    change_rows,
    hider_of,
    rows_of,
    value_of,
)
from hitl_nb.cards._faults import one_a_place
from hitl_nb.errors import InvalidValue, ToolDefinitionError

# -- what a form is about: the proposal to review, or the answer to give -------------------------------------


@dataclass(frozen=True, kw_only=True)
class FormPage:
    """A form, and the value it starts from."""

    mode: Literal["review", "answer"]
    """``review``: the value is a proposal, and may be edited; ``answer``: it is a question's answer, to be given."""

    form: FormNode
    """What is drawn."""

    value: Any
    """What is in it at first; in ``review`` the proposal itself."""

    layout: list[dict[str, Any]]
    """As of `layout_of`."""

    checks: AnswerType
    """What an edited value must fit."""

    name: str = ""
    """The argument that it is; empty for all of them."""


def page_of(call: Call, initial: object = MISSING) -> FormPage:
    """Return the page for a call with complete arguments.

    Args:
        call: The call.
        initial: What the answer starts from; with one, it is an answer to give even if something is proposed.

    Raises:
        ToolDefinitionError: Nothing is known about the type of the value.
    """
    proposal = proposal_of(call) if initial is MISSING else None
    if proposal is None:
        return _answer_page(call, initial)
    if proposal.checks is None:
        raise ToolDefinitionError(
            f"`{call.name}` says nothing about the type of what it proposes, so there is no form for it. "
            "Write `answer=` with its type."
        )
    form = form_of(proposal.checks)
    return FormPage(
        mode="review",
        form=form,
        value=proposal.value,
        layout=layout_of(form, proposal.value),
        checks=proposal.checks,
        name=proposal.name,
    )


def preview_of(call: Call) -> FormPage:
    """Return the page while the model writes: as far as it is there, and as it will most likely be."""
    args = call.args if isinstance(call.args, dict) else {}
    if call.answer_type is None:
        return _preview(call.args_type, args)
    wanted = form_of(call.answer_type)
    whole = form_of(call.args_type) if call.args_type is not None else None
    if whole is not None and _same_kind(whole, wanted):
        return _preview(call.answer_type, args)
    children = whole.children if whole is not None else ()
    if len(children) == 1 and children[0][1].kind in _STRUCTURED and _same_kind(children[0][1], wanted):
        name = str(children[0][0])
        return _preview(call.answer_type, value_of(args, name), name)
    return _answer_page(call, MISSING)


def _preview(checks: Any, value: Any, name: str = "") -> FormPage:
    form = form_of(checks)
    value = blank_of(form)[0] if value is None else value
    return FormPage(mode="review", form=form, value=value, layout=layout_of(form, value), checks=checks, name=name)


def _answer_page(call: Call, initial: object) -> FormPage:
    if call.answer_type is None:
        raise ToolDefinitionError(
            f"`{call.name}` says nothing about its answer, so there is no form for it. Write `answer=` with its type."
        )
    form = form_of(call.answer_type)
    value, layout = blank_of(form) if initial is MISSING else (initial, layout_of(form, initial))
    return FormPage(mode="answer", form=form, value=value, layout=layout, checks=call.answer_type)


_STRUCTURED: Final = frozenset({"list", "table", "object", "dict", "tuple"})


def _same_kind(first: FormNode, second: FormNode) -> bool:
    """Whether two nodes take the same values; what they are called does not matter."""
    return _bare(first) == _bare(second)


def _bare(node: FormNode) -> FormNode:
    return replace(node, title="", description="", required=True, default=MISSING)


# -- the card ------------------------------------------------------------------------------------------------


class Form(Card):
    """A proposal to review and edit, or an answer to give.

    Args:
        call: The call. If its answer type takes what was proposed (the arguments themselves, or the only one of them
            if that is a list or object), or if it has none, the proposal is reviewed: confirmed, edited, declined, or
            answered with words instead. Otherwise the arguments are the question, and the form is for the answer.
        initial: What the answer starts from, in place of an empty form; then nothing is reviewed.
    """

    module: ClassVar[str | Path] = "form"
    style: ClassVar[str | Path | None] = "form"
    tells_edits: ClassVar[bool] = True

    def __init__(self, call: Call, *, initial: Any = MISSING) -> None:
        super().__init__(call)
        self._initial = initial
        self._opened: FormPage | None = None
        self._errors: list[dict[str, Any]] = []

    def props(self) -> dict[str, Any]:
        """Return the form tree, the value with its secrets hidden, what to read beside it, and the errors by path."""
        page = self._page()
        return {
            "form": page.form.to_wire(),
            "value": to_wire(hide_secrets(page.value, page.form)),
            "layout": page.layout,
            "rows": self.context() if page.mode == "answer" else [],
            "mode": page.mode,
            "instead": self._takes_words(page),
            "errors": self._errors,
        }

    def shown(self) -> tuple[dict[str, Any], bool]:
        """Return `props`, exact where the person edits, with every invisible character written out."""
        props = self.props()
        form, in_form = readable_form(props["form"])
        value, layout, in_value = readable_value(props["value"], props["layout"])
        rows, in_rows = visible_tree(props["rows"])
        errors = [{**error, "message": visible(error["message"])} for error in self._errors]
        shown = {"form": form, "value": value, "layout": layout, "rows": rows, "errors": errors}
        return props | shown, in_form or in_value or in_rows

    def answer(self, value: Any) -> Any:
        """Return the value of ``{"edits": [...]}``: the proposal itself if nothing was changed.

        Raises:
            InvalidValue: `errors` has the path of each fault.
        """
        page = self._page()
        final = apply_edits(page.value, _edits_in(value), form=page.form)
        return final if final is page.value and page.mode == "review" else page.checks.validate(final)

    def decide(self, value: Any) -> bool:
        """Answer the call with what the browser sent: edits, or words in place of an answer.

        Raises:
            InvalidValue: As `answer`; the faults then stand on the card, each at its place.
        """
        if self.was_changed():
            return False
        self._errors = []
        if isinstance(value, Mapping) and "instead" in value:
            return self._decide_instead(value["instead"])
        try:
            final = self.answer(value)
            if self._page().mode == "review" and not edits_of(self.call, final):
                final = self._page().value  # also after a change that was taken back: the identical object
            return self.call.respond(final)
        except InvalidValue as error:
            self._errors = one_a_place(error.errors, self._node_at)
            words = self._in_words(self._errors) or str(error)
            Handle.of(self.call).problem(words)
            raise InvalidValue(words, error.errors) from error

    def _in_words(self, errors: list[dict[str, Any]]) -> str:
        """What is wrong, each with the title of its field; a few of them, the others are marked."""
        named = [
            f"{self._title_of(error['path'])}: {_lower(error['message'])}" if error["path"] else error["message"]
            for error in errors
        ]
        more = f" And {len(named) - _NAMED} more, which are marked." if len(named) > _NAMED else ""
        return "; ".join(named[:_NAMED]) + more

    def _title_of(self, path: Sequence[str | int]) -> str:
        node = self._node_at(path)
        last = next((step for step in reversed(path) if isinstance(step, str)), "")
        place = "".join(f" {step + 1}" for step in path[-1:] if isinstance(step, int))
        return ((node.title if node is not None else "") or last or "Entry") + place

    def _node_at(self, path: Sequence[str | int]) -> FormNode | None:
        page = self._page()
        return node_at(page.form, page.value, tuple(path))

    def headline(self) -> str:
        """Return what became of the proposal."""
        if self.call.edits:
            return approved_headline(self.call)
        return "Confirmed" if self._is_as_proposed() else "Answered"

    def rows(self) -> Sequence[Row]:
        """Return what was asked, what was answered, and every change with what was there before."""
        if not self.call.approved:
            return argument_rows(self.call)
        if self.call.edits:
            page = self._page()
            rows = rows_of(self.call.answer, page.form, page.name, hider=hider_of(page.checks))
            return [*rows, *change_rows(self.call)]
        answer = [] if self.call.answer is None or self._is_as_proposed() else [answer_row(self.call)]
        return [*argument_rows(self.call), *answer]

    def _page(self) -> FormPage:
        if self.call.status == "inProgress":
            return preview_of(self.call)
        if self._opened is None:
            self._opened = page_of(self.call, self._initial)
        return self._opened

    def _takes_words(self, page: FormPage) -> bool:
        # The code behind a checkpoint can read no words; a declined one has its reason.
        return page.mode == "review" and self.call.kind == "tool"

    def _decide_instead(self, words: object) -> bool:
        if isinstance(words, str) and words.strip():
            if getattr(self.call.answer_type, "type", None) is str:
                return self.call.respond(words)
            if self._takes_words(self._page()):
                return self.call.answer_instead(words)
        raise InvalidValue(f"`{self.call.name}` needs the form filled in, or a Decline with the reason.")

    def _is_as_proposed(self) -> bool:
        return self._initial is MISSING and is_as_proposed(self.call)


_NAMED: Final = 3


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:].removesuffix(".")


def _edits_in(value: object) -> list[Mapping[str, Any]]:
    edits = value.get("edits") if isinstance(value, Mapping) else None
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        raise InvalidValue('The card sent no list of edits. Send `{"edits": []}` for none.')
    return edits


# -- on its way to the browser: exact, and yet nothing in it is invisible ------------------------------------
#
# A value that a person edits must not be changed by making it readable. So a text with invisible or direction-changing
# characters goes as it is, and its place is shown as JSON text, in which these characters are written out.

Wire = Any
Steps = list[str | int]

_WORDS: Final = frozenset({"title", "description", "note", "label"})
"""What a form has to read; all else in it is data."""


def readable_form(form: Wire) -> tuple[Wire, bool]:
    """Return a form tree (as of `FormNode.to_wire`) with readable words, and whether any of them hid something."""
    if isinstance(form, list):
        parts = [readable_form(part) for part in form]
        return [part for part, _ in parts], any(found for _, found in parts)
    if not isinstance(form, dict):
        return form, False
    shown, hid = {}, False
    for key, part in form.items():
        if key in _WORDS and isinstance(part, str):
            shown[key], found = visible(part), suspicious(part)
        elif key in ("children", "branches", "item", "options"):
            shown[key], found = readable_form(part)
        else:
            shown[key], found = part, False
        hid = hid or found
    return shown, hid


def readable_value(value: Wire, layout: list[dict[str, Any]]) -> tuple[Wire, list[dict[str, Any]], bool]:
    """Return a value (as of `to_wire`) and its layout, with a JSON box wherever a text hides something."""
    boxes: list[Steps] = []
    shown = _boxed(value, [], boxes)
    if not boxes:
        return value, layout, False
    others = [entry for entry in layout if entry["path"] not in boxes]
    return shown, [*others, *({"path": path, "branch": None} for path in boxes)], True


def _boxed(wire: Wire, path: Steps, boxes: list[Steps]) -> Wire:
    # Line ends of the other kind hide nothing; the browser keeps them.
    if isinstance(wire, str) and suspicious(wire.replace("\r\n", "\n")):
        boxes.append(path)
        return {"$": "escaped", "text": json.dumps(wire)}
    if isinstance(wire, list):
        return [_boxed(part, [*path, place], boxes) for place, part in enumerate(wire)]
    if not isinstance(wire, dict):
        return wire
    if "$" not in wire and not any(map(suspicious, wire)):
        return {key: _boxed(part, [*path, key], boxes) for key, part in wire.items()}
    if "$" not in wire or wire["$"] == "object":
        return _boxed_object(list(wire["entries"] if "$" in wire else wire.items()), path, boxes)
    if wire["$"] == "escaped":  # a lone surrogate
        boxes.append(path)
    return wire


def _boxed_object(entries: list[Any], path: Steps, boxes: list[Steps]) -> Wire:
    # A key that hides something cannot be shown as a label: the whole object becomes JSON text.
    if any(suspicious(key) if isinstance(key, str) else key.get("$") == "escaped" for key, _ in entries):
        boxes.append(path)
    shown = [[_escaped(key), _boxed(part, [*path, _key(key)], boxes)] for key, part in entries]
    return {"$": "object", "entries": shown}


def _escaped(key: Wire) -> Wire:
    hides = isinstance(key, str) and suspicious(key)
    return {"$": "escaped", "text": json.dumps(key)} if hides else key


def _key(key: Wire) -> str:
    return str(json.loads(key["text"]) if isinstance(key, dict) else key)
