"""Which card draws a call, and what is drawn when a card cannot."""

import functools
import logging
from typing import Any

from hitl_nb._calls import Call, Handle, Turn
from hitl_nb._frontend import linked, stylesheet
from hitl_nb.cards._card import Card
from hitl_nb.cards.form import Form
from hitl_nb.cards.plain import Plain

_log = logging.getLogger("hitl_nb")


def card_of(call: Call) -> Card:
    """Give the card of a call, the same one every time: its own built-in card, or the default one.

    Raises:
        Exception: Whatever its own card raised when it was made; `fall_back` then gives another.
    """
    handle = Handle.of(call)
    if handle.card is None:
        handle.card = call.render(call) if _is_card(call.render) else _default(call)
    card: Card = handle.card
    return card


def _default(call: Call) -> Card:
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
    Handle.of(call).card = Plain(call)
    return card_of(call)


def use_default(call: Call) -> None:
    """Draw the call by the default card from now on: its own could not fetch what it shows."""
    Handle.of(call).card = _default(call)


def has_preview(call: Call) -> bool:
    """Whether the call is drawn while the model still writes its arguments."""
    return call.render is None or _is_card(call.render)


def _is_card(render: Any) -> bool:
    while isinstance(render, functools.partial):
        render = render.func
    return isinstance(render, type) and issubclass(render, Card)


def script() -> str:
    """Return the ES module that draws runs."""
    return linked("run")


def style() -> str:
    """Return the styles of all cards."""
    return stylesheet("kit")
