"""What a value looks like: each as what it is, whole, and the same in the browser, in the record and as text."""

import base64
import enum
import io
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.image import imread
from pydantic import BaseModel, SecretStr

from hitl_nb._schema import form_of, validator_for
from hitl_nb.cards import Approval, Plain
from hitl_nb.cards._nodes import tree_html, tree_text
from hitl_nb.cards._registry import card_of
from hitl_nb.cards._seen import changed_nodes, in_words, seen
from hitl_nb.errors import InvalidValue
from tests.unit.cards.desk import Desk, opened, record


class Colour(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *(
            (True, "yes"),
            (None, "–"),
            (Colour.RED, "RED"),
            (1234, "1234"),
            (1234567, "1,234,567"),
            (-12345.5, "-12,345.5"),
        ),
        *(
            (0.1 + 0.2, "0.30000000000000004"),
            (Decimal("12345.10"), "12,345.10"),
            (1e30, "1e+30"),
            (float("nan"), "NaN"),
        ),
        *((np.int64(12345), "12,345"), (np.float64(0.5), "0.5"), (float("-inf"), "-inf"), (Decimal("1E+7"), "1E+7")),
        (date(2026, 3, 2), "Mon 2 Mar 2026"),
        (datetime(2026, 3, 2, 14, 5), "Mon 2 Mar 2026, 14:05"),
        (datetime(2026, 3, 2, 14, 5, 9, tzinfo=UTC), "Mon 2 Mar 2026, 14:05:09 UTC"),
        (datetime(2026, 3, 2, tzinfo=timezone(timedelta(hours=-3))), "Mon 2 Mar 2026, 00:00 UTC-03:00"),
        (pd.Timestamp("2026-03-02 14:05:00.000000001"), "Mon 2 Mar 2026, 14:05:00.000000001"),
        *((pd.NaT, "NaT"), (time(14, 5), "14:05:00"), (timedelta(days=1, seconds=61), "1 d 1 min 1 s")),
        *((timedelta(0), "0 s"), (timedelta(seconds=-61), "-(1 min 1 s)")),
    ],
)
def test_one_value_in_words(value, words):
    assert in_words(value) == words


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False))
def test_no_digit_of_a_number_is_changed(number):
    assert in_words(number).replace(",", "") == str(number)


def test_numbers_that_count_nothing_keep_together():
    assert tree_text(seen({"order_id": 1234567, "zip": 10115, "rows": 1234567})) == (
        "order_id: 1234567\nzip: 10115\nrows: 1,234,567"
    )


def test_nested_data_is_an_outline():
    assert tree_text(seen({"a": {"b": [1, 2], "c": Point(3)}, "d": [], "e": ["x", {"y": "z"}]})) == (
        "a:\n  b: 1, 2\n  c: x: 3\nd: an empty list\ne:\n  1. x\n  2. y: z"
    )


@pytest.mark.parametrize(
    "value",
    [
        [{"a": 1, "b": "x"}, {"a": 20}],
        pd.DataFrame({"a": [1, 20], "b": ["x", None]}).set_index("a"),
        pl.DataFrame({"a": [1, 20], "b": ["x", None]}),
    ],
)
def test_records_and_frames_are_tables(value):
    [[tag, about, *_]] = seen(value)
    assert (tag, about["rows"]) == ("table", 2)
    assert tree_text(seen(value)).splitlines()[:2] == [" a  b", " 1  x"]


def test_an_array_is_a_table_with_its_places():
    assert tree_text(seen(np.array([[1, 2], [3, 4]]))) == "   0  1\n0  1  2\n1  3  4"


def test_a_figure_is_a_picture_with_words():
    figure = Figure()
    axes = figure.subplots()
    axes.set_title("Loss")
    axes.set_xlabel("epoch")
    [[tag, attributes, words]] = seen(figure)
    assert (tag, words) == ("img", "Figure: Loss; x: epoch")
    assert attributes["src"].startswith("data:image/png;base64,iVBOR")
    assert seen({"plot": axes})[0][3][2] == ["img", attributes, words]
    assert f'alt="{words}"' in tree_html(seen(figure))
    assert tree_text(seen(figure)) == f"[picture: {words}]"


def test_an_array_of_pixels_is_the_same_picture():
    pixels = np.random.default_rng(1).integers(0, 255, (20, 30, 3), dtype="uint8")
    [[_, attributes, words]] = seen(pixels)
    assert words == "Picture, 30 × 20 pixels"
    drawn = imread(io.BytesIO(base64.b64decode(attributes["src"].split(",")[1])), format="png")
    assert np.array_equal(np.round(drawn * 255).astype("uint8"), pixels)


def test_a_text_that_is_called_code_is_code():
    words = [["span", {"look": "keyword"}, "select"], " ", ["span", {"look": "number"}, "1"]]
    assert seen({"sql": "select 1"})[0][3][2] == ["pre", {"lang": "sql"}, *words]
    assert seen("a\nb", name="note") == [["plain", {}, "a\nb"]]


def test_secrets_stay_stars_wherever_they_are():
    class Login(BaseModel):
        user: str
        password: SecretStr

    shown = tree_text(seen([Login(user="ada", password=SecretStr("hunter2"))] * 2))
    assert "hunter2" not in shown
    assert "*****" in shown
    form = form_of(validator_for({"type": "object", "properties": {"key": {"type": "string", "format": "password"}}}))
    assert "hunter2" not in str(seen({"key": "hunter2"}, form))


def test_a_change_is_seen_as_one():
    assert changed_nodes(9, 4) == ["9", " → ", "4"]
    before = "select name from people where age > 30 order by name"
    [[_, _, *parts]] = changed_nodes(before, before.replace("30", "40"))
    assert [part for part in parts if not isinstance(part, str)] == [["del", {}, "30"], ["ins", {}, "40"]]


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_change_of_a_text_holds_both_texts(before, after):
    nodes = changed_nodes(before + "x" * 50, after + "x" * 50)
    parts = [part if isinstance(part, str) else (part[0], part[2]) for node in nodes for part in node[2:]]
    for mark, text in (("del", before), ("ins", after)):
        assert "".join(p if isinstance(p, str) else p[1] if p[0] == mark else "" for p in parts) == text + "x" * 50


# -- long tables ---------------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"n": range(450)})


def asked(render=Plain):
    return opened({"value": FRAME}, kind="interrupt", message="Delete?", offer=FRAME, render=render, words=repr)


def rows_of(desk):
    [row] = desk.props["rows"]
    return [line[3][2] for line in row["tree"][0][3][2:]]


def test_a_long_table_has_pages_up_to_its_last_row():
    with asked() as call:
        desk = Desk(call)
        assert (rows_of(desk)[0], rows_of(desk)[-1]) == ("0", "199")
        assert desk.item["unread"] == "Look at the last page of the table first."
        at = desk.props["rows"][0]["tree"][0][1]["at"]
        card = card_of(call)
        with pytest.raises(InvalidValue, match="sample_ok=True"):
            card.check_read()
        card.look(at, 2)
        assert (rows_of(desk), desk.item["unread"]) == ([str(n) for n in range(400, 450)], "")
        card.look(at, 0)
        assert (rows_of(desk)[0], desk.item["unread"]) == ("0", "")
        card.check_read()


def test_whoever_may_approve_by_a_sample_need_not_look():
    with asked(partial(Approval, sample_ok=True)) as call:
        assert Desk(call).item["unread"] == ""


def test_the_record_says_which_rows_it_shows():
    with asked() as call:
        call.respond(call.proposal)
    assert record(call).splitlines()[-2:][0].strip("│ ") == "(rows 1–200 of 450)"
