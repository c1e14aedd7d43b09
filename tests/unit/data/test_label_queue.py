"""A queue of labels: what comes of it, who goes on where, what two differ in, what is never taken for what."""

import base64
import json
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hitl_nb import Journal, Session, human_in_the_loop, label, use
from hitl_nb.data import LabelQueue, Labels
from hitl_nb.errors import ChangedWhileWaiting, Declined, InvalidValue, JournalError, NoHumanError, UsageError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, replay, says
from hitl_nb.testing import record as recorded
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import Desk, everything_kept, record
from tests.unit.data.label_page import Page, Somebody, asked

MOODS = ["positive", "negative", "neutral"]
TEXTS = [f"text {at}" for at in range(6)]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request, tmp_path):
    place = tmp_path / "journal.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres").schema()
    with Journal(place, name="ada") as journal, use(journal=journal):
        yield journal


def script(*answers, name="bea"):
    return ScriptedPerson(list(answers), name=name)


# -- what comes of it -----------------------------------------------------------------------------------------


async def test_each_item_has_what_was_pressed_for_it_and_what_was_skipped_has_none():
    async with asked(label(TEXTS, MOODS, people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.label(0, 1)
        page.label(1, 0)
        page.skip(2)
        page.note(1, "hm")
        await page.send()
        page.label(3, 2)
        await page.confirm()
        labels = await answer
    assert list(labels) == ["negative", "positive", None, "neutral", None, None]
    assert (labels.skipped, labels.missing, labels.notes[1]) == ([2], [4, 5], "hm")
    assert labels[1:3] == ["positive", None]
    assert labels == ["negative", "positive", None, "neutral", None, None]
    assert repr(labels) == "<Labels: 3 of 6 labelled, 1 skipped, 2 left>"


async def test_a_series_or_a_frame_gets_labels_with_its_index():
    series = pd.Series(["x", "y"], index=["u", "v"])
    labels = await label(series, [1, 2], people=script([2, 1]))
    pd.testing.assert_series_equal(labels.series, pd.Series([2, 1], index=["u", "v"], name="label"))
    frame = pd.DataFrame({"text": ["x", "y"]}, index=[7, 9])
    frame["label"] = await label(frame, MOODS, people=script(["neutral", None]))
    assert frame.label[7] == "neutral"
    assert pd.isna(frame.label[9])
    theirs = await label(pl.DataFrame({"n": [1, 2]}), [True, False], people=script([True, False]))
    assert theirs.series.to_list() == [True, False]


async def test_several_labels_an_item_and_none_of_them_is_not_skipped():
    async with asked(label(TEXTS[:3], MOODS, multi=True, people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.push("label", [(0, [2, 0])])
        page.push("label", [(1, [])])
        page.skip(2)
        await page.confirm()
        assert list(await answer) == [["positive", "neutral"], [], None]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (["positive"], "6 items, and 1 labels"),
        (["happy"] * 6, "none of the labels"),
        ("positive", "no list of labels"),
        (7, "no list of labels"),
    ],
)
async def test_an_answer_in_code_that_fits_no_item_is_refused(answer, why):
    with pytest.raises(InvalidValue, match=why):
        await label(TEXTS, MOODS, people=script(answer))


async def test_labels_of_other_items_are_no_answer():
    theirs = await label(["a"] * 6, MOODS, people=script(["positive"] * 6))
    with pytest.raises(InvalidValue, match="other items"):
        await label(TEXTS, MOODS, people=script(theirs))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: label([], MOODS), "nothing to label"),
        (lambda: label(TEXTS, []), "no labels"),
        (lambda: label(TEXTS, ["a", "a"]), "Two labels"),
        (lambda: label(TEXTS, [1, "1"]), "Two labels"),
        (lambda: label("a text", MOODS), "one item"),
        (lambda: label({"a", "b"}, MOODS), "no order"),
        (lambda: label(7, MOODS), "no items"),
        (lambda: label(TEXTS, MOODS, show="gif"), "shows nothing"),  # type: ignore[call-overload]
        (lambda: label(TEXTS, MOODS, shortcuts={"pp": "positive"}), "one sign"),
        (lambda: label(TEXTS, MOODS, shortcuts={"p": "happy"}), "no label"),
        (lambda: label(TEXTS, MOODS, order=[1.0]), "for 1 items"),
        (lambda: label(TEXTS, MOODS, " "), "needs a question"),
    ],
)
def test_a_slip_is_told_before_anybody_is_asked(wrong, why):
    with pytest.raises(UsageError, match=why):
        wrong()


