"""A title stands above the card and above its record, wherever a question comes from; else the question does."""

import asyncio

import pandas as pd
import pytest

from hitl_nb import (
    approve,
    ask,
    choose,
    gate,
    human_in_the_loop,
    interrupt,
    label,
    pending,
    review,
    review_code,
    review_table,
)
from hitl_nb._transcript import CallEntry
from hitl_nb._waiting import until_decided
from hitl_nb.cards._record import bundle, record_of_call
from tests.unit.cards import desk


class Ada:
    via = "card"
    name = "Ada"

    async def __call__(self, call):
        await until_decided(call)


QUESTIONS = {
    "approve": lambda **options: approve("Drop **old**?", people=Ada(), **options),
    "ask": lambda **options: ask("Why?", people=Ada(), **options),
    "choose": lambda **options: choose("Which?", ["a"], people=Ada(), **options),
    "review": lambda **options: review({"a": 1}, people=Ada(), **options),
    "interrupt": lambda **options: interrupt("Go?", people=Ada(), **options),
    "review_table": lambda **options: review_table(pd.DataFrame({"a": [1]}), people=Ada(), **options),
    "label": lambda **options: label(["a text"], ["good", "bad"], people=Ada(), **options),
    "review_code": lambda **options: review_code("b", before="a", people=Ada(), **options),
}


async def asked(question):
    task = asyncio.ensure_future(question)
    while not (pending() and pending()[0].turn):
        await asyncio.sleep(0)
    return task, desk.Desk(pending()[0])


@pytest.mark.parametrize("door", QUESTIONS)
async def test_a_checkpoint_is_headed_by_its_title_and_says_the_question_below(door):
    task, at = await asked(QUESTIONS[door](title="Run SQL"))
    assert at.item["head"] == ["Run SQL"]
    assert at.item["tag"] == ""
    assert at.item["says"]
    at.call.decline("no")
    await asyncio.wait([task])
    task.exception()
    saved = bundle([(CallEntry(key="c", call=at.call), record_of_call(at.call))])
    assert saved["text/plain"].splitlines()[1] == "    • Run SQL"
    assert ">Run SQL</span>" in saved["text/html"]


async def test_without_a_title_the_question_is_the_headline():
    task, at = await asked(QUESTIONS["approve"]())
    assert at.item["head"] == ["Drop ", ["strong", {}, "old"], "?"]
    at.call.decline()
    assert await task is False


async def test_a_tool_and_a_gate_have_one_too_beside_the_name_that_the_model_knows():
    @human_in_the_loop(title="Run SQL")
    def run_sql(query: str) -> str:
        """Run it."""
        raise NotImplementedError

    items = []

    def look(at):
        items.append(at.item)
        at.call.decline()

    await desk.ask(run_sql, look, query="SELECT 1")

    @gate(title="Pay out")
    def pay(amount: int) -> int:
        """Send money."""
        return amount

    tool_item = items[0]
    assert (tool_item["head"], tool_item["tag"]) == (["Run SQL"], "run_sql")
    await desk.ask(pay, look, amount=1)
    assert (items[1]["head"], items[1]["tag"]) == (["Pay out"], "pay")


async def test_the_name_in_a_record_without_rows_stands_apart_from_its_headline():
    task, at = await asked(QUESTIONS["approve"]())
    at.call.cancel("this run has ended")
    await asyncio.wait([task])
    assert task.result() is False
    html = bundle([(CallEntry(key="c", call=at.call), record_of_call(at.call))])["text/html"]
    assert "this run has ended</strong><br>" in html
