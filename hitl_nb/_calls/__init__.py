"""The one object, `Call`: a question to a person, with one id and one answer; and the session's side of it."""

from hitl_nb._calls._call import Call
from hitl_nb._calls._decision import (
    ERASED,
    FAILED,
    AnswerType,
    Decision,
    FoundBy,
    Kind,
    Outcome,
    Recorder,
    Status,
    Turn,
    Via,
    can_be_answered,
    decisions_watched,
    drawn_live_by,
    live_for_marimo,
    pending,
    show_live,
    told_where_by,
    why_ended,
)
from hitl_nb._calls._fingerprint import Print, fingerprint, print_of
from hitl_nb._calls._grant import MAY_HAVE_RUN, GrantLost, Progress, report_progress, reporting
from hitl_nb._calls._handle import CHANGED, Handle
from hitl_nb._calls._held import frozen
from hitl_nb._calls._proposal import (
    NOT_ACCEPTED,
    Proposal,
    accepted_as,
    confirmed,
    edits_of,
    equal,
    is_as_proposed,
    proposal_of,
)
from hitl_nb._calls._turns import Held, grace_of
from hitl_nb._doors import at_home

__all__ = [
    "CHANGED",
    "ERASED",
    "FAILED",
    "MAY_HAVE_RUN",
    "NOT_ACCEPTED",
    "AnswerType",
    "Call",
    "Decision",
    "FoundBy",
    "GrantLost",
    "Handle",
    "Held",
    "Kind",
    "Outcome",
    "Print",
    "Progress",
    "Proposal",
    "Recorder",
    "Status",
    "Turn",
    "Via",
    "accepted_as",
    "can_be_answered",
    "confirmed",
    "decisions_watched",
    "drawn_live_by",
    "edits_of",
    "equal",
    "fingerprint",
    "frozen",
    "grace_of",
    "is_as_proposed",
    "live_for_marimo",
    "pending",
    "print_of",
    "proposal_of",
    "report_progress",
    "reporting",
    "show_live",
    "told_where_by",
    "why_ended",
]

at_home(Call, pending, report_progress)
at_home(Progress, door="hitl_nb.session")
