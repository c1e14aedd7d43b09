"""A question about a table: what a card shows of it, what an answer may be, and what nobody can approve."""

import asyncio
import json
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

from hitl_nb import Journal, human_in_the_loop, interrupt, pending, review, review_table, use
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.cards._registry import card_of, use_default
from hitl_nb.data import Change, Table, TableAnswer, TableReview, TableType
from hitl_nb.data._draft import Draft, Looked
from hitl_nb.errors import ChangedWhileWaiting, Declined, InvalidValue, UsageError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import record as recorded
from hitl_nb.testing import replay
from tests.unit.cards.desk import Desk, everything_kept, record
from tests.unit.cards.desk import ask as ask_at_the_desk


@pytest.fixture
def df():
    return pd.DataFrame({"income": [1.0, 2.0, 9e9], "city": ["a", "b", "c"], "n": [2**60 + 1, 0, 1]})


async def waits(call):
    await until_decided(call)


class Ada:
    """At the card."""

    via = "card"
    name = "ada"

    async def __call__(self, call):
        await until_decided(call)


class At:
    """A person at the grid: each thing done is numbered, as the browser does it."""

    def __init__(self, call, who="me"):
        self.call, self.card, self.who = call, card_of(call), who
        self.serial = 0

    async def page(self, *acts, look=None, first=0, count=64, **more):
        numbered = []
        for act in acts:
            self.serial += 1
            numbered.append({"n": self.serial, **act})
        body = {"op": "page", "who": self.who, "acts": numbered, "look": look or {}, "from": first, "count": count}
        found = await self.card.reply({**body, **more}, open_to=True)
        return json.loads(json.dumps(found, allow_nan=False))

    async def confirm(self, version):
        await self.card.confirming()
        with Handle.of(self.call).turns.clicked(self.call.turn.token):
            return self.card.decide({"version": version})


async def at_the_grid(question, act):
    """The answer of a question after `act` at its grid."""
    asked = asyncio.ensure_future(question)
    while not (pending() and pending()[0].turn):
        await asyncio.sleep(0)
    await act(At(pending()[0]))
    return await asked


async def test_confirmed_as_it_is_it_is_the_frame_itself(df):
    async def act(at):
        page = await at.page()
        assert [row["cells"] for row in page["rows"]][2] == [["float", "9000000000.0"], "c", ["int", "1"]]
        assert await at.confirm(page["version"])

    assert await at_the_grid(review(df, people=Ada()), act) is df


async def test_rows_go_and_cells_change_and_the_rest_stays(df):
    async def act(at):
        page = await at.page()
        keep = {"op": "keep", "view": page["view"], "from": 2, "to": 3, "on": False}
        page = await at.page(keep, {"op": "edit", "row": 0, "place": 0, "text": "41200"})
        assert page["counts"] == {"rows": 3, "kept": 2, "dropped": 1, "changed": 1, "undo": 2}
        assert page["rows"][0]["before"] == {"0": ["float", "1.0"]}
        await at.confirm(page["version"])

    answer = await at_the_grid(review_table(df, drop=True, edit=["income"], people=Ada()), act)
    expected = pd.DataFrame({"income": [41200.0, 2.0], "city": ["a", "b"], "n": [2**60 + 1, 0]})
    pd.testing.assert_frame_equal(answer.data, expected)
    assert answer.keep.tolist() == [True, True, False]
    assert answer.changes == [Change(0, None, "income", 1.0, 41200.0)]


async def test_what_comes_twice_is_done_once_and_what_is_taken_back_is_as_before(df):
    async def act(at):
        page = await at.page()
        drop = {"n": 1, "op": "keep", "view": page["view"], "from": 0, "to": 2, "on": False}
        body = {"op": "page", "who": "me", "acts": [drop], "look": {}, "from": 0, "count": 9}
        first, second = [await at.card.reply(body, open_to=True) for _ in range(2)]
        assert first["counts"]["dropped"] == second["counts"]["dropped"] == 2
        at.serial = 1
        page = await at.page({"op": "undo"}, {"op": "undo"})
        assert page["counts"]["dropped"] == 0
        await at.confirm(page["version"])

    assert await at_the_grid(review(df, drop=True, people=Ada()), act) is df


