"""What a person sees: built-in cards, and the static record that a decision leaves in the notebook.

A card is made from a call (``render=StepReview``, or ``render=partial(Choice, options=["keep", "drop"])``) and drawn
by the run's one root widget; a ``render`` of your own may return any ipywidget instead. Without ``render`` it is a
`Form`. A card of your own is a subclass of `Card` with an ES module (CONTRIBUTING: a card in 60 lines).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hitl_nb._doors import all_at_home, no_such_name
from hitl_nb._text import suspicious as suspicious
from hitl_nb._text import visible as visible
from hitl_nb.cards._card import Card, Plain, Row
from hitl_nb.cards._card import argument_rows as argument_rows
from hitl_nb.cards._card import names_of as names_of
from hitl_nb.cards._card import row_props as row_props
from hitl_nb.cards._card import rows_of as rows_of
from hitl_nb.cards._card import value_of as value_of
from hitl_nb.cards._clicks import Talk as Talk
from hitl_nb.cards._figures import draw_as as draw_as
from hitl_nb.cards._figures import figure_words as figure_words
from hitl_nb.cards._figures import maker_of as maker_of
from hitl_nb.cards._figures import picture_of as picture_of
from hitl_nb.cards._figures import png as png
from hitl_nb.cards._markdown import markdown as markdown
from hitl_nb.cards._nodes import Node as Node
from hitl_nb.cards._nodes import code as code
from hitl_nb.cards._protocol import item_of as item_of
from hitl_nb.cards._protocol import takes_clicks as takes_clicks
from hitl_nb.cards._record import display_record as display_record
from hitl_nb.cards._registry import all_cards as all_cards
from hitl_nb.cards._registry import card_of as card_of
from hitl_nb.cards._registry import script as script
from hitl_nb.cards._registry import style as style
from hitl_nb.cards._seen import Cell as Cell
from hitl_nb.cards._seen import Grid as Grid
from hitl_nb.cards._seen import Kept as Kept
from hitl_nb.cards._seen import cell_words as cell_words
from hitl_nb.cards._seen import column_words as column_words
from hitl_nb.cards._seen import seen as seen
from hitl_nb.cards._seen import table_of as table_of
from hitl_nb.cards._seen import text_nodes as text_nodes
from hitl_nb.cards._updates import UNDER_WAY as UNDER_WAY
from hitl_nb.cards._updates import Item as Item
from hitl_nb.cards._updates import Updates as Updates
from hitl_nb.cards.approval import Approval, BatchReview
from hitl_nb.cards.approval import answer_of_yes as answer_of_yes
from hitl_nb.cards.choice import Choice, TimePicker
from hitl_nb.cards.choice import described as described
from hitl_nb.cards.form import Form
from hitl_nb.cards.plan_review import PlanReview
from hitl_nb.cards.step_review import Checklist, StepReview
from hitl_nb.cards.words import QuickReply, Text

if TYPE_CHECKING:
    from hitl_nb.cards._screen import Panel as Panel
    from hitl_nb.cards._screen import given_to_marimo as given_to_marimo
    from hitl_nb.cards._screen import keep_on_screen as keep_on_screen
    from hitl_nb.cards._screen import on_screen as on_screen
    from hitl_nb.cards._screen import show_again as show_again
    from hitl_nb.cards._screen import view_of as view_of
    from hitl_nb.cards._view import RunView as RunView
    from hitl_nb.cards.state_editor import StateEditor as StateEditor

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "Approval",
    "BatchReview",
    "Card",
    "Checklist",
    "Choice",
    "Form",
    "Plain",
    "PlanReview",
    "QuickReply",
    "Row",
    "StepReview",
    "Text",
    "TimePicker",
]


def __getattr__(name: str) -> Any:
    # Widgets are loaded when a run is shown and not before: headless is the core.
    if name == "StateEditor":
        return import_module("hitl_nb.cards.state_editor").StateEditor
    if name not in ("Panel", "RunView", "given_to_marimo", "keep_on_screen", "on_screen", "show_again", "view_of"):
        raise no_such_name(__name__, name, renamed={"Reply": "QuickReply"})
    from hitl_nb.cards import _screen

    return getattr(_screen, name)


all_at_home(globals())
