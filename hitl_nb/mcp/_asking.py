"""What a server asks, as a question to a person: the form that the protocol allows, and the two cards that draw it."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from hitl_nb._calls import AnswerType, Call, Handle
from hitl_nb._schema import MISSING, JsonSchemaValidator, validator_for
from hitl_nb._text import SIGN
from hitl_nb.cards import Approval, Form, Row, argument_rows, markdown, row_props
from hitl_nb.errors import Cancelled, InvalidValue, ToolDefinitionError
from hitl_nb.interrupts import Options, decided, question
from hitl_nb.people import Person

# -- what a server may ask for: the protocol's own list (its specification, "Elicitation") ------------------------

_ABOUT: Final = frozenset({"type", "title", "description", "default"})
_WORDS_OF: Final[dict[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "enum", "enumNames", "oneOf"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
}


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text.upper()).tzinfo is not None and "T" in text.upper()
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme) and not re.search(r"\s", text) and text.partition(":")[2] != ""
    except ValueError:
        return False


def _is_mailbox(text: str) -> bool:
    name, at, host = text.rpartition("@")
    return bool(name and at and host and "@" not in name and not re.search(r"\s", text) and host.strip(".") == host)


_FORMATS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "date": (_is_date, "a date, 2026-12-24"),
    "date-time": (_is_moment, "a time with its zone, 2026-12-24T18:00:00Z"),
    "uri": (_is_address, "an address, https://example.org"),
    "email": (_is_mailbox, "an e-mail address, ada@example.org"),
}


class Requested(JsonSchemaValidator):
    """The form that a server asks for.

    Args:
        schema: Its ``requestedSchema``.

    Raises:
        ToolDefinitionError: It asks for what the protocol does not allow.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        super().__init__(_as_drawn(schema))

    def validate(self, value: object) -> Any:
        """Return `value` unchanged.

        Raises:
            InvalidValue: It does not fit, or a text has not its format.
        """
        given = super().validate(value)
        parts: Mapping[str, Any] = self.json_schema.get("properties", {})  # type: ignore[assignment]
        faults = [
            {"path": [name], "message": f"This is not {words}."}
            for name, part in parts.items()
            if isinstance(given, dict) and isinstance(text := given.get(name), str)
            for is_one, words in [_FORMATS.get(str(part.get("format")), (None, ""))]
            if is_one is not None and not is_one(text)
        ]
        if faults:
            raise InvalidValue("; ".join(f"`{fault['path'][0]}`: {fault['message']}" for fault in faults), faults)
        return given


