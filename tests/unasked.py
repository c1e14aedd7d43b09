"""Questions without people: what an un-awaited question is, tested on functions that ask nobody."""

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from hitl_nb._awaiting import Stage, Unasked, Words, line_of

P = ParamSpec("P")
T = TypeVar("T")


def unasked(
    *, write: str = "answer = await {}", nothing: str = "nothing was asked", stage: Stage | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Unasked[T]]]:
    """Have an async function give an `Unasked`.

    ::

        @unasked(write="if await {}:")
        async def approve(message: str, payload: Any = None) -> bool: ...

    Args:
        write: The line to write, with ``{}`` where the call goes.
        nothing: What has not happened as long as nobody awaits.
        stage: As for `Unasked`; called with the function's arguments.
    """

    def wrap(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Unasked[T]]:
        name = getattr(function, "__name__", "ask")
        says = next(iter(inspect.signature(function).parameters), None) == "message"

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Unasked[T]:
            message = (args[0] if args else kwargs.get("message")) if says else None
            words = Words(line_of(name, message, more=len(args) + len(kwargs) > 1), write, nothing)
            opening = None if stage is None else functools.partial(stage, *args, **kwargs)
            return Unasked(functools.partial(function, *args, **kwargs), words, opening)

        return call

    return wrap
