"""When a model goes round in circles: wrong calls, the same call again, a call that was just declined."""

import json
from collections.abc import Sequence

from hitl_nb._calls import Call
from hitl_nb.errors import FollowUpLimit
from hitl_nb.session._ask import Question
from hitl_nb.session._checkpoints import Checkpoint

MAX_INVALID = 3
"""How often in a row a model may call with bad arguments before the run gives up."""

MAX_SAME = 10
"""How often in a row a model may make the same calls with the same arguments and get the same results."""


class Limits:
    """What one run has seen so far."""

    def __init__(self, max_follow_ups: int) -> None:
        self._left = max_follow_ups
        self._max_follow_ups = max_follow_ups
        self._invalid = 0
        self._same = 0
        self._last: list[tuple[str, str, str | None]] = []
        self._declined: set[tuple[str, str]] = set()

    def refuse(self, call: Call, arguments: str) -> str | None:
        """Give the reason to refuse a call unasked: a person said no to exactly this in this run."""
        if (call.name, _canonical(arguments)) in self._declined:
            return "already declined with the same arguments; ask the user before trying again"
        return None

    def count(self, questions: Sequence[Question]) -> None:
        """Take note of a decided round.

        Raises:
            FollowUpLimit: Another one would go in circles.
        """
        self._note_declined(questions)
        self._count_invalid(questions)
        self._count_same(questions)
        if self._left == 0:
            raise FollowUpLimit(
                f"The model asked for tools in more than {self._max_follow_ups} follow-ups. If that is meant, "
                "write `Session(..., max_follow_ups=...)`."
            )
        self._left -= 1

    def _note_declined(self, questions: Sequence[Question]) -> None:
        for question in questions:
            if question.call.outcome == "declined" and not isinstance(question.source, Checkpoint):
                self._declined.add((question.call.name, _canonical(question.source.function.arguments)))

    def _count_invalid(self, questions: Sequence[Question]) -> None:
        self._invalid = self._invalid + 1 if all(q.call.outcome == "invalid" for q in questions) else 0
        if self._invalid >= MAX_INVALID:
            raise FollowUpLimit(
                f"The model called wrongly {self._invalid} times in a row; the last time: {questions[-1].call.reason}"
            )

    def _count_same(self, questions: Sequence[Question]) -> None:
        round_ = [
            (q.call.name, _canonical(q.source.function.arguments), q.call.result)
            for q in questions
            if not isinstance(q.source, Checkpoint)
        ]
        self._same = self._same + 1 if round_ and round_ == self._last else 1
        self._last = round_
        if self._same >= MAX_SAME:
            names = ", ".join(f"`{name}`" for name, _, _ in round_)
            raise FollowUpLimit(f"The model called {names} {self._same} times in a row with the same arguments.")


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments
