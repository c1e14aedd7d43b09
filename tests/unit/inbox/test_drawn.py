"""What is drawn for whoever answers elsewhere: tables and pictures as they were, without the asker's objects."""

import asyncio
import json
from contextlib import asynccontextmanager
from functools import partial

import matplotlib
import numpy
import pandas
import pytest
from matplotlib.figure import Figure

from hitl_nb import approve, interrupt, review, review_code
from hitl_nb._transcript import CallEntry
from hitl_nb.cards import item_of
from hitl_nb.data import SqlReview, TableAnswer
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal
from tests.unit.inbox.jobs import waiting

matplotlib.use("Agg")
pytestmark = pytest.mark.timeout(300)
FRAME = pandas.DataFrame({"item": ["cup", "pot"], "price": [12.5, 12000.0]}, index=["a", "b"])


@asynccontextmanager
async def asked(place, make):
    """A question of one journal, its task, and the same question as another process has it."""
    with Journal(place) as job, Journal(place) as other:
        task = asyncio.ensure_future(make(Inbox(job)))
        [call] = await waiting(other)
        try:
            yield task, call
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def drawn(call):
    """All that the browser is sent of a card."""
    return json.dumps(item_of(CallEntry(key=call.occurrence, call=call), {}), ensure_ascii=False)


@pytest.mark.parametrize(
    "payload", [FRAME, {"what": "an order", "rows": FRAME}, [1, {"deep": FRAME}]], ids=["itself", "in a dict", "deep"]
)
async def test_a_frame_is_its_table_and_what_is_answered_is_the_frame(place, payload):
    async with asked(place, lambda inbox: interrupt("Send these?", payload, people=inbox)) as (task, call):
        text = drawn(call)
        for words in ('"table"', "item", "cup", "12.5", "12,000.0"):
            assert words in text
        assert "sha256" not in text
        assert call.respond(call.proposal, by="ada")
        answer = await task
        assert answer is payload or (isinstance(answer, dict | list) and str(answer) == str(payload))


async def test_a_long_table_has_its_pages(place):
    frame = pandas.DataFrame({"n": range(450)})
    async with asked(place, lambda inbox: approve("Send?", frame, people=inbox)) as (_, call):
        text = drawn(call)
        assert '"rows": 450' in text
        assert '"pages": 3' in text


async def test_a_table_that_is_too_long_to_keep_says_how_much_of_it_is_here(place):
    frame = pandas.DataFrame({"n": range(60_000)})
    async with asked(place, lambda inbox: approve("Send?", frame, people=inbox)) as (_, call):
        assert "The first 50,000 of 60,000 rows; the others are where it is asked." in drawn(call)


async def test_pictures_are_pictures(place):
    figure = Figure()
    figure.subplots().set_title("Losses")
    pixels = numpy.zeros((20, 30), dtype="uint8")
    about = {"curve": figure, "scan": pixels}
    async with asked(place, lambda inbox: approve("Promote?", about, people=inbox)) as (task, call):
        text = drawn(call)
        assert text.count("data:image/png;base64,") == 2
        assert "Figure: Losses" in text
        assert "Picture, 30 × 20 pixels" in text
        call.respond(True, by="ada")
        assert await task


async def test_a_column_with_the_name_of_a_secret_is_stars(place):
    frame = pandas.DataFrame({"user": ["ada"], "password": ["hunter2"]})
    async with asked(place, lambda inbox: approve("Send?", {"rows": frame}, people=inbox)) as (_, call):
        assert "hunter2" not in drawn(call)
        assert "ada" in drawn(call)


async def test_a_table_that_is_reviewed_is_drawn_and_confirmed_as_it_is(place):
    async with asked(place, lambda inbox: review(FRAME, edit=["price"], drop=True, people=inbox)) as (task, call):
        assert "12,000.0" in drawn(call)
        assert call.respond(call.proposal, by="ada")
        answer = await task
        assert answer is FRAME or isinstance(answer, TableAnswer)


async def test_code_is_reviewed_by_its_own_card(place):
    async with asked(place, lambda inbox: review_code("a = 2\n", before="a = 1\n", people=inbox)) as (task, call):
        assert '"card": "diff"' in drawn(call)
        assert call.respond("a = 3\n", by="ada")
        assert await task == "a = 3\n"


async def test_sql_that_may_write_is_of_high_risk_in_every_list(place):
    render = partial(SqlReview, dialect="postgres")

    def ask(sql, **options):
        return interrupt("Run it?", {"sql": sql}, render=render, **options)

    with Journal(place) as job, Journal(place) as other:
        inbox = Inbox(job)
        tasks = [asyncio.ensure_future(ask(sql, people=inbox)) for sql in ("SELECT 1", "DELETE FROM orders")]
        await waiting(other, 2)
        riskiest = [call.args["sql"] for call in other.inbox(order="riskiest")]
        assert riskiest == ["DELETE FROM orders", "SELECT 1"]
        [count] = other.postings.counts(other.inbox()._which)
        assert (count.open, count.high) == (2, 1)
        text = drawn(other.inbox(order="riskiest")[0])
        assert "this statement" in text
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
