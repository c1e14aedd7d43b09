"""The chat panel: a session to talk to, in the cell, or beside the notebook."""

from hitl_nb._doors import all_at_home
from hitl_nb.chat._chat import Chat

__all__ = ["Chat"]

all_at_home(globals())
