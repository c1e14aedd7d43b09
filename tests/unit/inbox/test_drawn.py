"""What is drawn for whoever answers elsewhere: tables and pictures as they were, without the asker's objects."""

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager, closing
from functools import partial

import matplotlib
import numpy
import pandas
import pytest
from matplotlib.figure import Figure
from mcp.types import ElicitRequestFormParams

from hitl_nb import approve, ask, interrupt, review, review_code, use
from hitl_nb._transcript import CallEntry
from hitl_nb.cards import Form, card_of, item_of
from hitl_nb.data import SqlReview, TableAnswer
from hitl_nb.errors import Cancelled, Declined
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal
from hitl_nb.mcp import elicitation
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
        assert '"card": "table"' in drawn(call)
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


# -- what is only words of a card's own, or a card of another package ------------------------------------------------


class Withdrawable(Form):
    """A form that can be withdrawn, in words of its own."""

    confirm = "Send"
    cancel = "Cancel"


@pytest.mark.parametrize(("button", "error"), [("cancel", Cancelled), ("decline", Declined)])
async def test_a_form_with_three_answers_has_three_elsewhere(place, button, error):
    async with asked(place, lambda inbox: ask("Who?", answer=str, render=Withdrawable, people=inbox)) as (task, call):
        item = item_of(CallEntry(key=call.occurrence, call=call), {})
        assert (item["confirm"], item["cancel"]) == ("Send", "Cancel")
        assert "a view of its own" not in call._handle.origin
        getattr(call, button)("not now", by="ada")
        with pytest.raises(error):
            await task


@pytest.mark.parametrize("person", ["cancel", "decline", "answer"])
async def test_the_question_of_a_server_has_the_protocols_three_answers_elsewhere(place, person):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    params = ElicitRequestFormParams(message="Where to?", requestedSchema=schema)
    with Journal(place) as job, Journal(place) as other, use(journal=job):
        answering = elicitation("weather", people=Inbox(job))
        assert answering is not None
        task = asyncio.ensure_future(answering(None, params))
        [call] = await waiting(other)
        item = item_of(CallEntry(key=call.occurrence, call=call), {})
        assert (item["card"], item["cancel"]) == ("form", "Cancel")
        if person == "answer":
            call.respond({"city": "Rome"}, by="ada")
        else:
            getattr(call, person)(by="ada")
        result = await task
        assert result.action == {"answer": "accept"}.get(person, person)
        assert result.content == ({"city": "Rome"} if person == "answer" else None)


async def test_a_preview_of_sql_is_left_where_it_is_asked_and_that_is_said(place, tmp_path):
    shop = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("CREATE TABLE orders (item TEXT)")
        connection.execute("INSERT INTO orders VALUES ('a pan of copper')")
    render = partial(SqlReview, preview=shop)
    sql = {"sql": "SELECT item, [count] FROM orders"}  # which is SQLite's own way to write a name
    async with asked(place, lambda inbox: interrupt("Run it?", sql, render=render, people=inbox)) as (task, call):
        await card_of(call).prepare()
        text = drawn(call)
        assert "a pan of copper" not in text
        assert "shop.sqlite" not in text
        assert "only reads, as far as its text tells" in text  # in the dialect of the database that is not here
        assert "its first rows are shown where it is asked, and not here" in call._handle.origin
        call.respond(call.proposal, by="ada")
        await task
