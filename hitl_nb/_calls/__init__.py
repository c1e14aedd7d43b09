"""The one object, `Call`: a question to a person, with one id and one answer."""

from hitl_nb._calls._call import Call
from hitl_nb._calls._decision import AnswerType, Decision, Kind, Outcome, Recorder, Status, Via
from hitl_nb._calls._registry import decisions_watched, pending

__all__ = [
    "AnswerType",
    "Call",
    "Decision",
    "Kind",
    "Outcome",
    "Recorder",
    "Status",
    "Via",
    "decisions_watched",
    "pending",
]
