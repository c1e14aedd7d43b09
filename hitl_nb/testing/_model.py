"""A model from a script or a recorded session, at litellm's own provider seam: all code above it is the real one.

``acompletion(model="openai/gpt-4o", stream=True)`` inside an unedited Flow reaches it by a model alias: litellm looks
each name up in ``model_alias_map``, whoever calls it and however `acompletion` was imported. A scripted model takes one
name there, what is recorded or replayed takes all. What goes past litellm (CrewAI's own ``LLM("openai/...")``, a
``custom_llm_provider=`` in the call) goes past this, too.
"""

import asyncio
import copy
import importlib.util
import itertools
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hitl_nb._library import library
from hitl_nb._process import keep_offline
from hitl_nb.errors import ScriptError, UsageError
from hitl_nb.testing._turns import Calls, Part, Says, fragments, parts_of

SCRIPTED: Final = "scripted"
RECORDED: Final = "recorded"
"""What litellm knows the providers by."""

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the model was asked: the proof of what an agent makes of an answer."""

    messages: list[dict[str, Any]]
    """The messages as the provider gets them."""

    tools: list[dict[str, Any]]
    """The tools as the provider gets them."""

    options: dict[str, Any]
    """All other parameters."""


def as_request(messages: Iterable[object], options: dict[str, Any]) -> Request:
    """Return what a provider was handed as a `Request`; a copy, since agents go on with their own."""
    options = copy.deepcopy(options)
    tools = options.pop("tools", []) or []
    return Request(messages=[_as_dict(message) for message in messages], tools=tools, options=options)


def _as_dict(message: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = copy.deepcopy(dict(message) if isinstance(message, dict) else message.model_dump())
    return dumped


# -- litellm's own seam --------------------------------------------------------------------------------------------


def has_litellm() -> bool:
    """Whether litellm is installed; does not import it."""
    return importlib.util.find_spec("litellm") is not None


def the_litellm(what: str) -> Any:
    """Return litellm, kept from asking the network for its price list when it is imported.

    Raises:
        MissingExtraError: It is not installed; the message says that `what` needs it.
    """
    keep_offline()
    return library("litellm", extra="litellm", what=what)


def _litellm_types() -> Any:
    return library("litellm.types.utils", extra="litellm", what="A scripted model")


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """One reply of a model."""

    message_id: str
    """What the provider calls it."""

    parts: Sequence[Part]
    """What it says and calls; each call has its id."""

    fragment: int = 12
    """Characters a streamed fragment."""

    pace: float | Callable[[], Awaitable[None]] = 0.0
    """Seconds between two fragments, or an async function awaited between them."""

    finish: str | None = None
    """The finish reason; None gives the usual one."""

    thoughts: Mapping[str, Any] = field(default_factory=dict)
    """What it thought, as litellm's deltas have it."""

    @property
    def finish_reason(self) -> str:
        """``tool_calls`` or ``stop``, unless it says another."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    @property
    def calls(self) -> list[Calls]:
        """The calls among the parts."""
        return [part for part in self.parts if isinstance(part, Calls)]

    @property
    def text(self) -> str:
        """All that is said."""
        return "".join(part.text for part in self.parts if isinstance(part, Says))

    async def rest(self) -> None:
        """Wait as long as `pace` says."""
        if callable(self.pace):
            await self.pace()
        elif self.pace:
            await asyncio.sleep(self.pace)


def provider(reply_to: Callable[[str, Sequence[object], dict[str, Any]], ModelReply]) -> object:
    """Return a handler for ``litellm.custom_provider_map``; its base class exists only once litellm is imported.

    Args:
        reply_to: Gives the reply to a request: the model's name, the messages, all other parameters.
    """
    custom: Any = the_litellm("A scripted model").CustomLLM

    def reply(call: dict[str, Any]) -> ModelReply:
        return reply_to(call["model"], call["messages"], call.get("optional_params") or {})

    class Handler(custom):  # type: ignore[misc]  # litellm is untyped
        async def astreaming(self, **call: Any) -> AsyncIterator[object]:
            said = reply(call)
            for position, chunk in enumerate(_chunks(said)):
                if position:
                    await said.rest()
                yield chunk

        def streaming(self, **call: Any) -> Iterator[object]:
            yield from _chunks(reply(call))

        async def acompletion(self, **call: Any) -> object:
            return _response(reply(call))

        def completion(self, **call: Any) -> object:
            return _response(reply(call))

    return Handler()


def _chunks(reply: ModelReply) -> Iterator[object]:
    types = _litellm_types()

    def chunk(delta: object, finish: str | None = None) -> object:
        choice = types.StreamingChoices(index=0, delta=delta, finish_reason=finish)
        return types.ModelResponseStream(id=reply.message_id, model="scripted", choices=[choice])

    if reply.thoughts:
        yield chunk(types.Delta(role="assistant", **reply.thoughts))
    index = 0
    for part in reply.parts:
        if isinstance(part, Says):
            for piece in fragments(part.text, reply.fragment):
                yield chunk(types.Delta(role="assistant", content=piece))
            continue
        for delta in _call_deltas(part, index, reply.fragment):
            yield chunk(delta)
        index += 1
    yield chunk(types.Delta(), reply.finish_reason)


def _call_deltas(call: Calls, index: int, size: int) -> Iterator[object]:
    types = _litellm_types()

    for position, piece in enumerate(fragments(call.arguments, size)):
        first = position == 0
        function = types.Function(name=call.name if first else None, arguments=piece)
        call_id = call.id if first else None
        tool_call = types.ChatCompletionDeltaToolCall(id=call_id, type="function", index=index, function=function)
        for key, value in call.extra.items() if first else ():
            setattr(tool_call, key, value)
        yield types.Delta(tool_calls=[tool_call])


def _response(reply: ModelReply) -> object:
    types = _litellm_types()

    tool_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}, **call.extra}
        for call in reply.calls
    ]
    message = types.Message(
        role="assistant", content=reply.text or None, tool_calls=tool_calls or None, **reply.thoughts
    )
    choice = types.Choices(finish_reason=reply.finish_reason, index=0, message=message)
    usage = types.Usage(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    return types.ModelResponse(id=reply.message_id, model="scripted", choices=[choice], usage=usage)


# -- a scripted model -----------------------------------------------------------------------------------------------


class ScriptedModel:
    """Plays `turns`, one for each request.

    Args:
        turns: What the model does at its first, second, … request: a text, `says(...)`, `calls(...)`, a list of
            them, or a function that gets the `Request` and returns one of these.
        alias: The model name that reaches this script while it is installed, e.g. what the Flow has written.
        fragment: Characters a streamed fragment.
        pace: Seconds between two fragments, or an async function awaited between them.

    Use it as a context manager, or ``install()`` it for the rest of the kernel's life (a tutorial: delete that line,
    and the same notebook runs on the real model).

    Attributes:
        name: The litellm model name, ``scripted/<n>``, usable as ``model=`` directly.
        requests: Every `Request`, in order.
    """

    def __init__(
        self,
        turns: Sequence[object],
        *,
        alias: str = "openai/gpt-4o",
        fragment: int = 12,
        pace: float | Callable[[], Awaitable[None]] = 0.0,
    ) -> None:
        if isinstance(turns, (str, bytes)) or not isinstance(turns, Sequence):
            raise ScriptError(f"`ScriptedModel` takes a list of turns, not `{turns!r}`. Write `ScriptedModel([...])`.")
        self._turns: list[Callable[[Request], object] | list[Part]] = [
            turn if callable(turn) else parts_of(turn) for turn in turns
        ]
        self._alias = alias
        self._fragment = fragment
        self._pace = pace
        self._call_ids = itertools.count(1)
        self._before: str | None = None
        self.name = f"{SCRIPTED}/{next(_numbers)}"
        self.requests: list[Request] = []

    def install(self) -> "ScriptedModel":
        """Answer for `alias` from now on; `uninstall` ends it."""
        litellm = the_litellm("`ScriptedModel`")
        _installed[self.name] = self
        if not any(entry["provider"] == SCRIPTED for entry in litellm.custom_provider_map):
            litellm.custom_provider_map.append({"provider": SCRIPTED, "custom_handler": provider(_reply)})
        self._before = litellm.model_alias_map.get(self._alias)
        litellm.model_alias_map[self._alias] = self.name
        return self

    def uninstall(self) -> None:
        """Give `alias` back to whoever had it."""
        aliases = the_litellm("`ScriptedModel`").model_alias_map
        if aliases.get(self._alias) == self.name:
            aliases.pop(self._alias)
            if self._before is not None:
                aliases[self._alias] = self._before
        _installed.pop(self.name, None)

    def __enter__(self) -> "ScriptedModel":
        return self.install()

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    def __repr__(self) -> str:
        left = len(self._turns) - len(self.requests)
        return f"<ScriptedModel {self._alias}: {max(left, 0)} turns left>"

    def _take(self, messages: Sequence[object], options: dict[str, Any]) -> ModelReply:
        """Record the request, refuse a bad history, and return the turn."""
        request = as_request(messages, options)
        self.requests.append(request)
        refuse_dangling(request.messages)
        refuse_malformed(request.messages)
        number = len(self.requests)
        if number > len(self._turns):
            raise ScriptError(
                f"Request {number} came, but the script has {len(self._turns)} turns. "
                f"The last message was {request.messages[-1]!r}."
            )
        turn = self._turns[number - 1]
        parts = parts_of(turn(request)) if callable(turn) else turn
        return ModelReply(
            message_id=f"{self.name.replace('/', '-')}-{number}",
            parts=[self._with_id(part) for part in parts],
            fragment=self._fragment,
            pace=self._pace,
        )

    def _with_id(self, part: Part) -> Part:
        if isinstance(part, Says) or part.id:
            return part
        return replace(part, id=f"call_{next(self._call_ids)}")


def refuse_dangling(messages: Sequence[dict[str, Any]]) -> None:
    """Refuse what OpenAI and Anthropic answer with 400: a tool call without its adjacent result.

    Raises:
        ScriptError: Names the first tool call id that has no result, or the first result out of place.
    """
    open_ids: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_ids:
                raise ScriptError(f"400: the result of `{message.get('tool_call_id')}` follows no call of that id.")
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            break
        open_ids = [call["id"] for call in message.get("tool_calls") or ()]
    if open_ids:
        raise ScriptError(f"400: tool_call_ids without response messages: {', '.join(open_ids)}.")


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refuse_malformed(messages: Sequence[dict[str, Any]]) -> None:
    """Refuse what one provider or another answers with 400: names, arguments and texts that it does not take.

    Raises:
        ScriptError: Says which.
    """
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            if not _NAME.fullmatch(str(function["name"])):
                raise ScriptError(f"400: `{function['name']!r}` is no name of a tool; {_NAME.pattern}.")
            try:
                is_object = isinstance(json.loads(function["arguments"], parse_constant=_refuse_constant), dict)
            except ValueError:
                is_object = False
            if not is_object:
                raise ScriptError(
                    f"400: the arguments of `{call['id']}` are no JSON object: {function['arguments']!r}."
                )
        try:
            json.dumps(message, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError as error:
            raise ScriptError(f"400: a `{message.get('role')}` message holds half an emoji: {error}.") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


_installed: dict[str, ScriptedModel] = {}


def _script(model: str) -> ScriptedModel:
    name = model if model.startswith(f"{SCRIPTED}/") else f"{SCRIPTED}/{model}"
    if name not in _installed:
        raise ScriptError(f"`{name}` is not installed. Write `with model:` or `model.install()` first.")
    return _installed[name]


def _reply(model: str, messages: Sequence[object], options: dict[str, Any]) -> ModelReply:
    return _script(model)._take(messages, options)


# -- every model ---------------------------------------------------------------------------------------------------

_direct: ContextVar[bool] = ContextVar("hitl_nb_real_model", default=False)


@contextmanager
def directly() -> Iterator[None]:
    """Let calls of litellm from this context reach the real models."""
    token = _direct.set(True)
    try:
        yield
    finally:
        _direct.reset(token)


class _EveryName(dict[str, str]):
    """The aliases that there were, and behind them one for every name."""

    def __init__(self, aliases: dict[str, str], alias: Callable[[str], str]) -> None:
        super().__init__(aliases)
        self._alias = alias

    def __bool__(self) -> bool:
        return True  # litellm passes an empty map over

    def __contains__(self, name: object) -> bool:
        return not _direct.get() or super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name) if _direct.get() else f"{RECORDED}/{self._alias(name)}"


@contextmanager
def every_model(handler: object, *, alias: Callable[[str], str]) -> Iterator[None]:
    """Send every call of a model in this process to `handler`, a litellm `CustomLLM`.

    Args:
        handler: Gets the calls.
        alias: From the name in the call to the model that the handler is told.

    Raises:
        UsageError: Models are being recorded or replayed already.
    """
    litellm = the_litellm("A recorded session")
    before = litellm.model_alias_map
    if isinstance(before, _EveryName):
        raise UsageError(
            "A session is being recorded or replayed here already. Write one `with record(...)` or `with replay(...)` "
            "after the other, not inside."
        )
    entry = {"provider": RECORDED, "custom_handler": handler}
    litellm.custom_provider_map.append(entry)
    litellm.model_alias_map = mine = _EveryName(before, alias)
    try:
        with _every_option(litellm):
            yield
    finally:
        litellm.custom_provider_map.remove(entry)
        litellm.model_alias_map = before
        # A scripted model that came or went meanwhile has changed our copy.
        before.clear()
        before.update(mine)


@contextmanager
def _every_option(litellm: Any) -> Iterator[None]:
    """Let options through that litellm refuses for a custom provider (`user`, `reasoning_effort`): not ours to judge.

    The real provider, asked directly, refuses what it always refuses.
    """
    config = litellm.OpenAILikeChatConfig
    known = config.get_supported_openai_params

    def supported(self: object, model: str) -> object:
        names = known(self, model)
        return names if _direct.get() else [*names, *litellm.OPENAI_CHAT_COMPLETION_PARAMS]

    inherited = "get_supported_openai_params" not in vars(config)
    config.get_supported_openai_params = supported
    try:
        yield
    finally:
        if inherited:
            del config.get_supported_openai_params
        else:
            config.get_supported_openai_params = known
