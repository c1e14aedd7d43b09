"""What is written of a question for whoever draws it elsewhere, without the asker's classes; and a call of that."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from hitl_nb import cards
from hitl_nb._calls import Call, Handle
from hitl_nb._process import user_name
from hitl_nb._schema import (
    MISSING,
    JsonSchemaValidator,
    PydanticValidator,
    facts_of,
    readable,
    secrets_of,
)
from hitl_nb._secrets import names_a_secret
from hitl_nb.data import (
    MOST_CELLS,
    Database,
    DiffReview,
    SqlReview,
    StoredFrame,
    StoredReview,
    Table,
    TableAnswer,
    TableReview,
    TableType,
    frame_review_of,
    stored_table,
)
from hitl_nb.errors import ToolDefinitionError, UsageError
from hitl_nb.inbox._kept import kept_view, view_of_kept
from hitl_nb.interrupts import OneOf, SomeOf
from hitl_nb.journal import Journal, Posted

VERSION: Final = 1

_CARDS: Final[Mapping[str, type[cards.Card]]] = {
    each.__name__: each
    for each in (
        cards.Approval,
        cards.Choice,
        cards.Form,
        cards.Plain,
        cards.StepReview,
        cards.Text,
        DiffReview,
        SqlReview,
        TableReview,
    )
}
"""Ours that can be drawn from their options alone."""

_AT_HOME: Final = frozenset({"preview"})
"""Options that mean something where it is asked only: a path there."""

_LABELS: Final = ("confirm", "decline", "cancel")
"""What a card may say in words of its own and be drawn as the card that it is one of."""


_TOO_LARGE: Final = (
    f"a table of more than {MOST_CELLS:,} cells is edited where it is asked; here it is confirmed as it is, or declined"
)


@dataclass(frozen=True, kw_only=True)
class Whom:
    """Whom a question is put to, until when, and under which rule."""

    to: str
    """A team, a name; empty: everybody."""

    expires: datetime | None = None
    """When it ends."""

    four_eyes: bool = False
    """Whether somebody else than who asks has to approve."""

    wider: str = ""
    """Whom else it is put to after a while; empty: nobody."""

    widens: datetime | None = None
    """From when on."""


def posting_of(call: Call, whom: Whom) -> dict[str, Any]:
    """Return all that somebody elsewhere needs to draw and check an open question."""
    handle, has_table = Handle.of(call), _has_table(call)
    table, card = (_table_of(call), None) if has_table else (None, _card_of(call.render))
    return {
        "version": VERSION,
        "to": whom.to,
        "expires": _stored(whom.expires),
        "four_eyes": whom.four_eyes,
        "wider": whom.wider or None,
        "widens": _stored(whom.widens),
        "asker": user_name(None),
        "risk": _risk_of(call.render, call),
        "drawn": None if table is not None else kept_view(call.args),
        "table": table,
        "large": has_table and table is None,
        "card": card,
        "answer": _schema_of(call.answer_type),
        "title": call.title,
        "several": isinstance(call.answer_type, SomeOf),
        "offers_arguments": call.offers_arguments,
        "offer": None if call.offer is MISSING else {"value": readable(call.offer)},
        "refused": list(handle.refusal),
        "again": handle.refused,
        "own_view": not has_table and _has_own_view(call.render, card),
    }


def refuse_secrets(call: Call) -> None:
    """Refuse a question that cannot be put to people elsewhere: a journal holds stars in the place of secrets.

    What is declared a secret is stars on every card, and may be asked about. What only has the name of one has to be
    seen by whoever approves it, and cannot be.

    Raises:
        UsageError: It holds such a secret, or asks for one.
    """
    at_home = "Ask whoever sits at the notebook: `people=NotebookPerson()`."
    shown = (secrets_of(call.args, call.args_type), secrets_of(call.offer, call.answer_type))
    if any(found.named for found in shown):
        raise UsageError(
            f"`{call.name}` is about a value with the name of a secret (an `api_key`, a `password`). Whoever approves "
            "has to see it, and the inbox is a journal, which keeps stars in its place. Leave it out of the question, "
            f"declare it (`SecretStr`), so that it is stars for everybody, or: {at_home[0].lower()}{at_home[1:]}"
        )
    if facts_of(call.answer_type).hider is not None or _asks_for_one(call):
        raise UsageError(
            f"`{call.name}` asks for a secret, and a secret cannot go through the inbox: it would stand in the "
            f"journal. {at_home}"
        )


def _asks_for_one(call: Call) -> bool:
    """Whether the type of the answer has a place with the name of a secret, and nothing is proposed for it."""
    schema = None if call.offers_arguments or call.offer is not MISSING else _schema_of(call.answer_type)
    return schema is not None and names_a_secret(json.dumps(schema, default=str))


def _card_of(render: Any) -> dict[str, Any] | None:
    """The card and its options; None if the asker draws it in a way of its own.

    One of ours goes by its name, with the labels of its buttons where a class of somebody has others; one of another
    package by what the browser calls it, for whoever has that package, too.
    """
    kind, options = _unwrapped(render)
    if not (isinstance(kind, type) and issubclass(kind, cards.Card)):
        return None
    known = {key: readable(value) for key, value in options.items() if value is not MISSING and key not in _AT_HOME}
    if isinstance(kind.module, Path):
        package = kind.__module__.partition(".")[0]
        # A class of a notebook is nowhere else, and an object in its options is not there.
        is_there = package != "__main__" and _survives_json(options)
        return {"name": kind.called(), "options": known, "package": package} if is_there else None
    ours = next((each for each in kind.__mro__ if _CARDS.get(each.__name__) is each), None)
    if ours is None or kind.__init__ is not ours.__init__:
        return None
    if options.get("preview") is not None and not known.get("dialect"):
        known["dialect"] = Database.at(str(options["preview"])).dialect  # what the statement means goes by it
    labels = {name: getattr(kind, name) for name in _LABELS if getattr(kind, name) != getattr(ours, name)}
    left = [name for name in options if name in _AT_HOME and options[name] is not None]
    found = {"name": ours.__name__, "options": known, "labels": labels, "left": left}
    return {name: part for name, part in found.items() if part or name == "options"}


def _survives_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _has_own_view(render: Any, card: Mapping[str, Any] | None) -> bool:
    """Whether the asker draws it in a way of its own; other words on the buttons are none."""
    kind, _ = _unwrapped(render)
    if card is None or not isinstance(kind, type):
        return render is not None
    if "package" in card:
        return False
    own = {name for each in kind.__mro__[: kind.__mro__.index(_CARDS[card["name"]])] for name in vars(each)}
    return any(name not in _LABELS and not name.startswith("__") for name in own)


def _has_table(call: Call) -> bool:
    """Whether a question is about a table that no journal holds."""
    return isinstance(call.answer_type, TableType) or frame_review_of(call) is not None


def _table_of(call: Call) -> dict[str, Any] | None:
    """That table, to be reviewed elsewhere as here; None where it is too large."""
    if isinstance(kind := call.answer_type, TableType):
        stored = stored_table(kind.table, drop=kind.drop, edit=sorted(kind.edit))
        return None if stored is None else {**stored, "without": None}
    card = frame_review_of(call)
    return (
        None
        if card is None or (stored := card.stored()) is None
        else {**stored, "without": card.field and [card.field]}
    )


def _unwrapped(render: Any) -> tuple[Any, dict[str, Any]]:
    options: dict[str, Any] = {}
    while isinstance(render, partial) and not render.args:
        options, render = {**render.keywords, **options}, render.func
    return render, options


def _risk_of(render: Any, call: Call) -> str | None:
    """What a card says of the risk, also one that looks into what it is about."""
    kind, _ = _unwrapped(render)
    if not (isinstance(kind, type) and issubclass(kind, cards.Card)):
        return None
    try:
        return cast("cards.Card", render(call)).risk
    except Exception:  # whatever a stranger's card raises: it is drawn elsewhere all the same
        return None


def _schema_of(answer_type: Any) -> dict[str, Any] | None:
    if isinstance(answer_type, OneOf):
        return answer_type.schema
    if not isinstance(answer_type, PydanticValidator | JsonSchemaValidator):
        return None
    try:
        return dict(answer_type.json_schema)
    except ToolDefinitionError:
        return None


def opened(posted: Posted, journal: Journal, occurrence: str | None = None, *, before: Call | None = None) -> Call:
    """Return a call that asks what was posted, open to whoever is put to it; needs a running loop.

    Args:
        posted: The question.
        journal: Where it is.
        occurrence: What this asking is known by to a browser; default: a new name.
        before: The call of the same question whose answer was refused: what was typed there is there again.
    """
    call = _call_of(posted)
    if occurrence is not None:
        call.occurrence = occurrence
    if (drawn := posted.about.get("drawn")) is not None:
        cards.draw_as(call, view_of_kept(drawn))
    journal.adopt(call, posted.asked)
    handle = Handle.of(call)
    handle.origin = origin_of(posted)
    if before is not None:
        handle.begun = Handle.of(before).begun
        if "table" in posted.about and posted.about["table"] is not None:
            cast("StoredReview", cards.card_of(call)).go_on(cards.card_of(before))
    if (expires := expires_at(posted)) is not None:
        handle.deadline = expires, "Expires"
    handle.open_again(posted.asked.args, journal)
    for each in posted.about["refused"]:
        handle.problem(f"An earlier answer was refused: {each.get('message', each)}")
    return call


def origin_of(posted: Posted, me: str = "") -> str:
    """Say who asks, for whom, since when, and who else than `me` is at it."""
    about = posted.about
    whom = [about["to"]] if about["to"] else []
    if about.get("wider") and datetime.fromisoformat(about["widens"]) <= datetime.now(UTC):
        whom.append(f"now also {about['wider']}")
    parts = [f"asked by {about['asker']}", f"for {', '.join(whom)}" if whom else ""]
    parts += [f"job {posted.job}" if posted.job else "", f"{posted.asked.asked_at:%Y-%m-%d %H:%M} UTC"]
    expires = expires_at(posted)
    parts += ["" if expires is None else f"ends {expires:%Y-%m-%d %H:%M} UTC"]
    parts += ["four eyes" if about.get("four_eyes") else ""]
    parts += ["who asks has a view of its own, which is not here" if about.get("own_view") else ""]
    parts += [_missing_package(about["card"])]
    parts += ["its first rows are shown where it is asked, and not here" if (about["card"] or {}).get("left") else ""]
    parts += [_TOO_LARGE if about.get("large") else ""]
    parts += ["parked: its next run takes the answer" if posted.parked else ""]
    parts += [f"given to {posted.assigned}" if posted.assigned else ""]
    parts += [f"{posted.looking} is looking" if posted.looking not in (None, me) else ""]
    return " · ".join(part for part in parts if part)


def _missing_package(card: Mapping[str, Any] | None) -> str:
    """Say that a card of another package is not to be had here."""
    if card is None or "package" not in card or card["name"] in cards.all_cards():
        return ""
    return f"who asks has the card of `{card['package']}`, which is not installed here"


def _call_of(posted: Posted) -> Call:
    about, asked = posted.about, posted.asked
    offer, table = about["offer"], about.get("table")
    if table is not None:
        return _call_about_a_table(posted, table)
    return Call(
        id=asked.id,
        name=asked.tool,
        title=str(about.get("title") or ""),
        kind=asked.kind,
        message=asked.message,
        answer_type=_checks_of_posted(about),
        render=_render(about["card"]),
        thread_id=posted.thread,
        run_id=asked.run,
        offer=MISSING if offer is None else offer["value"],
        offers_arguments=about["offers_arguments"],
        compares=offer is not None or about["offers_arguments"],
    )


def _call_about_a_table(posted: Posted, stored: Mapping[str, Any]) -> Call:
    """The answer says what was done to the table; whoever asks makes the answer of its own type of that."""
    asked, table = posted.asked, Table(StoredFrame(stored))
    return Call(
        id=asked.id,
        name=asked.tool,
        title=str(posted.about.get("title") or ""),
        kind=asked.kind,
        message=asked.message,
        answer_type=TableType(table, drop=bool(stored["drop"]), edit=stored["edit"]),
        render=partial(StoredReview, stored=stored, without=stored["without"]),
        thread_id=posted.thread,
        run_id=asked.run,
        offer=TableAnswer[Any](table),
        words=repr,
    )


def _checks_of_posted(about: Mapping[str, Any]) -> Any:
    schema = about["answer"]
    if schema is None:
        return None
    if (about["card"] or {}).get("name") == "Choice":
        return (SomeOf if about["several"] else OneOf)(schema["enum"])
    return _validator(json.dumps(schema))


@functools.lru_cache(maxsize=512)
def _validator(schema: str) -> JsonSchemaValidator:
    """One for all who look at such a question."""
    return JsonSchemaValidator(json.loads(schema))


def _render(card: Mapping[str, Any] | None) -> Any:
    if card is None:
        return None
    kind = cards.all_cards().get(card["name"]) if "package" in card else _CARDS.get(card["name"])
    if kind is None:
        return None
    return partial(_labelled(kind, card.get("labels") or {}), **card["options"])


def _labelled(kind: type[cards.Card], labels: Mapping[str, Any]) -> type[cards.Card]:
    """A card with other words on its buttons."""
    known = {name: words for name, words in labels.items() if name in _LABELS}
    return type(kind.__name__, (kind,), known) if known else kind


def _stored(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def expires_at(posted: Posted) -> datetime | None:
    """Return when a question ends (aware, UTC); None: never."""
    text = posted.about["expires"]
    return None if text is None else datetime.fromisoformat(text)
