"""What a person has looked at is what a tool runs with, once; whatever else happens, it does not run.

CrewAI lets a tool run when the hook that should have stopped it raised, or was an ``async def``, and never tells the
model why a tool was blocked. Between a yes and the tool there are more hooks, and everybody who has held the arguments
once may change them still: so what a gate has looked at is compared once more after all hooks. And for a model
without tool calling CrewAI runs a tool that failed again, up to six times (`crewai.tools.tool_usage`): a mail that was
sent before the error came would be sent six times for one yes.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from hitl_nb._calls import frozen, print_of
from hitl_nb._encoding import encode_refusal
from hitl_nb._text import logger
from hitl_nb.crewai._crew_run import Stop, framework, replaced
from hitl_nb.errors import HitlError, InvalidValue, NotApproved, UsageError

_log = logger()

Hook = Callable[..., object]


class ToolContext(Protocol):
    """CrewAI's context of a tool call, as far as it is looked at here."""

    agent: object
    """Whose call it is."""

    task: object
    """What for."""

    crew: object
    """Among whom."""

    tool: object
    """What is called."""

    tool_name: str
    """By which name."""

    tool_input: dict[str, object]
    """With which arguments."""


class NamedTool(Protocol):
    """A tool of CrewAI's."""

    name: str
    """As whoever wrote it spelled it."""


class ToolCall:
    """One tool call on its way through the hooks.

    What is kept here is what CrewAI goes on with: a hook that gives the context another name, or other arguments,
    changes nothing in what runs.

    Args:
        context: CrewAI's context, as the first hook gets it.
    """

    def __init__(self, context: ToolContext) -> None:
        self.context = context
        self.name = context.tool_name
        self.names = {self.name, spelled(getattr(context.tool, "name", None) or self.name)}
        """What the tool is called: of two with one name CrewAI calls the second ``send_mail_2``."""
        self.arguments = context.tool_input
        self.is_approved = False
        self._was_empty = not self.arguments
        self._prints: list[str] = []

    def look(self) -> dict[str, object]:
        """Return a copy of the arguments for somebody to judge; from here on they must not change."""
        copy: dict[str, object] = frozen(self.arguments)
        self._prints.append(print_of(copy).digest)
        return copy

    def changed(self) -> str | None:
        """Say in words what is not as it was when it was judged; None if all is."""
        if not self._prints:
            return None
        now = frozen(self.arguments)
        if any(print_of(now).digest != each for each in self._prints):
            return "its arguments were changed by code after they had been looked at; nobody has approved these"
        if self._was_empty and now:
            # For a model without tool calling it runs what it had before the hooks.
            return "a hook has given arguments to a call that had none, and CrewAI does not hand these on everywhere"
        # Nobody else holds what the tool is given now.
        self.arguments.clear()
        self.arguments.update(now)
        return None


def spelled(name: str) -> str:
    """Return a name as CrewAI spells it."""
    found: str = framework("crewai.utilities.string_utils").sanitize_tool_name(name)
    return found


# -- hooks ---------------------------------------------------------------------------------------------------------


class AskingHook:
    """A hook that asks a person, after all other hooks; what it has looked at is what runs, or nothing does."""

    def __call__(self, context: ToolContext) -> bool | None:
        """Return False, or raise, unless this tool call may run."""
        return self.judge(ToolCall(context))

    def judge(self, call: ToolCall) -> bool | None:
        """Do the same for the call as CrewAI goes on with it."""
        raise NotImplementedError


class Refusals:
    """Why tool calls were blocked, from the hook that did it until the model is told."""

    def __init__(self) -> None:
        # By identity of the input, which is the same dict before and after the call; kept, so that no id is reused.
        self._texts: dict[int, tuple[object, str]] = {}

    def note(self, call: ToolCall, status: str, reason: str | None) -> None:
        """Keep what the model has to hear about this call; the first word counts."""
        self._texts.setdefault(id(call.arguments), (call.arguments, encode_refusal(status, reason)))

    def tell(self, context: ToolContext) -> str | None:
        """Return the tool's result in place of CrewAI's own words; the hook after a tool call."""
        withdraw(context.tool_input)
        _, text = self._texts.pop(id(context.tool_input), (None, None))
        return text


refusals = Refusals()


@contextmanager
def closed_hooks() -> Iterator[None]:
    """Let hooks before a tool call fail closed, and tell the model why."""
    dispatch = framework("crewai.hooks.dispatch")
    tool_hooks = framework("crewai.hooks.tool_hooks")
    with ExitStack() as stack:
        stack.enter_context(replaced(dispatch, "run_hooks", _closing(dispatch)))
        tell = refusals.tell
        tool_hooks.register_after_tool_call_hook(tell)
        stack.callback(tool_hooks.unregister_after_tool_call_hook, tell)
        yield


def _closing(dispatch: Any) -> Callable[..., object]:
    original = dispatch.run_hooks

    @functools.wraps(original)
    def run_hooks(point: object, ctx: ToolContext, hooks: Iterable[Hook], **options: object) -> object:
        if point is not dispatch.InterceptionPoint.PRE_TOOL_CALL:
            return original(point, ctx, hooks, **options)
        call = ToolCall(ctx)
        closed = [_closed(hook, call, dispatch.HookAborted) for hook in sorted(hooks, key=_is_asking)]
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


