"""What a person sees: built-in cards, and the static record that a decision leaves in the notebook.

A card is made from a call (``render=StepReview``, or ``render=partial(Choice, options=["keep", "drop"])``) and drawn
by the run's one root widget; a ``render`` of your own may return any ipywidget instead. Without ``render`` it is a
`Form`.
"""

from typing import TYPE_CHECKING, Any

from hitl_nb.cards._card import Card
from hitl_nb.cards._saved import display_record
from hitl_nb.cards.approval import Approval
from hitl_nb.cards.choice import Choice
from hitl_nb.cards.form import Form
from hitl_nb.cards.plain import Plain
from hitl_nb.cards.reply import QuickReply
from hitl_nb.cards.step_review import StepReview
from hitl_nb.cards.text import Text
from hitl_nb.cards.time_picker import TimePicker

if TYPE_CHECKING:
    from hitl_nb.cards._view import RunView

__all__ = [
    "Approval",
    "Card",
    "Choice",
    "Form",
    "Plain",
    "QuickReply",
    "RunView",
    "StepReview",
    "Text",
    "TimePicker",
    "display_record",
]


def __getattr__(name: str) -> Any:
    # Widgets are loaded when a run is shown and not before: headless is the core.
    if name != "RunView":
        raise AttributeError(f"module `hitl_nb.cards` has no `{name}`; it has {', '.join(__all__)}.")
    from hitl_nb.cards._view import RunView

    return RunView
