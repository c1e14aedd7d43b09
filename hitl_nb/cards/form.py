"""The card of every tool that has no other: a form, drawn from the schema of the arguments or of the answer.

The browser sends only what the person changed; it is applied here, to the proposed object itself, and checked. So an
untouched Confirm answers with exactly what was proposed, and an edit changes exactly one place (facts/peers.md §3: no
form library does both).
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hitl_nb._calls import Call, Handle, edits_of, is_as_proposed
from hitl_nb._schema import MISSING, apply_edits, hide_secrets, to_wire
from hitl_nb.cards._card import Card, Row
from hitl_nb.cards._exact import readable_form, readable_value
from hitl_nb.cards._page import Page, page_of, preview_of
from hitl_nb.cards._rows import answer_row, approved_headline, argument_rows, change_rows, row_props, rows_of
from hitl_nb.cards._text import visible, visible_tree
from hitl_nb.errors import InvalidValue


class Form(Card):
    """A proposal to review and edit, or an answer to give.

    Args:
        call: The call. If its answer type takes what was proposed (the arguments themselves, or the only one of them
            if that is a list or object), or if it has none, the proposal is reviewed: confirmed, edited, declined, or
            answered with words instead. Otherwise the arguments are the question, and the form is for the answer.
        initial: What the answer starts from, in place of an empty form; then nothing is reviewed.
    """

    module: ClassVar[str] = "form"
    tells_edits: ClassVar[bool] = True

    def __init__(self, call: Call, *, initial: Any = MISSING) -> None:
        super().__init__(call)
        self._initial = initial
        self._opened: Page | None = None
        self._errors: list[dict[str, Any]] = []

    def props(self) -> dict[str, Any]:
        """Give the form tree, the value with its secrets hidden, what to read beside it, and the errors by path."""
        page = self._page()
        return {
            "form": page.form.to_wire(),
            "value": to_wire(hide_secrets(page.value, page.form)),
            "layout": page.layout,
            "rows": row_props(argument_rows(self.call)) if page.mode == "answer" else [],
            "mode": page.mode,
            "instead": self._takes_words(page),
            "errors": self._errors,
        }

    def shown(self) -> tuple[dict[str, Any], bool]:
        """Give `props`, exact where the person edits, with every invisible character written out."""
        props = self.props()
        form, in_form = readable_form(props["form"])
        value, layout, in_value = readable_value(props["value"], props["layout"])
        rows, in_rows = visible_tree(props["rows"])
        errors = [{**error, "message": visible(error["message"])} for error in self._errors]
        shown = {"form": form, "value": value, "layout": layout, "rows": rows, "errors": errors}
        return props | shown, in_form or in_value or in_rows

    def answer(self, value: Any) -> Any:
        """Give the value of ``{"edits": [...]}``: the proposal itself if nothing was changed.

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
            return self.call.respond(value)
        self._errors = []
        if isinstance(value, Mapping) and "instead" in value:
            return self._decide_instead(value["instead"])
        try:
            final = self.answer(value)
            if self._page().mode == "review" and not edits_of(self.call, final):
                final = self._page().value  # also after a change that was taken back: the identical object
            return self.call.respond(final)
        except InvalidValue as error:
            self._errors = error.errors
            Handle.of(self.call).problem(str(error))
            raise

    def headline(self) -> str:
        """Give what became of the proposal."""
        if self.call.edits:
            return approved_headline(self.call)
        return "Confirmed" if self._is_as_proposed() else "Answered"

    def rows(self) -> Sequence[Row]:
        """Give what was asked, what was answered, and every change with what was there before."""
        if not self.call.approved:
            return argument_rows(self.call)
        if self.call.edits:
            page = self._page()
            return [*rows_of(self.call.answer, page.form, page.name), *change_rows(self.call)]
        answer = [] if self.call.answer is None or self._is_as_proposed() else [answer_row(self.call)]
        return [*argument_rows(self.call), *answer]

    def _page(self) -> Page:
        if self.call.status == "inProgress":
            return preview_of(self.call)
        if self._opened is None:
            self._opened = page_of(self.call, self._initial)
        return self._opened

    def _takes_words(self, page: Page) -> bool:
        # The code behind a checkpoint can read no words; a declined one has its reason.
        return page.mode == "review" and self.call.kind == "tool"

    def _decide_instead(self, words: Any) -> bool:
        if isinstance(words, str) and words.strip():
            if getattr(self.call.answer_type, "type", None) is str:
                return self.call.respond(words)
            if self._takes_words(self._page()):
                return self.call.answer_instead(words)
        raise InvalidValue(f"`{self.call.name}` needs the form filled in, or a Decline with the reason.")

    def _is_as_proposed(self) -> bool:
        return self._initial is MISSING and is_as_proposed(self.call)


def _edits_in(value: Any) -> list[Mapping[str, Any]]:
    edits = value.get("edits") if isinstance(value, Mapping) else None
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        raise InvalidValue('The card sent no list of edits. Send `{"edits": []}` for none.')
    return edits
