"""A question that ended without an answer says how: stopped, failed, cancelled and expired are not the same."""

import asyncio
from contextlib import suppress

import pytest

from hitl_nb import Journal, Session, approve, gate, human_in_the_loop, interrupt, pending, review, use
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.errors import HitlError
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import record


async def nobody(call):
    await until_decided(call)


async def fails(call):
    await asyncio.sleep(0.01)
    raise ZeroDivisionError("sk-12345")


async def ended(question, act=None):
    """The call of a question, after `act` and however it ended."""
    seen = []
    task = asyncio.ensure_future(question)
    while not task.done() and not seen:
        seen = pending()
        await asyncio.sleep(0)
    if act is not None:
        act(task, seen[0])
    with suppress(HitlError, asyncio.CancelledError, ZeroDivisionError):
        await task
    await Handle.of(seen[0]).settled()
    while seen[0].outcome is None:
        await asyncio.sleep(0)
    return seen[0]


ENDS = {
    "stopped": (
        lambda: approve("Go?", people=nobody),
        lambda task, call: task.cancel(),
        "✗ Stopped before an answer\n",
    ),
    "failed": (lambda: approve("Go?", people=fails), None, "✗ Failed before an answer: ZeroDivisionError\n"),
    "cancelled": (lambda: approve("Go?", people=nobody), lambda task, call: call.cancel("moot"), "✗ Cancelled: moot\n"),
    "expired": (
        lambda: approve("Go?", people=nobody, timeout=0.01),
        None,
        "✗ Expired: nobody answered in time\n",
    ),
}


@pytest.mark.parametrize("how", ENDS)
async def test_each_end_has_its_word_on_the_card_in_the_record_and_in_the_audit(how, tmp_path):
    question, act, headline = ENDS[how]
    with use(journal=tmp_path / "journal.sqlite"):
        call = await ended(question(), act)
        assert record(call).startswith(headline)
        kept = record_of_call(call)
        assert kept is not None
        assert kept.wire()["headline"] in headline
        with Journal(tmp_path / "journal.sqlite") as journal:
            page = journal._repr_html_()
            assert [word for word in ENDS if f"</span> {word}</span>" in page] == [how]


async def test_a_session_that_fails_says_so_of_what_was_open():
    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    session = Session(ScriptedAgent([calls("ask", question="Go?"), says("ok")]), tools=[ask], people=[fails])
    call = await ended(session.run("go"))
    assert record(call).startswith("✗ Failed before an answer: ZeroDivisionError\n")
    assert "sk-12345" not in record(call)


# -- asked again ------------------------------------------------------------------------------------------------


@gate
def pay(to: str) -> None:
    """Pay."""


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (lambda: approve("Drop?", [1], people=nobody, timeout=0.01), "await approve('Drop?', ...)"),
        (lambda: interrupt("Go?", people=nobody, timeout=0.01), "await interrupt('Go?')"),
        (lambda: review({"a": 1}, "Right?", people=nobody, timeout=0.01), "await review('Right?', ...)"),
    ],
)
async def test_what_has_expired_says_how_it_is_asked_again_and_stays_over(question, line):
    call = await ended(question())
    kept = record_of_call(call)
    assert kept is not None
    assert kept.wire()["again"] == f"Nothing waits for this answer any more. Run the cell again, or write: {line}"
    assert f"↻ To ask again: {kept.again}" in record(call)
    assert call.respond(True) is False
    assert call.outcome == "expired"


async def test_a_tool_is_asked_again_by_its_model():
    from hitl_nb.people import Escalate

    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    agent = ScriptedAgent([calls("ask", question="Go?"), says("ok")])
    call = await ended(Session(agent, tools=[ask], people=[Escalate(nobody, after=0.01)]).run("go"))
    assert 'await session.run("Please ask me again.")' in record(call)


async def test_what_was_declined_or_answered_offers_nothing():
    call = await ended(approve("Go?", people=nobody), lambda task, call: call.decline())
    kept = record_of_call(call)
    assert kept is not None
    assert kept.again == ""
    assert "again" not in bundle([])["text/plain"]
