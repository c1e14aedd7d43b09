"""`gate`: a function that runs only after a person approved exactly these arguments, wherever it is called from."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, cast, overload

from typing_extensions import ParamSpec, TypeVar

from hitl_nb._awaiting import Unasked, Words, line_of
from hitl_nb._calls import Handle, frozen
from hitl_nb._doors import at_home
from hitl_nb._encoding import encode
from hitl_nb._schema import parameters_of, validator_for
from hitl_nb._steps import Again
from hitl_nb._tools import GateTool, Renderer, human_in_the_loop, keywords_of
from hitl_nb.errors import InvalidValue, ToolDefinitionError
from hitl_nb.interrupts import Options, again_of, decided, home_loop, on_stage, question, run_blocking

__all__ = ["Gate", "gate"]

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def _noting(handle: Handle | None) -> Iterator[Callable[[R], R]]:
    """Note what came of a run under a grant: what it returned, or that it failed or was stopped."""
    ended: list[str] = []

    def note(value: R) -> R:
        try:
            ended.append(encode(value))
        except InvalidValue:
            ended.append(repr(value))
        return value

    try:
        yield note
    except BaseException as error:
        ended.append(f"Error: {error}" if isinstance(error, Exception) else "Error: it was stopped while it ran.")
        raise
    finally:
        if handle is not None:
            handle.grant.end(ended[0] if ended else "")


@contextmanager
def _kept(again: Again | None) -> Iterator[Callable[[R], R]]:
    """Keep what comes of a run for the round in which its step runs again."""
    if again is None:
        yield lambda value: value
        return
    with again.running():
        yield again.note


@dataclass(frozen=True, kw_only=True, repr=False)
class Gate(GateTool[P, R], Generic[P, R]):
    """A gated function: a model's tool, and callable from code. Made by `gate`."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Unasked[R]:
        """Ask a person about these arguments, then run the function with what was approved.

        Returns:
            What the function returns, once awaited.

        Raises:
            TypeError: These are not the function's parameters; at once.
            Declined, Cancelled, Expired, NoHumanError: It was not approved, and has not run.
            InvalidValue: The arguments do not fit the signature.
        """
        words = Words(line_of(self.name), "result = await {}", "nothing was asked, and nothing has run")
        return Unasked(partial(self._asked, self._bound(*args, **kwargs)), words, on_stage)

    async def _asked(self, arguments: dict[str, object]) -> R:
        handle, approved, again = await self._permitted(arguments)
        if again is not None and again.recognised:
            return cast("R", again.result())
        with _noting(handle) as note, _kept(again) as keep:
            return keep(note(await self.run(approved)))

    def sync(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Do the same from a worker thread, which it blocks until a person has decided.

        Raises:
            Exception: As `interrupt.sync` and the awaited call.
        """
        arguments = self._bound(*args, **kwargs)
        handle, approved, again = run_blocking(partial(self._permitted, arguments), self._question)
        if again is not None and again.recognised:
            return cast("R", again.result())
        with _noting(handle) as note, _kept(again) as keep:
            function: Callable[..., object] = self.function
            if not inspect.iscoroutinefunction(function):
                return keep(note(cast("R", function(**keywords_of(approved)))))
            # A coroutine belongs into the loop where the rest of the user's async code lives.
            return keep(note(asyncio.run_coroutine_threadsafe(self.run(approved), home_loop()).result()))

    async def _permitted(self, arguments: dict[str, object]) -> tuple[Handle | None, object, Again | None]:
        """Have arguments approved; returns the grant's handle (None where no person is needed), and what to run with.

        And where this stands, should the step run again: if that is recognised, it has run, and does not run now.

        Raises:
            Exception: As the awaited call.
        """
        asked = self.parameters.validate(arguments)
        # `kind`: a rule about the tool is about this as well.
        options = Options(name=self.name, title=self.title, kind="tool", render=self.render, gated=True, undo=self.undo)
        call = question(self._question, options, answer_type=self.parameters, offer=asked)
        again = again_of(call, asked, options)
        if not self.needs_person(frozen(asked)):
            if again is not None and again.has_run:
                again.recognise()
            return None, asked, again
        await decided(call, asked, options, again)
        handle = Handle.of(call)
        if again is not None and again.recognised:
            return None, None, again
        return handle, await handle.grant.begin(), again

    def _bound(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, object]:
        try:
            return dict(inspect.signature(self.function).bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None

    @property
    def _question(self) -> str:
        return self.description or f"Run `{self.name}`?"

    def __repr__(self) -> str:
        return f"<gate {self.name}>"


class MakesGate(Protocol):
    """What ``gate(...)`` with options only is: it takes the function."""

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Gate[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Gate[P, R]: ...


@overload
def gate(
    function: Callable[P, Awaitable[R]],
    /,
    *,
    when: Callable[[Any], object] | None = None,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    undo: float = 0,
) -> Gate[P, R]: ...
@overload
def gate(
    function: Callable[P, R],
    /,
    *,
    when: Callable[[Any], object] | None = None,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    undo: float = 0,
) -> Gate[P, R]: ...
@overload
def gate(
    function: None = None,
    /,
    *,
    when: Callable[[Any], object] | None = None,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    undo: float = 0,
) -> MakesGate: ...


def gate(
    function: object = None,
    /,
    *,
    when: Callable[[Any], object] | None = None,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    undo: float = 0,
) -> object:
    """Put a person in front of a function: it runs only after they approved exactly these arguments.

    ::

        @gate(when=lambda args: args.amount > 100)
        def pay(to: str, amount: int) -> str:
            "Send money."

    As a model's tool (``Session(..., tools=[pay])``) the model gets what the function returns; in a cell it is
    ``await pay("ada", 500)``; in a worker thread ``pay.sync("ada", 500)``. Arguments are validated first, shown, and
    then run as shown (or as the person edited them).

    Args:
        function: The decorated function, plain or async, with annotated parameters.
        when: Gets the typed arguments and says whether a person is needed; what raises, or gives anything but False,
            asks. Default: always.
        name: The name given to the model; default: the function's.
        title: As for `human_in_the_loop`.
        description: What is asked; default: the docstring.
        render: As for `human_in_the_loop`.
        follow_up: As for `human_in_the_loop`.
        undo: As for `human_in_the_loop`.

    Returns:
        A `Gate`.

    Raises:
        ToolDefinitionError: Something is not of these forms; the message shows the line to write.
    """

    def define(decorated: object) -> Gate[..., object]:
        if not inspect.isfunction(decorated):
            raise ToolDefinitionError(
                f"`gate` got `{decorated!r}`, which is not a function. Write `@gate` above `def pay(to: str): ...`."
            )
        tool = human_in_the_loop(
            decorated, name=name, title=title, description=description, render=render, follow_up=follow_up, undo=undo
        )
        parameters = validator_for(parameters_of(decorated))
        return Gate(
            name=tool.name,
            title=title,
            description=tool.description,
            parameters=parameters,
            answer=parameters,
            render=render,
            follow_up=follow_up,
            undo=undo,
            function=decorated,
            when=when,
        )

    return define if function is None else define(function)


at_home(gate)
