"""``@human_feedback`` on a card: a button of ``emit=`` is its outcome, and silence is never a yes.

CrewAI asks a model what even the exact words ``approved`` mean, after the person has answered, and takes no answer
for the first outcome of the list (facts/crewai.md §4.1, points 3 and 4).
"""

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from hitl_nb.cards import Text
from hitl_nb.cards.reply import Reply
from hitl_nb.crewai._patch import framework, replaced
from hitl_nb.crewai._run import ask
from hitl_nb.crewai._words import WORDS
from hitl_nb.errors import NotApproved, UsageError


class CardFeedback:
    """The provider of ``@human_feedback`` methods that name none themselves (CrewAI's `HumanFeedbackProvider`)."""

    async def request_feedback(self, context: Any, flow: Any) -> str:
        """Ask for feedback on what the method returned; CrewAI awaits it in the Flow's own loop.

        Returns:
            One of ``context.emit``, or the person's words; never empty.

        Raises:
            HitlError: Nobody answered, or the answer was no: the Flow fails, and nothing is approved.
        """
        outcomes = {label: label for label in context.emit or ()}
        answer: str = await ask(
            context.message,
            _shown(context.method_output),
            answer=WORDS,
            reason=context.method_name,
            render=partial(Reply, choices=outcomes) if outcomes else partial(Text, long=True),
        )
        return answer


def _shown(output: Any) -> Any:
    if output is None or isinstance(output, dict) or hasattr(type(output), "model_fields"):
        return output
    return {"output": output}


class _NoModel:
    """In place of a model that cannot be made here (no key, say): a button does not need one."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@contextmanager
def feedback() -> Iterator[None]:
    """Answer every ``@human_feedback`` without a provider of its own by a card."""
    runtime = framework("crewai.flow.runtime")
    config = framework("crewai.flow.flow_config").flow_config
    with ExitStack() as stack:
        # The public property keeps its value under this name; `replaced` can tell whose value it is.
        stack.enter_context(replaced(config, "_hitl_provider", CardFeedback()))
        stack.enter_context(replaced(runtime.Flow, "_finalize_human_feedback", _finalizing(runtime.Flow)))
        # Named differently before crewai 1.15.30.
        for name in ("_resolve_llm_instance", "_deserialize_llm_from_context"):
            if name in vars(runtime):
                stack.enter_context(replaced(runtime, name, _tolerant(getattr(runtime, name))))
        yield


def _tolerant(resolve: Any) -> Any:
    @functools.wraps(resolve)
    def resolved(llm: Any) -> Any:
        if isinstance(llm, _NoModel):
            return llm
        try:
            return resolve(llm)
        except ImportError as error:  # crewai's word for a missing API key, too
            return _NoModel(error)

    return resolved


def _finalizing(flow_class: Any) -> Any:
    original = flow_class._finalize_human_feedback

    @functools.wraps(original)
    async def finalize(self: Any, *, raw_feedback: str, emit: Any, default_outcome: Any, llm: Any, **rest: Any) -> Any:
        label = raw_feedback.strip()
        outcomes = list(emit or ())
        if outcomes and not label and not default_outcome:
            raise NotApproved(
                f"`{rest.get('method_name')}` got no feedback, which is none of {outcomes}. Nothing was approved. "
                f"Write `await flow.resume_async({outcomes[-1]!r})`, or name `default_outcome=` in `@human_feedback`."
            )
        if label in outcomes:
            # For an empty text CrewAI takes `default_outcome` as it is, without asking a model.
            result = await original(self, raw_feedback="", emit=emit, default_outcome=label, llm=llm, **rest)
            result.feedback = raw_feedback
            return result
        if outcomes and label and isinstance(llm, _NoModel):
            raise UsageError(
                f"{raw_feedback!r} is none of {outcomes}, and there is no model that could say which one it means "
                f"({llm.error}). Press one of the buttons, or write `@human_feedback(..., llm=...)`."
            ) from llm.error
        return await original(
            self, raw_feedback=raw_feedback, emit=emit, default_outcome=default_outcome, llm=llm, **rest
        )

    return finalize
