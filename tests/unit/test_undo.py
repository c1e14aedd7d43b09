"""An answer that can be taken back for a moment: nothing of it counts until the moment is over, however things fall.

The rule is the table of `hitl_nb._calls._turns`; `Told` says it once more, in terms of what a bystander sees, and
random afternoons of clicks, undos, time, cancels, stops and crashes are held against it.
"""

import asyncio
import itertools
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hitl_nb import Call, Journal, Session, approve, ask, gate, human_in_the_loop, on_interrupt, pending, use
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.cards._clicks import Clicks
from hitl_nb.cards._updates import Fate, Updates
from hitl_nb.errors import Expired, NotApproved, UsageError
from hitl_nb.journal import open_journal
from hitl_nb.people import AllOf
from tests.unit.test_agent_checkpoints import Interrupting, stop
from tests.unit.yes.world import Clock

UNDO, TIMEOUT = 3.0, 5.0


class Ada:
    """Somebody at a card."""

    via = "card"

    def __init__(self, name: str = "ada") -> None:
        self.name = name

    async def __call__(self, call: Call) -> None:
        await until_decided(call)


class Page:
    """What a browser does with one card: it sends a click again until it hears what became of it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.told: dict[str, Any] = {}
        updates = Updates(self._hear, lambda message: None, lambda: None)
        self._clicks = Clicks({call.occurrence: call}.get, lambda call: None, lambda call_id: updates)
        self._ids = itertools.count()
        self._token = call.turn.token
        self.last: dict[str, Any] = {}

    def _hear(self, message: dict[str, Any]) -> None:
        self.told[str(message["click"])] = Fate(
            **{name: message[name] for name in ("accepted", "error", "undone", "late")}
        )

    def send(self, op: str, **more: Any) -> str:
        click = f"c{next(self._ids)}"
        self.last = {"op": op, "call_id": self.call.occurrence, "turn": self._token, "click": click, **more}
        self._clicks.take(self.last)
        return click

    def again(self) -> None:
        if self.last:
            self._clicks.take(self.last)


class Told:
    """What may have come of it, in thirty lines that know nothing of handles, timers and journals."""

    def __init__(self, timeout: float | None) -> None:
        self.now = 0.0
        self.held: tuple[str, float] | None = None
        self.came: str | None = None
        self.ends = timeout

    def click(self, says: str) -> None:
        if self.came is None and self.held is None:
            self.held = says, self.now + UNDO

    def undo(self) -> None:
        self.held = None

    def ended(self, what: str) -> None:
        if self.came is None:
            self.came, self.held = what, None

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while self.came is None:
            nexts = [at for at in (self.held and self.held[1], self.ends) if at is not None and at <= until]
            if not nexts:
                break
            self.now = min(nexts)
            # An answer that was given in time counts, whether its moment or the time to answer is over first.
            self.ended(self.held[0] if self.held is not None else "expired")
        self.now = until


async def rested() -> None:
    """Go on until nothing happens any more by itself; the writer of a journal is a thread."""
    loop: Any = asyncio.get_running_loop()
    at_rest = 0
    while at_rest < 2:
        before = loop.steps
        _flush()
        for _ in range(3):
            await asyncio.sleep(0)
        at_rest = at_rest + 1 if loop.steps - before == 3 else 0


def _flush() -> None:
    if (written := open_journal()) is not None:
        written.winner("nobody")  # reading waits for what was begun
    time.sleep(0.0002)  # a writer tells whoever waits for it a moment later


ACTS = st.one_of(
    st.tuples(st.just("click"), st.sampled_from(["a", "b", "no"])),
    st.tuples(st.just("wait"), st.sampled_from([0.4, 1.6, 2.9, 3.1])),
    st.tuples(st.sampled_from(["undo", "undo", "again", "again"]), st.none()),
    st.tuples(st.sampled_from(["cancel", "stop", "code"]), st.none()),
)


async def play(acts: list[tuple[str, Any]], timeout: float | None, path: Path) -> None:
    loop: Any = asyncio.get_running_loop()
    told = Told(timeout)
    with use(journal=path), Journal(path) as elsewhere:
        asked = asyncio.ensure_future(_asked(timeout))
        while not pending() or pending()[0].turn is None:
            await rested()
        (call,) = pending()
        page = Page(call)
        stopped = False
        for verb, what in acts:
            match verb:
                case "click" if what == "no":
                    page.send("decline", reason="")
                    told.click("declined")
                case "click":
                    page.send("respond", value={"text": what})
                    told.click(what)
                case "undo":
                    page.send("undo")
                    told.undo()
                case "again":
                    page.again()
                case "wait":
                    told.wait(what)
                    loop.now += what
                case "cancel":
                    call.cancel("not needed")
                    told.ended("cancelled")
                case "code":
                    call.respond("by code")
                    told.ended("by code")
                case "stop":
                    asked.cancel()
                    stopped = True
                    told.ended("aborted")
            await rested()
            if told.held is None and told.came is None:
                assert (call.decided, call.held, asked.done()) == (False, None, stopped)
            elif told.came is None:
                assert (call.decided, call.status, asked.done()) == (False, "executing", False)
                assert call.held is not None
            left = elsewhere.winner(call)  # what a crash would leave, at this very moment
            assert (None if left is None else _said(left.outcome, left.answer)) == told.came
        assert (None if call.outcome is None else _said(call.outcome, call.answer)) == told.came
        if told.came is None:
            call.cancel("the afternoon is over")
        with suppress(NotApproved, asyncio.CancelledError):
            answer = await asked
            assert answer == told.came
        await rested()


def _said(outcome: str, answer: Any) -> str:
    return answer if outcome == "answered" else outcome


async def _asked(timeout: float | None) -> str:
    return await ask("Which?", timeout=timeout, undo=UNDO, people=Ada())


@settings(max_examples=60, deadline=None)
@given(acts=st.lists(ACTS, max_size=9), timeout=st.sampled_from([None, TIMEOUT]))
@example(acts=[("click", "a"), ("stop", None)], timeout=None)
@example(acts=[("wait", 2.9), ("click", "a"), ("wait", 2.9)], timeout=TIMEOUT)
@example(acts=[("click", "a"), ("undo", None), ("again", None), ("click", "b"), ("wait", 3.1)], timeout=None)
def test_however_things_fall_nothing_counts_before_its_time_and_nothing_is_invented(acts, timeout):
    with TemporaryDirectory() as folder:
        loop = Clock()
        try:
            loop.run_until_complete(play(acts, timeout, Path(folder) / "journal.sqlite"))
        finally:
            loop.close()


# -- one by one -------------------------------------------------------------------------------------------------


async def opened(question):
    asked = asyncio.ensure_future(question)
    while not pending() or pending()[0].turn is None:
        await asyncio.sleep(0)
    return asked, Page(pending()[0])


async def test_what_was_held_and_did_not_count_is_kept_among_the_late_answers():
    asked, page = await opened(ask("Which?", undo=60, people=Ada()))
    click = page.send("respond", value={"text": "a"})
    page.call.cancel("not needed")
    with pytest.raises(NotApproved):
        await asked
    await asyncio.sleep(0)
    assert page.call.late_answers == ["a"]
    assert page.told[click].error == "This ended before your answer counted:"


async def test_a_payload_that_code_changes_while_its_answer_is_held_is_not_approved():
    rows = [1, 2]
    asked, page = await opened(approve("Drop?", rows, undo=60, people=Ada()))
    page.send("respond", value={"approved": True})
    rows.append(3)
    Handle.of(page.call).grace.end()
    with pytest.raises(NotApproved, match="changed by code"):
        await asked


async def test_an_undo_of_another_turn_or_of_nothing_changes_nothing():
    asked, page = await opened(approve("Go?", undo=60, people=Ada()))
    page.send("undo")
    page.send("respond", value={"approved": True})
    page._token, token = "another", page._token
    page.send("undo")
    assert page.call.held is not None
    page._token = token
    Handle.of(page.call).grace.end()
    assert await asked is True
    late = page.send("undo")
    assert page.told[late].error == "It was too late to undo this. It counts:"


async def test_what_is_asked_of_several_is_held_for_each():
    asked = asyncio.ensure_future(approve("Go?", undo=0.05, people=AllOf(Ada("ada"), Ada("bob"))))
    while sum(call.turn is not None for call in pending()) < 2:
        await asyncio.sleep(0)
    pages = [Page(call) for call in pending()]
    for page in pages:
        page.send("respond", value={"approved": True})
        assert page.call.held is not None
    assert await asked is True


async def test_only_a_click_is_held_what_code_answers_counts_at_once():
    async def code(call: Call) -> None:
        call.respond(True)

    assert await approve("Go?", undo=60, people=code) is True


@pytest.mark.parametrize("undo", [-1, True, "5", float("nan"), float("inf"), 61, None])
def test_undo_is_a_number_of_seconds(undo):
    with pytest.raises(UsageError, match="Write `undo=5`"):
        approve("Go?", undo=undo)
    with pytest.raises(UsageError, match="Write `undo=5`"):
        human_in_the_loop(name="ask", parameters={"properties": {}}, undo=undo)
    with pytest.raises(UsageError, match="Write `undo=5`"):

        @gate(undo=undo)
        def pay(amount: int) -> None:
            """Pay."""


async def test_a_gate_in_code_and_a_tool_have_their_moment_too():
    paid: list[int] = []

    @gate(undo=60)
    def pay(amount: int) -> int:
        """Pay."""
        paid.append(amount)
        return amount

    with use(people=Ada()):
        asked, page = await opened(pay(5))
        page.send("respond", value={"edits": []})
        assert (page.call.held is not None, paid) == (True, [])
        Handle.of(page.call).grace.end()
        assert await asked == 5

    ask_date = human_in_the_loop(name="ask_date", parameters={"properties": {}}, undo=2)
    assert Handle.of(ask_date.call("c", "ask_date")).grace.seconds == 2


async def test_what_an_agent_has_stopped_at_has_its_moment_too():
    asked = asyncio.get_running_loop().create_future()

    class Looks(Ada):
        async def __call__(self, call: Call) -> None:
            asked.set_result(call)
            await super().__call__(call)

    agent = Interrupting(stop("a"))
    run = Session(agent, interrupts=on_interrupt(undo=60), people=[Looks()], journal=None).start("go")
    page = Page(await asked)
    page.send("respond", value={"edits": []})
    assert page.call.held is not None
    page.send("undo")
    assert (page.call.held, page.call.decided, len(agent.inputs)) == (None, False, 1)
    page.send("respond", value={"edits": []})
    Handle.of(page.call).grace.end()
    await run
    assert (page.call.outcome, len(agent.inputs)) == ("answered", 2)
    with pytest.raises(UsageError, match="Write `undo=5`"):
        on_interrupt(undo=-1)


async def test_time_that_is_up_is_never_a_yes_where_it_was_taken_back():
    asked, page = await opened(ask("Which?", undo=60, timeout=0.05, people=Ada()))
    page.send("respond", value={"text": "a"})
    page.send("undo")
    with pytest.raises(Expired):
        await asked