def _is_asking(hook: Hook) -> bool:
    return isinstance(hook, AskingHook)


def _closed(hook: Hook, call: ToolCall, aborted: type[Exception]) -> Hook:
    name = getattr(hook, "__name__", type(hook).__name__)

    def closed(context: object) -> object:
        try:
            result = hook.judge(call) if isinstance(hook, AskingHook) else hook(context)
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


# -- one approval is one run ---------------------------------------------------------------------------------------


class ToolGrant:
    """The right to run a tool once."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self._value = frozen(call.arguments)
        self._state = "fresh"
        self._error: Exception | None = None

    def covers(self, tool: NamedTool) -> bool:
        """Whether this is the tool, and it is not running already: then it calls itself, which is its own affair."""
        return self._state != "running" and spelled(tool.name) in self.call.names

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Run the tool.

        Raises:
            UsageError: It has run.
            Exception: It has run, and failed: the same error again, for whoever would try once more.
        """
        if self._state == "over":
            raise self._error or UsageError(
                f"`{self.call.name}` has run already, and one approval is for one run. Call it anew, to be asked again."
            )
        self._state = "running"
        try:
            yield
        except Exception as error:
            self._error = error
            raise
        finally:
            self._state = "over"

    def approved(self, given: object) -> dict[str, object]:
        """Return what the tool may be given, for what it would be given; CrewAI drops arguments that a tool has not.

        Raises:
            InvalidValue: It is something else.
        """
        if isinstance(given, Mapping) and given.keys() <= self._value.keys():
            value = {name: self._value[name] for name in given}
            if print_of(value).digest == print_of(dict(given)).digest:
                found: dict[str, object] = frozen(value)
                return found
        raise InvalidValue(
            f"`{self.call.name}` was approved with other arguments than these, so it was NOT executed. "
            "Call it anew, to be asked again."
        )


_grants: ContextVar[tuple[ToolGrant, ...]] = ContextVar("hitl_nb_tool_grants", default=())


def grant(call: ToolCall) -> None:
    """Let the tool run once, in this thread or task."""
    _grants.set((*_grants.get(), ToolGrant(call)))


def withdraw(arguments: object) -> None:
    """Take the grant of a call back: it is over, whether or not the tool ran."""
    _grants.set(tuple(each for each in _grants.get() if each.call.arguments is not arguments))


@contextmanager
def grants_kept() -> Iterator[None]:
    """Leave, with a run, what it has granted: the code after it is not the run's."""
    token = _grants.set(_grants.get())
    try:
        yield
    finally:
        _grants.reset(token)


@contextmanager
def _running(tool: NamedTool, given: object) -> Iterator[Any]:
    """Run a tool under the grant for it, if there is one; what it yields is what to run it with."""
    granted = next((each for each in reversed(_grants.get()) if each.covers(tool)), None)
    if granted is None:
        yield given
        return
    with granted.taken():
        yield granted.approved(given)


@contextmanager
def single_runs() -> Iterator[None]:
    """Let each tool that was approved run once, with what was approved; all others run as ever."""
    base, structured = framework("crewai.tools.base_tool"), framework("crewai.tools.structured_tool")
    with ExitStack() as stack:
        for owner in (base.BaseTool, base.Tool):
            stack.enter_context(replaced(owner, "run", _once(owner.run)))
            stack.enter_context(replaced(owner, "arun", _once_async(owner.arun)))
        owner = structured.CrewStructuredTool
        stack.enter_context(replaced(owner, "invoke", _once_given(owner.invoke)))
        stack.enter_context(replaced(owner, "ainvoke", _once_given_async(owner.ainvoke)))
        yield


# CrewAI gives `run` its arguments by name, and `invoke` all of them in one.


def _once(original: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(original)
    def run(self: NamedTool, *args: object, **kwargs: object) -> object:
        with _running(self, kwargs if not args else {**kwargs, "*": args}) as approved:
            return original(self, *approved.pop("*", ()), **approved)

    return run


def _once_async(original: Callable[..., Awaitable[object]]) -> Callable[..., object]:
    @functools.wraps(original)
    async def arun(self: NamedTool, *args: object, **kwargs: object) -> object:
        with _running(self, kwargs if not args else {**kwargs, "*": args}) as approved:
            return await original(self, *approved.pop("*", ()), **approved)

    return arun


def _once_given(original: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(original)
    def invoke(self: NamedTool, input: object, *args: object, **kwargs: object) -> object:  # noqa: A002 - CrewAI's name
        with _running(self, input) as approved:
            return original(self, approved, *args, **kwargs)

    return invoke


def _once_given_async(original: Callable[..., Awaitable[object]]) -> Callable[..., object]:
    @functools.wraps(original)
    async def ainvoke(self: NamedTool, input: object, *args: object, **kwargs: object) -> object:  # noqa: A002 - CrewAI's name
        with _running(self, input) as approved:
            return await original(self, approved, *args, **kwargs)

    return ainvoke
