"""Checkpoints: the code decides to ask, and goes on with the answer or not at all.

The counterpart of the web's ``interrupt(...)`` + ``useInterrupt``, without a graph to suspend: the code stands still at
``await interrupt(...)`` while the kernel stays free, in a cell, in a step of a Flow, or in a worker thread
(`interrupt.sync`). What ran before it has run once and is not run again.
"""

from hitl_nb.interrupts._interrupt import decided, home_loop, interrupt, on_stage, question, run_blocking
from hitl_nb.interrupts._shorthands import approve, ask, choose, review

__all__ = [
    "approve",
    "ask",
    "choose",
    "decided",
    "home_loop",
    "interrupt",
    "on_stage",
    "question",
    "review",
    "run_blocking",
]
