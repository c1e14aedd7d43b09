"""A table that is reviewed elsewhere: what is done to it there makes what it would have made at home."""

import asyncio
import json
import math
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from hitl_nb import interrupt, review, review_table
from hitl_nb.cards import card_of
from hitl_nb.data import StoredFrame, TableAnswer, TableReview, TableType, stored_table
from hitl_nb.errors import InvalidValue
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal
from tests.unit.data.frames import pandas_frames, polars_frames
from tests.unit.data.test_exact import Screen, examples, same
from tests.unit.inbox.jobs import ended, waiting

pytestmark = pytest.mark.timeout(300)
TYPED = [
    "",
    "1",
    "-1",
    "300",
    "1.10",
    " 7 ",
    "1e400",
    "nan",
    "true",
    "low",
    "2026-03-02",
    "12:30",
    "3 days",
    "x\u200by",
]


def is_as_at_home(frame, data):
    """Do the same things here and there, compare what is refused, and what the two answers make."""
    home = Screen(frame)
    stored = json.loads(json.dumps(stored_table(home.table, drop=True, edit=home.editable)))
    there = Screen(StoredFrame(stored))
    asker = TableType(home.table, drop=True, edit=home.editable)

    def arrives():
        written = json.loads(json.dumps(there.draft.answer().wire()))
        return asker.validate(written)

    there.editable = home.editable
    there.draft.edit = frozenset(home.editable)
    assert json.dumps(there.rows()) == json.dumps(home.rows())
    rows = home.table.frame.rows
    for _ in range(data.draw(st.integers(0, 6))):
        what = data.draw(st.sampled_from(["copy", "type", "missing", "drop", "undo"]))
        row, other = (data.draw(st.integers(0, max(rows - 1, 0))) for _ in range(2))
        place = data.draw(st.sampled_from(home.editable or [0]))
        if what == "undo" or not rows or (what != "drop" and not home.editable):
            here, far = home.act(op="undo"), there.act(op="undo")
        elif what == "drop":
            here, far = (screen.drop(min(row, other), max(row, other) + 1) for screen in (home, there))
        elif what == "missing":
            here, far = (screen.act(op="edit", row=row, place=place, missing=True) for screen in (home, there))
        else:
            cell = home.rows()[other]["cells"][place] if what == "copy" else data.draw(st.sampled_from(TYPED))
            here, far = (screen.type(row, place, cell) for screen in (home, there))
        assert bool(here) >= bool(far), (what, far)  # nothing is refused there that is taken here
        if here and not far:
            with pytest.raises(InvalidValue) as refused:
                arrives()
            assert refused.value.errors[0]["path"][:2] == ["rows", row]
            there.act(op="undo")
    answer, sent = home.draft.answer(), arrives()
    assert sent.wire() == answer.wire()
    assert sent.untouched == answer.untouched
    same(sent.data, answer.data)
    if answer.untouched:
        assert sent.data is frame


@given(pandas_frames(), st.data())
@examples(150)
def test_whatever_is_done_to_a_frame_of_pandas_elsewhere_is_as_if_it_were_done_at_home(frame, data):
    is_as_at_home(frame, data)


@given(polars_frames(), st.data())
@examples(150)
def test_whatever_is_done_to_a_frame_of_polars_elsewhere_is_as_if_it_were_done_at_home(frame, data):
    is_as_at_home(frame, data)


# -- the whole way: asked in one journal, done at the card of another process's view of it --------------------------


@asynccontextmanager
async def asked(place, make):
    """A question's task, and its call in somebody else's inbox."""
    with Journal(place) as job, Journal(place) as other:
        task = asyncio.ensure_future(make(Inbox(job)))
        [call] = await waiting(other)
        try:
            yield task, call, other
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def done(call, *acts):
    """Do something at the card, as its browser half does, and confirm it."""
    card = card_of(call)
    look = {"where": [], "sort": None}
    page = {"op": "page", "who": uuid4().hex, "look": look, "from": 0, "count": 50}
    view = (await card.reply({**page, "acts": []}, open_to=True))["view"]
    numbered = [{"n": at, "view": view, **act} for at, act in enumerate(acts, 1)]
    found = await card.reply({**page, "acts": numbered}, open_to=True)
    assert found["refused"] == []
    card.decide({"version": found["version"]})


def edit(row, column, text):
    return {"op": "edit", "row": row, "place": column, "text": text}


DROP_FIRST = {"op": "keep", "from": 0, "to": 1, "on": False}


def frame():
    return pandas.DataFrame(
        {
            "item": ["cup", "pot", "pan"],
            "price": [12.5, 12000.0, math.nan],
            "count": pandas.array([1, None, 3], "Int8"),
        },
        index=["a", "b", "c"],
    )


