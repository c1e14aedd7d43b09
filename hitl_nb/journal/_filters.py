"""Which part of the journal: `tool=`, `outcome=`, `by=`, `thread=`, `since=`, the same everywhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

from hitl_nb.errors import UsageError
from hitl_nb.journal._transaction import written


class Filters(TypedDict, total=False):
    """What to take; each is one value or several, and all that are given have to fit."""

    tool: str | Iterable[str] | None
    """The tool's name."""

    outcome: str | Iterable[str] | None
    """How it ended; ``open`` for calls without a decision."""

    by: str | Iterable[str] | None
    """Who decided."""

    thread: str | Iterable[str] | None
    """The conversation."""

    since: datetime | timedelta | str | None
    """What was asked at this time or later: a datetime (naive: local), an ISO text, or a timedelta back from now."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Filters as SQL."""

    sql: str
    parameters: tuple[Any, ...]


def condition(filters: Filters, columns: dict[str, str]) -> Condition:
    """Give the SQL condition of `filters`.

    Args:
        filters: What the user wrote.
        columns: Filter → the SQL expression that it is compared with.

    Raises:
        UsageError: A filter that there is not, or a `since` that is no time.
    """
    unknown = filters.keys() - columns.keys()
    if unknown:
        known = ", ".join(f"`{name}=`" for name in columns)
        raise UsageError(f"The journal has no filter `{min(unknown)}=`. Write one of {known}.")
    parts, parameters = ["1"], []
    for name, value in filters.items():
        if value is None:
            continue
        if name == "since":
            parts.append(f"{columns[name]} >= ?")
            parameters.append(_moment(value))
        else:
            wanted = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]  # not `since`
            parts.append(f"{columns[name]} IN ({', '.join('?' * len(wanted))})")
            parameters += wanted
    return Condition(sql=" AND ".join(parts), parameters=tuple(parameters))


def _moment(value: Any) -> str:
    try:
        if isinstance(value, timedelta):
            return written(datetime.now(UTC) - value)
        # A naive time is the clock on the wall of whoever asks.
        return written(value if isinstance(value, datetime) else datetime.fromisoformat(str(value)))
    except ValueError as error:
        raise UsageError(
            f'`since={value!r}` is no time. Write `since="2026-01-31"` or `since=timedelta(days=7)`.'
        ) from error
