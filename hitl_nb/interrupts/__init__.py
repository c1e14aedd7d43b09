"""Checkpoints: the code decides to ask, and goes on with the answer or not at all.

The counterpart of the web's ``interrupt(...)`` + ``useInterrupt``, without a graph to suspend: the code stands still at
``await interrupt(...)`` while the kernel stays free, in a cell, in a step of a Flow, or in a worker thread
(`interrupt.sync`). What ran before it has run once and is not run again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hitl_nb._doors import all_at_home, at_home, no_such_name
from hitl_nb.interrupts._asked import OneOf as OneOf
from hitl_nb.interrupts._asked import Options as Options
from hitl_nb.interrupts._asked import SomeOf as SomeOf
from hitl_nb.interrupts._deciding import again_of as again_of
from hitl_nb.interrupts._deciding import decided as decided
from hitl_nb.interrupts._deciding import home_loop as home_loop
from hitl_nb.interrupts._deciding import on_stage as on_stage
from hitl_nb.interrupts._deciding import question as question
from hitl_nb.interrupts._deciding import run_blocking as run_blocking
from hitl_nb.interrupts._interrupt import interrupt
from hitl_nb.interrupts._shorthands import approve, ask, choose, review

if TYPE_CHECKING:
    from hitl_nb.interrupts._data import Batch, review_calls, review_code, review_table
    from hitl_nb.interrupts._data import decided_together as decided_together
    from hitl_nb.interrupts._label import label

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "Batch",
    "approve",
    "ask",
    "choose",
    "interrupt",
    "label",
    "review",
    "review_calls",
    "review_code",
    "review_table",
]

all_at_home(globals())
at_home(interrupt.sync)

# Tables, diffs and queues are a room of their own, which a question of words or a yes does not need.
_HOMES = {
    "Batch": "hitl_nb.interrupts._data",
    "decided_together": "hitl_nb.interrupts._data",
    "label": "hitl_nb.interrupts._label",
    "review_calls": "hitl_nb.interrupts._data",
    "review_code": "hitl_nb.interrupts._data",
    "review_table": "hitl_nb.interrupts._data",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise no_such_name(__name__, name)
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    at_home(value)
    return value
