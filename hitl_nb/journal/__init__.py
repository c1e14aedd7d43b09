"""The journal: every question, every answer, who gave it and when, on disk before anything else happens.

It is append-only and chained, so that a change made afterwards shows (`Journal.verify`); it outlives the kernel, so
that an open question is asked again and an answer that was given is not; and no secret enters it.
"""

from hitl_nb._calls import fingerprint
from hitl_nb.errors import JournalError
from hitl_nb.journal._chain import Verification
from hitl_nb.journal._decisions import OpenCall, StoredDecision
from hitl_nb.journal._grants import Started
from hitl_nb.journal._hiding import MASK
from hitl_nb.journal._journal import Journal
from hitl_nb.journal._open import DEFAULT, UsedJournal, default_journal, open_journal
from hitl_nb.journal._summary import Summary
from hitl_nb.journal._threads import ThreadRecord

__all__ = [
    "DEFAULT",
    "MASK",
    "Journal",
    "JournalError",
    "OpenCall",
    "Started",
    "StoredDecision",
    "Summary",
    "ThreadRecord",
    "UsedJournal",
    "Verification",
    "default_journal",
    "fingerprint",
    "open_journal",
]
