"""What a decision leaves in the file says all that the card said, in text as in HTML, with nothing struck out."""

import re
from contextlib import suppress
from functools import partial

import pytest

from hitl_nb import approve, ask, choose, interrupt, pending
from hitl_nb._transcript import CallEntry
from hitl_nb._waiting import until_decided
from hitl_nb.cards import Approval, _record
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.errors import Declined
from tests.unit.cards.desk import AtTheDesk


async def saved(question, act):
    """The record of a question that Ada answers on her card, as text and as HTML."""
    calls = []

    def at(desk):
        calls.append(desk.call)
        act(desk)

    with suppress(Declined):
        await question(people=AtTheDesk(at))
    return _bundle(calls[0])


async def expired(question):
    calls = []

    async def sleeps(call):
        calls.append(call)
        await until_decided(call)

    answer = await question(people=sleeps, timeout=0.01)
    assert not pending()
    return answer, _bundle(calls[0])


def _bundle(call):
    kept = bundle([(CallEntry(key=call.occurrence, call=call), record_of_call(call))])
    assert not re.search(r"line-through|<(s|del|strike)\b", kept["text/html"]), "what was not chosen looks deleted"
    return kept


def says(kept, *lines):
    """Each line is in both forms."""
    html = re.sub(r"<[^>]+>", "", kept["text/html"])
    for line in lines:
        assert line in kept["text/plain"]
        assert line in html


def yes(desk):
    desk.send({"approved": True})


@pytest.mark.parametrize(("risk", "words"), [("high", "High risk"), ("low", "Low risk")])
async def test_the_risk(risk, words):
    kept = await saved(partial(approve, "Wipe?", {"disk": "a"}, risk=risk), yes)
    says(kept, f"• {words}", "Wipe?", "disk: a")


async def test_no_risk_is_said_where_the_caller_said_none():
    assert "risk" not in (await saved(partial(approve, "Wipe?", {"disk": "a"}), yes))["text/plain"]


async def test_a_declined_risk_too():
    kept = await saved(partial(approve, "Wipe?", risk="high"), lambda desk: desk.call.decline("not today"))
    says(kept, "✗ Declined: not today", "• High risk")


async def test_the_options_that_were_not_chosen():
    kept = await saved(partial(choose, "Which?", ["north", "south", "east"]), lambda desk: desk.send({"chosen": [1]}))
    says(kept, "Chose south", "☐ north", "☑ south", "☐ east")


async def test_no_option_is_ticked_or_left_out_where_nothing_was_decided():
    kept = await saved(partial(choose, "Which?", ["north", "south"]), lambda desk: desk.call.decline())
    says(kept, "• north", "• south")
    assert not {"☐", "☑"} & set(kept["text/plain"])


async def test_the_reason_of_a_yes():
    render = partial(Approval, ask_reason="required")
    kept = await saved(
        partial(interrupt, "Wipe?", answer=bool, render=render),
        lambda desk: desk.send({"approved": True, "reason": "it is empty"}),
    )
    says(kept, "Approved: it is empty")


async def test_who_and_when():
    kept = await saved(partial(approve, "Wipe?"), yes)
    last = kept["text/plain"].splitlines()[-1]
    assert re.fullmatch(r" +approve · by ada · \d{4}-\d\d-\d\d \d\d:\d\d UTC", last)
    says(kept, last.strip())


async def test_in_a_shared_document_it_says_whose_notebook_it_was_for_nobody_knows_who_clicked(monkeypatch):
    monkeypatch.setattr(_record, "is_shared", lambda: True)
    kept = await saved(partial(approve, "Wipe?"), yes)
    assert "approve · at the notebook of ada · " in kept["text/plain"].splitlines()[-1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("wait until morning", "went on with: wait until morning"),
        (None, "went on with: "),
        (0, "went on with: 0"),
        (int, "went on with: "),
    ],
    ids=repr,
)
async def test_what_the_code_went_on_with_when_it_expired(value, words):
    answer, kept = await expired(partial(interrupt, "Restart?", {"nodes": 3}, if_expired=value))
    assert answer == value
    says(kept, "✗ Expired: nobody answered in time", "nodes: 3", f"• {words}")


async def test_an_option_that_it_went_on_with_has_its_name_and_none_is_ticked():
    models = [{"name": "new", "auc": 0.9}, {"name": "old", "auc": 0.8}]
    answer, kept = await expired(partial(choose, "Which?", models, if_expired=models[1]))
    assert answer is models[1]
    says(kept, "went on with:", "old")
    assert not {"☐", "☑"} & set(kept["text/plain"])


async def test_a_secret_in_it_stays_none():
    _answer, kept = await expired(partial(ask, "Login?", answer=dict, if_expired={"password": "hunter2"}))
    says(kept, "went on with:", "password")
    assert "hunter2" not in str(kept)
