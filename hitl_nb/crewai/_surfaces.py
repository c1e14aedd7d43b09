"""CrewAI's own questions, each on a card: ``flow.ask()``, ``@human_feedback``, ``human_input=True``, and in hooks.

- ``flow.ask()``: every error of a provider becomes None, which reads like an answer; and in an async step the provider
  is called in the loop's own thread, where it could only freeze.
- ``@human_feedback``: a model is asked what even the exact words ``approved`` mean, after the person has answered; and
  no answer is taken for the first outcome of the list. A button of ``emit=`` is its outcome, and silence never a yes.
  What a model makes of words is a guess, so a person is asked whether it is right: ``no!`` that a model reads as
  ``approved`` is not approved.
- ``Task(human_input=True)``: in a notebook an empty line is read from the kernel's own stdin and taken for
  "satisfied": it approves without having asked. Its provider is looked up by a context variable, which the next cell
  would not see; so the default provider itself is taught to ask.
"""

import asyncio
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Literal

from hitl_nb.cards import Approval, Text
from hitl_nb.cards.words import QuickReply
from hitl_nb.crewai._crew_run import WORDS, Stop, ask_from_coroutine, ask_from_thread, framework, replaced, stopping
from hitl_nb.errors import Declined, Expired, NotApproved, UsageError

# -- flow.ask() ----------------------------------------------------------------------------------------------------

_timeout: ContextVar[float | None] = ContextVar("hitl_nb_ask_timeout", default=None)
_LONGEST: Final = 200  # characters of somebody's words in a question about them


