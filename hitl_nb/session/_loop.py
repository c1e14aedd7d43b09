"""The chat loop: run the agent, decide what it left open, hand back the results, run it again.

This is what the web calls `processAgentResult` and follow-up, with one rule on top: before
each agent run the history is proven to hold exactly one adjacent result a tool call, in call order.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    CustomEvent,
    Event,
    RunAgentInput,
    ToolCall,
    ToolCallResultEvent,
    UserMessage,
)
from ag_ui.core import Context as AguiContext

from hitl_nb._calls import Call, Handle, Outcome
from hitl_nb._limits import aside, contained, read_json
from hitl_nb._text import logger
from hitl_nb._tools import HumanTool, ToolBox
from hitl_nb._transcript import CallEntry, MessageEntry, Transcript
from hitl_nb.agents import Agent
from hitl_nb.errors import FollowUpLimit
from hitl_nb.people import Person
from hitl_nb.session._attached import Readable, context_of
from hitl_nb.session._checkpoints import Checkpoint
from hitl_nb.session._dispatch import Dispatcher, PendingCall, Replayed
from hitl_nb.session._suggesting import Suggesting
from hitl_nb.session._thread import Thread, ThreadStore, result_of
from hitl_nb.session._turn import AgentRun, Drawings

_log = logger()


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

    drawings: Drawings = field(default_factory=Drawings)
    """What draws the tool calls that nobody is asked about."""

    state_drawings: list[Callable[[Any], object]] = field(default_factory=list)
    """What draws the shared state of each run."""

    readables: "list[Readable]" = field(default_factory=list)
    """What the agent is told of beside the conversation, read again each run."""

    begun: "list[Callable[[Any], object]]" = field(default_factory=list)
    """Who wants to know of each run as it begins, before it is shown."""

    suggesting: Suggesting = field(default_factory=Suggesting)
    """How suggestions come about."""

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
                with contained("A subscriber of the session"):
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
        self._later: list[UserMessage] = []
        self.ending: Outcome = "aborted"
        """How calls that are open when the run ends are closed."""
        self.why: str | None = None
        """And why, where that is not all."""

    def hear(self, message: UserMessage) -> None:
        """Take what the user says into the history.

        An agent that waits for an answer hears of that first, in a run of its own: what comes beside a ``resume`` is
        lost to most.
        """
        if self._thread.directive:
            self._later.append(message)
            return
        self._thread.messages.append(message)
        self._context.store.save(self._thread)

    async def run(self, replay: Sequence[Event] | None = None) -> None:
        """Go round until the agent has nothing open.

        Args:
            replay: Go on from earlier runs: their events, or none if the thread was restored from the journal. What
                they left open is asked again first; if nothing was, and no answer waits to be told, nothing runs.
        """
        self._say_notes()
        if replay is not None:
            turn = self._new_turn()
            turn.replay(replay)
            self._keep(turn)
            if replay:
                self._wait_at(turn)
            how: Replayed = "events" if replay else "journal"
            untold = self._context.store.untold
            if not await self._decide(self._questions(turn, replayed=how), replayed=True) and not untold:
                return
        if self._later:
            await self._rounds()
            for message in self._later:
                self.hear(message)
        await self._rounds()

    async def run_tool(self, tool_call: ToolCall, follow_up: bool | str) -> Call:
        """Decide one call that code makes, as if the model had made it; then run the agent, if that is wanted.

        Args:
            tool_call: The call, with arguments that fit.
            follow_up: Whether the agent is run with the result; words are said to it first.
        """
        self._say_notes()
        self._thread.messages.append(AssistantMessage(id=str(uuid.uuid4()), tool_calls=[tool_call]))
        turn = self._new_turn(all_calls=True)
        call = turn.call_of(tool_call)
        await self._decide([PendingCall(call=call, source=tool_call, by_code=True)])
        if isinstance(follow_up, str):
            message = UserMessage(id=str(uuid.uuid4()), content=follow_up)
            self._transcript.add(MessageEntry(key=message.id, role="user", text=follow_up))
            self.hear(message)
        if follow_up is not False:
            await self._rounds()
        return call

    def _say_notes(self) -> None:
        notes, self._context.store.notes = self._context.store.notes, []
        for note in notes:
            self._transcript.note("warning", note)

    async def _rounds(self) -> None:
        while await self._decide(self._questions(await self._play())):
            pass

    async def _play(self) -> AgentRun:
        self._thread.check()
        turn = self._new_turn(plays=True)
        try:
            await turn.play(self._context.agent)
        finally:
            # Also after a stop: what a person saw stays in the history, and the history stays valid.
            self._keep(turn)
            if self._thread.state.out_of_step:
                self._transcript.note("warning", _OUT_OF_STEP)
        # Only now: a run that failed may never have read the answers that it carried.
        told = self._thread.addressed()
        self._wait_at(turn)
        if told or self._thread.waiting:
            self._context.store.save(self._thread)
        self._context.store.delivered(turn.given, told)
        self._context.store.untold = False
        return turn

    def _wait_at(self, turn: AgentRun) -> None:
        """Take down what the run has stopped at; the calls behind it that are no tools of ours are the agent's own."""
        stops = turn.checkpoints
        bound = {checkpoint.interrupt.tool_call_id for checkpoint in stops}
        tools = self._context.tools
        theirs = [call.id for call in turn.unanswered if call.id in bound or tools.get(call.function.name) is None]
        self._thread.wait_at(stops, theirs if stops else ())

    def _new_turn(self, *, plays: bool = False, all_calls: bool = False) -> AgentRun:
        context, thread = self._context, self._thread
        drawings = context.drawings.of_all() if all_calls else context.drawings
        directive = thread.directive
        if asks := plays and thread.state.out_of_step:
            thread.state.out_of_step = False  # asked for once; and the run is sent all that there is here
        # Made of what is valid already: a look at each message of the history again would cost more with each turn.
        input_ = RunAgentInput.model_construct(
            thread_id=context.thread_id,
            run_id=str(uuid.uuid4()),
            messages=list(thread.messages),
            state=thread.state.to_send() if plays else thread.state.data,
            tools=context.tools.advertised(),
            context=[*context_of(context.readables), *([_SAY_ALL] if asks else [])],
            forwarded_props=directive.forwarded,
            resume=directive.resume or None,
        )
        turn = AgentRun(
            input_,
            context.tools,
            self._transcript,
            context.publish,
            thread.proven,
            drawings,
            thread.state,
            thread.conversation,
        )
        thread.conversation = turn.conversation
        return turn

    def _keep(self, turn: AgentRun) -> None:
        self._thread.messages = self._thread.proven.paired(turn.messages, self._thread.results)
        self._thread.state.guess_no_more()
        self._context.store.save(self._thread)

    def _questions(self, turn: AgentRun, *, replayed: Replayed = "") -> list[PendingCall]:
        checkpoints = [
            PendingCall(call=self._call_of(checkpoint), source=checkpoint, replayed=replayed)
            for checkpoint in self._thread.unanswered
        ]
        for question in checkpoints:
            self._transcript.add(CallEntry(key=question.call.occurrence, call=question.call))
            if replayed == "journal":
                self._context.store.asked_before(question.call)
        calls = [
            PendingCall(call=turn.call_of(tool_call), source=tool_call, replayed=replayed)
            for tool_call in turn.unanswered
            if not self._thread.has_result(tool_call.id)
        ]
        return calls + checkpoints

    def _call_of(self, checkpoint: Checkpoint) -> Call:
        handler = self._context.tools.handler_of(checkpoint.interrupt)
        call = checkpoint.call(thread_id=self._context.thread_id, render=handler.render if handler else None)
        if handler is not None:
            Handle.of(call).grace.seconds = handler.undo
        return call

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
            await self._limits.count(questions)
        return again

    def _wants_follow_up(self, questions: Sequence[PendingCall], *, replayed: bool) -> bool:
        if any(isinstance(question.source, Checkpoint) for question in questions):
            return bool(self._thread.directive)
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
            self._note(question)

    def _note(self, question: PendingCall) -> None:
        """Say on the screen what no card says."""
        call, source = question.call, question.source
        if isinstance(source, Checkpoint):
            if source.said(call) is None:
                self._transcript.note("warning", _KEPT)
        elif question.replayed and call.outcome == "invalid" and call not in self._transcript:
            words = f"`{call.name}` ({call.id}) was open in an earlier run, and is closed, not executed: {call.reason}."
            self._transcript.note("warning", words)

    async def close(self) -> None:
        """However the run ends, no call stays open and no tool call stays without a result."""
        for call in self._transcript.tools:
            if not call.decided and all(call != question.call for question in self._open):
                Handle.of(call).close(self.ending)
        for call in self._transcript.calls:
            if not call.decided:
                Handle.of(call).close(self.ending, self.why)
                self._context.report("tool_handler_failed", "Human-in-the-loop interaction aborted")
        for call in self._transcript.calls:
            await Handle.of(call).settled()
        for question in self._open:
            handle = Handle.of(question.call)
            if not handle.taken:
                handle.close(self.ending, self.why)
            await handle.settled()
            if not handle.taken:  # an answer that could not be written down did not happen
                handle.close(self.ending, self.why)
            await handle.grant.waive()
            self._record(question)
        self._thread.close(self.ending)
        self._context.store.save(self._thread)


