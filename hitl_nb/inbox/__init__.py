"""The team inbox: a job asks, somebody answers elsewhere, the job goes on; or ends, and takes the answer later.

::

    HITL_NB_JOURNAL=postgresql://db/hitl  HITL_NB_PEOPLE=inbox:10m  HITL_NB_JOB=2026-11-30  python nightly.py

The job's code stays as it is. Whoever answers sees the questions of every job in ``Journal(...).inbox()``.
"""

from hitl_nb._doors import all_at_home
from hitl_nb.inbox._person import Inbox
from hitl_nb.inbox._person import from_variable as from_variable
from hitl_nb.inbox._serve import serve
from hitl_nb.inbox._view import InboxView

__all__ = ["Inbox", "InboxView", "serve"]

all_at_home(globals())