async def test_what_was_done_on_another_screen_has_to_be_seen_first(df):
    async def act(at):
        page, other = await at.page(), At(at.call, "other")
        seen = page["version"]
        await other.page({"op": "edit", "row": 0, "place": 0, "text": "7"})
        with pytest.raises(InvalidValue, match="changed on another screen"):
            await at.confirm(seen)
        assert not at.call.decided
        page = await at.page()  # a reload: everything is still there
        assert page["counts"]["changed"] == 1
        await at.confirm(page["version"])

    assert (await at_the_grid(review(df, edit=["income"], people=Ada()), act)).income[0] == 7


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ({"op": "edit", "row": 0, "place": 1, "text": "x"}, "may not be edited"),
        ({"op": "edit", "row": 0, "place": 2, "text": "1.5"}, "not a whole number"),
        ({"op": "edit", "row": 0, "place": 2, "missing": True}, "cannot hold"),
        ({"op": "edit", "row": 9, "place": 2, "text": "1"}, "may not be edited"),
        ({"op": "keep", "view": 99, "from": 0, "to": 1, "on": False}, "have moved"),
        ({"op": "rm"}, "There is no `rm`"),
    ],
)
async def test_what_may_not_be_done_is_refused_in_words_and_nothing_happens(df, act, why):
    async def look(at):
        await at.page()
        page = await at.page(act)
        assert why in page["refused"][0]["why"]
        await at.confirm(page["version"])

    assert await at_the_grid(review(df, drop=True, edit=["n"], people=Ada()), look) is df


async def test_nothing_is_done_out_of_turn(df):
    async def act(at):
        body = {"op": "page", "who": "x", "acts": [{"n": 1, "op": "undo"}], "look": {}, "from": 0, "count": 1}
        edit = {"n": 2, "op": "edit", "row": 0, "place": 0, "text": "7"}
        found = await at.card.reply({**body, "acts": [edit]}, open_to=False)
        assert found["counts"]["changed"] == 0
        at.call.decline()

    with pytest.raises(Declined):
        await at_the_grid(review(df, edit=["income"], people=Ada()), act)


# -- changed meanwhile ----------------------------------------------------------------------------------------


async def test_a_frame_that_code_changes_meanwhile_is_refused_at_the_card(df):
    async def act(at):
        page = await at.page()
        df.loc[0, "income"] = 5.0
        assert (await at.page())["rows"][0]["cells"][0] == ["float", "1.0"]  # what is drawn is what was asked about
        assert not await at.confirm(page["version"])

    with pytest.raises(ChangedWhileWaiting):
        await at_the_grid(review(df, people=Ada()), act)


@pytest.mark.parametrize("change", [lambda df: df.at[0, "tags"].append("x"), lambda df: df.insert(0, "new", 1)])
async def test_a_script_cannot_approve_what_was_changed_either(change):
    df = pd.DataFrame({"n": [1], "tags": [["a"]]})

    async def script(call):
        change(df)
        assert not call.respond(call.proposal)

    with pytest.raises(ChangedWhileWaiting):
        await review(df, people=script)


async def test_a_cell_that_is_changed_between_the_answer_and_its_use_is_found(df):
    async def script(call):
        call.respond(call.proposal)
        df.loc[0, "n"] = 5

    with pytest.raises(ChangedWhileWaiting):
        await review(df, people=script)


async def test_a_table_that_no_browser_could_draw_cannot_be_confirmed(df):
    async def act(at):
        use_default(at.call)
        desk = Desk(at.call)
        assert desk.item["card"] == "plain"
        with pytest.raises(InvalidValue, match="could not be drawn"):
            desk.send({})
        assert not at.call.decided
        at.call.decline()

    with pytest.raises(Declined):
        await at_the_grid(review(df, people=Ada()), act)


# -- in code --------------------------------------------------------------------------------------------------


