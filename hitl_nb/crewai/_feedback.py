"""``@human_feedback`` on a card: a button of ``emit=`` is its outcome, and silence is never a yes.

CrewAI asks a model what even the exact words ``approved`` mean, after the person has answered, and takes no answer
for the first outcome of the list (facts/crewai.md §4.1, points 3 and 4). What a model makes of words is a guess, so a
person is asked whether it is right: ``no!`` that a model reads as ``approved`` is not approved.
"""

import asyncio
import functools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ClassVar, Final

from hitl_nb.cards import Approval, Text
from hitl_nb.cards.reply import QuickReply
from hitl_nb.crewai._labels import label_of
from hitl_nb.crewai._patch import framework, replaced
from hitl_nb.crewai._run import ask
from hitl_nb.crewai._words import WORDS
from hitl_nb.errors import Declined, NotApproved, UsageError


class CardFeedback:
    """The provider of ``@human_feedback`` methods that name none themselves (CrewAI's `HumanFeedbackProvider`)."""

    async def request_feedback(self, context: Any, flow: Any) -> str:
        """Ask for feedback on what the method returned; CrewAI awaits it in the Flow's own loop.

        Returns:
            One of ``context.emit``, or the person's words; never empty.

        Raises:
            HitlError: Nobody answered, or the answer was no: the Flow fails, and nothing is approved.
        """
        return await _asked(context.message, context.method_output, context.emit or (), context.method_name)


async def _asked(message: str, output: Any, outcomes: Sequence[str], method: str) -> str:
    choices = {label: label for label in outcomes}
    answer: str = await ask(
        message,
        _shown(output),
        answer=WORDS,
        name=method,
        render=partial(QuickReply, choices=choices) if choices else partial(Text, long=True),
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
        # Named differently before crewai 1.15.30.
        names = [name for name in ("_resolve_llm_instance", "_deserialize_llm_from_context") if name in vars(runtime)]
        for name in names:
            stack.enter_context(replaced(runtime, name, _tolerant(getattr(runtime, name))))
        model_of = getattr(runtime, names[0] if names else "_resolve_llm_instance")
        stack.enter_context(replaced(runtime.Flow, "_finalize_human_feedback", _finalizing(runtime.Flow, model_of)))
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


def _finalizing(flow_class: Any, model_of: Any) -> Any:
    original = flow_class._finalize_human_feedback

    @functools.wraps(original)
    async def finalize(
        self: Any,
        *,
        method_name: str,
        method_output: Any,
        raw_feedback: str,
        emit: Any,
        default_outcome: Any,
        **rest: Any,
    ) -> Any:
        about = {"method_name": method_name, "method_output": method_output, "emit": emit, **rest}
        outcomes = list(emit or ())
        if not outcomes or (default_outcome and not raw_feedback.strip()):
            return await original(self, raw_feedback=raw_feedback, default_outcome=default_outcome, **about)
        words = raw_feedback
        while (outcome := label_of(words, outcomes)) is None:
            _refuse_silence(words, outcomes, method_name)
            here = _asked_here(self, method_name)
            meant = await _meant(self, words, outcomes, model_of(rest.get("llm")))
            if await _is_right(words, meant, method_name, theirs=here is not None):
                outcome = meant
                break
            if here is None:
                raise _not_so(words, meant, outcomes)
            words = await _asked(here.message, method_output, outcomes, method_name)
        # For an empty text CrewAI takes `default_outcome` as it is, without asking a model.
        result = await original(self, raw_feedback="", default_outcome=outcome, **about)
        result.feedback = words
        return result

    return finalize


def _refuse_silence(words: str, outcomes: list[str], method: str) -> None:
    if not words.strip():
        raise NotApproved(
            f"`{method}` got no feedback, which is none of {outcomes}. Nothing was approved. "
            f"Write `await flow.resume_async({outcomes[-1]!r})`, or name `default_outcome=` in `@human_feedback`."
        )


async def _meant(flow: Any, words: str, outcomes: list[str], model: Any) -> str:
    """Have the Flow's own model say which outcome the words mean."""
    if model is None or isinstance(model, _NoModel):
        why = f" ({model.error})" if model is not None else ""
        raise UsageError(
            f"{words!r} is none of {outcomes}, and there is no model that could say which one it means{why}. "
            "Press one of the buttons, or write `@human_feedback(..., llm=...)`."
        ) from getattr(model, "error", None)
    meant: str = await asyncio.to_thread(flow._collapse_to_outcome, feedback=words, outcomes=outcomes, llm=model)
    return meant


class Reading(Approval):
    """Yes, or Decline."""

    confirm: ClassVar[str] = "Yes"


async def _is_right(words: str, meant: str, method: str, *, theirs: bool) -> bool:
    """Ask whether the model has read the words as they are meant; only a yes is one.

    Args:
        words: The words.
        meant: What the model makes of them.
        method: The step that got them.
        theirs: Whether the one who is asked has written them.
    """
    wrote = "You wrote" if theirs else "The feedback is"
    try:
        answer = await ask(
            f"{wrote} {_brief(words)!r}; the model reads it as `{meant}`. Is that right?",
            {"feedback": words, "outcome": meant},
            answer=bool,
            name=method,
            render=Reading,
        )
    except Declined:
        return False
    return answer is True


def _not_so(words: str, meant: str, outcomes: list[str]) -> NotApproved:
    return NotApproved(
        f"{words!r} is none of {outcomes}, and a person says that it does not mean `{meant}`. Nothing was approved. "
        f"Give one of them, e.g. `await flow.resume_async({outcomes[-1]!r})`, or `return {outcomes[-1]!r}` in the "
        "provider."
    )


def _asked_here(flow: Any, method: str) -> Any:
    """Give the step's own definition if a card asks for its feedback; None if another provider or a resume does."""
    definition = flow._definition.methods[method].human_feedback
    resumed = flow._pending_feedback_context is not None
    return None if resumed or not isinstance(flow._resolve_feedback_provider(definition), CardFeedback) else definition


def _brief(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


_LONGEST: Final = 200