_OUT_OF_STEP = (
    "A change that the agent made to the shared state did not fit what is there, and is missing here. "
    "The next run sends it the whole state, and asks for all of its own."
)

_SAY_ALL = AguiContext(
    description="The shared state",
    value="A change that you sent (STATE_DELTA) did not fit and was left out. Send the whole state (STATE_SNAPSHOT).",
)

_KEPT = (
    "Your no stays here: CrewAI has no word for it at this question, and would take silence for its first outcome. "
    "The flow stays where it is, and nothing was approved."
)

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
        self._last: list[_Told] = []
        self._declined: set[tuple[str, str]] = set()

    async def refuse(self, call: Call, arguments: str) -> str | None:
        """Return the reason to refuse a call unasked: a person said no to exactly this in this run."""
        if all(name != call.name for name, _ in self._declined):
            return None
        if (call.name, await _canonical(arguments)) in self._declined:
            return "already declined with the same arguments; ask the user before trying again"
        return None

    async def count(self, questions: Sequence[PendingCall]) -> None:
        """Take note of a decided round.

        Raises:
            FollowUpLimit: Another one would go in circles.
        """
        await self._note_declined(questions)
        self._count_invalid(questions)
        await self._count_same(questions)
        if self._left == 0:
            raise FollowUpLimit(
                f"The model asked for tools in more than {self._max_follow_ups} follow-ups. If that is meant, "
                "write `Session(..., max_follow_ups=...)`."
            )
        self._left -= 1

    async def _note_declined(self, questions: Sequence[PendingCall]) -> None:
        for question in questions:
            if question.call.outcome == "declined" and not isinstance(question.source, Checkpoint):
                self._declined.add((question.call.name, await _canonical(question.source.function.arguments)))

    def _count_invalid(self, questions: Sequence[PendingCall]) -> None:
        self._invalid = self._invalid + 1 if all(q.call.outcome == "invalid" for q in questions) else 0
        if self._invalid >= MAX_INVALID:
            raise FollowUpLimit(
                f"The model called wrongly {self._invalid} times in a row; the last time: {questions[-1].call.reason}"
            )

    async def _count_same(self, questions: Sequence[PendingCall]) -> None:
        round_ = [
            (q.call.name, q.call.result, q.source.function.arguments)
            for q in questions
            if not isinstance(q.source, Checkpoint)
        ]
        self._same = self._same + 1 if round_ and await _are_same(round_, self._last) else 1
        self._last = round_
        if self._same >= MAX_SAME:
            names = ", ".join(f"`{name}`" for name, _, _ in round_)
            raise FollowUpLimit(f"The model called {names} {self._same} times in a row with the same arguments.")


_Told = tuple[str, str | None, str]
"""Which tool was called, what came of it, and the arguments as the model wrote them."""


async def _are_same(round_: Sequence[_Told], last: Sequence[_Told]) -> bool:
    if [told[:2] for told in round_] != [told[:2] for told in last]:
        return False
    pairs = [(one[2], other[2]) for one, other in zip(round_, last, strict=True)]
    return all([one == other or await _canonical(one) == await _canonical(other) for one, other in pairs])


async def _canonical(arguments: str) -> str:
    return await aside(lambda: _in_order(arguments), len(arguments))


def _in_order(arguments: str) -> str:
    try:
        return json.dumps(read_json(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments
