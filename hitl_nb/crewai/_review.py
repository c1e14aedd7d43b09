"""``Task(human_input=True)`` on a card: a result is accepted by a button, and never by silence.

In a notebook CrewAI reads an empty line from the kernel's own stdin, and takes it for "satisfied": it approves
without having asked (facts/crewai.md §4.1, point 1). Its provider is looked up by a context variable, which the next
cell would not see; so the default provider itself is taught to ask.
"""

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Literal

from hitl_nb.cards.reply import QuickReply
from hitl_nb.crewai._patch import framework, replaced
from hitl_nb.crewai._run import ask, ask_blocking, stopping
from hitl_nb.crewai._words import WORDS

ACCEPTED = True
"""The answer of somebody who is content; anything else is what to do better."""


@contextmanager
def reviews() -> Iterator[None]:
    """Answer every ``human_input=True`` by a card, wherever no provider of the user's own is set."""
    default = framework("crewai.core.providers.human_input").SyncHumanInputProvider
    with ExitStack() as stack:
        stack.enter_context(replaced(default, "handle_feedback", _blocking(default)))
        stack.enter_context(replaced(default, "handle_feedback_async", _awaiting(default)))
        yield


def _blocking(default: Any) -> Any:
    original = default.handle_feedback

    @functools.wraps(original)
    def handle_feedback(self: Any, formatted_answer: Any, context: Any) -> Any:
        if type(self) is not default:  # a provider that the user derived from it
            return original(self, formatted_answer, context)
        answer = formatted_answer
        while (said := _asked(answer, context)) is not ACCEPTED:
            if context._is_training_mode():
                return default._handle_training_feedback(answer, said, context)
            context.messages.append(context._format_feedback_message(said))
            answer = context._invoke_loop()
        context.ask_for_human_input = False
        return answer

    return handle_feedback


def _awaiting(default: Any) -> Any:
    original = default.handle_feedback_async

    @functools.wraps(original)
    async def handle_feedback_async(self: Any, formatted_answer: Any, context: Any) -> Any:
        if type(self) is not default:
            return await original(self, formatted_answer, context)
        answer = formatted_answer
        while (said := await _asked_async(answer, context)) is not ACCEPTED:
            if context._is_training_mode():
                return await default._handle_training_feedback_async(answer, said, context)
            context.messages.append(context._format_feedback_message(said))
            answer = await context._ainvoke_loop()
        context.ask_for_human_input = False
        return answer

    return handle_feedback_async


def _asked(answer: Any, context: Any) -> Any:
    # A plain exception would have the agent do the whole task again, and ask again.
    with stopping():
        return ask_blocking(**_question(answer, context))


async def _asked_async(answer: Any, context: Any) -> Any:
    with stopping():
        return await ask(**_question(answer, context))


def _question(answer: Any, context: Any) -> dict[str, Any]:
    task = context.task
    training = context._is_training_mode()
    return {
        "message": "How could this result be better?" if training else "Is this result good?",
        "payload": {"task": getattr(task, "description", ""), "result": _text(answer.output)},
        "answer": WORDS if training else Literal[True] | WORDS,
        "name": getattr(task, "name", None) or "human_input",
        "render": partial(QuickReply, choices={} if training else {"Accept": ACCEPTED}, label="What to do better"),
    }


def _text(output: Any) -> str:
    return output if isinstance(output, str) else str(output.model_dump_json(indent=2))
