"""Where a run becomes visible: live in the cell if somebody sits there, as a static record otherwise."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from hitl_nb import _kernel
from hitl_nb._transcript import Transcript
from hitl_nb.cards import display_record


def delivering() -> AbstractContextManager[None]:
    """Have clicks delivered while a cell awaits; code in a worker thread leaves the kernel's thread to itself."""
    return _kernel.delivering() if threading.current_thread() is threading.main_thread() else nullcontext()


@contextmanager
def showing(people: Sequence[Any], transcript: Transcript) -> Iterator[None]:
    """Let everybody who wants to follow the run follow it; without any, leave its record in the cell at the end.

    A scripted person, a policy or an absent one gets no live widget but the same record, so that tutorials have
    the same output in CI as on screen.
    """
    shown = False
    try:
        with ExitStack() as stack:
            for person in people:
                if hasattr(person, "watch"):
                    shown = bool(stack.enter_context(person.watch(transcript))) or shown
            yield
    finally:
        if not shown and _kernel.current_kernel() is not None:
            display_record(transcript)
