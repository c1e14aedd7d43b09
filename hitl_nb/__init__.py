"""Human-in-the-loop inside the notebook.

An agent pauses, a card appears in the cell, a person decides, and the run goes on with exactly that answer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hitl_nb import _process as _process  # notes what the process was started with, so it comes first
from hitl_nb._doors import no_such_name
from hitl_nb._process import keep_offline

if TYPE_CHECKING:
    from hitl_nb._awaiting import Question
    from hitl_nb._calls import Call, pending, report_progress
    from hitl_nb._doctor import doctor
    from hitl_nb._tools import frontend_tool, human_in_the_loop, on_interrupt
    from hitl_nb._use import use
    from hitl_nb.gates import gate
    from hitl_nb.interrupts import (
        Batch,
        approve,
        ask,
        choose,
        interrupt,
        label,
        review,
        review_calls,
        review_code,
        review_table,
    )
    from hitl_nb.journal import Journal
    from hitl_nb.session import Session

    __version__: str

__all__ = [
    "Batch",
    "Call",
    "Journal",
    "Question",
    "Session",
    "approve",
    "ask",
    "choose",
    "doctor",
    "frontend_tool",
    "gate",
    "human_in_the_loop",
    "interrupt",
    "label",
    "on_interrupt",
    "pending",
    "report_progress",
    "review",
    "review_calls",
    "review_code",
    "review_table",
    "use",
]

# Loaded when first used: a plugin, a policy server or a type checker that needs one name does not pay for the widgets.
_HOMES = {
    "Batch": "hitl_nb.interrupts",
    "Call": "hitl_nb._calls",
    "Journal": "hitl_nb.journal",
    "Question": "hitl_nb._awaiting",
    "Session": "hitl_nb.session",
    "approve": "hitl_nb.interrupts",
    "ask": "hitl_nb.interrupts",
    "choose": "hitl_nb.interrupts",
    "doctor": "hitl_nb._doctor",
    "frontend_tool": "hitl_nb._tools",
    "gate": "hitl_nb.gates",
    "human_in_the_loop": "hitl_nb._tools",
    "interrupt": "hitl_nb.interrupts",
    "label": "hitl_nb.interrupts",
    "on_interrupt": "hitl_nb._tools",
    "pending": "hitl_nb._calls",
    "report_progress": "hitl_nb._calls",
    "review": "hitl_nb.interrupts",
    "review_calls": "hitl_nb.interrupts",
    "review_code": "hitl_nb.interrupts",
    "review_table": "hitl_nb.interrupts",
    "use": "hitl_nb._use",
}

keep_offline()


def __getattr__(name: str) -> Any:
    if name == "__version__":  # of what is installed; pyproject.toml is the one place where it is written
        return import_module("importlib.metadata").version("hitl-nb")
    if name not in _HOMES:
        raise no_such_name(__name__, name)
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
