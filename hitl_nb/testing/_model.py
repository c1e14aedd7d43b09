"""A model from a script, at litellm's own provider seam: all the code above it is the real one.

`acompletion(model="openai/gpt-4o", stream=True)` inside an unedited Flow reaches it by a model alias
(facts/crewai.md §7). It streams in fragments, records every request, and is as strict as the real providers: a
history with a dangling tool call is refused.
"""

import copy
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitl_nb.errors import ScriptError
from hitl_nb.testing._provider import Reply, provider, the_litellm
from hitl_nb.testing._turns import Part, Says, parts_of

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


def request_of(messages: Iterable[Any], options: dict[str, Any]) -> Request:
    """Give what a provider was handed as a `Request`; a copy, since agents go on with their own."""
    options = copy.deepcopy(options)
    tools = options.pop("tools", []) or []
    return Request(messages=[_plain(message) for message in messages], tools=tools, options=options)


def _plain(message: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = copy.deepcopy(dict(message) if isinstance(message, dict) else message.model_dump())
    return dumped


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
        litellm = the_litellm("ScriptedModel")
        _installed[self.name] = self
        if not any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
            litellm.custom_provider_map.append({"provider": PROVIDER, "custom_handler": provider(_reply)})
        self._before = litellm.model_alias_map.get(self._alias)
        litellm.model_alias_map[self._alias] = self.name
        return self

    def uninstall(self) -> None:
        """Give `alias` back to whom it was."""
        aliases = the_litellm("ScriptedModel").model_alias_map
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

    def _take(self, messages: Sequence[Any], options: dict[str, Any]) -> Reply:
        """Record the request, refuse a bad history, and give the turn."""
        request = request_of(messages, options)
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
        return Reply(
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


_installed: dict[str, ScriptedModel] = {}


def _script(model: str) -> ScriptedModel:
    name = model if model.startswith(f"{PROVIDER}/") else f"{PROVIDER}/{model}"
    if name not in _installed:
        raise ScriptError(f"`{name}` is not installed. Write `with model:` or `model.install()` first.")
    return _installed[name]


def _reply(model: str, messages: Any, options: dict[str, Any]) -> Reply:
    return _script(model)._take(messages, options)
