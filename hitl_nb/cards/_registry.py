"""The door for cards: which are there, which draws a call, and what is drawn when a card cannot.

There is no list of them: a card is known once its class is defined, ours like anybody's.
"""

import functools
import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from hitl_nb._calls import Call, Handle, Turn
from hitl_nb._frontend import linked, scoped, stylesheet, with_others
from hitl_nb._text import logger
from hitl_nb.cards._card import Card, Plain, known_cards
from hitl_nb.cards.form import Form
from hitl_nb.errors import FrontendError

_log = logger()


def card_of(call: Call) -> Card:
    """Return the card of a call, the same one every time: its own built-in card, or the default one.

    Raises:
        Exception: Whatever its own card raised when it was made; `fall_back` then gives another.
    """
    handle = Handle.of(call)
    if handle.card is None:
        handle.card = call.render(call) if _is_card(call.render) else _default_card(call)
    card: Card = handle.card
    return card


def _default_card(call: Call) -> Card:
    """A form wherever anything is known about the arguments or the answer."""
    return Plain(call) if call.args_type is None and call.answer_type is None else Form(call)


def rendered(call: Call, turn: Turn) -> Any:
    """Call a user's ``render``, now that somebody at this screen is asked: its widget answers in their turn only.

    Returns:
        The ipywidget to show; None if the call is drawn by a card (a built-in one, or one that `render` returned).

    Raises:
        Exception: Whatever `render` raised. The call then stays open, unapproved, and is drawn by the default card.
    """
    if call.render is None or _is_card(call.render):
        return None
    made = call.render(call.face(turn))
    if isinstance(made, Card):
        made.call = call  # whose turn it is, each of its clicks says
        Handle.of(call).card = made
        return None
    return made


def fall_back(call: Call) -> Card:
    """Draw the call by the plain view from now on: a card that fails must neither hide nor approve a question."""
    _log.exception("The card of `%s` (%s) failed; the plain view is shown instead", call.name, call.id)
    Handle.of(call).card = _instead(call) or Plain(call)
    return card_of(call)


def use_default(call: Call) -> None:
    """Draw the call by the default card from now on, or by the plain view where that is what failed."""
    handle = Handle.of(call)
    handle.card = _instead(call) or (Plain(call) if type(handle.card) is Form else _default_card(call))


def _instead(call: Call) -> Card | None:
    card = Handle.of(call).card
    return card.instead() if isinstance(card, Card) else None


def has_preview(call: Call) -> bool:
    """Whether the call is drawn while the model still writes its arguments."""
    return call.render is None or _is_card(call.render)


def _is_card(render: Any) -> bool:
    while isinstance(render, functools.partial):
        render = render.func
    return isinstance(render, type) and issubclass(render, Card)


# -- the door: what the browser needs to draw them -------------------------------------------------------------

ENTRY_POINTS: Final = "hitl_nb.cards"
"""The group in which an installed package names its cards."""


@functools.cache
def _load_installed() -> None:
    """Import the cards of installed packages, which makes them known; one that fails is told of, and missing."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception:
            _log.exception("The card `%s` (%s) cannot be imported and is not offered", entry.name, entry.value)


def all_cards() -> dict[str, type[Card]]:
    """Return every card that is known, also of installed packages, by what the browser calls it."""
    _load_installed()
    return dict(known_cards)


def script() -> str:
    """Return the ES module that draws runs, with every card that is known by now."""
    cards = all_cards()
    own = tuple(sorted(card.module for card in cards.values() if isinstance(card.module, str)))
    others = {name: text for name, card in cards.items() if (text := _text_of(name, card)) is not None}
    return with_others(linked("run", cards=own), others)


def style() -> str:
    """Return the styles of all cards: ours, and those of others, which reach the inside of their own card only."""
    cards = all_cards()
    own = sorted({card.style for card in cards.values() if isinstance(card.style, str)})
    others = [_style_of(name, card.style) for name, card in cards.items() if isinstance(card.style, Path)]
    return "\n".join([stylesheet("kit"), *map(stylesheet, own), *others])


def check_drawable(card: Card) -> None:
    """Look whether the browser half of a card is there and can be linked.

    Raises:
        FrontendError: It is not, and why.
    """
    if isinstance(card.module, Path):
        _check_kind(type(card))
        linked(card.module.stem, card.module.parent)
        if isinstance(card.style, Path):
            scoped(card.style, "")


def _text_of(name: str, card: type[Card]) -> str | None:
    if not isinstance(card.module, Path):
        return None
    try:
        _check_kind(card)
        return linked(card.module.stem, card.module.parent)
    except FrontendError as error:
        _log.warning("The card `%s` cannot be drawn: %s", name, error)
        return None


def _check_kind(card: type[Card]) -> None:
    if isinstance(card.module, Path) and card.module.suffix != ".js":
        raise FrontendError(f'`{card.called()}` has no ES module: `module = Path(__file__).with_name("stars.js")`')


def _style_of(name: str, path: Path) -> str:
    try:
        return scoped(path, f".hitl-body[data-card={json.dumps(name)}]")
    except FrontendError as error:
        _log.warning("The styles of the card `%s` are left out: %s", name, error)
        return ""
