"""A model from a script, at litellm's own provider seam: all the code above it is the real one.

`acompletion(model="openai/gpt-4o", stream=True)` inside an unedited Flow reaches it by a model alias
(facts/crewai.md §7). It streams in fragments, records every request, and is as strict as the real providers: a
history with a dangling tool call is refused.
"""

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hitl_nb.agents.flow import keep_offline
from hitl_nb.errors import MissingExtraError, ScriptError
from hitl_nb.testing._turns import Calls, Part, Says, fragments, parts_of

PROVIDER = "scripted"

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
        turns: Sequence[Any],
        *,
        alias: str = "openai/gpt-4o",
        fragment: int = 12,
        pace: float | Callable[[], Awaitable[None]] = 0.0,
    ) -> None:
        if isinstance(turns, (str, bytes)) or not isinstance(turns, Sequence):
            raise ScriptError(f"`ScriptedModel` takes a list of turns, not `{turns!r}`. Write `ScriptedModel([...])`.")
        self._turns = [turn if callable(turn) else parts_of(turn) for turn in turns]
        self._alias = alias
        self._fragment = fragment
        self._pace = pace
        self._call_ids = itertools.count(1)
        self._before: str | None = None
        self.name = f"{PROVIDER}/{next(_numbers)}"
        self.requests: list[Request] = []

    def install(self) -> "ScriptedModel":
        """Answer for `alias` from now on; `uninstall` ends it."""
        litellm = _litellm()
        _installed[self.name] = self
        if not any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
            litellm.custom_provider_map.append({"provider": PROVIDER, "custom_handler": _handler()})
        self._before = litellm.model_alias_map.get(self._alias)
        litellm.model_alias_map[self._alias] = self.name
        return self

    def uninstall(self) -> None:
        """Give `alias` back to whom it was."""
        aliases = _litellm().model_alias_map
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

    def _take(self, messages: list[dict[str, Any]], options: dict[str, Any]) -> tuple[str, list[Part]]:
        """Record the request, refuse a bad history, and give the turn with its message id."""
        options = copy.deepcopy(options)
        request = Request(
            messages=[_plain(message) for message in messages],
            tools=options.pop("tools", []) or [],
            options=options,
        )
        self.requests.append(request)
        refuse_dangling(request.messages)
        number = len(self.requests)
        if number > len(self._turns):
            raise ScriptError(
                f"Request {number} came, but the script has {len(self._turns)} turns. "
                f"The last message was {request.messages[-1]!r}."
            )
        turn = self._turns[number - 1]
        parts = parts_of(turn(request)) if callable(turn) else turn
        return f"{self.name.replace('/', '-')}-{number}", parts

    async def _rest(self) -> None:
        if callable(self._pace):
            await self._pace()
        elif self._pace:
            await asyncio.sleep(self._pace)


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


def _plain(message: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = copy.deepcopy(dict(message) if isinstance(message, dict) else message.model_dump())
    return dumped


_installed: dict[str, ScriptedModel] = {}


def _litellm() -> Any:
    keep_offline()
    try:
        import litellm
    except ImportError as error:
        raise MissingExtraError(
            '`ScriptedModel` plugs into litellm. Install it with `pip install "hitl-nb[litellm]"` '
            "and restart the kernel."
        ) from error
    return litellm


def _handler() -> Any:
    """Give litellm's handler for all scripted models; its base class exists only once litellm is imported."""
    from litellm import CustomLLM
    from litellm.types.utils import (
        ChatCompletionDeltaToolCall,
        Choices,
        Delta,
        Function,
        Message,
        ModelResponse,
        ModelResponseStream,
        StreamingChoices,
        Usage,
    )

    def chunk(message_id: str, delta: Any, finish: str | None = None) -> Any:
        choice = StreamingChoices(index=0, delta=delta, finish_reason=finish)
        return ModelResponseStream(id=message_id, model=PROVIDER, choices=[choice])

    def call_delta(call_id: str | None, index: int, name: str | None, arguments: str) -> Any:
        function = Function(name=name, arguments=arguments)
        tool_call = ChatCompletionDeltaToolCall(id=call_id, type="function", index=index, function=function)
        return Delta(tool_calls=[tool_call])

    class Handler(CustomLLM):  # type: ignore[misc]  # litellm is untyped
        async def astreaming(
            self, model: str, messages: Any, optional_params: Any = None, **_: Any
        ) -> AsyncIterator[Any]:
            script = _script(model)
            message_id, parts = script._take(messages, optional_params or {})
            index = 0
            for part in parts:
                if isinstance(part, Says):
                    for piece in fragments(part.text, script._fragment):
                        yield chunk(message_id, Delta(role="assistant", content=piece))
                        await script._rest()
                    continue
                call_id = part.id or f"call_{next(script._call_ids)}"
                for position, piece in enumerate(fragments(part.arguments, script._fragment)):
                    first = position == 0
                    yield chunk(
                        message_id,
                        call_delta(call_id if first else None, index, part.name if first else None, piece),
                    )
                    await script._rest()
                index += 1
            yield chunk(message_id, Delta(), "tool_calls" if index else "stop")

        async def acompletion(self, model: str, messages: Any, optional_params: Any = None, **_: Any) -> Any:
            script = _script(model)
            message_id, parts = script._take(messages, optional_params or {})
            made = [part for part in parts if isinstance(part, Calls)]
            tool_calls = [
                {
                    "id": part.id or f"call_{next(script._call_ids)}",
                    "type": "function",
                    "function": {"name": part.name, "arguments": part.arguments},
                }
                for part in made
            ]
            text = "".join(part.text for part in parts if isinstance(part, Says))
            message = Message(role="assistant", content=text or None, tool_calls=tool_calls or None)
            choice = Choices(finish_reason="tool_calls" if made else "stop", index=0, message=message)
            usage = Usage(prompt_tokens=1, completion_tokens=1, total_tokens=2)
            return ModelResponse(id=message_id, model=PROVIDER, choices=[choice], usage=usage)

    return Handler()


def _script(model: str) -> ScriptedModel:
    name = model if model.startswith(f"{PROVIDER}/") else f"{PROVIDER}/{model}"
    if name not in _installed:
        raise ScriptError(f"`{name}` is not installed. Write `with model:` or `model.install()` first.")
    return _installed[name]
