"""The one object, `Call`: a question to a person, with one id and one answer; and the session's side of it."""

from hitl_nb._calls._call import Call
from hitl_nb._calls._decision import AnswerType, Decision, Kind, Outcome, Recorder, Status, Turn, Via
from hitl_nb._calls._fingerprint import Print, fingerprint, frozen, print_of
from hitl_nb._calls._handle import CHANGED, MAY_HAVE_RUN, GrantLost, Handle
from hitl_nb._calls._proposal import (
    NOT_ACCEPTED,
    Proposal,
    accepted_as,
    confirmed,
    edits_of,
    is_as_proposed,
    proposal_of,
)
from hitl_nb._calls._registry import can_be_answered, decisions_watched, pending
from hitl_nb._doors import at_home

__all__ = [
    "CHANGED",
    "MAY_HAVE_RUN",
    "NOT_ACCEPTED",
    "AnswerType",
    "Call",
    "Decision",
    "GrantLost",
    "Handle",
    "Kind",
    "Outcome",
    "Print",
    "Proposal",
    "Recorder",
    "Status",
    "Turn",
    "Via",
    "accepted_as",
    "can_be_answered",
    "confirmed",
    "decisions_watched",
    "edits_of",
    "fingerprint",
    "frozen",
    "is_as_proposed",
    "pending",
    "print_of",
    "proposal_of",
]

at_home(Call, pending)
