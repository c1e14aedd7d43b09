"""One or several of a few options; the answer is the option itself, not its label."""

from collections.abc import Sequence
from typing import Any, ClassVar

from hitl_nb._calls import Call
from hitl_nb.cards._card import Card, Row, names_of, value_of
from hitl_nb.cards._options import Described, chosen_of, described, is_option
from hitl_nb.cards._rows import answer_row, argument_rows, row_props
from hitl_nb.errors import ToolDefinitionError


class Choice(Card):
    """Options to choose from: ``render=partial(Choice, options=["keep", "drop"])``.

    Args:
        call: The call.
        options: Texts, numbers, dates, dicts or objects. Default: the first list among the call's arguments, so that a
            tool ``def pick(question: str, options: list[str]) -> str`` lets the model propose them.
        multiple: Whether several may be chosen; the answer is then a list, in the order of the options.
        min: How many at least, where several may be chosen.
        max: How many at most; None for all.
        label: The field of an option that names it; default: ``label``, ``title``, ``name`` or ``description``.
        note: The field that says more about it; default: ``note`` or ``description``.
    """

    module: ClassVar[str] = "choice"

    def __init__(
        self,
        call: Call,
        *,
        options: Sequence[Any] | None = None,
        multiple: bool = False,
        min: int = 1,  # noqa: A002 - the field's own word
        max: int | None = None,  # noqa: A002
        label: str | None = None,
        note: str | None = None,
    ) -> None:
        super().__init__(call)
        if options is not None and (isinstance(options, str) or not list(options)):
            raise ToolDefinitionError(
                f'`Choice` got `{options!r}` to choose from. Write `options=["keep", "drop"]`, with one or more.'
            )
        self._given = None if options is None else list(options)
        self._multiple = multiple
        self._min, self._max = (min, max) if multiple else (1, 1)
        self._label, self._note = label, note

    def props(self) -> dict[str, Any]:
        """Give the rows to read and the options that are there so far."""
        return {
            "rows": row_props(self._questions()),
            "options": [{"label": option.label, "note": option.note} for option in self._options()],
            "multiple": self._multiple,
            "min": self._min,
            "max": self._max,
        }

    def answer(self, value: Any) -> Any:
        """Give the chosen option itself, or the list of them.

        Raises:
            InvalidValue: No choice, too few or too many.
        """
        chosen = [option.value for option in chosen_of(value, self._options(), at_least=self._min, at_most=self._max)]
        return chosen if self._multiple else chosen[0]

    def headline(self) -> str:
        """Give the choice, or how many were chosen."""
        options = self._options()
        chosen = self._chosen(options)
        if not chosen and self.call.answer not in ([], ()):
            return "Answered"
        return f"Chose {len(chosen)} of {len(options)}" if self._multiple else f"Chose {chosen[0].label}"

    def rows(self) -> Sequence[Row]:
        """Give what was asked, every option with whether it was chosen, and an answer that is none of them."""
        options, decided = self._options(), self.call.approved
        chosen = self._chosen(options)
        rows = [
            Row(text=_line(option), mark=("on" if option in chosen else "off") if decided else "") for option in options
        ]
        other = [answer_row(self.call)] if decided and not chosen and self.call.answer not in ([], (), None) else []
        return [*self._questions(), *rows, *other]

    def _chosen(self, options: Sequence[Described]) -> list[Described]:
        answer = self.call.answer
        answers = answer if self._multiple and isinstance(answer, list) else [answer]
        return [option for option in options if any(is_option(option, each) for each in answers)]

    def _questions(self) -> list[Row]:
        return argument_rows(self.call, without=() if self._given is not None else (self._field() or "",))

    def _options(self) -> list[Described]:
        values: Any = self._given
        if values is None:
            field = self._field()
            values = value_of(self.call.args, field) if field is not None else []
        return [described(value, label=self._label, note=self._note) for value in values]

    def _field(self) -> str | None:
        """The argument that holds the options."""
        args = self.call.args
        field = next((name for name in names_of(args) if isinstance(value_of(args, name), list)), None)
        if field is None and self.call.status != "inProgress":
            raise ToolDefinitionError(
                f"`Choice` finds nothing to choose from among the arguments of `{self.call.name}` "
                f"({', '.join(names_of(args)) or 'none'}). Write `render=partial(Choice, options=[...])`, or a tool "
                "with `options: list[str]`."
            )
        return field


def _line(option: Described) -> str:
    return f"{option.label} ({option.note})" if option.note else option.label
