"""A request through litellm: what a model thought goes back to it, and what is sent passes the strictest provider.

What was thought is kept sealed with the message, or the call, that it belongs to: AG-UI's `encryptedValue`, which
nobody reads on the way.

A Flow calls litellm itself. Its streams and its requests are reached for as long as it runs, in its context alone:
the first where `copilotkit_stream` begins to iterate, the second by a hook of litellm's for this.
"""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from ag_ui.core import AssistantMessage, Message

from hitl_nb._encoding import whole_text
from hitl_nb.agents._call_assembler import sent_arguments, sent_name
from hitl_nb.agents._reply import (
    OF_CALLS,
    OF_MESSAGES,
    Fields,
    Listening,
    Reply,
    extra_of,
    field_of,
)

_WANTS_NO_TEXT = frozenset({"groq", "mistral", "cerebras"})
"""Providers that refuse `reasoning_content`, although litellm makes it out of what they stream."""

_NOT_SENT = frozenset({"id", "encrypted_value", "encryptedValue", "metadata", "subagent_run_id", "subagentRunId"})
"""Fields of AG-UI's that strict providers answer with 400."""

FOR_PEOPLE = ("reasoning", "activity")
"""Roles that no provider knows."""


def sealed(provider: str, fields: Mapping[str, object]) -> str | None:
    """Return the fields as a text to keep with a message or a call, None if there are none."""
    return json.dumps({"litellm": provider, "fields": fields}) if fields else None


def unsealed(value: object, provider: str) -> Fields:
    """Return the fields again; none where somebody else has sealed them, or they are another provider's."""
    try:
        data = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return {}
    if not isinstance(data, dict) or data.get("litellm") != provider or not isinstance(data.get("fields"), dict):
        return {}
    fields = {key: it for key, it in data["fields"].items() if key in (*OF_MESSAGES, *OF_CALLS)}
    if provider in _WANTS_NO_TEXT:
        fields.pop("reasoning_content", None)
    return fields


class Thoughts:
    """What was thought in a thread, found by the message that it belongs to: its words and calls.

    A Flow may build the messages of its requests itself, and leaves out what it does not know.

    Args:
        messages: The thread so far.

    Attributes:
        provider: Who was asked last.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._sealed: dict[object, tuple[str | None, dict[str, str]]] = {}
        self._heard: list[Reply] = []
        self.provider = ""
        for message in messages:
            if isinstance(message, AssistantMessage):
                calls = {it.id: it.encrypted_value for it in message.tool_calls or () if it.encrypted_value}
                if message.encrypted_value or calls:
                    key = _key(message.content or "", [call.id for call in message.tool_calls or ()])
                    self._sealed[key] = message.encrypted_value, calls

    def hear(self, reply: Reply) -> None:
        """Take note of a reply, which may still be streaming."""
        self._heard.append(reply)

    @property
    def heard(self) -> list[Reply]:
        """The replies of this run, in order."""
        return self._heard

    @staticmethod
    def role(message: object) -> object:
        """Return the role of a message in OpenAI's form."""
        return field_of(message, "role")

    def of(self, message: object) -> tuple[str | None, dict[str, str]]:
        """Return what is sealed for a message in OpenAI's form, and for its calls by their ids."""
        calls = [field_of(call, "id") or "" for call in field_of(message, "tool_calls") or ()]
        content = field_of(message, "content")
        key = _key(content if isinstance(content, str) else "", calls)
        own = {name: value for name in OF_MESSAGES if (value := field_of(message, name))}
        of_own = {field_of(call, "id"): extra_of(call) for call in field_of(message, "tool_calls") or ()}
        if own or any(of_own.values()):  # it was not streamed, and came with all that there is
            of_calls = {it: text for it, fields in of_own.items() if (text := sealed(self.provider, fields))}
            return sealed(self.provider, own), of_calls
        for reply in reversed(self._heard):
            if key == _key(reply.said, list(reply.calls)):
                of_calls = {it: text for it, fields in reply.calls.items() if (text := sealed(reply.provider, fields))}
                return sealed(reply.provider, reply.fields), of_calls
        return self._sealed.get(key, (None, {}))


def _key(text: str, calls: list[str]) -> object:
    # What was said beside a call may be another in the history; its id is not.
    return tuple(calls) if calls else text


def sendable(messages: Iterable[object], provider: str, thoughts: Thoughts) -> list[Fields]:
    """Return messages in OpenAI's form as every provider takes them, each with what was thought for it.

    Args:
        messages: Dicts, or litellm's objects.
        provider: Who gets them, by litellm's name.
        thoughts: Those of the thread.
    """
    return [
        _sendable(message, provider, thoughts) for message in messages if field_of(message, "role") not in FOR_PEOPLE
    ]


