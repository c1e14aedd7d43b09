"""What comes from outside, kept in bounds: every limit with its number, and code of the user's that misbehaves.

A model, a server or a browser may send anything. Below these numbers it works; beyond them it is refused in words that
whoever sent it can act on, before it can hold up the kernel. Nothing else in this package has a limit of its own for
what comes from outside. Characters are Python's, bytes are counted after decompression.
"""

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import GeneratorType
from typing import Any, Final, TypeVar

from hitl_nb._process import has_threads
from hitl_nb._text import logger
from hitl_nb.errors import UsageError

ARGUMENTS: Final = 10_000_000
"""Characters of the JSON text of one call's arguments."""

DEPTH: Final = 100
"""Levels of lists and objects inside one another: in arguments, answers, schemas, states and events."""

SCHEMA_PARTS: Final = 5_000
"""Schemas inside one schema."""

SCHEMA_VALUES: Final = 200_000
"""Values of any kind inside one schema: choices, examples, descriptions."""

PATTERN: Final = 1_000
"""Characters of a regular expression in a schema."""

PATTERN_SIZE: Final = 10_000
"""Parts of a regular expression, counted as often as they are repeated: `a{3}b` has four."""

PATTERN_STEPS: Final = 15_000_000
"""Parts of a regular expression times characters of the text: what one match may cost, some 0.2 s at the worst."""

CHECK_STEPS: Final = 1_500_000
"""Keywords that are applied to check one value against one JSON Schema; large ones count more than once."""

MERGE_STEPS: Final = 100_000
"""References and `allOf` that are followed to draw one form."""

FAULTS: Final = 100
"""Faults of one value that are named; checking ends there."""

EVENT: Final = 32_000_000
"""Characters or bytes of one event of a stream."""

STREAM: Final = 256_000_000
"""Bytes of one run's stream."""

ANSWER: Final = 10_000_000
"""Characters of an answer, or of what a tool gave back, as the model is told it."""

WORDS: Final = 4_000
"""Characters of an error's words: for the model, a person, the log."""

LOGGED: Final = 8_000
"""Characters of a traceback in the log."""

PREVIEW: Final = 300_000
"""Characters of arguments up to which they are shown while a model writes them."""

INLINE: Final = 20_000
"""Characters from which on work leaves the event loop: less takes some milliseconds."""

_T = TypeVar("_T")


class TooMuch(ValueError):  # noqa: N818 - of what there is too much is the message
    """Something is beyond a limit; the message says of what there is too much, and how much is taken."""


def read_json(text: str, *, longest: int = ARGUMENTS) -> Any:
    """Return what a JSON text says.

    Args:
        text: What came from outside.
        longest: Characters that are taken.

    Raises:
        ValueError: It is no JSON, or (`TooMuch`) longer or deeper than is taken.
    """
    if len(text) > longest:
        raise TooMuch(f"it has {len(text):,} characters; at most {longest:,} are taken")
    try:
        value = json.loads(text)
    except RecursionError:
        raise TooMuch(_TOO_DEEP) from None
    if is_deep(value):
        raise TooMuch(_TOO_DEEP)
    return value


_TOO_DEEP: Final = f"it is nested more than {DEPTH} levels deep"


def is_deep(value: object) -> bool:
    """Whether plain data are nested deeper than `DEPTH`, or contain themselves."""
    # Level by level, and not by recursion, which is what is to be prevented.
    level: list[Any] = [value] if type(value) in _HOLD else []
    for _ in range(DEPTH):
        if not level:
            return False
        level = _inside(level)
    return bool(level)


def _inside(level: list[Any]) -> list[Any]:
    """Give what holds something among what these hold."""
    parts = [part for each in level for part in (each.values() if type(each) is dict else each) if type(part) in _HOLD]
    # A value that contains itself many times has few parts, however often they are met.
    return parts if len(parts) < _WIDE else list({id(part): part for part in parts}.values())


