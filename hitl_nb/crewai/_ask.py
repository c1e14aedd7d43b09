"""``flow.ask()`` on a card, from the steps where it can wait.

CrewAI turns every error of a provider into None, which reads like an answer, and calls it in the loop's own thread
from an async step, where it could only freeze (facts/crewai.md §4).
"""

import asyncio
import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from hitl_nb.cards import Text
from hitl_nb.crewai._patch import framework, replaced
from hitl_nb.crewai._run import Stop, ask_blocking, stopping
from hitl_nb.crewai._words import WORDS
from hitl_nb.errors import Expired, UsageError

_timeout: ContextVar[float | None] = ContextVar("hitl_nb_ask_timeout", default=None)


class CardInput:
    """The provider of Flows that name none themselves (CrewAI's `InputProvider`)."""

    def request_input(self, message: str, flow: Any, metadata: Any = None) -> str | None:
        """Ask, and block this worker thread until the answer is there.

        Returns:
            What the person wrote, never empty; None only if the ``timeout=`` of `ask` is over.
        """
        method = framework("crewai.flow.flow_context").current_flow_method_name.get("ask")
        seconds = _timeout.get()
        with stopping():
            try:
                answer: str = ask_blocking(
                    message.strip() or "The flow asks for your input.",
                    answer=WORDS,
                    name=str(method),
                    render=Text,
                    timeout=seconds,
                )
            except Expired:
                if seconds is None:
                    raise
                return None
            return answer


@contextmanager
def asking() -> Iterator[None]:
    """Answer every ``flow.ask()`` of a Flow without a provider of its own by a card."""
    flow_class = framework("crewai.flow.runtime").Flow
    config = framework("crewai.flow.flow_config").flow_config
    with ExitStack() as stack:
        stack.enter_context(replaced(config, "_input_provider", CardInput()))
        stack.enter_context(replaced(flow_class, "ask", _asking(flow_class.ask, config)))
        yield


def _asking(original: Any, config: Any) -> Any:
    @functools.wraps(original)
    def ask(self: Any, message: str, timeout: float | None = None, metadata: Any = None) -> Any:
        if self.input_provider is not None or not isinstance(config.input_provider, CardInput):
            return original(self, message, timeout=timeout, metadata=metadata)
        _refuse_async_steps(message)
        # The question itself ends in time; CrewAI would leave it open, and its thread behind.
        token = _timeout.set(timeout)
        try:
            return original(self, message, metadata=metadata)
        except Stop as stop:
            raise stop.error from stop.error.__cause__
        finally:
            _timeout.reset(token)

    return ask


def _refuse_async_steps(message: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"`self.ask({message!r})` in an async step blocks the loop that has to bring the answer. "
        f"Write `answer = await asyncio.to_thread(self.ask, {message!r})`, or make the step a plain `def`."
    )