class CardInput:
    """The provider of Flows that name none themselves (CrewAI's `InputProvider`)."""

    def request_input(self, message: str, flow: object, metadata: object = None) -> str | None:
        """Ask, and block this worker thread until the answer is there.

        Returns:
            What the person wrote, never empty; None only if the ``timeout=`` of `ask` is over.
        """
        method = framework("crewai.flow.flow_context").current_flow_method_name.get("ask")
        seconds = _timeout.get()
        with stopping():
            try:
                answer: str = ask_from_thread(
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
def flow_asks() -> Iterator[None]:
    """Answer every ``flow.ask()`` of a Flow without a provider of its own by a card."""
    flow_class = framework("crewai.flow.runtime").Flow
    config = framework("crewai.flow.flow_config").flow_config
    with ExitStack() as stack:
        stack.enter_context(replaced(config, "_input_provider", CardInput()))
        stack.enter_context(replaced(flow_class, "ask", _asking_card(flow_class.ask, config)))
        yield


def _asking_card(original: Callable[..., object], config: Any) -> Callable[..., object]:
    @functools.wraps(original)
    def ask(self: Any, message: str, timeout: float | None = None, metadata: object = None) -> object:
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


# -- @human_feedback -----------------------------------------------------------------------------------------------


class CardFeedback:
    """The provider of ``@human_feedback`` methods that name none themselves (CrewAI's `HumanFeedbackProvider`)."""

    async def request_feedback(self, context: Any, flow: object) -> str:
        """Ask for feedback on what the method returned; CrewAI awaits it in the Flow's own loop.

        Returns:
            One of ``context.emit``, or the person's words; never empty.

        Raises:
            HitlError: Nobody answered, or the answer was no: the Flow fails, and nothing is approved.
        """
        return await _feedback_on(context.message, context.method_output, context.emit or (), context.method_name)


async def _feedback_on(message: str, output: object, outcomes: Sequence[str], method: str) -> str:
    choices = {label: label for label in outcomes}
    answer: str = await ask_from_coroutine(
        message,
        _as_payload(output),
        answer=WORDS,
        name=method,
        render=partial(QuickReply, choices=choices) if choices else partial(Text, long=True),
    )
    return answer


def _as_payload(output: object) -> object:
    if output is None or isinstance(output, dict) or hasattr(type(output), "model_fields"):
        return output
    return {"output": output}


@dataclass(frozen=True, eq=False)
class _NoModel:
    """In place of a model that cannot be made here (no key, say): a button does not need one."""

    error: Exception


@contextmanager
def feedback_is_asked() -> Iterator[None]:
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


def _tolerant(resolve: Callable[[object], object]) -> Callable[[object], object]:
    @functools.wraps(resolve)
    def resolved(llm: object) -> object:
        if isinstance(llm, _NoModel):
            return llm
        try:
            return resolve(llm)
        except ImportError as error:  # crewai's word for a missing API key, too
            return _NoModel(error)

    return resolved


def _finalizing(flow_class: Any, model_of: Callable[[object], object]) -> Callable[..., object]:
    original = flow_class._finalize_human_feedback

    @functools.wraps(original)
    async def finalize(
        self: Any,
        *,
        method_name: str,
        method_output: object,
        raw_feedback: str,
        emit: Sequence[str] | None,
        default_outcome: str | None,
        **rest: object,
    ) -> object:
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
            words = await _feedback_on(here.message, method_output, outcomes, method_name)
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


async def _meant(flow: Any, words: str, outcomes: list[str], model: object) -> str:
    """Have the Flow's own model say which outcome the words mean."""
    if model is None or isinstance(model, _NoModel):
        why = f" ({model.error})" if model is not None else ""
        raise UsageError(
            f"{words!r} is none of {outcomes}, and there is no model that could say which one it means{why}. "
            "Press one of the buttons, or write `@human_feedback(..., llm=...)`."
        ) from getattr(model, "error", None)
    meant: str = await asyncio.to_thread(flow._collapse_to_outcome, feedback=words, outcomes=outcomes, llm=model)
    return meant


class ReadRight(Approval):
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
        answer = await ask_from_coroutine(
            f"{wrote} {_shortened(words)!r}; the model reads it as `{meant}`. Is that right?",
            {"feedback": words, "outcome": meant},
            answer=bool,
            name=method,
            render=ReadRight,
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
    """Return the step's own definition if a card asks for its feedback; None if another provider or a resume does."""
    definition = flow._definition.methods[method].human_feedback
    resumed = flow._pending_feedback_context is not None
    return None if resumed or not isinstance(flow._resolve_feedback_provider(definition), CardFeedback) else definition


def _shortened(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


_AROUND: Final = "\"'`*()[]{}<>“”„‘’‚«»‹›"  # noqa: RUF001 - these are the quotes that people type
_AFTER: Final = ".,;:!…。、！"  # noqa: RUF001
"""What may stand at the end of a word without another sense. A question mark is a question, and no yes."""
_BETWEEN: Final = re.compile(r"(?<=\w)(?:[.,;:!]+\s+|[\s_\-‐‑–—]+)(?=\w)")  # noqa: RUF001
"""What joins two words: ``needs_changes``, ``Needs changes``, ``needs-changes``."""


def label_of(words: str, labels: Sequence[str]) -> str | None:
    """Return the label that the words are, but for case and punctuation; None if they are none, or could be two.

    >>> label_of("Approved!", ["approved", "rejected"])
    'approved'
    >>> label_of("no!", ["approved", "rejected"])
    """
    if words.strip() in labels:
        return words.strip()
    bare = _without_marks(words)
    found = [label for label in labels if bare and _without_marks(label) == bare]
    return found[0] if len(found) == 1 else None


def _without_marks(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().strip()
    before = None
    while before != text:
        before = text
        text = text.rstrip(_AROUND + _AFTER).lstrip(_AROUND).strip()
    return _BETWEEN.sub(" ", text)


# -- Task(human_input=True) ----------------------------------------------------------------------------------------

ACCEPTED = True
"""The answer of somebody who is content; anything else is what to do better."""


@contextmanager
def results_are_reviewed() -> Iterator[None]:
    """Answer every ``human_input=True`` by a card, wherever no provider of the user's own is set."""
    default = framework("crewai.core.providers.human_input").SyncHumanInputProvider
    with ExitStack() as stack:
        stack.enter_context(replaced(default, "handle_feedback", _reviewing(default)))
        stack.enter_context(replaced(default, "handle_feedback_async", _reviewing_async(default)))
        yield


def _reviewing(default: Any) -> Callable[..., object]:
    original = default.handle_feedback

    @functools.wraps(original)
    def handle_feedback(self: Any, formatted_answer: Any, context: Any) -> object:
        if type(self) is not default:  # a provider that the user derived from it
            return original(self, formatted_answer, context)
        answer = formatted_answer
        while (said := _review(answer, context)) is not ACCEPTED:
            if context._is_training_mode():
                return default._handle_training_feedback(answer, said, context)
            context.messages.append(context._format_feedback_message(said))
            answer = context._invoke_loop()
        context.ask_for_human_input = False
        return answer

    return handle_feedback


def _reviewing_async(default: Any) -> Callable[..., object]:
    original = default.handle_feedback_async

    @functools.wraps(original)
    async def handle_feedback_async(self: Any, formatted_answer: Any, context: Any) -> object:
        if type(self) is not default:
            return await original(self, formatted_answer, context)
        answer = formatted_answer
        while (said := await _review_async(answer, context)) is not ACCEPTED:
            if context._is_training_mode():
                return await default._handle_training_feedback_async(answer, said, context)
            context.messages.append(context._format_feedback_message(said))
            answer = await context._ainvoke_loop()
        context.ask_for_human_input = False
        return answer

    return handle_feedback_async


def _review(answer: object, context: object) -> object:
    # A plain exception would have the agent do the whole task again, and ask again.
    with stopping():
        return ask_from_thread(**_review_of(answer, context))


async def _review_async(answer: object, context: object) -> object:
    with stopping():
        return await ask_from_coroutine(**_review_of(answer, context))


def _review_of(answer: Any, context: Any) -> dict[str, Any]:
    task, output = context.task, answer.output
    training = context._is_training_mode()
    result = output if isinstance(output, str) else output.model_dump_json(indent=2)
    return {
        "message": "How could this result be better?" if training else "Is this result good?",
        "payload": {"task": getattr(task, "description", ""), "result": result},
        "answer": WORDS if training else Literal[True] | WORDS,
        "name": getattr(task, "name", None) or "human_input",
        "render": partial(QuickReply, choices={} if training else {"Accept": ACCEPTED}, label="What to do better"),
    }


# -- request_human_input() in hooks --------------------------------------------------------------------------------


@contextmanager
def hooks_ask() -> Iterator[None]:
    """Answer every ``context.request_human_input()`` of a hook by a card."""
    tool_hooks, llm_hooks = framework("crewai.hooks.tool_hooks"), framework("crewai.hooks.llm_hooks")
    with ExitStack() as stack:
        # A hook before a tool call that raises blocks the tool; one at a model has nothing that it could block.
        for class_, carried in (
            (tool_hooks.ToolCallHookContext, nullcontext),
            (llm_hooks.LLMCallHookContext, stopping),
        ):
            stack.enter_context(replaced(class_, "request_human_input", _requesting(class_, carried)))
        yield


def _requesting(class_: Any, carried: Callable[[], AbstractContextManager[None]]) -> Callable[..., str]:
    @functools.wraps(class_.request_human_input)
    def request_human_input(self: object, prompt: str, default_message: str = "") -> str:
        with carried():
            answer: str = ask_from_thread(
                prompt,
                getattr(self, "tool_input", None),
                answer=WORDS,
                name=getattr(self, "tool_name", None) or "request_human_input",
                render=Text,
            )
            return answer

    return request_human_input
