"""What comes back is what was there, to the last bit, but for the cells that were typed and the rows that went."""

import json
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from hitl_nb.data import Table, TableAnswer, TableType
from hitl_nb.data._cells import EDITABLE
from hitl_nb.data._draft import Draft, Looked
from hitl_nb.errors import InvalidValue
from tests.unit.data.frames import pandas_frames, polars_frames

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "properties"


def examples(few, many=2000):
    """A setting with so many examples here, and more in `make properties`."""
    return settings(max_examples=many if LONG else few, deadline=None, suppress_health_check=list(HealthCheck))


class Screen:
    """A person at the grid, without a browser: what they type is what they see."""

    def __init__(self, frame):
        self.table = Table(frame)
        editable = [column.place for column in self.table.frame.columns if column.kind in EDITABLE]
        self.draft = Draft(self.table, True, frozenset(editable))
        self.editable = editable
        self._serial = 0

    def rows(self):
        return self.draft.page(Looked(), 0, 500)["rows"]

    def act(self, **act):
        self._serial += 1
        return self.draft.act("me", [{"n": self._serial, **act}])

    def type(self, row, place, cell):
        """Type what stands in another cell of the column."""
        if isinstance(cell, str):
            return self.act(op="edit", row=row, place=place, text=cell)
        kind, text = cell
        if kind == "null":
            return self.act(op="edit", row=row, place=place, missing=True)
        return self.act(op="edit", row=row, place=place, text=text, escaped=kind == "escaped")

    def drop(self, first, last):
        self.rows()
        return self.act(
            op="keep", view=self.draft.page(Looked(), 0, 1)["view"], **{"from": first, "to": last}, on=False
        )

    @property
    def data(self):
        return self.draft.answer().data


def same(first, second):
    """Equal in every way that pandas and polars can tell."""
    if isinstance(first, pl.DataFrame):
        assert first.schema == second.schema
        assert first.equals(second, null_equal=True)
        return
    pd.testing.assert_frame_equal(first, second, check_exact=True, check_freq=False, check_flags=True)
    assert first.attrs == second.attrs
    for place in range(first.shape[1]):
        one, other = first.iloc[:, place], second.iloc[:, place]
        assert one.dtype == other.dtype
        if one.dtype == object:  # where None, NaN and NaT are the same to pandas
            assert [(type(each), repr(each)) for each in one] == [(type(each), repr(each)) for each in other]


def without(frame, rows, place=None):
    """The frame without these rows, and without this column."""
    if isinstance(frame, pl.DataFrame):
        kept = frame.filter(pl.Series([at not in rows for at in range(frame.height)], dtype=pl.Boolean))
        return kept if place is None else kept.drop(frame.columns[place])
    kept = frame.iloc[[at for at in range(len(frame)) if at not in rows]]
    return kept if place is None else kept.iloc[:, [at for at in range(frame.shape[1]) if at != place]]


frames = st.one_of(pandas_frames(), polars_frames())
filled = st.one_of(pandas_frames(least=1), polars_frames(least=1))


@pytest.mark.timeout(1800)
@examples(100)
@given(frames)
def test_untouched_it_is_the_identical_frame(frame):
    screen = Screen(frame)
    assert screen.data is frame
    assert TableAnswer.of(frame).data is frame
    assert not screen.table.has_changed()


@pytest.mark.timeout(1800)
@examples(100)
@given(filled, st.data())
def test_a_drop_is_one_row_less_and_undone_it_is_the_identical_frame(frame, data):
    screen = Screen(frame)
    row = data.draw(st.integers(0, len(frame) - 1))
    assert screen.drop(row, row + 1) == []
    same(screen.data, without(frame, {row}))
    screen.act(op="undo")
    assert screen.data is frame


@pytest.mark.timeout(1800)
@examples(300)
@given(filled, st.data())
def test_what_is_typed_is_that_cell_and_nothing_else(frame, data):
    screen = Screen(frame)
    if not screen.editable:
        return
    place = data.draw(st.sampled_from(screen.editable))
    cells = [row["cells"][place] for row in screen.rows()]
    row, other = (data.draw(st.integers(0, len(cells) - 1)) for _ in range(2))
    assert screen.type(row, place, cells[other]) == []
    edited = screen.data
    same(without(edited, {row}), without(frame, {row}))
    if frame.shape[1] > 1:
        same(without(edited, set(), place), without(frame, set(), place))
    now, wanted = Screen(edited).rows()[row]["cells"][place], cells[other]
    assert now == wanted or now[0] == wanted[0] == "null"
    screen.type(row, place, cells[row])
    assert screen.data is frame  # typed back as it was, nothing was done


@pytest.mark.timeout(1800)
@examples(100)
@given(filled, st.data())
def test_the_written_answer_makes_the_same_table_again(frame, data):
    screen = Screen(frame)
    for _ in range(data.draw(st.integers(0, 3))):
        row = data.draw(st.integers(0, len(frame) - 1))
        if screen.editable and data.draw(st.booleans()):
            place = data.draw(st.sampled_from(screen.editable))
            screen.type(row, place, screen.rows()[data.draw(st.integers(0, len(frame) - 1))]["cells"][place])
        else:
            screen.drop(row, row + 1)
    answer = screen.draft.answer()
    written = json.loads(to_json(answer))
    if written["content"] is None:
        return  # objects without content of their own: another process is asked again
    again = TableType(screen.table, drop=True, edit=screen.editable).validate(written)
    assert again == answer
    same(again.data, answer.data)


@pytest.mark.timeout(1800)
@examples(50)
@given(pandas_frames(least=1), st.data())
def test_rows_come_in_the_order_and_under_the_conditions_of_the_library(frame, data):
    screen = Screen(frame)
    place = data.draw(st.integers(0, frame.shape[1] - 1))
    looked = Looked(where=((place, "missing", ""),))
    found = [row["row"] for row in screen.draft.page(looked, 0, 500)["rows"]]
    assert found == np.flatnonzero(frame.iloc[:, place].isna()).tolist()


@pytest.mark.timeout(1800)
@examples(50)
@given(frames, st.booleans(), st.data())
def test_sorted_rows_are_all_rows_in_the_order_of_the_library(frame, descending, data):
    screen = Screen(frame)
    place = data.draw(st.integers(0, frame.shape[1] - 1))
    try:
        page = screen.draft.page(Looked(sort=(place, descending)), 0, 500)
    except InvalidValue:
        return  # lists, or a number beside a text
    found = [row["row"] for row in page["rows"]]
    assert sorted(found) == list(range(len(frame)))
    if isinstance(frame, pl.DataFrame):
        by = frame.columns[place]
        expected = frame.with_row_index("at").sort(by, descending=descending, nulls_last=True, maintain_order=True)[
            "at"
        ]
        assert found == expected.to_list()


@pytest.mark.parametrize("nothing", [True, False])
def test_an_arrow_table_keeps_its_schema(nothing):
    schema = pa.schema(
        [("d", pa.decimal128(10, 2)), ("t", pa.timestamp("ns", "Europe/Berlin")), ("l", pa.list_(pa.int8()))]
    )
    table = pa.table({"d": [None, 1], "t": [0, None], "l": [[1], None]}, schema=schema)
    answer = TableAnswer.of(table, keep=[True, nothing], changes=[] if nothing else [(0, "d", 5)])
    assert (answer.data is table) == nothing
    assert answer.data.schema == schema
    assert nothing or answer.data.to_pydict()["d"] == [5]
