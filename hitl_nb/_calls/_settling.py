"""How a call is decided: the first decision wins, is on disk before anybody acts on it, and shows in the loop's thread.

Answers come from any thread (ipykernel 7.0-7.3 runs a widget's callback in a subshell's, facts/kernel.md fact 4), from
several views, and with a journal from other processes.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from traitlets import HasTraits

from hitl_nb._calls._decision import AnswerType, Decision, Recorder
from hitl_nb._calls._registry import log, tell_watchers


class Settling(HasTraits):
    """The half of a `Call` that settles it; the other half is what people and sessions see."""

    # The other half's.
    id: Any
    name: Any
    answer_type: AnswerType | None

    def __init__(self) -> None:
        super().__init__()
        self.late: list[Any] = []
        self._recorder: Recorder | None = None
        self._lock = threading.Lock()
        self._decision: Decision | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._done_callbacks: list[Callable[[], None]] = []

    @property
    def decided(self) -> bool:
        """Whether an answer or a refusal counts already (true a moment before ``status`` says complete)."""
        return self._decision is not None

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once when the call is decided, in whichever thread that happens."""
        with self._lock:
            if self._decision is None:
                self._done_callbacks.append(callback)
                return
        callback()

    def _decide(self, decision: Decision) -> bool:
        with self._lock:
            if self._decision is None:
                counts = self._commit(decision)
                callbacks, self._done_callbacks = self._done_callbacks, []
            else:
                callbacks, counts = None, False
        if callbacks is None:
            return self._too_late(decision.answer, decision.by)
        tell_watchers(self)
        for callback in callbacks:
            callback()
        self._at_home(self._publish_decision)
        return counts

    def _commit(self, decision: Decision) -> bool:
        """Make this the decision, on disk before anybody acts on it; gives whether it is the one that counts."""
        self._decision = decision
        try:
            if self._recorder is None or self._recorder.answered(self):
                return True
            self._decision = self._decision_of(self._recorder.winner(self))
        except Exception:
            if decision.outcome not in ("answered", "edited"):
                # A refusal holds all the same: nothing is executed, whether or not that can be written down.
                log.exception("The end of `%s` (%s) could not be recorded", self.name, self.id)
                return True
            # A yes that could not be recorded did not happen: the call stays open, and whoever answered is told.
            self._decision = None
            raise
        self.late.append(decision.answer)
        return False

    def _decision_of(self, stored: Any) -> Decision:
        """Give a decision that another kernel or process made, with the answer as its declared type."""
        answer = stored.answer
        if answer is not None and self.answer_type is not None:
            answer = self.answer_type.validate(answer)
        return Decision(
            outcome=stored.outcome,
            answer=answer,
            result=stored.result,
            reason=stored.reason,
            by=stored.by,
            via=stored.via,
            at=stored.at,
        )

    def _too_late(self, value: Any, by: str | None = None) -> bool:
        self.late.append(value)
        if self._recorder is not None:
            try:
                self._recorder.late(self, value, by)
            except Exception:
                log.exception("A late answer to `%s` (%s) could not be recorded", self.name, self.id)
        return False

    def _publish_decision(self) -> None:
        decision = self._decision
        assert decision is not None
        self._set(
            answer=decision.answer,
            edits=decision.edits,
            outcome=decision.outcome,
            result=decision.result,
            reason=decision.reason,
            answered_by=decision.by,
            via=decision.via,
            answered_at=decision.at,
            error=None,
            status="complete",
        )

    def _publish_error(self, message: str) -> None:
        # Cleared first: the same mistake twice is two events for whoever observes `error`.
        self._at_home(lambda: self._set(error=None))
        self._at_home(lambda: self._set(error=message))

    def _at_home(self, publish: Callable[[], None]) -> None:
        """Change traits in the loop's own thread only: widgets that observe them are not thread-safe."""
        home = self._home
        try:
            same_loop = home is None or asyncio.get_running_loop() is home
        except RuntimeError:
            same_loop = False
        if same_loop or home is None or home.is_closed():
            publish()
        else:
            home.call_soon_threadsafe(publish)

    def _set(self, **traits: Any) -> None:
        # An observer of the user's that raises must neither hide the other changes nor stop the run.
        for key, value in traits.items():
            try:
                self.set_trait(key, value)
            except Exception:
                log.exception("An observer of `%s.%s` failed", self.name, key)
