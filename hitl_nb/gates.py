"""`gate`: a function that runs only after a person approved exactly these arguments, wherever it is called from."""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from hitl_nb._schema import parameters_of, validator_for
from hitl_nb._tools import GateTool, human_in_the_loop, keywords_of
from hitl_nb.errors import ToolDefinitionError
from hitl_nb.interrupts import home_loop, interrupt


@dataclass(frozen=True, kw_only=True, repr=False)
class Gate(GateTool):
    """A gated function: a model's tool, and callable from code. Made by `gate`."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask a person about these arguments, then run the function with what was approved.

        Returns:
            What the function returns.

        Raises:
            Declined, Cancelled, Expired, NoHumanError: It was not approved, and has not run.
            InvalidValue: The arguments do not fit the signature.
        """
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        asked = self.parameters.validate(dict(bound.arguments))
        if self.needs_person(asked):
            asked = await interrupt(
                self.description or f"Run `{self.name}`?",
                asked,
                answer=type(asked),
                reason=self.name,
                render=self.render,
            )
        return await self.run(asked)

    def sync(self, *args: Any, **kwargs: Any) -> Any:
        """Do the same from a worker thread, which it blocks until a person has decided.

        Raises:
            Exception: As `interrupt.sync` and the awaited call.
        """
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        asked = self.parameters.validate(dict(bound.arguments))
        if self.needs_person(asked):
            message = self.description or f"Run `{self.name}`?"
            asked = interrupt.sync(message, asked, answer=type(asked), reason=self.name, render=self.render)
        if not inspect.iscoroutinefunction(self.function):
            return self.function(**keywords_of(asked))
        # A coroutine belongs into the loop where the rest of the user's async code lives.
        return asyncio.run_coroutine_threadsafe(self.run(asked), home_loop()).result()

    def __repr__(self) -> str:
        return f"<gate {self.name}>"


@overload
def gate(function: Callable[..., Any], /) -> Gate: ...
@overload
def gate(
    function: None = None,
    /,
    *,
    when: Callable[[Any], Any] | None = None,
    name: str | None = None,
    description: str | None = None,
    render: Any = None,
    follow_up: bool = True,
) -> Callable[[Callable[..., Any]], Gate]: ...


def gate(
    function: Any = None,
    /,
    *,
    when: Callable[[Any], Any] | None = None,
    name: str | None = None,
    description: str | None = None,
    render: Any = None,
    follow_up: bool = True,
) -> Any:
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
        description: What is asked; default: the docstring.
        render: As for `human_in_the_loop`.
        follow_up: As for `human_in_the_loop`.

    Returns:
        A `Gate`.

    Raises:
        ToolDefinitionError: Something is not of these forms; the message shows the line to write.
    """

    def define(decorated: Any) -> Gate:
        if not inspect.isfunction(decorated):
            raise ToolDefinitionError(
                f"`gate` got `{decorated!r}`, which is not a function. Write `@gate` above `def pay(to: str): ...`."
            )
        tool = human_in_the_loop(name=name, description=description, render=render, follow_up=follow_up)(decorated)
        parameters = validator_for(parameters_of(decorated))
        return Gate(
            name=tool.name,
            description=tool.description,
            parameters=parameters,
            answer=parameters,
            render=render,
            follow_up=follow_up,
            function=decorated,
            when=when,
        )

    return define if function is None else define(function)
