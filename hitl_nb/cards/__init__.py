"""What a person sees: built-in cards, and the static record that a decision leaves in the notebook.

A card is made from a call (``render=StepReview``, or ``render=lambda call: StepReview(call, field="tasks")``) and
drawn by the run's one root widget; a ``render`` of your own may return any ipywidget instead.
"""

from hitl_nb.cards._card import Card
from hitl_nb.cards._record import display_record
from hitl_nb.cards._view import RunView
from hitl_nb.cards.plain import Plain
from hitl_nb.cards.step_review import StepReview

__all__ = ["Card", "Plain", "RunView", "StepReview", "display_record"]