async def test_a_table_is_corrected_and_thinned_out_elsewhere_and_its_types_stay(place):
    given_frame = frame()
    make = partial(review_table, given_frame, edit=["price", "count"], drop=True)
    async with asked(place, lambda inbox: make(people=inbox)) as (task, call, other):
        await done(call, edit(1, 1, "13"), edit(2, 2, "4"), DROP_FIRST)
        answer = await task
        assert isinstance(answer, TableAnswer)
        wanted = frame().iloc[1:]
        wanted.loc["b", "price"], wanted.loc["c", "count"] = 13.0, 4
        pandas.testing.assert_frame_equal(answer.data, wanted)
        assert [(change.label, change.column, change.after) for change in answer.changes] == [
            ("b", "price", 13.0),
            ("c", "count", 4),
        ]
        [row] = [row for row in other if row["event"] == "answered"]
        assert json.loads(str(row["answer"]))["changes"][0]["typed"] == "13"
        assert other.verify().ok


async def test_what_is_left_alone_elsewhere_is_the_frame_itself(place):
    given_frame = frame()
    async with asked(place, lambda inbox: review(given_frame, edit=["price"], people=inbox)) as (task, call, _):
        await done(call, edit(0, 1, "13"), {"op": "undo"})
        assert await task is given_frame


async def test_a_payload_with_a_table_in_it_comes_back_with_the_edited_one(place):
    render = partial(TableReview, edit=["price"], drop=True)
    about = {"rows": frame(), "why": "month end"}
    async with asked(place, lambda inbox: interrupt("Send?", about, render=render, people=inbox)) as (task, call, _):
        await done(call, edit(0, 1, "1"), {"op": "keep", "from": 1, "to": 3, "on": False})
        answer = await task
        assert answer["why"] == "month end"
        assert answer["rows"].to_dict("list") == {"item": ["cup"], "price": [1.0], "count": [1]}
        assert str(answer["rows"].dtypes["count"]) == "Int8"


async def test_the_rows_of_a_model_are_edited_elsewhere_and_checked_where_they_are_asked_about(place):
    class Line(BaseModel):
        item: str
        price: float

    class Order(BaseModel):
        rows: list[Line]

    order = Order(rows=[Line(item="cup", price=1.5), Line(item="pot", price=2)])
    render = partial(TableReview, edit=["item", "price"], drop=True)
    make = partial(interrupt, "Order?", order, answer=Order, render=render)
    async with asked(place, lambda inbox: make(people=inbox)) as (task, call, _):
        await done(call, edit(1, 1, "3"), DROP_FIRST)
        assert await task == Order(rows=[Line(item="pot", price=3.0)])


async def test_what_only_the_column_itself_can_refuse_is_open_again_with_all_that_was_done_and_why(place):
    numbers = pandas.DataFrame({"n": pandas.array([1.0, 2.0], "float32"), "item": ["cup", "pot"]})
    make = partial(review_table, numbers, edit=["n", "item"], drop=True)
    async with asked(place, lambda inbox: make(people=inbox)) as (task, call, other):
        inbox = other.inbox()
        [first] = list(inbox)
        await done(first, edit(0, 0, "16777217"), edit(1, 1, "pan"))
        while not [row for row in other if row["event"] == "refused"] or not len(inbox):
            await asyncio.sleep(0.05)
        [again] = list(inbox)
        assert again is not call
        assert "Row 0, n: " in str(again.error)
        card = card_of(again)
        assert card.props()["counts"]["changed"] == 2
        await done(again, {"op": "undo"}, {"op": "undo"}, edit(1, 1, "pan"))
        answer = await task
        assert answer.data.to_dict("list") == {"n": [1.0, 2.0], "item": ["cup", "pan"]}


async def test_another_table_than_the_one_that_was_put_there_takes_no_answer(place):
    changing = frame()
    async with asked(place, lambda inbox: review_table(changing, edit=["price"], people=inbox)) as (task, call, other):
        answer = TableAnswer.of(call.proposal.data, changes=[(0, "price", 1.0)])
        written = {**json.loads(json.dumps(answer.wire())), "content": "another"}
        checks = TableType(call.proposal._table, drop=False, edit=[1])
        with pytest.raises(InvalidValue, match="other content"):
            checks.validate(written)
        call.respond(answer, by="ada")
        assert (await task).data["price"].tolist()[:2] == [1.0, 12000.0]
        assert other.verify().ok


async def test_code_elsewhere_answers_in_values_and_hears_what_a_column_cannot_hold(place):
    make = partial(review_table, frame(), edit=["price", "count"], drop=True)
    async with asked(place, lambda inbox: make(people=inbox)) as (task, call, _):
        table = call.proposal.data
        for column, value in (("count", 300), ("count", "4"), ("price", True), ("count", 1.5)):
            with pytest.raises(InvalidValue, match=f"`{column}` .* cannot hold"):
                TableAnswer.of(table, changes=[(0, column, value)])
        changes = [(0, "count", None), (1, "price", 3)]
        call.respond(TableAnswer.of(table, keep=[True, True, False], changes=changes))
        found = (await task).data
        assert found["price"].tolist() == [12.5, 3.0]
        assert found["count"].isna().tolist() == [True, True]


async def test_secrets_are_stars_elsewhere_and_cannot_be_edited_there(place):
    secret = pandas.DataFrame({"user": ["ada"], "password": ["hunter2"]})
    make = partial(review_table, secret, edit=["user", "password"])
    async with asked(place, lambda inbox: make(people=inbox)) as (task, call, other):
        props = card_of(call).props()
        assert [column["editable"] for column in props["columns"]] == [True, False]
        assert "Stars stand for secrets (password)" in props["note"]
        assert "hunter2" not in repr(list(other))
        await done(call, edit(0, 0, "bob"))
        assert (await task).data.to_dict("list") == {"user": ["bob"], "password": ["hunter2"]}


@pytest.mark.parametrize("rows", [50_000, 50_001])
async def test_a_table_is_edited_elsewhere_up_to_100_000_cells_and_beyond_it_is_said(place, rows):
    long = polars.DataFrame({"n": range(rows), "m": range(rows)})
    async with asked(place, lambda inbox: review_table(long, edit=["n"], people=inbox)) as (task, call, _):
        said = call._handle.origin
        if rows <= 50_000:
            assert "more than 100,000 cells" not in said
            await done(call, edit(49_999, 0, "7"))
            assert (await task).data["n"][49_999] == 7
        else:
            assert "a table of more than 100,000 cells is edited where it is asked" in said
            call.respond(call.proposal, by="ada")
            assert (await task).untouched


NIGHT = """
import math, pandas
from functools import partial
from hitl_nb import review_table
from hitl_nb.data import TableReview
counts = pandas.array([1, None, 3], "Int8")
frame = pandas.DataFrame({"item": ["cup", "pot", "pan"], "price": [12.5, 12000.0, math.nan], "count": counts})
edited = partial(TableReview, edit=["price"], drop=True)
"""
ASKS = [
    'found = (await review_table(frame, edit=["price"], drop=True)).data',
    'found = await interrupt("Send?", frame, render=edited)',
    'found = (await interrupt("Send?", {"rows": frame}, render=edited))["rows"]',
]


async def in_two_nights(place, job, code):
    """What a job prints that parks its question about a table, and is run again when that was edited."""
    variables = {"HITL_NB_JOB": "night", "HITL_NB_PEOPLE": "inbox:0"}
    await asyncio.to_thread(ended, job(code, **variables), 75)
    with Journal(place) as other:
        [call] = list(other.inbox())
        await done(call, edit(1, 1, "13"), DROP_FIRST)
    return await asyncio.to_thread(ended, job(code, **variables))


@pytest.mark.parametrize("asks", ASKS, ids=["a review", "a payload", "in a payload"])
async def test_a_later_run_takes_what_was_done_to_the_table_of_an_earlier_one(place, job, asks):
    said = await in_two_nights(place, job, f"{NIGHT}{asks}\nprint(found.to_json(), found['count'].dtype)")
    assert said == '{"item":{"1":"pot","2":"pan"},"price":{"1":13.0,"2":null},"count":{"1":null,"2":3}} Int8\n'


ARROW_NIGHT = """
import pyarrow
from hitl_nb import review_table
frame = pyarrow.table({"item": ["cup", "pot", "pan"], "price": [12.5, 12000.0, None]})
found = (await review_table(frame, edit=["price"], drop=True)).data
print(found.to_pylist(), found.schema == frame.schema)
"""


async def test_a_later_run_takes_what_was_done_to_an_arrow_table_of_an_earlier_one(place, job):
    said = await in_two_nights(place, job, ARROW_NIGHT)
    assert said == "[{'item': 'pot', 'price': 13.0}, {'item': 'pan', 'price': None}] True\n"


async def test_an_answer_that_is_no_form_of_what_was_asked_about_is_taken_as_it_was_given(place):
    make = partial(interrupt, "How was it?", {"talk": "At sea"})
    async with asked(place, lambda inbox: make(people=inbox)) as (task, call, _):
        call.respond({"stars": 4}, by="ada")
        assert await task == {"stars": 4}