async def test_a_script_answers_with_the_proposal_or_with_what_it_has_done(df):
    assert await review(df, people=ScriptedPerson([lambda call: call.proposal])) is df
    done = TableAnswer.of(df, keep=df.income < 1e9, changes=[(1, "city", "B")])
    answer = await review_table(df, drop=True, edit=["city"], people=ScriptedPerson([done]))
    assert answer == done
    assert answer.data.city.tolist() == ["a", "B"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda df: df.copy(), "does not say what was done"),
        (lambda df: TableAnswer.of(df.copy()), "another table"),
        (lambda df: TableAnswer.of(df, keep=[True, True, False]), "drop=True"),
        (lambda df: TableAnswer.of(df, changes=[(0, "city", "x")]), r"edit=\['city'\]"),
        (lambda df: True, "does not say"),
    ],
)
async def test_what_is_no_answer_about_this_table_is_none(df, answer, why):
    with pytest.raises(InvalidValue, match=why):
        await review(df, people=ScriptedPerson([lambda call: answer(df)]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda df: review(df, edit=["nothing"]),
        lambda df: review([1], drop=True),
        lambda df: review_table([1]),
        lambda df: TableAnswer.of(df, keep=[True]),
        lambda df: TableAnswer.of(df, changes=[(9, "n", 1)]),
        lambda df: review(pd.DataFrame({"x": [[1]]}), edit=["x"]),
    ],
)
def test_slips_are_told_at_once(df, wrong):
    with pytest.raises(UsageError):
        wrong(df)


@pytest.mark.parametrize("value", [1.5, True, None, 2**70, "1"])
def test_what_a_column_cannot_hold_exactly_is_refused(df, value):
    with pytest.raises(InvalidValue, match="exactly"):
        TableAnswer.of(df, changes=[(0, "n", value)])
    with pytest.raises(InvalidValue, match="exactly"):
        TableAnswer.of(pl.from_pandas(df), changes=[(0, "n", value)]) if value is not None else _refuse()


def _refuse():
    raise InvalidValue("exactly: polars has nothing in every column")


async def test_two_columns_of_one_name_are_told_apart_by_place():
    df = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(UsageError, match="2 columns called `a`"):
        review(df, edit=["a"])
    answer = TableAnswer.of(df, changes=[(0, 1, 9)])
    assert answer.data.to_numpy().tolist() == [[1, 9], [3, 4]]


# -- checkpoints ---------------------------------------------------------------------------------


async def test_a_plain_checkpoint_takes_the_card_as_well(df):
    async def act(at):
        await at.confirm((await at.page())["version"])

    assert await at_the_grid(interrupt("Right?", df, render=TableReview, people=Ada()), act) is df


class Person(BaseModel):
    name: str
    age: int
    note: str | None = None


PEOPLE: list[Any] = [
    {"name": "ada", "age": 36, "note": None},
    {"name": "<b>", "age": 2**60 + 1, "note": "x"},
    {"name": "eve", "age": 7},
]


async def test_a_model_proposes_rows_and_gets_those_back_that_a_person_kept_and_corrected():
    @human_in_the_loop(render=partial(TableReview, drop=True, edit=["age"]))
    def import_people(people: list[Person], into: str) -> list[Person]:
        """Import people."""
        raise NotImplementedError

    async def act(desk):
        at = At(desk.call)
        page = await at.page(look={"sort": [1, True]})
        assert [row["row"] for row in page["rows"]] == [1, 0, 2]
        drop = {"op": "keep", "view": page["view"], "from": 2, "to": 3, "on": False}
        page = await at.page(drop, {"op": "edit", "row": 0, "place": 1, "text": "37"}, look={"sort": [1, True]})
        assert await at.confirm(page["version"])

    call, _ = await ask_at_the_desk(import_people, act, people=PEOPLE, into="crm")
    assert call.answer == [Person(name="ada", age=37), Person(name="<b>", age=2**60 + 1, note="x")]
    assert call.answer[1] is call.args.people[1]
    assert "• into: crm" in record(call)
    assert "dropped: 1 row: 2" in record(call)