async def test_whoever_declines_gives_no_labels_and_nobody_is_nobody():
    with pytest.raises(Declined):
        await label(TEXTS, MOODS, people=script(lambda call: call.decline("too many")))
    with pytest.raises(NoHumanError):
        await label(TEXTS, MOODS)


async def test_items_that_code_changes_meanwhile_are_not_answered_and_the_labels_stay(journal):
    items = list(TEXTS)
    async with asked(label(items, MOODS, key="k", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.label(0, 0)
        await page.send()
        items[0] = "another text"
        await page.confirm()
        with pytest.raises(ChangedWhileWaiting):
            await answer
    items[0] = TEXTS[0]
    async with asked(label(items, MOODS, key="k", people=Somebody())) as (call, _):
        assert (await Page(call).open()).marks[0] == [0]


# -- how it is shown ------------------------------------------------------------------------------------------


async def shown(items, at=0, **options):
    async with asked(label(items, ["a", "b"], people=Somebody(), **options)) as (call, _):
        page = await Page(call).open()
        return (await page.ask(op="items", at=[at]))["items"][str(at)]


async def test_an_item_is_shown_as_what_it_is():
    assert (await shown(["*a*"]))["tree"] == ["*a*"]
    assert (await shown(["*a*"], show="markdown"))["tree"] == [["p", {}, ["em", {}, "a"]]]
    assert (await shown([{"n": 1}]))["tree"][0][0] == "dl"
    row = (await shown(pd.DataFrame({"city": ["Berlin"], "n": [1]})))["tree"]
    assert row == [["dl", {}, ["dt", {}, "city"], ["dd", {}, "Berlin"], ["dt", {}, "n"], ["dd", {}, "1"]]]
    [picture] = (await shown([PNG]))["tree"]
    assert picture[1]["src"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float64", "bool"])
@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3), (8, 8, 1)])
async def test_an_array_is_a_picture_with_its_range(dtype, shape):
    [picture] = (await shown(np.ones((2, *shape), dtype=dtype), show="image"))["tree"]
    assert picture[1]["src"].startswith("data:image/png;base64,")
    assert picture[2].startswith("Picture, 8 × 8 pixels")
    assert ("values from 1 to 1" in picture[2]) == (dtype != "uint8")


async def test_a_figure_is_made_when_it_is_seen_and_closed_again():
    import matplotlib.pyplot as plt

    def plot(n):
        figure, axes = plt.subplots()
        axes.plot([0, n])
        axes.set_title(f"up to {n}")
        return figure

    [picture] = (await shown([3, 4], at=1, show=plot))["tree"]
    assert picture[0] == "img"
    assert "up to 4" in picture[2]
    assert plt.get_fignums() == []


async def test_what_cannot_be_shown_says_so_in_its_place():
    assert "ZeroDivisionError" in json.dumps(await shown([0], show=lambda n: 1 / n))
    assert "no PNG" in json.dumps(await shown([b"GARBAGE"], show="image"))


async def test_hidden_characters_are_written_out_with_a_word_about_them():
    item = await shown(["a\u202eb"])
    assert item["tree"] == ["a\\u202eb"]
    assert "invisible" in item["warning"]


