"""Human-in-the-loop inside the notebook.

An agent pauses, a card appears in the cell, a person decides, and the run goes on with exactly that answer.
"""

from hitl_nb._calls import Call, pending
from hitl_nb._tools import frontend_tool, human_in_the_loop, on_interrupt
from hitl_nb.agents.flow import keep_offline
from hitl_nb.gates import gate
from hitl_nb.interrupts import approve, ask, choose, interrupt, review
from hitl_nb.journal import Journal
from hitl_nb.session import Session

__all__ = [
    "Call",
    "Journal",
    "Session",
    "approve",
    "ask",
    "choose",
    "frontend_tool",
    "gate",
    "human_in_the_loop",
    "interrupt",
    "on_interrupt",
    "pending",
    "review",
]

keep_offline()
