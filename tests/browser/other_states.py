"""The cards of other packages that are installed here, each with its own example."""

from typing import Any

from hitl_nb.cards._registry import all_cards
from tests.browser.items import turn
from tests.unit.cards.desk import Desk, opened


def _states() -> dict[str, dict[str, Any]]:
    states = {}
    for name, card in all_cards().items():
        if card.example is not None:
            with opened(dict(card.example), name=card.__name__.lower(), render=card) as call:
                states[name] = {"items": [{**Desk(call).item, "turn": turn()}]}
    return states


OTHER_STATES = _states()
