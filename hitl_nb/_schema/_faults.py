"""What is wrong with a value, and where: one `Fault` each, and the error that carries them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hitl_nb.errors import InvalidValue

__all__ = ["Fault", "invalid"]

_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong."""

    path: tuple[str | int, ...]
    """Keys and indices from the root of the value; empty for the value itself."""

    message: str
    """What a person reads beside the control; never the value, which may be secret or 18 kB."""


def invalid(name: str, faults: Iterable[Fault]) -> InvalidValue:
    """The error for the value of the type `name`; a fault that is said twice is reported once."""
    found = list(dict.fromkeys(faults))
    lines = [f"`{_dotted(fault.path)}`: {fault.message}" if fault.path else fault.message for fault in found]
    more = f" (and {len(lines) - _SHOWN} more)" if len(lines) > _SHOWN else ""
    return InvalidValue(
        f"Not a valid `{name}`: {'; '.join(lines[:_SHOWN])}{more}",
        [{"path": list(fault.path), "message": fault.message} for fault in found],
    )


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in path)