async def test_a_model_that_proposes_rows_which_are_left_alone_gets_them_back_as_they_were():
    @human_in_the_loop(render=TableReview)
    def import_people(people: list[Person]) -> list[Person]:
        """Import people."""
        raise NotImplementedError

    async def act(desk):
        at = At(desk.call)
        assert await at.confirm((await at.page())["version"])

    call, _ = await ask_at_the_desk(import_people, act, people=PEOPLE)
    assert (call.outcome, call.edits) == ("answered", ())


@pytest.mark.parametrize("value", [1.5, True, None, "7"])
def test_a_record_takes_what_its_fields_hold(value):
    with pytest.raises(InvalidValue, match="exactly"):
        TableAnswer.of(PEOPLE, changes=[(0, "age", value)])


# -- records, journal, replay ----------------------------------------------------------------------------------


async def test_the_record_says_how_much_there_was_and_each_change(df):
    done = TableAnswer.of(df, keep=[True, True, False], changes=[(0, "income", 5.0)])
    person = ScriptedPerson([done], name="ada")
    await review_table(df, "Drop?", drop=True, edit=["income"], people=person)
    (call,) = person.asked
    assert record(call) == (
        "✎ Confirmed: kept 2 of 3 rows, 1 cell changed\n"
        "    • Drop?\n"
        "    • table: 3 rows × 3 columns\n"
        "    • dropped: 1 row: 2\n"
        "    • changed row 0 · income: 1.0 → 5.0\n"
        "    review_table · by ada"
    )
    assert list(call.edits) == [
        {"path": "rows", "from": 3, "to": 2},
        {"path": "rows[0].income", "from": "1.0", "to": "5.0"},
    ]


async def test_hostile_names_and_cells_stay_text_in_everything_that_is_kept():
    df = pd.DataFrame({"<img src=x onerror=alert(1)>": ["<script>alert(1)</script>", "a\u202eb"]})
    person = ScriptedPerson([TableAnswer.of(df, changes=[(0, 0, "\u202e<b>")])])
    await review_table(df, edit=[0], people=person)
    kept = everything_kept(person.asked[0])
    assert "\u202e" not in kept
    assert "<img" not in json.loads(kept.partition("<Call")[0])[1]["text/html"]


async def test_a_decision_under_a_key_sticks_to_the_whole_content(df, tmp_path):
    journal = Journal(tmp_path / "journal.sqlite")
    use(journal=journal)
    try:
        first = await review_table(
            df, drop=True, key="k", people=ScriptedPerson([TableAnswer.of(df, keep=[True, False, True])])
        )
        again = await review_table(
            df.copy(), drop=True, key="k", people=ScriptedPerson([TableAnswer.of(df, keep=[True, False, True])])
        )
        pd.testing.assert_frame_equal(first.data, again.data)
        changed = df.assign(n=[1, 2, 3])
        with pytest.raises(Exception, match="another table"):
            await review_table(
                changed, drop=True, key="k", people=ScriptedPerson([TableAnswer.of(df, keep=[True, False, True])])
            )
    finally:
        use(journal="memory")


async def test_a_recorded_answer_is_replayed(df, tmp_path):
    done = TableAnswer.of(df, keep=[True, True, False], changes=[(0, "n", 7)])
    case = tmp_path / "case.json"
    with recorded(case):
        await review_table(df, drop=True, edit=["n"], people=ScriptedPerson([done]))
    with replay(case):
        answer = await review_table(df, drop=True, edit=["n"], people=waits)
    assert answer == done
    pd.testing.assert_frame_equal(answer.data, done.data)


async def test_a_card_item_holds_columns_and_no_rows():
    df = pd.DataFrame({"x": np.arange(100_000)})
    asked = asyncio.ensure_future(review(df, people=waits))
    while not pending():
        await asyncio.sleep(0)
    (call,) = pending()
    assert len(json.dumps(Desk(call).item)) < 2_000
    call.decline()
    with pytest.raises(Declined):
        await asked


