"""The chat loop: run the agent, decide what it left open, hand back the results, run it again.

This is what the web calls `processAgentResult` and follow-up (facts/copilotkit.md §4), with one rule on top: before
each agent run the history is proven to hold exactly one adjacent result a tool call, in call order.
"""

import json
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ag_ui.core import CustomEvent, Event, RunAgentInput, ToolCallResultEvent

from hitl_nb import _history
from hitl_nb._calls import Call, Handle, Outcome
from hitl_nb._tools import HumanTool, ToolBox
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.agents import Agent
from hitl_nb.errors import FollowUpLimit
from hitl_nb.people import Person
from hitl_nb.session._checkpoints import Checkpoint
from hitl_nb.session._dispatch import Dispatcher, PendingCall, Replayed
from hitl_nb.session._thread import Thread, ThreadStore, result_of
from hitl_nb.session._turn import Turn

_log = logging.getLogger("hitl_nb")


@dataclass(kw_only=True)
class Context:
    """What a run needs of its session."""

    agent: Agent
    """Who is run."""

    tools: ToolBox
    """What it may call."""

    people: list[Person]
    """Who is asked; the list may change while a run is under way."""

    thread: Thread
    """The conversation."""

    store: ThreadStore
    """What is kept of it."""

    thread_id: str
    """Its id."""

    one_at_a_time: bool
    """Whether parallel calls are asked one after the other."""

    max_follow_ups: int
    """How often the agent may be run again."""

    subscribers: list[Callable[[Event], object]] = field(default_factory=list)
    """Who wants to know of every event."""

    def subscribe(self, subscriber: Callable[[Event], object]) -> Callable[[], None]:
        """Have `subscriber` called with every event from now on; returns what ends that."""
        self.subscribers.append(subscriber)
        return lambda: self.subscribers.remove(subscriber) if subscriber in self.subscribers else None

    def publish(self, event: Event) -> None:
        """Tell those who subscribed of an event; one that fails does not stop the run."""
        for subscriber in tuple(self.subscribers):
            try:
                subscriber(event)
            except Exception:
                _log.exception("A subscriber of the session failed")

    def publish_result(self, call: Call) -> None:
        """Tell those who subscribed what a tool call was answered."""
        if call.kind == "tool":
            result = result_of(call)
            self.publish(ToolCallResultEvent(message_id=result.id, tool_call_id=call.id, content=result.content))

    def report(self, code: str, message: str) -> None:
        """Tell those who subscribed of a fault, by the web client's codes."""
        self.publish(CustomEvent(name="error", value={"code": code, "message": message}))


