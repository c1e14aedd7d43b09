"""Where a run becomes visible: live in the cell if somebody sits there, as a static record otherwise."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hitl_nb._kernel import current_kernel
from hitl_nb._transcript import Transcript
from hitl_nb.cards import display_record


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
        if not shown and current_kernel() is not None:
            display_record(transcript)
