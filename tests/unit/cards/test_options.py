"""Whatever there is to choose from, or to review, is told apart and comes back as it was."""

import asyncio
import enum
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb import choose, review
from hitl_nb.errors import UsageError
from tests.unit.cards.desk import AtTheDesk, record


class Region(enum.Enum):
    NORTH = 1
    SOUTH = "1"


@dataclass
class Model:
    name: str
    auc: float


async def chosen(options, at, **more):
    """The answer, the labels on the card and the marks in the record, of who takes the option at a place."""
    seen = {}

    def act(desk):
        seen["props"], seen["call"] = desk.props, desk.call
        desk.send({"chosen": at if isinstance(at, list) else [at]})

    answer = await choose("Which?", options, people=AtTheDesk(act), **more)
    labels = [option["label"] for option in seen["props"]["options"]]
    lines = record(seen["call"]).splitlines()
    return (
        answer,
        labels,
        [at for at, line in enumerate(line for line in lines if "☐" in line or "☑" in line) if "☑" in line],
    )


@pytest.mark.parametrize(
    "options",
    [
        [True, 1, "1", None, ""],
        list(Region),
        [np.int64(1), np.float64(1.0), 1, 1.0, np.str_("1")],
        [{"a": 1}, {"a": 1}],
        ["x", "x", "y"],
        [date(2026, 1, 1), pd.Timestamp("2026-01-01"), datetime(2026, 1, 1)],
        [[1, 2], (1, 2), [1, 2]],
        [np.array([1]), np.array([1])],
    ],
    ids=str,
)
async def test_each_option_has_a_label_of_its_own_and_comes_back_as_itself(options):
    for at, option in enumerate(options):
        answer, labels, ticked = await chosen(options, at)
        assert answer is option
        assert len(set(labels)) == len(options)
        assert ticked == [at]


async def test_several_equal_ones_are_told_by_their_places():
    first, second = {"a": 1}, {"a": 1}
    answer, _, ticked = await chosen([first, {"b": 2}, second], [0, 2], multiple=True)
    assert answer[0] is first
    assert answer[1] is second
    assert ticked == [0, 2]


async def test_what_else_is_known_about_options_stands_in_columns():
    def act(desk):
        assert desk.props["columns"] == ["auc", "rows"]
        assert [option["cells"] for option in desk.props["options"]] == [["0.87", "1,250,000"], ["0.71", ""]]
        desk.send({"chosen": [0]})

    options = [{"name": "model 7", "auc": 0.87, "rows": 1_250_000}, {"name": "baseline", "auc": 0.71}]
    assert await choose("Which?", options, people=AtTheDesk(act)) is options[0]
    assert (await chosen([Model("a", 0.5), Model("b", 0.6)], 1))[0].auc == 0.6


# -- review: the same types back -----------------------------------------------------------------------------

VALUES = st.sampled_from(
    [
        *(1, 2.5, True, "text", None, date(2026, 3, 2), datetime(2026, 3, 2, 14, 5), Decimal("1.10"), Region.NORTH),
        *(np.int64(3), np.float32(0.5), np.bool_(True), pd.Timestamp("2026-03-02 14:05:00.000000001"), ["a", "b"]),
    ]
)


def typed(value):
    if isinstance(value, dict):
        return {key: typed(part) for key, part in value.items()}
    return [typed(part) for part in value] if isinstance(value, list) else (type(value), value)


@given(st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES, "n": st.integers(0, 9)}), min_size=1, max_size=4))
def test_an_edit_changes_one_entry_and_the_type_of_none(rows):
    def act(desk):
        desk.confirm({"op": "set", "path": [0, "n"], "value": 10})

    edited = asyncio.run(_reviewed(rows, act))
    assert typed(edited) == typed([{**rows[0], "n": 10}, *rows[1:]])


async def _reviewed(rows, act):
    return await review(rows, people=AtTheDesk(act))


@pytest.mark.parametrize(
    ("before", "wire", "after"),
    [
        (
            pd.Timestamp("2026-01-01 10:00"),
            {"$": "datetime", "text": "2026-01-03T00:00:00"},
            pd.Timestamp("2026-01-03"),
        ),
        (np.int64(3), {"$": "number", "text": "7"}, np.int64(7)),
        (np.float32(0.5), {"$": "number", "text": "0.25"}, np.float32(0.25)),
        (date(2026, 1, 1), {"$": "date", "text": "2026-01-03"}, date(2026, 1, 3)),
        (Region.NORTH, "1", Region.SOUTH),
    ],
    ids=str,
)
async def test_what_is_entered_has_the_type_that_stood_there(before, wire, after):
    rows = [{"x": before, "n": 1}, {"x": before, "n": 2}]
    edited = await _reviewed(rows, lambda desk: desk.confirm({"op": "set", "path": [0, "x"], "value": wire}))
    assert typed(edited) == typed([{"x": after, "n": 1}, rows[1]])


async def test_records_with_dates_are_a_table():
    def act(desk):
        assert (desk.props["form"]["kind"], [kind["kind"] for _, kind in desk.props["form"]["item"]["children"]]) == (
            "table",
            ["date", "datetime", "integer"],
        )
        desk.confirm()

    rows = [{"day": date(2026, 1, 1), "at": pd.Timestamp("2026-01-01"), "n": np.int64(3)}]
    assert await _reviewed(rows, act) is rows


def test_the_entry_that_is_no_data_is_named():
    with pytest.raises(UsageError, match="`connection` is a `socket`, which is no data"):
        review({"n": np.int64(3), "connection": type("socket", (), {"__slots__": ()})()})
