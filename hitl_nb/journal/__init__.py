"""The journal: every question, every answer, who gave it and when, on disk before anything else happens.

It is append-only and chained, so that a change made afterwards shows (`Journal.verify`); it outlives the kernel, so
that an open question is asked again and an answer that was given is not; and no secret enters it.
"""

from hitl_nb._calls import fingerprint as fingerprint
from hitl_nb._doors import all_at_home
from hitl_nb.errors import JournalError as JournalError
from hitl_nb.journal._journal import Journal
from hitl_nb.journal._labelling import LabelPass as LabelPass
from hitl_nb.journal._open import DEFAULT as DEFAULT
from hitl_nb.journal._open import AnyJournal as AnyJournal
from hitl_nb.journal._open import UsedJournal as UsedJournal
from hitl_nb.journal._open import default_journal as default_journal
from hitl_nb.journal._open import open_journal as open_journal
from hitl_nb.journal._payloads import Erasure
from hitl_nb.journal._postgres import is_address as is_address
from hitl_nb.journal._postings import Count as Count
from hitl_nb.journal._postings import Filter as Filter
from hitl_nb.journal._postings import Order as Order
from hitl_nb.journal._postings import Posted as Posted
from hitl_nb.journal._queries import OpenCall, StoredDecision
from hitl_nb.journal._recording import Started
from hitl_nb.journal._roles import setup_sql as setup_sql
from hitl_nb.journal._rows import RowWriter as RowWriter
from hitl_nb.journal._rows import json_text as json_text
from hitl_nb.journal._tables import Verification
from hitl_nb.journal._threads import ThreadRecord
from hitl_nb.journal._views import Summary

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "Erasure",
    "Journal",
    "OpenCall",
    "Started",
    "StoredDecision",
    "Summary",
    "ThreadRecord",
    "Verification",
]

all_at_home(globals())
