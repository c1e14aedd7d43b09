"""The chat loop: run the agent, decide what it left open, hand back the results, run it again.

This is what the web calls `processAgentResult` and follow-up (facts/copilotkit.md §4), with one rule on top: before
each agent run the history is proven to hold exactly one adjacent result a tool call, in call order.
"""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ag_ui.core import Event, RunAgentInput

from hitl_nb import _history
from hitl_nb._calls import Call, Handle, Outcome
from hitl_nb._tools import HumanTool
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.session._ask import Asker, Question, Replayed
from hitl_nb.session._checkpoints import Checkpoint
from hitl_nb.session._limits import Limits
from hitl_nb.session._turn import Turn

if TYPE_CHECKING:
    from hitl_nb.session._session import Session


class Loop:
    """The rounds of one run on a session's thread."""

    def __init__(self, session: "Session", transcript: Transcript) -> None:
        self._session = session
        self._thread = session._thread
        self._transcript = transcript
        self._limits = Limits(session.max_follow_ups)
        self._open: list[Question] = []
        self.ending: Outcome = "aborted"
        """How calls that are open when the run ends are closed."""

    async def run(self, replay: Sequence[Event] | None = None) -> None:
        """Go round until the agent has nothing open.

        Args:
            replay: Go on from earlier runs: their events, or none if the thread was restored from the journal. What
                they left open is asked again first; if nothing was, and no answer waits to be told, nothing runs.
        """
        if replay is not None:
            turn = self._new_turn()
            turn.replay(replay)
            self._keep(turn)
            how: Replayed = "events" if replay else "journal"
            untold = self._session._memory.untold
            if not await self._decide(self._questions(turn, replayed=how), replayed=True) and not untold:
                return
        while await self._decide(self._questions(await self._play())):
            pass

    async def _play(self) -> Turn:
        self._thread.check()
        turn = self._new_turn()
        try:
            await turn.play(self._session._agent)
        finally:
            # Also after a stop: what a person saw stays in the history, and the history stays valid.
            self._keep(turn)
        # Only now: a run that failed may never have read the answers that it carried.
        self._session._memory.delivered(turn.given, self._thread.addressed())
        return turn

    def _new_turn(self) -> Turn:
        session, thread = self._session, self._thread
        input_ = RunAgentInput(
            thread_id=session.thread_id,
            run_id=str(uuid.uuid4()),
            messages=list(thread.messages),
            state=thread.state,
            tools=session._tools.advertised(),
            context=[],
            forwarded_props=dict(thread.command),
            resume=list(thread.resume) or None,
        )
        return Turn(input_, session._tools, self._transcript, session._publish)

    def _keep(self, turn: Turn) -> None:
        self._thread.messages = _history.paired(turn.messages, self._thread.results)
        self._thread.state = turn.state
        self._session._memory.save(self._thread)

    def _questions(self, turn: Turn, *, replayed: Replayed = "") -> list[Question]:
        checkpoints = [Question(call=self._call_of(checkpoint), source=checkpoint) for checkpoint in turn.checkpoints]
        bound = {checkpoint.interrupt.tool_call_id for checkpoint in turn.checkpoints}
        for question in checkpoints:
            self._transcript.add(CallEntry(key=question.call.occurrence, call=question.call))
        calls = [
            Question(call=turn.call_of(tool_call), source=tool_call, replayed=replayed)
            for tool_call in turn.unanswered
            if tool_call.id not in bound and not self._thread.has_result(tool_call.id)
        ]
        return calls + checkpoints

    def _call_of(self, checkpoint: Checkpoint) -> Call:
        handler = self._session._tools.handler_of(checkpoint.interrupt)
        return checkpoint.call(thread_id=self._session.thread_id, render=handler.render if handler else None)

    async def _decide(self, questions: list[Question], *, replayed: bool = False) -> bool:
        """Decide a round; gives whether the agent is to be run again."""
        if not questions:
            return False
        self._open = questions
        session = self._session
        asker = Asker(
            session._tools,
            session.people,
            one_at_a_time=session.one_at_a_time,
            refuse=self._limits.refuse,
            recorder=session._memory.journal,
            on_decided=self._record,
            on_error=session._report,
        )
        await asker.decide(questions)
        self._session._memory.save(self._thread)
        again = self._wants_follow_up(questions, replayed=replayed)
        if again:
            self._limits.count(questions)
        return again

    def _wants_follow_up(self, questions: Sequence[Question], *, replayed: bool) -> bool:
        if any(isinstance(question.source, Checkpoint) for question in questions):
            return bool(self._thread.resume or self._thread.command)
        tools = [self._session._tools.get(question.call.name) for question in questions]
        if replayed:
            # Nothing was asked again, so there is nothing new to tell the model.
            return any(isinstance(tool, HumanTool) and tool.follow_up for tool in tools)
        return any(tool is None or tool.follow_up for tool in tools)

    def _record(self, question: Question) -> None:
        # At once and not at the end of the round. It is safe while the next card is still open: the journal has each
        # answer, and gives it back to a thread that was saved without it.
        if not self._thread.has_taken(question.call):
            self._thread.take(question.call, question.source)
            self._session._publish_result(question.call)

    async def close(self) -> None:
        """However the run ends, no call stays open and no tool call stays without a result."""
        for call in self._transcript.calls:
            if not call.decided:
                Handle.of(call).close(self.ending)
                self._session._report("tool_handler_failed", "Human-in-the-loop interaction aborted")
        for question in self._open:
            handle = Handle.of(question.call)
            if not handle.taken:
                handle.close(self.ending)
            await handle.settled()
            if not handle.taken:  # an answer that could not be written down did not happen
                handle.close(self.ending)
            handle.waive()
            self._record(question)
        self._thread.close(self.ending)
        self._session._memory.save(self._thread)
