"""Whose turn it is, as a card says it: a question can be answered only by whoever is being asked now."""

from typing import Any

from hitl_nb._calls import Call, Handle, Turn
from hitl_nb._process import user_name
from hitl_nb.cards._text import visible_line

_VERBS = {"script": "answers", "replay": "answers"}


def turn_item(call: Call, *, passed: bool = False) -> dict[str, Any]:
    """Give the turn as the browser has it: what a click has to carry, whether one counts, and what the card says.

    Args:
        call: The call.
        passed: Whether somebody at this screen has been asked before.
    """
    turn = call.turn if call.status == "executing" else None
    taken = Handle.of(call).taken
    return {
        "token": turn.token if turn is not None else "",
        "open": turn is not None and turn.takes_clicks and not taken,
        "several": turn is not None and turn.several,
        "words": visible_line(_words(call, turn, taken=taken, passed=passed)),
    }


def takes_clicks(call: Call) -> bool:
    """Whether a person at a card is being asked now."""
    return call.status == "executing" and call.turn is not None and call.turn.takes_clicks


def _words(call: Call, turn: Turn | None, *, taken: bool, passed: bool) -> str:
    if call.status != "executing":
        return ""
    if taken:
        return "The answer is being written down…"
    if turn is None:
        return "One moment…"
    if turn.several:
        return f"Asked of {turn.words}, one card each"
    if turn.takes_clicks:
        # Their own name tells nobody anything who sits alone at a notebook.
        return "Waiting for you" if turn.by in (None, user_name()) else f"Waiting for {turn.by}"
    if passed:
        return f"Passed on to {turn.words}"
    who = f"The rule {turn.by}" if turn.via == "policy" and turn.by else turn.words
    verb = "decides" if turn.via == "policy" else _VERBS.get(turn.via, "is asked")
    return f"{who[:1].upper()}{who[1:]} {verb} first"
