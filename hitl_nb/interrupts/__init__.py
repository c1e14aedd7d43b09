"""Checkpoints: the code decides to ask, and goes on with the answer or not at all.

The counterpart of the web's ``interrupt(...)`` + ``useInterrupt``, without a graph to suspend: the code stands still at
``await interrupt(...)`` while the kernel stays free, in a cell, in a step of a Flow, or in a worker thread
(`interrupt.sync`). What ran before it has run once and is not run again.
"""

from hitl_nb._doors import all_at_home, at_home
from hitl_nb.interrupts._deciding import Options as Options
from hitl_nb.interrupts._deciding import decided as decided
from hitl_nb.interrupts._deciding import home_loop as home_loop
from hitl_nb.interrupts._deciding import on_stage as on_stage
from hitl_nb.interrupts._deciding import question as question
from hitl_nb.interrupts._deciding import run_blocking as run_blocking
from hitl_nb.interrupts._interrupt import interrupt
from hitl_nb.interrupts._shorthands import approve, ask, choose, review
from hitl_nb.interrupts._types import OneOf as OneOf
from hitl_nb.interrupts._types import SomeOf as SomeOf

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = ["approve", "ask", "choose", "interrupt", "review"]

all_at_home(globals())
at_home(interrupt.sync)
