"""The run loop: turn → calls → ask → results → next turn.

Headless is the core: a session knows people and agents, never a widget.
"""

from hitl_nb._calls import Progress as Progress
from hitl_nb._doors import all_at_home
from hitl_nb.session._attached import Attachment as Attachment
from hitl_nb.session._attached import Sent as Sent
from hitl_nb.session._attached import attachment_of as attachment_of
from hitl_nb.session._attached import text_in as text_in
from hitl_nb.session._run import Reply, Run
from hitl_nb.session._session import Session
from hitl_nb.session._shared import State, StateChange, StateConflict
from hitl_nb.session._suggesting import Suggestion

__all__ = ["Reply", "Run", "Session", "State", "StateChange", "StateConflict", "Suggestion"]

all_at_home(globals())