class Loop:
    """The rounds of one run on a session's thread."""

    def __init__(self, context: Context, transcript: Transcript) -> None:
        self._context = context
        self._thread = context.thread
        self._transcript = transcript
        self._limits = Limits(context.max_follow_ups)
        self._open: list[PendingCall] = []
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
            untold = self._context.store.untold
            if not await self._decide(self._questions(turn, replayed=how), replayed=True) and not untold:
                return
        while await self._decide(self._questions(await self._play())):
            pass

    async def _play(self) -> Turn:
        self._thread.check()
        turn = self._new_turn()
        try:
            await turn.play(self._context.agent)
        finally:
            # Also after a stop: what a person saw stays in the history, and the history stays valid.
            self._keep(turn)
        # Only now: a run that failed may never have read the answers that it carried.
        self._context.store.delivered(turn.given, self._thread.addressed())
        return turn

    def _new_turn(self) -> Turn:
        context, thread = self._context, self._thread
        input_ = RunAgentInput(
            thread_id=context.thread_id,
            run_id=str(uuid.uuid4()),
            messages=list(thread.messages),
            state=thread.state,
            tools=context.tools.advertised(),
            context=[],
            forwarded_props=dict(thread.command),
            resume=list(thread.resume) or None,
        )
        return Turn(input_, context.tools, self._transcript, context.publish)

    def _keep(self, turn: Turn) -> None:
        self._thread.messages = _history.paired(turn.messages, self._thread.results)
        self._thread.state = turn.state
        self._context.store.save(self._thread)

    def _questions(self, turn: Turn, *, replayed: Replayed = "") -> list[PendingCall]:
        checkpoints = [
            PendingCall(call=self._call_of(checkpoint), source=checkpoint) for checkpoint in turn.checkpoints
        ]
        bound = {checkpoint.interrupt.tool_call_id for checkpoint in turn.checkpoints}
        for question in checkpoints:
            self._transcript.add(CallEntry(key=question.call.occurrence, call=question.call))
        calls = [
            PendingCall(call=turn.call_of(tool_call), source=tool_call, replayed=replayed)
            for tool_call in turn.unanswered
            if tool_call.id not in bound and not self._thread.has_result(tool_call.id)
        ]
        return calls + checkpoints

    def _call_of(self, checkpoint: Checkpoint) -> Call:
        handler = self._context.tools.handler_of(checkpoint.interrupt)
        return checkpoint.call(thread_id=self._context.thread_id, render=handler.render if handler else None)

    async def _decide(self, questions: list[PendingCall], *, replayed: bool = False) -> bool:
        """Decide a round; gives whether the agent is to be run again."""
        if not questions:
            return False
        self._open = questions
        context = self._context
        dispatcher = Dispatcher(
            context.tools,
            context.people,
            one_at_a_time=context.one_at_a_time,
            refuse=self._limits.refuse,
            recorder=context.store.journal,
            on_decided=self._record,
            on_error=context.report,
        )
        await dispatcher.decide(questions)
        self._context.store.save(self._thread)
        again = self._wants_follow_up(questions, replayed=replayed)
        if again:
            self._limits.count(questions)
        return again

    def _wants_follow_up(self, questions: Sequence[PendingCall], *, replayed: bool) -> bool:
        if any(isinstance(question.source, Checkpoint) for question in questions):
            return bool(self._thread.resume or self._thread.command)
        tools = [self._context.tools.get(question.call.name) for question in questions]
        if replayed:
            # Nothing was asked again, so there is nothing new to tell the model.
            return any(isinstance(tool, HumanTool) and tool.follow_up for tool in tools)
        return any(tool is None or tool.follow_up for tool in tools)

    def _record(self, question: PendingCall) -> None:
        # At once and not at the end of the round. It is safe while the next card is still open: the journal has each
        # answer, and gives it back to a thread that was saved without it.
        if not self._thread.has_taken(question.call):
            self._thread.take(question.call, question.source)
            self._context.publish_result(question.call)

    async def close(self) -> None:
        """However the run ends, no call stays open and no tool call stays without a result."""
        for call in self._transcript.calls:
            if not call.decided:
                Handle.of(call).close(self.ending)
                self._context.report("tool_handler_failed", "Human-in-the-loop interaction aborted")
        for call in self._transcript.calls:
            await Handle.of(call).settled()
        for question in self._open:
            handle = Handle.of(question.call)
            if not handle.taken:
                handle.close(self.ending)
            await handle.settled()
            if not handle.taken:  # an answer that could not be written down did not happen
                handle.close(self.ending)
            await handle.waive()
            self._record(question)
        self._thread.close(self.ending)
        self._context.store.save(self._thread)


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

    def count(self, questions: Sequence[PendingCall]) -> None:
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

    def _note_declined(self, questions: Sequence[PendingCall]) -> None:
        for question in questions:
            if question.call.outcome == "declined" and not isinstance(question.source, Checkpoint):
                self._declined.add((question.call.name, _canonical(question.source.function.arguments)))

    def _count_invalid(self, questions: Sequence[PendingCall]) -> None:
        self._invalid = self._invalid + 1 if all(q.call.outcome == "invalid" for q in questions) else 0
        if self._invalid >= MAX_INVALID:
            raise FollowUpLimit(
                f"The model called wrongly {self._invalid} times in a row; the last time: {questions[-1].call.reason}"
            )

    def _count_same(self, questions: Sequence[PendingCall]) -> None:
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