def _sendable(message: Any, provider: str, thoughts: Thoughts) -> Fields:
    given: dict[str, Any] = dict(message) if isinstance(message, Mapping) else message.model_dump()
    sent: Fields = {key: _mended(it) for key, it in given.items() if key not in _NOT_SENT and it is not None}
    if given.get("role") != "assistant":
        return sent
    of_message, of_calls = thoughts.of(given)
    if calls := given.get("tool_calls"):
        sent["tool_calls"] = [_sendable_call(call, provider, of_calls) for call in calls]
    else:
        sent.pop("tool_calls", None)
        sent.setdefault("content", "")
    kept = unsealed(given.get("encrypted_value") or of_message, provider)
    return taken_by(provider, {**sent, **{key: value for key, value in kept.items() if not sent.get(key)}})


def taken_by(provider: str, message: Fields) -> Fields:
    """Return a message without the thoughts that this provider refuses."""
    if provider not in _WANTS_NO_TEXT or "reasoning_content" not in message:
        return message
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _sendable_call(call: Any, provider: str, of_calls: Mapping[str, str]) -> Fields:
    given: dict[str, Any] = dict(call) if isinstance(call, Mapping) else call.model_dump()
    function = given.get("function") or {}
    function = dict(function) if isinstance(function, Mapping) else function.model_dump()
    name, arguments = sent_name(function.get("name") or ""), sent_arguments(function.get("arguments") or "")
    kept = unsealed(given.get("encrypted_value") or of_calls.get(given.get("id") or ""), provider)
    sent = {key: it for key, it in given.items() if key not in _NOT_SENT - {"id"} and it is not None}
    return {**kept, **sent, "type": "function", "function": {"name": name, "arguments": arguments}}


def _mended(value: object) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [_mended(it) for it in value]
    if isinstance(value, dict):
        return {key: _mended(it) for key, it in value.items()}
    return value


# -- somebody else's calls of litellm ---------------------------------------------------------------------------------

_hearing: ContextVar[Thoughts | None] = ContextVar("hitl_nb_thoughts", default=None)


@contextmanager
def hearing(litellm: ModuleType, thoughts: Thoughts) -> Iterator[None]:
    """Reach the streams and the requests of this context, and of what it starts."""
    _install(litellm)
    token = _hearing.set(thoughts)
    try:
        yield
    finally:
        _hearing.reset(token)


def provider_of(litellm: ModuleType, model: object, **where: Any) -> str:
    """Return who is asked, by litellm's name; empty if it cannot tell."""
    name, aliases = str(model), litellm.model_alias_map
    try:
        # Not `get`: while a session is recorded, or replayed, every name is an alias, and only litellm's own look-up
        # is told so.
        name = aliases[name] if name in aliases else name  # noqa: SIM401
        provider: str = litellm.get_llm_provider(name, **where)[1]
    except Exception:  # it raises what its callers are to see, of many types
        return ""
    return provider


def _install(litellm: ModuleType) -> None:
    """Put our hook and our ears into litellm, once: without a run in the context they do nothing."""
    if any(getattr(it, "is_hitl_nb", False) for it in litellm.callbacks):
        return
    logger: Any = litellm.integrations.custom_logger.CustomLogger
    wrapper: Any = litellm.litellm_core_utils.streaming_handler.CustomStreamWrapper

    class Hook(logger):  # type: ignore[misc]  # litellm is untyped
        is_hitl_nb = True

        async def async_pre_call_deployment_hook(self, kwargs: Any, call_type: Any) -> Any:
            thoughts = _hearing.get()
            if thoughts is None or not isinstance(kwargs.get("messages"), list):
                return None
            where = {key: kwargs.get(key) for key in ("custom_llm_provider", "api_base")}
            thoughts.provider = provider_of(litellm, kwargs.get("model"), **where)
            return {**kwargs, "messages": sendable(kwargs["messages"], thoughts.provider, thoughts)}

    litellm.callbacks.append(Hook())
    begin = wrapper.__aiter__
    if not hasattr(begin, "is_hitl_nb"):

        def listen(stream: Any) -> AsyncIterator[Any]:
            thoughts = _hearing.get()
            if thoughts is None:
                chunks: AsyncIterator[Any] = begin(stream)
                return chunks
            listening = Listening(stream)
            thoughts.hear(listening.reply)
            return listening

        listen.is_hitl_nb = True  # type: ignore[attr-defined]
        wrapper.__aiter__ = listen
