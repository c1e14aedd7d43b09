"""The run loop: turn → calls → ask → results → next turn.

Headless is the core: a session knows people and agents, never a widget.
"""

from hitl_nb._doors import all_at_home
from hitl_nb.session._run import Reply, Run
from hitl_nb.session._session import Session

__all__ = ["Reply", "Run", "Session"]

all_at_home(globals())
