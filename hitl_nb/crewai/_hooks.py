"""Hooks before a tool call that hold: what raises, or is never awaited, does not let the tool run.

CrewAI lets a tool run when the hook that should have stopped it raised, or was an ``async def``, and never tells the
model why a tool was blocked (facts/crewai.md §4.1, point 2). And whoever changes the arguments last changes what runs:
so what a gate has looked at is compared once more after all hooks.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from hitl_nb._encoding import encode_refusal
from hitl_nb.cards import Text
from hitl_nb.crewai._once import ToolCall, grant, withdraw
from hitl_nb.crewai._patch import framework, replaced
from hitl_nb.crewai._run import Stop, ask_blocking
from hitl_nb.crewai._words import WORDS
from hitl_nb.errors import HitlError, NotApproved

_log = logging.getLogger("hitl_nb")

Hook = Callable[[Any], Any]


class Gate:
    """A hook that asks a person, after all other hooks; what it has looked at is what runs, or nothing does."""

    def __call__(self, context: Any) -> bool | None:
        """Give False, or raise, unless this tool call may run."""
        return self.judge(ToolCall(context))

    def judge(self, call: ToolCall) -> bool | None:
        """Do the same for the call as CrewAI goes on with it."""
        raise NotImplementedError


class Refusals:
    """Why tool calls were blocked, from the hook that did it until the model is told."""

    def __init__(self) -> None:
        # By identity of the input, which is the same dict before and after the call; kept, so that no id is reused.
        self._texts: dict[int, tuple[Any, str]] = {}

    def note(self, call: ToolCall, status: str, reason: str | None) -> None:
        """Keep what the model has to hear about this call; the first word counts."""
        self._texts.setdefault(id(call.arguments), (call.arguments, encode_refusal(status, reason)))

    def tell(self, context: Any) -> str | None:
        """Give the tool's result in place of CrewAI's own words; the hook after a tool call."""
        withdraw(context.tool_input)
        _, text = self._texts.pop(id(context.tool_input), (None, None))
        return text


refusals = Refusals()


@contextmanager
def closed_hooks() -> Iterator[None]:
    """Let hooks before a tool call fail closed, tell the model why, and answer ``request_human_input`` by a card."""
    dispatch = framework("crewai.hooks.dispatch")
    tool_hooks, llm_hooks = framework("crewai.hooks.tool_hooks"), framework("crewai.hooks.llm_hooks")
    with ExitStack() as stack:
        stack.enter_context(replaced(dispatch, "run_hooks", _closing(dispatch)))
        tell = refusals.tell
        tool_hooks.register_after_tool_call_hook(tell)
        stack.callback(tool_hooks.unregister_after_tool_call_hook, tell)
        for class_, failure in ((tool_hooks.ToolCallHookContext, _itself), (llm_hooks.LLMCallHookContext, Stop)):
            stack.enter_context(replaced(class_, "request_human_input", _requesting(class_, failure)))
        yield


def _closing(dispatch: Any) -> Any:
    original = dispatch.run_hooks

    @functools.wraps(original)
    def run_hooks(point: Any, ctx: Any, hooks: Any, **options: Any) -> Any:
        if point is not dispatch.InterceptionPoint.PRE_TOOL_CALL:
            return original(point, ctx, hooks, **options)
        call = ToolCall(ctx)
        closed = [_closed(hook, call, dispatch.HookAborted) for hook in sorted(hooks, key=_is_gate)]
        try:
            result = original(point, ctx, closed, **options)
            changed = call.changed()
            if changed is not None:
                _log.warning("`%s` was not run: %s", call.name, changed)
                raise dispatch.HookAborted(changed)
        except dispatch.HookAborted as aborted:
            refusals.note(call, "blocked", aborted.reason)
            raise
        if call.is_approved:
            grant(call)
        return result

    return run_hooks


def _is_gate(hook: Hook) -> bool:
    return isinstance(hook, Gate)


def _closed(hook: Hook, call: ToolCall, aborted: type[Exception]) -> Hook:
    name = getattr(hook, "__name__", type(hook).__name__)

    def closed(context: Any) -> Any:
        try:
            result = hook.judge(call) if isinstance(hook, Gate) else hook(context)
        except aborted:
            raise
        except NotApproved as error:
            raise aborted(str(error)) from error
        except HitlError as error:
            raise Stop(error) from None
        except Exception as error:
            _log.warning("The hook `%s` failed, so `%s` was not run", name, call.name, exc_info=error)
            raise aborted(f"the hook `{name}` failed ({type(error).__name__}: {error})") from error
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            _log.warning(
                "The hook `%s` is an `async def`, which CrewAI never awaits, so `%s` was not run. "
                "Write `def %s(context): ...`, and ask in it with `interrupt.sync(...)`.",
                name,
                call.name,
                name,
            )
            raise aborted(f"the hook `{name}` cannot decide: it is an `async def`")
        return result

    return closed


def _requesting(class_: Any, failure: Callable[[Exception], BaseException]) -> Any:
    original = class_.request_human_input

    @functools.wraps(original)
    def request_human_input(self: Any, prompt: str, default_message: str = "") -> str:
        try:
            answer: str = ask_blocking(
                prompt,
                getattr(self, "tool_input", None),
                answer=WORDS,
                name=getattr(self, "tool_name", None) or "request_human_input",
                render=Text,
            )
        except Exception as error:
            raise failure(error) from None
        return answer

    return request_human_input


def _itself(error: Exception) -> Exception:
    return error
