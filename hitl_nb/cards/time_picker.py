"""A time to choose, from slots that the application knows: the field's own `schedule_meeting` example."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from hitl_nb._calls import Call
from hitl_nb.cards._card import Card, Row, argument_rows
from hitl_nb.cards._text import plain
from hitl_nb.cards.choice import Described, chosen_of, described, is_option
from hitl_nb.errors import InvalidValue, ToolDefinitionError


class TimePicker(Card):
    """Slots under their days; the answer is the chosen slot itself: ``render=partial(TimePicker, slots=free_slots)``.

    Args:
        call: The call; its arguments say what is scheduled.
        slots: Datetimes, dates, texts, dicts or objects (with ``label``, ``note``, ``group``); or a function, plain or
            async, that gets the `Call` and gives them (a calendar, a database). It is called once, when the question
            opens, and the card says that it is loading meanwhile.
    """

    module: ClassVar[str | Path] = "time_picker"
    style: ClassVar[str | Path | None] = "time_picker"

    def __init__(self, call: Call, *, slots: Iterable[Any] | Callable[[Call], Any]) -> None:
        super().__init__(call)
        if isinstance(slots, str) or not (callable(slots) or isinstance(slots, Iterable)):
            raise ToolDefinitionError(
                f"`TimePicker` got `{slots!r}` as slots. Write `slots=[datetime(2026, 3, 2, 10), ...]`, or "
                "`slots=free_slots` with `async def free_slots(call): ...`."
            )
        self._source = slots if callable(slots) else None
        self._slots: list[Described] | None = None if callable(slots) else [_slot(slot) for slot in slots]
        self._fetching: asyncio.Task[None] | None = None

    def props(self) -> dict[str, Any]:
        """Give the rows to read and the slots, once they are there."""
        slots = self._slots or []
        return {
            "rows": self.context(),
            "slots": [{"label": slot.label, "note": slot.note, "group": slot.group} for slot in slots],
            "loading": self._slots is None,
        }

    async def prepare(self) -> None:
        """Fetch the slots from the application, once.

        Raises:
            Exception: Whatever the application raised.
        """
        if self._slots is None:
            # Shown in two cells, it is still asked once.
            self._fetching = self._fetching or asyncio.ensure_future(self._fetch())
            await asyncio.shield(self._fetching)

    async def _fetch(self) -> None:
        assert self._source is not None
        found = self._source(self.call)
        if inspect.isawaitable(found):
            found = await found
        self._slots = [_slot(slot) for slot in found]

    def answer(self, value: Any) -> Any:
        """Give the chosen slot itself.

        Raises:
            InvalidValue: The slots are not there yet, or none was chosen.
        """
        if self._slots is None:
            raise InvalidValue("The times are still being loaded.")
        return chosen_of(value, self._slots, at_least=1, at_most=1)[0].value

    def headline(self) -> str:
        """Give the time that was chosen."""
        return f"Chose {self._words()}"

    def rows(self) -> Sequence[Row]:
        """Give what was scheduled."""
        return argument_rows(self.call)

    def _words(self) -> str:
        answer = self.call.answer
        slot = next((slot for slot in self._slots or () if is_option(slot, answer)), None) or _slot(answer)
        words = f"{slot.group}, {slot.label}" if slot.group else slot.label
        return f"{words} ({slot.note})" if slot.note else words


# Not `strftime`: what stands in a notebook must not depend on the machine's language.
_DAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS: Final = "January February March April May June July August September October November December".split()


def _slot(value: Any) -> Described:
    if isinstance(value, datetime):
        offset = value.strftime("%z")
        zone = "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:5]}" if offset else ""
        return Described(value=value, label=f"{value:%H:%M}", note=zone, group=_day(value))
    if isinstance(value, date):
        return Described(value=value, label=_day(value))
    return described(value) if value is not None else Described(value=value, label=plain(value))


def _day(day: date) -> str:
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"