def _as_drawn(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema in the words that a form is drawn from."""
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        raise _not_allowed("it is no object with `properties`")
    needed = set(schema.get("required") or ())
    parts = {name: _part(name, part, required=name in needed) for name, part in schema["properties"].items()}
    required = [name for name in parts if name in needed]
    return {**schema, "properties": parts, "required": required, "additionalProperties": False}


def _part(name: str, part: object, *, required: bool) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        raise _not_allowed(f"`{name}` is no schema")
    part = _or_nothing(part, required=required)
    kind = part.get("type")
    if kind not in _WORDS_OF:
        raise _not_allowed(f"`{name}` is of type `{kind}`")
    unknown = sorted(part.keys() - _ABOUT - _WORDS_OF[str(kind)])
    if unknown:
        raise _not_allowed(f"`{name}` has `{unknown[0]}`")
    if kind == "string" and part.get("format") not in (None, *_FORMATS):
        raise _not_allowed(f"`{name}` has the format `{part['format']}`")
    if kind == "array":
        return {**part, "items": _choices(name, part.get("items")), "uniqueItems": True}
    if kind == "string" and "oneOf" in part and not _are_titled(part["oneOf"]):
        raise _not_allowed(f"`{name}` has a `oneOf` of something else than values with titles")
    names = part.get("enumNames")
    if names is None:
        return dict(part)
    values = part.get("enum") or []
    titles = [*map(str, names), *values[len(names) :]]  # a value without a title is its own
    titled = [{"const": value, "title": title} for value, title in zip(values, titles, strict=False)]
    return {**{key: value for key, value in part.items() if key not in ("enum", "enumNames")}, "oneOf": titled}


def _or_nothing(part: Mapping[str, Any], *, required: bool) -> Mapping[str, Any]:
    """Read a field that may be left out as the Python SDK writes it, ``str | None = None``.

    A union with null is no word of the protocol's; left out means the same there.
    """
    union = part.get("anyOf")
    if required or not isinstance(union, list) or not all(isinstance(each, Mapping) for each in union):
        return part
    real = [each for each in union if each.get("type") != "null"]
    if len(real) != 1 or len(union) != 2:
        return part
    around = {key: value for key, value in part.items() if key != "anyOf" and (key, value) != ("default", None)}
    return {**real[0], **around}


def _are_titled(options: object) -> bool:
    return isinstance(options, list) and all(isinstance(each, Mapping) and "const" in each for each in options)


def _choices(name: str, items: object) -> dict[str, Any]:
    if isinstance(items, Mapping):
        if isinstance(items.get("enum"), list) and items.get("type") == "string":
            return dict(items)
        options = items.get("anyOf") or items.get("oneOf")
        if options and _are_titled(options):
            return {"type": "string", "oneOf": [dict(each) for each in options]}
    raise _not_allowed(f"`{name}` is a list of something else than choices")


def _not_allowed(what: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"The server asks for what the protocol does not allow: {what}. Allowed is a flat object of texts, numbers, "
        'booleans and choices: `{"type": "object", "properties": {"name": {"type": "string"}}}`.'
    )


# -- the cards: a form, or an address to open; each has the protocol's three answers --------------------------------


class ServerForm(Form):
    """The form that a server asks for, with a Cancel beside the no."""

    cancel: ClassVar[str | None] = "Cancel"


class ServerAddress(Approval):
    """An address that a server wants opened: shown with its host, and opened by whoever clicks on it.

    One that does not show where it goes is no link: it is text to read, of high risk, with the reason.
    """

    confirm: ClassVar[str] = "Accept"
    cancel: ClassVar[str | None] = "Cancel"

    def __init__(self, call: Call) -> None:
        about = call.args if isinstance(call.args, Mapping) else {}
        super().__init__(call, risk="high" if _why_no_link(str(about.get("address", ""))) else None)

    def context(self) -> list[dict[str, Any]]:
        """Return the host, and the address as a link, or why it is none."""
        return row_props(_with_link(argument_rows(self.call, page=self.page)))

    def rows(self) -> Sequence[Row]:
        """Return the same for the record."""
        return _with_link(argument_rows(self.call))


class ServerStep(ServerAddress):
    """An address where something has to be done first; whoever has done it says so."""

    confirm: ClassVar[str] = "Done, go on"


def _with_link(rows: Sequence[Row]) -> list[Row]:
    """Make a link of the address where its text shows to where it goes; of any other say why it is none."""
    shown = []
    for row in rows:
        is_address = row.label == "address"
        shown.append(replace(row, tree=tuple(_link(row.text))) if is_address else row)
        if is_address and (why := _why_no_link(row.text)):
            shown.append(Row(label="no link", text=f"{SIGN} {why}"))
    return shown


def _link(address: str) -> list[Any]:
    nodes = [] if _why_no_link(address) else markdown(f"<{address}>")
    if len(nodes) != 1 or len(nodes[0]) != 3 or not isinstance(nodes[0][2], list):
        return []
    link = nodes[0][2]
    return [link] if link[0] == "a" and link[1].get("href") == address else []


def _why_no_link(address: str) -> str:
    """Say why nobody should follow an address without a second look; nothing where it shows to where it goes."""
    if _is_unclear(address) or not address.isascii():
        return "It may go anywhere: browsers read its signs in another way."
    try:
        parts = urlsplit(address)
    except ValueError:
        return "It is no address that can be read."
    if parts.scheme not in ("https", "http") or not parts.hostname:
        return "It is no address of a page, https://…"
    if "@" in parts.netloc:
        return f"It goes to {parts.hostname}: what stands before the @ is no host."
    return ""


def _host_in(address: str) -> str:
    try:
        return "not clear" if _is_unclear(address) else urlsplit(address).hostname or "none"
    except ValueError:
        return "none"


def _is_unclear(address: str) -> bool:
    r"""Whether it has another host in a browser than here: browsers take ``\`` for ``/`` and leave out line ends."""
    return any(sign <= " " or sign == "\\" for sign in address)


async def asked(
    server: str,
    params: Any,
    *,
    tool: str = "",
    people: Person | list[Person] | None,
    timeout: float | None,
    opened: Callable[[Call], None] | None = None,
) -> dict[str, Any] | None:
    """Ask a person what a server asks.

    Args:
        server: What the server is called.
        params: The ``ElicitRequestParams`` of either era.
        tool: The tool that asks, where the client knows.
        people: Who is asked.
        timeout: Seconds until the question expires.
        opened: Gets the question, where an address is to be dealt with before the server goes on.

    Returns:
        What was entered; None for an address that the person has agreed to.

    Raises:
        ToolDefinitionError: It asks for what the protocol does not allow; nobody was asked.
        Exception: As `interrupt`.
    """
    call, about, options = put(server, params, tool=tool, people=people, timeout=timeout, first=opened is not None)
    if opened is not None:
        opened(call)
    asking = asyncio.ensure_future(decided(call, about, options))
    if opened is not None:
        loop = asyncio.get_running_loop()

        def decided_elsewhere() -> None:
            loop.call_soon_threadsafe(_stop_asking, asking, call)

        Handle.of(call).when_decided(decided_elsewhere)
    try:
        answer = await asyncio.shield(asking)
    except asyncio.CancelledError:
        if asking.cancelled() and call.outcome == "superseded":
            raise Cancelled(str(call.reason)) from None
        # The tool call has ended, or the session: whoever sits before the card reads why it is closed.
        Handle.of(call).close("cancelled", "nobody waits for this answer any more")
        asking.cancel()
        await asyncio.wait([asking])
        raise
    return answer if about is None else None


def _stop_asking(asking: asyncio.Future[Any], call: Call) -> None:
    """Wait no longer for somebody who is at it, where the server has said itself that it is done."""
    if call.outcome == "superseded":
        asking.cancel()


def put(
    server: str,
    params: Any,
    *,
    tool: str = "",
    people: Person | list[Person] | None = None,
    timeout: float | None = None,
    first: bool = False,
) -> tuple[Call, dict[str, str] | None, Options]:
    """Return the question, what it is about, and how it is asked; all as for `asked`.

    Args:
        server: As there.
        params: As there.
        tool: As there.
        people: As there.
        timeout: As there.
        first: Whether the server goes on only once this is done.

    Raises:
        ToolDefinitionError: It asks for what the protocol does not allow.
    """
    about: dict[str, str] | None = None
    checks: AnswerType
    if getattr(params, "mode", "form") == "url":
        # The host apart: what stands before it in an address may look like another one.
        about = {"host": _host_in(params.url), "address": params.url}
        checks = validator_for(bool)
    else:
        # The older era says `requestedSchema`, the newer one `requested_schema`.
        checks = Requested(getattr(params, "requestedSchema", None) or getattr(params, "requested_schema", None) or {})
    render = ServerStep if first else ServerForm if about is None else ServerAddress
    options = Options(
        name=server,
        # The headline is ours: what follows are the server's own words.
        title=f"{server} {'needs this first' if first else 'asks'}" + (f", for {tool}" if tool else ""),
        kind="mcp",
        render=render,
        people=people,
        timeout=timeout,
    )
    words = params.message.strip() or "(It says nothing about it.)"
    offer = MISSING if about is None else about
    call = question(words, options, answer_type=checks, offer=offer, compares=about is not None)
    return call, about, options
