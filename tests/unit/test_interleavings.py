"""Whatever people do, and in whatever order: no answer is lost, given twice, or given to another question."""

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress

from ag_ui.core import (
    Event,
    MessagesSnapshotEvent,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb import Call, Session, human_in_the_loop
from hitl_nb._waiting import until_decided
from hitl_nb.agui._messages import check
from hitl_nb.errors import HitlError, RunStopped

ROUNDS = 3


class Asks:
    """An agent whose first runs ask several questions each; it proves every history it is given."""

    def __init__(self, widths: list[int], *, renames: bool) -> None:
        self._widths = widths
        self._renames = renames
        self._runs = 0
        self.given: list[dict[str, str]] = []
        self.stored: list[Event] = []

    async def run(self, input):  # noqa: A002
        check(input.messages)
        self.given.append({m.tool_call_id: m.content for m in input.messages if m.role == "tool"})
        number, self._runs = self._runs, self._runs + 1
        for position, event in enumerate(self._events(input, number)):
            self.stored.append(event)
            if position == 0:
                # What a server keeps of a run: also the messages it was given, with the answers in them.
                self.stored.append(MessagesSnapshotEvent(messages=input.messages))
            yield event
            await asyncio.sleep(0)

    def _events(self, input, number):  # noqa: A002
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        if self._renames:
            # Servers mint new message ids with every snapshot; the web loses the answer then.
            renamed = [m.model_copy(update={"id": f"{m.id}'"}) for m in input.messages if m.role != "tool"]
            yield MessagesSnapshotEvent(messages=renamed)
        for index in range(self._widths[number] if number < len(self._widths) else 0):
            call_id = f"call-{number}-{index}"
            yield ToolCallStartEvent(tool_call_id=call_id, tool_call_name="ask", parent_message_id=f"asks-{number}")
            yield ToolCallArgsEvent(tool_call_id=call_id, delta=f'{{"question": "{call_id}"}}')
            yield ToolCallEndEvent(tool_call_id=call_id)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)


@human_in_the_loop
def ask(question: str) -> str:
    """Ask."""


class People:
    """Everybody who clicks: each action picks a call that was ever asked, open or long decided."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.counted: Counter[Call] = Counter()
        self.answers: dict[str, set[str]] = defaultdict(set)
        self._clicks = 0

    async def __call__(self, call: Call) -> None:
        self.calls.append(call)
        await until_decided(call)

    def act(self, action: str, pick: int) -> None:
        if not self.calls:
            return
        call = self.calls[pick % len(self.calls)]
        self._clicks += 1
        if action == "respond":
            value = f"{call.args.question} answered by click {self._clicks}"
            counts = call.respond(value)
        else:
            value = "declined"
            counts = call.decline("no")
        if counts:
            self.counted[call] += 1
            self.answers[call.id].add(value)


ACTIONS = st.tuples(
    st.sampled_from(["respond", "respond", "respond", "decline", "stop", "message", "supersede", "reload", "turn"]),
    st.integers(0, 20),
)


async def play(widths, actions, *, renames, one_at_a_time) -> None:
    agent, people = Asks(widths, renames=renames), People()
    session = Session(agent, tools=[ask], people=[people], one_at_a_time=one_at_a_time)
    runs = [session.start("go")]
    for action, pick in actions:
        for _ in range(pick * 3):
            await asyncio.sleep(0)
        if action in ("respond", "decline"):
            people.act(action, pick)
        elif action == "stop":
            session.stop()
        elif action == "reload" and session._run.status not in ("running", "waiting"):
            session = Session(agent, tools=[ask], people=[people], one_at_a_time=one_at_a_time)
            runs.append(session._launch(None, foreground=False, replay=list(_whole_runs(agent.stored))))
        elif action in ("message", "supersede"):
            with suppress(HitlError):
                runs.append(session.start("more", if_busy="decline" if action == "supersede" else "error"))
    session.stop()
    for run in runs:
        with suppress(RunStopped, asyncio.CancelledError, HitlError):
            await run
    check(session.messages)
    assert all(count == 1 for count in people.counted.values())
    told: dict[str, str] = {}
    for given_ in agent.given:
        for call_id, content in given_.items():
            refused = content.startswith("Error:") or '"approved":false' in content
            # An answer reaches the agent as it was given, for the call it was given to; all else says "no".
            assert refused or (content in people.answers[call_id] and content.startswith(call_id))
            # What was told once is never told differently: not asked again, not overwritten, not lost.
            assert told.setdefault(call_id, content) == content
    for call in people.calls:
        if call.outcome == "answered":
            assert call.answer.startswith(call.args.question)
            assert people.counted[call] == 1


def _whole_runs(events):
    """The stored events as a server replays them: of a run that was cut off only the messages it was given."""
    runs: list[list[Event]] = []
    for event in events:
        if isinstance(event, RunStartedEvent):
            runs.append([])
        runs[-1].append(event)
    for run in runs:
        if isinstance(run[-1], RunFinishedEvent):
            yield from run
        else:
            yield from [*run[:2], RunFinishedEvent(thread_id=run[0].thread_id, run_id=run[0].run_id)]


@settings(max_examples=300, deadline=None)
@given(
    widths=st.lists(st.integers(1, 5), min_size=1, max_size=ROUNDS),
    actions=st.lists(ACTIONS, max_size=14),
    renames=st.booleans(),
    one_at_a_time=st.booleans(),
)
def test_no_answer_is_lost_doubled_or_misrouted_and_every_history_is_whole(widths, actions, renames, one_at_a_time):
    asyncio.run(play(widths, actions, renames=renames, one_at_a_time=one_at_a_time))
