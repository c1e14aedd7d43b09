"""What of a request is recorded and compared: all that a model's answer depends on, and nothing that changes by itself.

Left out: ids of messages, times, usage, keys, headers, whether it is streamed. Ids of tool calls are counted, since
a provider gives others each time.
"""

import json
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from pydantic_core import to_jsonable_python

from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.testing._model import Request

_OF_A_MESSAGE: Final = frozenset(
    "id created created_at timestamp provider_specific_fields reasoning_content thinking_blocks annotations".split()
)
"""Left out of messages: what a model thought is not what it said, and few agents send it back."""

_OF_OPTIONS: Final = frozenset("stream stream_options max_retries timeout extra_headers headers client".split())
"""How a request travels, not what it asks."""

_SECRET_NAME: Final = re.compile(r"api_?key|authorization|bearer|cookie|credential|headers|password|secret|auth_token")
_SECRET_VARIABLE: Final = re.compile(r"(API_?KEY|_TOKEN|_SECRET|PASSWORD)$")
_SHORTEST_KEY: Final = 12
_LONGEST_DATA: Final = 200


def comparable(request: Request) -> dict[str, Any]:
    """Give a request as plain JSON: ``{"messages": [...], "tools": [...], "options": {...}}``."""
    ids: dict[str, str] = {}
    return {
        "messages": [_message(plain(message), ids) for message in request.messages],
        "tools": plain(request.tools),
        "options": _options(plain(request.options)),
    }


def plain(value: Any) -> Any:
    """Give any value as plain JSON data, pictures by their hash."""
    return _short(to_jsonable_python(value, by_alias=True, inf_nan_mode="constants", serialize_unknown=True))


def arguments_of(text: Any) -> dict[str, Any]:
    """Give a tool call's arguments, ``{"args": {...}}``, or as they are where that is no JSON object."""
    try:
        parsed = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {"raw": text}
    return {"args": parsed} if isinstance(parsed, dict) else {"raw": text}


def learn_keys(secrets: KnownSecrets, api_key: str | None) -> None:
    """Have the keys that this process uses taken out of everything that is written."""
    variables = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
    for key in (api_key, *variables):
        if key and len(key) >= _SHORTEST_KEY:
            secrets.add(key)


def _message(message: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    kept = {name: part for name, part in message.items() if part is not None and name not in _OF_A_MESSAGE}
    calls = kept.pop("tool_calls", None) or []
    if calls and not kept.get("content"):
        kept.pop("content", None)  # "" or null: providers differ, and mean the same
    if "tool_call_id" in kept:
        kept["tool_call_id"] = ids.get(kept["tool_call_id"], "call_?")
    if calls:
        kept["tool_calls"] = [_call(call, ids) for call in calls]
    return kept


def _call(call: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    number = ids.setdefault(call.get("id") or "", f"call_{len(ids) + 1}")
    function = call.get("function") or {}
    return {"id": number, "name": function.get("name"), **arguments_of(function.get("arguments"))}


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: options[name] for name in sorted(options) if _counts(name) and name not in _OF_OPTIONS}
    if "extra_body" in kept:
        kept["extra_body"] = _without_keys(kept["extra_body"])
    return kept


def _without_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_keys(part) for name, part in value.items() if _counts(name)}
    return [_without_keys(part) for part in value] if isinstance(value, list) else value


def _counts(name: str) -> bool:
    return not _SECRET_NAME.search(name.lower())


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    if isinstance(value, str) and value.startswith("data:") and len(value) > _LONGEST_DATA:
        kind = value[: value.find(",") + 1]
        return f"{kind}sha256:{sha256(value.encode()).hexdigest()}"
    return value
