"""Whatever Python can do with a value, refused in words: an answer is only what ``await`` gives."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never, SupportsIndex

from hitl_nb.errors import NotAwaitedAttributeError, NotAwaitedError

MYPY = False
"""True to mypy, whatever it is here."""

_REFUSED = {
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "+": "add radd iadd pos",
    "-": "sub rsub isub neg",
    "*": "mul rmul imul",
    "@": "matmul rmatmul imatmul",
    "/": "truediv rtruediv itruediv",
    "//": "floordiv rfloordiv ifloordiv",
    "%": "mod rmod imod",
    "divmod()": "divmod rdivmod",
    "**": "pow rpow ipow",
    "<<": "lshift rlshift ilshift",
    ">>": "rshift rrshift irshift",
    "&": "and rand iand",
    "|": "or ror ior",
    "^": "xor rxor ixor",
    "~": "invert",
    "abs()": "abs",
    "round()": "round trunc floor ceil",
    "int()": "int",
    "float()": "float",
    "complex()": "complex",
    "index()": "index",
    "bytes()": "bytes",
    "open()": "fspath",
    "format()": "format",
    "len()": "len length_hint",
    "[]": "getitem setitem delitem",
    "in": "contains",
    "for": "iter reversed",
    "async for": "aiter",
    "with": "enter exit",
    "async with": "aenter aexit",
    "()": "call",
}
"""How it stands in the code, and the special methods behind it. No ``__next__``: asyncio would step an iterator."""


@dataclass(frozen=True, slots=True)
class Words:
    """How a question is called in errors, and what has to be written instead."""

    call: str
    """The expression as it stands in the code: ``approve('Drop?')``; see `line_of`."""

    write: str = "answer = await {}"
    """The line to write, with ``{}`` where the expression goes: ``if await {}:``."""

    nothing: str = "nothing was asked"
    """What has not happened as long as nobody awaits."""

    def line(self, subject: str | None = None) -> str:
        """Return the line to write, in backticks; `subject` is awaited in it, by default the expression itself."""
        return f"`{self.write.format(subject or self.call)}`"


def line_of(function: str, message: object = ..., *, more: bool = False) -> str:
    """Return a call as it stands in the code, on one line: ``approve('Drop?', ...)``.

    Args:
        function: The function's name.
        message: Its first argument; only text is shown, and not much of it, for it goes to screens and logs.
        more: Whether further arguments were given.
    """
    if not isinstance(message, str):
        return f"{function}(...)"
    shown = message if len(message) <= 60 else f"{message[:59]}…"
    return f"{function}({shown!r}{', ...' if more else ''})"


def say(line: str) -> None:
    """Write one line to stderr. Not a warning: those can be switched off, or made errors that nobody can catch."""
    if not sys.is_finalizing():
        sys.stderr.write(" ".join(f"hitl_nb: {line}".splitlines()) + "\n")


class NotAnAnswer:
    """Refuses truth value, comparison with anything but itself, arithmetic, indexing, iteration, unknown attributes.

    `str` and `repr` are allowed, because logging must not raise; they say the same. ``format`` is not, because an
    f-string may be a query or a prompt.
    """

    __slots__ = ()

    def _excuse(self) -> str:
        """Return the reason why this is no answer, and the line to write: what an error says after its first words."""
        raise NotImplementedError

    def _told(self) -> None:
        """The user has been told; one word is enough."""

    def _refuse(self, how: str) -> Never:
        __tracebackhide__ = True  # IPython's: the error shows the user's line, not ours
        self._told()
        raise NotAwaitedError(f"`{how}` on {self._excuse()}.")

    __hash__ = object.__hash__  # asyncio keeps awaitables in sets

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Never:
        __tracebackhide__ = True
        self._refuse("copy or pickle")

    if not MYPY:  # pyright tells of `if approve(...):` by this; mypy, by `truthy-bool`, where there is none

        def __bool__(self) -> Never:
            __tracebackhide__ = True
            self._refuse("bool()")

    if not TYPE_CHECKING:  # a type checker shall find these slips by itself

        def __eq__(self, other: object) -> bool:
            __tracebackhide__ = True
            return True if other is self else self._refuse("==")

        def __ne__(self, other: object) -> bool:
            __tracebackhide__ = True
            return False if other is self else self._refuse("!=")

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            if name == "_words":  # not made by `__init__`: there are no words yet
                raise AttributeError(name)
            if not name.startswith(("_", "cr_", "gi_", "ag_")):  # those are probed by IPython and asyncio
                self._told()
            raise NotAwaitedAttributeError(f"`.{name}` on {self._excuse()}.")


def _refusing(how: str) -> Callable[..., Never]:
    def refuse(self: NotAnAnswer, *_: object, **__: object) -> Never:
        __tracebackhide__ = True
        self._refuse(how)

    return refuse


for _how, _names in _REFUSED.items():
    for _name in _names.split():
        setattr(NotAnAnswer, f"__{_name}__", _refusing(_how))
