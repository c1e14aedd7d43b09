"""What a person sees: built-in cards, and the static record that a decision leaves in the notebook.

A card is made from a call (``render=StepReview``, or ``render=partial(Choice, options=["keep", "drop"])``) and drawn
by the run's one root widget; a ``render`` of your own may return any ipywidget instead. Without ``render`` it is a
`Form`. A card of your own is a subclass of `Card` with an ES module (CONTRIBUTING: a card in 60 lines).
"""

from typing import TYPE_CHECKING, Any

from hitl_nb._doors import all_at_home, no_such_name
from hitl_nb.cards._card import Card, Row
from hitl_nb.cards._record import display_record as display_record
from hitl_nb.cards.approval import Approval
from hitl_nb.cards.choice import Choice
from hitl_nb.cards.choice import described as described
from hitl_nb.cards.form import Form
from hitl_nb.cards.plain import Plain
from hitl_nb.cards.reply import QuickReply
from hitl_nb.cards.step_review import StepReview
from hitl_nb.cards.text import Text
from hitl_nb.cards.time_picker import TimePicker

if TYPE_CHECKING:
    from hitl_nb.cards._view import RunView as RunView

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "Approval",
    "Card",
    "Choice",
    "Form",
    "Plain",
    "QuickReply",
    "Row",
    "StepReview",
    "Text",
    "TimePicker",
]


def __getattr__(name: str) -> Any:
    # Widgets are loaded when a run is shown and not before: headless is the core.
    if name != "RunView":
        raise no_such_name(__name__, name, renamed={"Reply": "QuickReply"})
    from hitl_nb.cards._view import RunView

    return RunView


all_at_home(globals())