async def test_keys_are_digits_or_chosen_and_what_is_taken_moves():
    async with asked(label(TEXTS, MOODS, shortcuts={"n": "neutral", "0": "negative"}, people=Somebody())) as (call, _):
        head = (await Page(call).open()).head
    assert [each["key"] for each in head["labels"]] == ["1", "0", "n"]
    assert (head["keys"]["skip"], head["keys"]["note"]) == ("s", "+")
    async with asked(label(TEXTS, range(10), people=Somebody())) as (call, _):
        head = (await Page(call).open()).head
    assert [each["key"] for each in head["labels"]] == list("0123456789")


async def test_a_caller_has_the_least_certain_first():
    async with asked(label(TEXTS[:3], MOODS, order=[0.9, 0.1, 0.5], people=Somebody())) as (call, _):
        assert (await Page(call).open()).head["order"] == [1, 2, 0]


async def test_a_filter_finds_texts_whatever_their_case_and_columns():
    frame = pd.DataFrame({"city": ["Berlin", "Paris"], "api_key": ["sesame", "mellon"]})
    async with asked(label(frame, MOODS, people=Somebody())) as (call, _):
        page = await Page(call).open()
        assert (await page.ask(op="find", text="berl"))["at"] == [0]
        assert (await page.ask(op="find", text="mellon"))["at"] == []  # a secret is seen, and not searched


async def test_a_page_of_pictures_is_sent_a_few_at_a_time():
    rng = np.random.default_rng(0)
    items = rng.integers(0, 255, (30, 300, 300), dtype="uint8")
    async with asked(label(items, MOODS, show="image", people=Somebody())) as (call, _):
        page = await Page(call).open()
        found = (await page.ask(op="items", at=list(range(30))))["items"]
    assert 1 <= len(found) < 30