BAD_LISTS = [[[0, "in", given]] for given in ("1", [], ["a"], [[1]], ["1"] * 101)]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ([[0, ">", "1.5"]], [1, 2]),
        ([[1, "contains", "b"], [0, "<", "3"]], [1]),
        ([[2, "=", str(2**60 + 1)]], [0]),
        ([[2, "in", [str(2**60 + 1), "7", "1"]]], [0, 2]),
        ([[1, "in", ["c", "bb", "b, c", "c"]], [0, "<", "3"]], [1]),
        ([[1, "contains", ".*"]], []),
        ([[-1, "dropped", ""]], [0]),
        ([[-1, "changed", ""]], [1]),
    ],
)
@pytest.mark.parametrize("library", [lambda df: df, pl.from_pandas])
async def test_conditions_are_from_a_closed_list_and_literal(df, where, rows, library):
    async def act(at):
        page = await at.page()
        drop = {"op": "keep", "view": page["view"], "from": 0, "to": 1, "on": False}
        await at.page(drop, {"op": "edit", "row": 1, "place": 1, "text": "bb"})
        found = await at.page(look={"where": where})
        assert [row["row"] for row in found["rows"]] == rows
        for wrong in ([[0, "@f()", "1"]], [[9, "=", "1"]], [[1, "<", "a"]], [[0, ">", "__import__('os')"]], *BAD_LISTS):
            with pytest.raises(InvalidValue):
                await at.page(look={"where": wrong})
        at.call.decline()

    with pytest.raises(Declined):
        await at_the_grid(review(library(df), drop=True, edit=["city"], people=Ada()), act)


@pytest.mark.parametrize("library", [lambda df: df, pl.from_pandas, lambda df: df.to_dict("records")])
async def test_a_list_of_values_is_read_as_the_column_is_and_dropping_it_can_be_taken_back(library):
    given = library(
        pd.DataFrame({"n": [2**60, 2**60 + 1, 2**60 + 2], "yes": [True, False, True], "x": [0.1, 0.3, 1.0]})
    )

    async def act(at):
        wanted = {"where": [[0, "in", [str(2**60), str(2**60 + 2)]], [2, "in", ["0.1", "1"]], [1, "in", ["yes"]]]}
        page = await at.page(look=wanted)
        assert [row["row"] for row in page["rows"]] == [0, 2]
        drop = {"op": "keep", "view": page["view"], "from": 0, "to": page["total"], "on": False}
        assert (await at.page(drop, look=wanted))["counts"]["dropped"] == 2
        page = await at.page({"op": "undo"}, look=wanted)
        assert (page["counts"]["dropped"], page["counts"]["undo"]) == (0, 0)
        await at.confirm(page["version"])

    assert await at_the_grid(ask_about(given), act) is given


def ask_about(given):
    render = partial(TableReview, drop=True) if isinstance(given, list) else None
    return review(given, people=Ada(), **({"render": render} if render else {"drop": True}))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
async def test_words_that_look_like_others_are_told_of_in_each_cell(library):
    good, bad = "paypal.com", "p\u0430ypal.com"
    frame = library({"site": [good, bad, f"{bad}\u202e", f"{bad} {'x' * 700}", "Łódź"]})
    draft = Draft(Table(frame), True, frozenset([0]))
    cells = [row["cells"][0] for row in draft.page(Looked(), 0, 9)["rows"]]
    assert (cells[0], cells[4]) == (good, "Łódź")
    words = "“p\u0430ypal” mixes Latin and Cyrillic letters: p\\u0430ypal."
    assert cells[1] == ["mixed", bad, words]
    assert (cells[2][0], cells[2][2]) == ("escaped", words)
    assert (cells[3][0], cells[3][2], cells[3][4]) == ("cut", "mixed", words)
    draft.act("me", [{"n": 1, "op": "edit", "row": 0, "place": 0, "text": bad}])
    assert draft.page(Looked(), 0, 1)["rows"][0]["cells"] == [["mixed", bad, words]]
    answer = draft.answer()
    again = TableType(draft.table, drop=True, edit=[0]).validate(json.loads(json.dumps(answer.wire())))
    assert again.changes[0].after == bad


async def test_delete_makes_an_empty_text_missing():
    draft = Draft(Table(pd.DataFrame({"item": ["", "cup"]})), True, frozenset([0]))
    assert draft.act("me", [{"n": 1, "op": "edit", "row": 0, "place": 0, "missing": True}]) == []
    assert draft.answer().data["item"].isna().tolist() == [True, False]
