"""What becomes of a click: it counts in its own turn, once, and is acknowledged when it is on disk."""

import asyncio
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from hitl_nb._calls import Decision, Handle
from hitl_nb._text import HIDDEN
from hitl_nb.cards import Plain
from hitl_nb.cards._clicks import Clicks
from hitl_nb.cards._updates import Updates
from hitl_nb.errors import JournalError
from tests.unit.cards.desk import opened


class Person:
    """Somebody at a card."""

    via = "card"

    def __init__(self, name="ada"):
        self.name = name


class Recorder:
    """A journal whose disk takes as long as the test wants."""

    def __init__(self):
        self.writing: list[Future] = []
        self.late: list = []
        self.stored = None

    def begin_asked(self, call, *, arguments, parameters=None):
        return _done()

    def begin_shown(self, call):
        return _done()

    def begin_answered(self, call, decision):
        self.writing.append(Future())
        return self.writing[-1]

    def begin_late(self, call, value, by=None):
        self.late.append(value)
        return _done()

    def winner(self, call):
        return self.stored


def _done(result=None):
    done: Future = Future()
    done.set_result(result)
    return done


class Screen:
    """The kernel's end of one view: what was drawn again, and what the browser was told."""

    def __init__(self, *calls):
        known = {call.occurrence: call for call in calls}
        self.told: list[tuple] = []
        self.redrawn = 0
        updates = Updates(self._send, lambda message: None, lambda: None)
        self.clicks = Clicks(known.get, self._redraw, lambda call_id: updates)

    def _redraw(self, call):
        self.redrawn += 1

    def _send(self, message):
        self.told.append((message["click"], message["accepted"], message["error"]))

    def click(self, call, click="c1", op="respond", turn=None, **more):
        token = turn if turn is not None else call.turn.token
        self.clicks.take({"op": op, "call_id": call.occurrence, "turn": token, "click": click, "value": {}, **more})


@contextmanager
def asked(recorder=None, **options):
    with opened({"amount": 5}, **options) as call, Handle.of(call).turns.put_to(Person()):
        Handle.of(call).recorder = recorder
        yield call


async def ticks(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_without_a_journal_a_click_is_acknowledged_at_once():
    with asked() as call:
        screen = Screen(call)
        screen.click(call)
        assert screen.told == [("c1", True, None)]
        assert (call.answer, call.answered_by, call.via) == ({"amount": 5}, "ada", "card")


async def test_with_one_it_is_acknowledged_when_it_is_on_disk_and_not_before():
    recorder = Recorder()
    with asked(recorder) as call:
        screen = Screen(call)
        screen.click(call)
        await ticks()
        assert (screen.told, call.status, call.decided) == ([], "executing", True)
        recorder.writing[0].set_result(True)
        await ticks()
        assert (screen.told, call.status) == ([("c1", True, None)], "complete")


async def test_a_click_that_comes_again_meanwhile_or_afterwards_is_the_same_click():
    recorder = Recorder()
    with asked(recorder) as call:
        screen = Screen(call)
        screen.click(call)
        screen.click(call)
        recorder.writing[0].set_result(True)
        await ticks()
        screen.click(call, turn="whatever")
        assert screen.told == [("c1", True, None)] * 2
        assert (call.late_answers, recorder.late, len(recorder.writing)) == ([], [], 1)


async def test_what_cannot_be_written_leaves_the_call_open_and_the_next_click_counts():
    recorder = Recorder()
    with asked(recorder) as call:
        screen = Screen(call)
        screen.click(call)
        recorder.writing[0].set_exception(JournalError("the disk is full"))
        await ticks()
        [(click, accepted, error)] = screen.told
        assert (click, accepted) == ("c1", False)
        assert "could not be written down and does not count: the disk is full" in error
        assert (call.status, call.decided, call.error) == ("executing", False, error)
        screen.click(call, "c2")
        recorder.writing[1].set_result(True)
        await ticks()
        assert screen.told[1:] == [("c2", True, None)]


async def test_a_refusal_that_cannot_be_written_holds_all_the_same():
    recorder = Recorder()
    with asked(recorder) as call:
        screen = Screen(call)
        screen.click(call, op="decline", reason="no")
        recorder.writing[0].set_exception(JournalError("the disk is full"))
        await ticks()
        assert (screen.told, call.outcome, call.reason) == ([("c1", True, None)], "declined", "no")


async def test_a_lost_race_is_no_error_and_what_counts_is_the_other_decision():
    recorder = Recorder()
    with asked(recorder) as call:
        screen = Screen(call)
        screen.click(call)
        theirs = Decision(outcome="declined", result="no", reason="not today", by="bob", via="card")
        recorder.stored = SimpleNamespace(**{name: getattr(theirs, name) for name in vars(theirs)})
        recorder.writing[0].set_result(False)
        await ticks()
        assert screen.told == [("c1", False, "Already answered by bob. This is what counts:")]
        assert (call.outcome, call.answered_by) == ("declined", "bob")


async def test_another_click_while_the_first_is_being_written_is_late():
    recorder = Recorder()
    with asked(recorder) as call:
        screen = Screen(call)
        screen.click(call)
        screen.click(call, "c2", value="mine")
        assert screen.told == [("c2", False, None)]
        assert recorder.late == ["mine"]


@pytest.mark.parametrize("op", ["respond", "decline"])
async def test_a_click_of_another_turn_decides_nothing_and_says_whose_turn_it_is(op):
    with asked() as call:
        screen = Screen(call)
        earlier = call.turn.token
        with Handle.of(call).turns.put_to(Person("bob")):
            screen.click(call, turn=earlier, op=op)
        with Handle.of(call).turns.put_to(SimpleNamespace(via="policy")):
            screen.click(call, "c2", turn=call.turn.token, op=op)
        with Handle.of(call).turns.put_to_several("Ada and Bob"):
            screen.click(call, "c3", turn=call.turn.token, op=op)
        for token in (None, 5, "", [earlier]):
            screen.click(call, f"{token}", op=op, turn=token if token is not None else {})
        assert [accepted for _, accepted, _ in screen.told] == [False] * 7
        assert "a rule" in screen.told[1][2]
        assert "Ada and Bob" in screen.told[2][2]
        assert (call.status, call.decided) == ("executing", False)


async def test_a_click_on_what_nobody_knows_changes_nothing():
    with asked() as call:
        screen = Screen()
        screen.click(call)
        assert screen.told == [("c1", False, None)]


@pytest.mark.parametrize("reason", [None, 5, "", ["no"], {"a": 1}])
async def test_a_reason_that_is_no_text_is_none(reason):
    with asked() as call:
        Screen(call).click(call, op="decline", reason=reason)
        assert (call.outcome, call.reason) == ("declined", None)


@pytest.mark.parametrize("click", [None, 5, ["c"], {"c": 1}])
async def test_a_click_without_an_identity_is_a_click_of_its_own(click):
    with asked() as call:
        screen = Screen(call)
        screen.click(call, click)
        screen.click(call, click)
        assert screen.told == [(None, True, None), (None, False, "Already answered by ada. This is what counts:")]


class Broken(Plain):
    def answer(self, value):
        raise ZeroDivisionError("a\u202eb")


async def test_a_fault_of_a_card_is_told_and_approves_nothing():
    with asked(render=Broken) as call:
        screen = Screen(call)
        screen.click(call)
        assert screen.told == [("c1", False, f"ZeroDivisionError: a\\u202eb\n⚠ {HIDDEN}")]
        assert call.status == "executing"