def refuse_endless(value: object) -> None:
    """Refuse plain data that are too deep, or hold a generator: to look at it would use it up, or never end.

    Raises:
        TooMuch: Says which.
    """
    if isinstance(value, GeneratorType):
        raise TooMuch(_GENERATOR)
    level: list[Any] = [value] if type(value) in _HOLD else []
    for _ in range(DEPTH):
        if not level:
            return
        for each in level:
            for part in each.values() if type(each) is dict else each:
                if isinstance(part, GeneratorType):
                    raise TooMuch(_GENERATOR)
        level = _inside(level)
    if level:
        raise TooMuch(_TOO_DEEP)


_GENERATOR: Final = "it holds a generator, which can be read once; make a list of it"


_HOLD: Final = frozenset({dict, list, tuple, set, frozenset})
_WIDE: Final = 10_000


async def aside(work: Callable[[], _T], size: int) -> _T:
    """Do `work` in place if it is small, else in a thread, so that the loop goes on meanwhile.

    Args:
        work: Must touch nothing that the loop changes meanwhile.
        size: Characters that it is about.

    Raises:
        Exception: Whatever `work` raised.
    """
    return work() if size <= INLINE else await beside_the_loop(work)


async def beside_the_loop(work: Callable[..., _T], *arguments: object) -> _T:
    """Do `work` in a thread, so that the loop goes on meanwhile; where there are no threads, here and now.

    Args:
        work: Must touch nothing that the loop changes meanwhile.
        *arguments: Its own.

    Raises:
        Exception: Whatever `work` raised.
    """
    return await asyncio.to_thread(work, *arguments) if has_threads() else work(*arguments)


# -- code of other people -----------------------------------------------------------------------------------------


@contextmanager
def contained(what: str) -> Iterator[None]:
    """Keep what code of the user's raises inside from ending the kernel, or from looking like the stop button.

    Args:
        what: Whose code it is, as the subject of a sentence.

    Raises:
        UsageError: It raised what is no `Exception`: `SystemExit`, a `CancelledError` although nobody has stopped it.
        CancelledError: It was stopped; also by a `KeyboardInterrupt`, which a task must not let out of the loop.
        Exception: As it came.
    """
    try:
        yield
    except Exception:
        raise
    except asyncio.CancelledError as error:
        task = _current_task()
        if isinstance(error, _Interrupted) or (task is not None and task.cancelling()):
            raise
        raise UsageError(f"{what} raised CancelledError, although nobody has stopped it.") from error
    except KeyboardInterrupt as error:
        if _current_task() is None:
            raise
        raise _Interrupted(f"{what} raised KeyboardInterrupt") from error
    except BaseException as error:
        raise UsageError(f"{what} raised {type(error).__name__}({words_of(error)}).") from error


class _Interrupted(asyncio.CancelledError):
    """A `KeyboardInterrupt` on its way through tasks."""


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def words_of(error: BaseException) -> str:
    """Give what an error says, at most `WORDS` characters of it, also where asking it fails."""
    try:
        return brief(str(error))
    except BaseException as failure:
        return f"(its words cannot be read: {type(failure).__name__})"


def brief(text: str, longest: int = WORDS) -> str:
    """Give `text`, or its beginning and its end if it is longer than that."""
    if len(text) <= longest:
        return text
    return f"{text[: longest * 2 // 3]} […{len(text) - longest:,} characters…] {text[-longest // 3 :]}"


class _Brief(logging.Filter):
    """Keeps what is logged of an error in bounds, its traceback too."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = brief(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = brief(record.exc_text or _traceback_of(record.exc_info[1]), LOGGED)
        return True


def _traceback_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error, limit=-_FRAMES)).rstrip("\n")
    except BaseException:  # its words may raise anything
        return f"{type(error).__name__}: {words_of(error)}"


_FRAMES: Final = 20

for _name in ("hitl_nb", "hitl_nb.agui"):
    logger(_name).addFilter(_Brief())  # behind its own: what is cut in two could not be masked