# -- what a page may do ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        {"op": "label", "sets": [[6, [0]]]},
        {"op": "label", "sets": [[-1, [0]]]},
        {"op": "label", "sets": [[0, [3]]]},
        {"op": "label", "sets": [[0, [0, 1]]]},
        {"op": "label", "sets": [[0, []]]},
        {"op": "label", "sets": [[True, [0]]]},
        {"op": "label", "sets": [[0, ["positive"]]]},
        {"op": "label", "sets": [0]},
        {"op": "rm", "sets": []},
        {"op": "note", "item": 0, "note": 7},
        {"op": "note", "item": 9, "note": "x"},
        {"op": "note", "item": 0, "note": "x" * 2_001},
    ],
)
async def test_what_cannot_be_is_refused_and_the_next_key_counts(entry):
    async with asked(label(TEXTS, MOODS, people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.push("label", [(0, [0])])
        log = [{"n": 1, **entry}, {**page.log[0], "n": 2}]
        found = await page.ask(op="log", who="x", log=log)
        assert found["have"] == 2
        assert len(found["refused"]) == 1
        page.log, page.version = [], found["version"]
        await page.confirm()
        assert list(await answer) == ["positive", *[None] * 5]


async def test_nothing_is_done_out_of_turn():
    async with asked(label(TEXTS, MOODS, people=Somebody())) as (call, _):
        page = await Page(call).open()
        page.label(0, 0)
        with pytest.raises(InvalidValue, match="Somebody else"):
            await page.ask(op="log", who=page.who, log=page.log, open_to=False)
        assert (await Page(call).open()).marks[0] is None


async def test_what_was_labelled_on_another_screen_has_to_be_seen_first():
    async with asked(label(TEXTS, MOODS, people=Somebody())) as (call, answer):
        first, second = await Page(call).open(), await Page(call).open()
        second.label(0, 1)
        await second.send()
        first.label(0, 0)
        with pytest.raises(InvalidValue, match="another screen"):
            await first.confirm()
        await second.confirm()
        assert (await answer)[0] == "negative"


async def test_what_is_confirmed_with_the_last_keys_holds_them_once(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.label(0, 0)
        page.label(1, 1)
        await page.send(heard=False)  # the acknowledgement is lost
        page.label(2, 2)
        await page.confirm()
        assert list(await answer)[:3] == MOODS
    [one] = journal.labelling.passes("k")
    assert [entry["n"] for entry in one.entries] == [1, 2, 3]


async def test_a_label_that_cannot_be_written_down_is_not_acknowledged(journal, monkeypatch):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.label(0, 0)

        def full(*_, **__):
            raise JournalError("the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(journal.labelling, "begin_note", full)
            with pytest.raises(JournalError):
                await page.send()
        assert (await Page(call).open()).marks[0] is None
        await page.send()
        await page.confirm()
        assert (await answer)[0] == "positive"


# -- later, elsewhere, by somebody else -----------------------------------------------------------------------


async def test_a_restart_goes_on_where_it_was_with_undo_and_notes(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
        page = await Page(call).open()
        page.label(0, 0)
        page.skip(1)
        page.note(0, "sure?")
        await page.send()
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        assert page.marks == [[0], False, None, None, None, None]
        assert page.notes == {0: "sure?"}
        page.undo()
        assert page.marks[1] is None
        await page.confirm()
        assert list(await answer) == ["positive", *[None] * 5]


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_was_done_and_never_acknowledged_is_not_done_twice(journal, restarts):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
        page = await Page(call).open()
        for place in (0, 1, 0):
            page.label(0, place)
        await page.send(heard=False)
        kept, steps = page.kept, page.steps
        if not restarts:
            page = await Page(call, kept).open()
            assert (page.log, page.steps) == ([], steps)
    if restarts:
        async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
            page = await Page(call, kept).open()
            assert (page.log, page.steps) == ([], steps)


async def test_what_never_arrived_is_sent_by_the_next_page_unless_something_else_was_chosen_since(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
        page = await Page(call).open()
        page.label(0, 0)
        page.label(1, 0)
        kept = page.kept
        other = await Page(call).open()
        other.label(1, 2)
        await other.send()
        page = await Page(call, kept).open()
        await page.send()
        assert (await Page(call).open()).marks[:2] == [[0], [2]]


async def test_without_a_key_a_queue_lives_as_long_as_its_question(journal):
    async with asked(label(TEXTS, MOODS, people=Somebody())) as (call, _):
        page = await Page(call).open()
        page.label(0, 0)
        await page.send()
        assert (await Page(call).open()).marks[0] == [0]
    async with asked(label(TEXTS, MOODS, people=Somebody())) as (call, _):
        assert (await Page(call).open()).marks[0] is None


@pytest.mark.parametrize("items", [TEXTS[::-1], TEXTS[:-1], [*TEXTS, "more"], ["text 0", *TEXTS[:-1]]])
async def test_other_items_under_a_key_that_was_begun_are_refused(journal, items):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
        page = await Page(call).open()
        page.label(0, 0)
        await page.send()
    with pytest.raises(UsageError, match=r"begun with other items.*ada has labelled.*another key"):
        await label(items, MOODS, key="k", people=Somebody())


async def test_another_label_may_be_added_and_one_that_is_gone_is_asked_again(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
        page = await Page(call).open()
        page.label(0, 0)
        page.label(1, 1)
        await page.send()
    async with asked(label(TEXTS, ["ironic", "negative"], key="k", people=Somebody())) as (call, _):
        assert (await Page(call).open()).marks[:2] == [None, [1]]


async def test_what_was_answered_sticks_and_is_asked_again_on_demand(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.label(0, 0)
        page.note(0, "hm")
        await page.confirm()
        first = await answer
    again = await label(TEXTS, MOODS, key="k", people=Somebody())
    assert again == first
    assert again.notes == first.notes
    assert again.missing == [1, 2, 3, 4, 5]
    async with asked(label(TEXTS, MOODS, key="k", refresh=True, people=Somebody())) as (call, answer):
        page = await Page(call).open()
        assert page.marks[0] == [0]
        page.label(0, 1)
        await page.confirm()
        assert (await answer)[0] == "negative"


async def test_rows_that_were_changed_afterwards_are_not_believed(tmp_path):
    import sqlite3

    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal, use(journal=journal):
        async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
            page = await Page(call).open()
            page.label(0, 0)
            await page.send()
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER no_update")
    connection.execute("UPDATE events SET value = replace(value, 'positive', 'negative') WHERE event = 'labelled'")
    connection.commit()
    connection.close()
    with Journal(path) as journal, use(journal=journal):
        async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, _):
            assert (await Page(call).open()).marks[0] is None


async def test_two_people_have_a_pass_each_and_what_they_differ_in_is_a_queue(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody("ada"))) as (call, answer):
        page = await Page(call).open()
        for at in range(5):
            page.label(at, at % 2)
        page.skip(5)
        await page.confirm()
        ada = await answer
    async with asked(label(TEXTS, MOODS, key="k", guidelines="*Look.*", people=Somebody("bea"))) as (call, answer):
        page = await Page(call).open()
        assert page.marks == [None] * 6  # nobody sees what somebody else has chosen
        for at in range(6):
            page.label(at, 0 if at < 4 else 2)
        await page.confirm()
        bea = await answer

    agreement = bea.agreement
    assert (agreement.people, agreement.common, agreement.share) == (["ada", "bea"], 5, 0.4)
    assert agreement.kappa == pytest.approx((0.4 - (3 * 4 + 2 * 0 + 0) / 25) / (1 - 12 / 25))
    assert ada.disputed.positions == bea.disputed.positions == [1, 3, 4]
    assert list(bea.disputed) == ["text 1", "text 3", "text 4"]
    async with asked(label(bea.disputed, "Which?", people=Somebody("cy"))) as (call, answer):
        assert call.message == "Which?"
        page = await Page(call).open()
        assert page.head["guidelines"] == [["p", {}, ["em", {}, "Look."]]]
        item = (await page.ask(op="items", at=[0]))["items"]["0"]
        assert item["before"] == "ada: negative · bea: positive"
        for at in range(3):
            page.label(at, 1)
        await page.confirm()
        decided = await answer
    assert bea.settled(decided) == ["positive", "negative", "positive", "negative", "negative", "neutral"]
    assert repr(agreement) == "<Agreement of ada and bea: 40% of 5 items, kappa -0.15; 3 disputed>"


async def test_scripts_and_people_of_one_name_are_told_apart_and_nobody_agrees_with_nobody(journal):
    first = await label(TEXTS, MOODS, key="k", people=script(["positive"] * 6, name="ada"))
    assert repr(first.agreement) == "<Agreement: one person has labelled, and there is nothing to compare>"
    assert (first.agreement.share, first.agreement.kappa, list(first.disputed)) == (None, None, [])
    with pytest.raises(UsageError, match="No item is disputed"):
        label(first.disputed)
    with pytest.raises(UsageError, match="0 items are disputed, and 1 are decided"):
        first.settled(["positive"])
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody("ada"))) as (call, answer):
        page = await Page(call).open()
        assert page.marks == [None] * 6
        page.label(0, 1)
        await page.confirm()
        second = await answer
    assert second.agreement.people == ["ada (script)", "ada (card)"]
    assert second.agreement.share == 0


async def test_a_script_that_runs_again_has_one_pass(journal):
    for _ in range(2):
        await label(TEXTS, MOODS, key="k", refresh=True, people=script(["positive"] * 6))
    assert len(journal.labelling.passes("k")[0].entries) == 6


async def test_a_key_needs_a_journal():
    with pytest.raises(UsageError, match="there is none"), use(journal="off"):
        await label(TEXTS, MOODS, key="k", people=script(["positive"] * 6))


# -- in a session, recorded, replayed, kept -------------------------------------------------------------------


async def labelled_by_a_tool(act: Any, **options: Any) -> tuple[Any, Any]:
    @human_in_the_loop(render=partial(LabelQueue, labels=MOODS, **options))
    def classify(texts: list[str]) -> list[str | None]:
        """Label these."""

    agent = ScriptedAgent([calls("classify", texts=TEXTS[:3]), says("ok")])

    class Ada(Somebody):
        async def __call__(self, call):
            await act(await Page(call).open())

    reply = await Session(agent, tools=[classify], people=[Ada()]).run("go")
    return reply.calls[0], agent


async def test_as_a_tools_card_it_answers_with_a_list():
    async def act(page):
        page.label(0, 1)
        page.skip(1)
        page.label(2, 0)
        await page.send()
        await page.confirm()

    call, agent = await labelled_by_a_tool(act)
    assert call.answer == ["negative", None, "positive"]
    assert json.loads(agent.inputs[1].messages[-1].content) == ["negative", None, "positive"]
    assert "2 of 3 labelled" in record(call)


async def test_a_tool_may_bring_its_labels_and_one_without_items_is_drawn_by_the_default():
    @human_in_the_loop(render=LabelQueue)
    def classify(texts: list[str], labels: list[str]) -> list[str | None]:
        """Label these."""

    agent = ScriptedAgent([calls("classify", texts=["x"], labels=["a", "b"]), says("ok")])

    class Ada(Somebody):
        async def __call__(self, call):
            page = await Page(call).open()
            page.label(0, 1)
            await page.confirm()

    reply = await Session(agent, tools=[classify], people=[Ada()]).run("go")
    assert reply.calls[0].answer == ["b"]

    agent = ScriptedAgent([calls("classify", texts=[], labels=["a"]), says("ok")])

    class Bea(Somebody):
        async def __call__(self, call):
            assert "finds no items" in Desk(call).item["warning"]
            call.decline()

    await Session(agent, tools=[classify], people=[Bea()]).run("go")


async def test_a_recorded_queue_replays(tmp_path):
    case = tmp_path / "case.json"

    async def run(**options):
        return await label(TEXTS, MOODS, multi=True, **options)

    with recorded(case):
        first = await run(people=script([["positive"], [], None, ["neutral", "negative"], None, None]))
    with replay(case):
        again = await run()
    assert isinstance(again, Labels)
    assert list(again) == list(first)


async def test_the_record_has_counts_and_items_and_no_secret():
    frame = pd.DataFrame({"text": ["x", "y\u202e"], "api_key": ["sesame-open", "b"]})
    async with asked(label(frame, MOODS, "Mood?", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        shown = json.dumps(await page.ask(op="items", at=[0]))
        assert "sesame-open" in shown  # who decides sees it
        page.label(0, 0)
        page.note(0, "my note")
        await page.confirm()
        await answer
        text, kept = record(call), everything_kept(call)
    assert "1 of 2 labelled, 1 left" in text
    assert "positive: 1 · negative: 0 · neutral: 0" in text
    assert "my note" in text
    assert "sesame-open" not in kept


async def test_the_journal_has_each_label_as_it_was_given(journal):
    async with asked(label(TEXTS, MOODS, key="k", people=Somebody())) as (call, answer):
        page = await Page(call).open()
        page.label(0, 0)
        await page.send()
        page.label(1, 1)
        await page.send()
        await page.confirm()
        await answer
    rows = [row for row in journal if row["event"] == "labelled"]
    assert [row["by"] for row in rows] == ["ada", "ada"]
    assert [json.loads(row["value"])[0]["sets"] for row in rows] == [[[0, ["positive"]]], [[1, ["negative"]]]]
    assert journal.verify().ok
    assert [row["event"] for row in journal if row["event"] in ("labelled", "answered")][-1] == "answered"
