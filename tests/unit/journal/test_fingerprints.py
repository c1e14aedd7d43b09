"""The fingerprint of an input: equal for equal content, other for other content, the same in every process."""

import array
import copy
import math
import os
import pickle
import sqlite3
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import Enum, IntFlag
from fractions import Fraction
from functools import cached_property
from ipaddress import ip_address
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr, SecretStr

from hitl_nb._calls import frozen, print_of
from hitl_nb.errors import UsageError
from hitl_nb.journal import fingerprint

REPO = Path(__file__).parents[3]


class Colour(Enum):
    RED = 1
    BLUE = 2


class Model(BaseModel):
    x: int
    y: str = "y"


@dataclass
class Data:
    x: int


class Flag(IntFlag):
    READ = 1


class Keep(NamedTuple):
    row: int
    of: int


class Drop(NamedTuple):
    row: int
    of: int


class Turned(NamedTuple):
    of: int
    row: int


Turned.__qualname__ = "Keep"  # the cell of `Keep` was changed, and has run again


def redefined(value: object) -> Enum:
    return Enum("Target", {"PROD": value}).PROD  # type: ignore[attr-defined]


class Rows(list):
    """Items, and the table they are of."""


class Cells(dict):
    """The same, by name."""


class Ids(set):
    """The same, in no order."""


class Cents(int):
    def __repr__(self) -> str:
        return "<money>"


class Word(str):
    def __str__(self) -> str:
        return "<word>"


@dataclass
class Derived:
    x: int

    def __post_init__(self) -> None:
        self.cents = self.x * 100


@dataclass(slots=True)
class Slots:
    x: list[int]


@dataclass
class Named(list):
    name: str


class Frame(pd.DataFrame):
    _metadata = ["unit"]  # noqa: RUF012 - as pandas wants it

    @property
    def _constructor(self):
        return Frame


class Vector(np.ndarray):
    pass


class Zone(tzinfo):
    def __init__(self, hours: int = 0) -> None:
        self.hours = hours

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(hours=self.hours)

    def dst(self, _: datetime | None) -> None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return "here"

    def __reduce__(self):
        return Zone, (self.hours,)


def with_(value, **attributes):
    for name, part in attributes.items():
        setattr(value, name, part)
    return value


def filled(value, item):
    value.append(item)
    return value


def row(statement: str) -> sqlite3.Row:
    with sqlite3.connect(":memory:") as connection:
        connection.row_factory = sqlite3.Row
        found: sqlite3.Row = connection.execute(statement).fetchone()
        return found


def interval(zone: str) -> pd.Interval:
    return pd.Interval(pd.Timestamp("2026-01-02", tz=zone), pd.Timestamp("2026-01-03", tz=zone))


TABLE = {"n": [1, 2, 3], "x": [0.5, math.nan, 1.5], "s": ["a", None, "ü"], "b": [True, False, True]}
ARROW = {"n": [1, 2, 3], "x": [0.5, None, 1.5], "l": [[1], [2, 3], []]}
DIFFERENT = [
    *(None, True, False, 0, 1, 1.0, "1", "", b"1", -0.0, 0.0, math.nan, math.inf, 2**70, "nul\0", "\ud83d"),
    *(Decimal(1), Decimal("1.0"), date(2026, 1, 2), datetime(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)),
    *(UUID(int=1), Path("a"), Colour.RED, Colour.BLUE, Model(x=1), Model(x=2), Data(x=1), Data(x=2)),
    *([], (), {}, set(), [1], (1,), {1}, [1, 2], [2, 1], [[1], 2], [[1, 2]], ["a", "b"], ["ab"], ["a\0b"]),
    *({"a": 1}, {"a": "1"}, {"b": 1}, {"a": 1, "b": 2}, {1: "a"}, {"1": "a"}, {"a": {"b": 1}}),
    *(np.array([1, 2]), np.array([1, 3]), np.array([1.0, 2.0]), np.array([[1, 2]]), np.array([[1], [2]])),
    *(np.array(["a", "b"]), np.array([1, "a"], dtype=object), np.array([]), np.float64(1), np.int64(1)),
    *(np.array(["2026-01-02"], dtype="datetime64[D]"), np.ma.array([1, 2], mask=[False, True])),
    np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    *(pd.DataFrame(TABLE), pd.DataFrame(TABLE, index=[1, 2, 3]), pd.DataFrame(TABLE).rename(columns={"n": "m"})),
    *(pd.DataFrame(TABLE).iloc[::-1], pd.DataFrame(TABLE)[["x", "n", "s", "b"]], pd.DataFrame(TABLE).iloc[:2]),
    *(pd.DataFrame(TABLE).astype({"n": float}), pd.DataFrame(TABLE).astype({"n": "Int64"}), pd.DataFrame()),
    *(pd.DataFrame({"o": [1, "1", None]}), pd.DataFrame({"o": ["1", 1, None]}), pd.DataFrame({"o": [[1], {"a": 2}]})),
    *(pd.Series([1, 2]), pd.Series([1, 2], name="n"), pd.Index([1, 2]), pd.Series(["a", "b"], dtype="category")),
    pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["b", "a"])),
    pd.Series(["a", "a"], dtype=pd.CategoricalDtype(["a", "b"])),
    *(pd.MultiIndex.from_tuples([(1, "a"), (2, "b")]), pd.date_range("2026-01-02", periods=2)),
    *(pd.date_range("2026-01-02", periods=2, tz="UTC"), pd.Timestamp("2026-01-02"), pd.NaT, pd.NA, pd.Timedelta("1h")),
    pd.DataFrame([[1, 2]], columns=["a", "a"]),
    pd.DataFrame([[2, 1]], columns=["a", "a"]),
    *(pl.DataFrame(TABLE), pl.DataFrame(TABLE)[::-1], pl.DataFrame(TABLE).rename({"n": "m"}), pl.Series([1, 2])),
    *(pl.DataFrame(TABLE).cast({"n": pl.Int8}), pl.DataFrame({"l": [[1], [2]]}), pl.DataFrame({"l": [[1], [3]]})),
    *(pa.table(ARROW), pa.table(ARROW)[:2], pa.table(ARROW).rename_columns(["m", "x", "l"]), pa.table({})),
    *(pa.table({**ARROW, "x": values}) for values in ([0.5, 1.5, 1.5], [0.5, math.nan, 1.5], pa.array([0, 1, 2]))),
    *(pa.table({**ARROW, "l": lists}) for lists in ([[1], [2], []], [[1], [2, 3], None], [[1], [2, None], []])),
    pa.table([[1], [2]], names=["a", "a"]),
    # What a type adds to what it holds, and what its own words leave out.
    *(Flag(8), Flag(16), redefined("staging"), redefined("prod"), 10**5000, 10**5000 + 1, Fraction(10**5000, 3)),
    *(Keep(1, 2), Drop(1, 2), Turned(1, 2), (1, 2), row("SELECT 1 AS a, 2 AS b"), row("SELECT 1 AS b, 2 AS a")),
    *(Rows([1, 7]), with_(Rows([1, 7]), table="prod"), with_(Rows([1, 7]), table="dev"), Named("a"), Named("b")),
    *(Cells(a=7), with_(Cells(a=7), table="prod"), {"a": 7}, Ids({7}), with_(Ids({7}), table="prod"), {7}),
    *(
        Cents(1),
        Cents(2),
        with_(Cents(1), currency="EUR"),
        Word("a"),
        Word("b"),
        Derived(1),
        with_(Derived(1), cents=9),
    ),
    filled(Named("a"), 9),
    *(datetime(2026, 1, 2, tzinfo=Zone(hours)) for hours in (1, 2)),
    *(array.array("i", [1]), memoryview(b"abcd")[::2], memoryview(array.array("i", [1])), ip_address("1.2.3.4")),
    *(SimpleNamespace(x=1), SimpleNamespace(x=2), Slots([1]), Slots([2])),
    *(np.array([(1, 2)], dtype=[(a, object), (b, object)]) for a, b in ("ab", "ba")),
    *(np.array([text], dtype=np.dtypes.StringDType()) for text in ("short", "Short", "x" * 40, "x" * 39 + "y")),
    *(np.ma.array([None], mask=[masked], dtype=object) for masked in (True, False)),
    *(np.zeros(2), np.zeros(2).view(Vector), with_(np.zeros(2).view(Vector), unit="m"), np.longdouble(1) / 3),
    *(pd.Series([text, "a"], dtype=kind) for kind in ("str", "string") for text in (None, "nan", "<NA>", "None")),
    *(pd.Series(pd.Categorical(["b"], ["a", "b"], ordered=ordered)) for ordered in (True, False)),
    *(
        pd.Categorical(["b"], ["a", "b"]),
        pd.array([1, None]),
        pd.array([1, 2]),
        interval("UTC"),
        interval("Asia/Tokyo"),
    ),
    *(pd.Timestamp("2026-01-02", tz=zone) for zone in ("UTC", "Europe/Berlin", "Europe/Paris")),
    *(pd.Period("2026-01", "M"), pd.Period("2026-01", "D"), pd.Series(np.array([1, 2], dtype=np.longdouble))),
    *(pd.Series(pd.arrays.SparseArray(values)) for values in ([0, 1], [0, 2])),
    *(Frame(TABLE), with_(Frame(TABLE), unit="m"), pl.Series(["a"], dtype=pl.Categorical)),
    *(pl.Series(["b"], dtype=pl.Categorical), pl.Series([{"k": "a"}]), pl.Series([{"k": "b"}])),
    *(
        pa.record_batch({"n": [1]}),
        pa.record_batch({"n": [2]}),
        pa.array([1]),
        pa.array([2]),
        pa.scalar(1),
        pa.scalar(2),
    ),
]


def test_values_that_differ_have_different_fingerprints():
    prints = [fingerprint(value) for value in DIFFERENT]
    equal = [(DIFFERENT[a], DIFFERENT[b]) for a, b in combinations(range(len(prints)), 2) if prints[a] == prints[b]]
    assert equal == []
    assert {len(text) for text in prints} == {64}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 2, 3}, {3, 2, 1}),
        ({"a": 1}, OrderedDict(a=1)),
        ("text", "".join(["te", "xt"])),
        (Model(x=1), Model(x="1")),  # type: ignore[arg-type]
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        (np.arange(6)[::2], np.array([0, 2, 4])),
        (pd.DataFrame(TABLE), pd.DataFrame(TABLE).copy()),
        (pd.DataFrame(TABLE).iloc[::2], pd.DataFrame(TABLE).iloc[[0, 2]]),
        (pl.DataFrame(TABLE), pl.concat([pl.DataFrame(TABLE)[:1], pl.DataFrame(TABLE)[1:]])),
        (pa.table(ARROW), pa.concat_tables([pa.table(ARROW)[:1], pa.table(ARROW)[1:]])),
        (pa.table(ARROW), pa.table(ARROW).replace_schema_metadata({"written": "yesterday"})),
        (pa.table({"n": pa.array([1, None])}), pa.table({"n": pa.array([1, 7], mask=np.array([False, True]))})),
        (pa.array([1, None]), pa.array([1, 7], mask=np.array([False, True]))),
        (ip_address("1.2.3.4"), ip_address(b"\1\2\3\4")),
        (SimpleNamespace(a=1, b=2), SimpleNamespace(b=2, a=1)),
        (with_(Rows([1]), _seen=True), Rows([1])),
    ],
)
def test_values_with_the_same_content_have_the_same_fingerprint(first, second):
    assert fingerprint(first) == fingerprint(second)


@pytest.mark.parametrize("place", range(len(DIFFERENT)))
def test_a_copy_has_the_same_fingerprint_whoever_makes_it(place):
    value = DIFFERENT[place]
    same = [value, frozen(value)]
    if not isinstance(value, Vector):  # numpy's own copies of somebody's array have no attributes
        for make in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
            with suppress(TypeError, AttributeError, pickle.PicklingError):  # a view of memory, a row of a database
                same.append(make(value))
    assert {fingerprint(each) for each in same} == {fingerprint(value)}
    assert {print_of(each).digest for each in same} == {print_of(value).digest}


def test_one_cell_of_a_large_frame_makes_the_difference():
    frame = pd.DataFrame({"x": np.arange(100_000), "s": ["text"] * 100_000})
    before = fingerprint(frame)
    frame.loc[77_777, "s"] = "Text"
    assert fingerprint(frame) != before


IN_A_FRESH_PROCESS = """
import math, numpy as np, pandas as pd, polars as pl, pyarrow as pa
from hitl_nb.journal import fingerprint
table = {"n": [1, 2, 3], "x": [0.5, math.nan, 1.5], "s": ["a", None, "ü"], "b": [True, False, True]}
frames = pd.DataFrame(table), pd.DataFrame({"o": [1, "a"]}), pl.DataFrame(table), pa.table({"n": [1, None]})
for value in ({"b": {1, "x"}, "a": [1.5]}, np.arange(3), *frames):
    print(fingerprint(value))
"""


def test_the_fingerprint_is_the_same_in_another_process():
    here = [
        fingerprint(value)
        for value in (
            {"a": [1.5], "b": {"x", 1}},
            np.arange(3),
            pd.DataFrame(TABLE),
            pd.DataFrame({"o": [1, "a"]}),
            pl.DataFrame(TABLE),
            pa.table({"n": [1, None]}),
        )
    ]
    command = [sys.executable, "-c", IN_A_FRESH_PROCESS]
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPO, env=env)
    assert done.stdout.split() == here, done.stderr


content = st.lists(st.integers(0, 2), max_size=2)
about = st.dictionaries(st.sampled_from(["table", "unit"]), st.integers(0, 1), max_size=2)
KINDS: dict[str, Callable[[list[int]], object]] = {
    "list": list,
    "Rows": Rows,
    "Ids": lambda items: Ids(items),
    "Cells": lambda items: Cells(enumerate(items)),
    "Vector": lambda items: np.array(items, dtype=float).view(Vector),
    "Frame": lambda items: Frame({"n": pd.Series(items, dtype=float)}),
    "Named": lambda items: with_(Named("n"), items=items),
    "Cents": lambda items: Cents(sum(items)),
}


@st.composite
def described_values(draw):
    """A value of somebody's own type, and in words what it is."""
    kind, items, attributes = draw(st.sampled_from(sorted(KINDS))), draw(content), draw(about)
    value = KINDS[kind](items)
    counts = {"Frame": ["unit"], "list": []}.get(kind, ["table", "unit"])
    held = {name: part for name, part in attributes.items() if name in counts}
    seen = {"Ids": sorted(set(items)), "Cents": sum(items)}.get(kind, items)
    return with_(value, **held), (kind, seen, held)


@settings(max_examples=300, deadline=None)
@given(described_values(), described_values())
def test_whose_type_it_is_and_what_it_holds_both_count(first, second):
    (one, what), (other, what_else) = first, second
    assert (fingerprint(one) == fingerprint(other)) is (what == what_else)
    assert print_of(frozen(one)) == print_of(one)


class Basket(BaseModel):
    items: list[int]
    _seen: list[int] = PrivateAttr(default_factory=list)

    @cached_property
    def total(self) -> int:
        return sum(self.items)


def test_to_look_at_what_a_model_works_out_is_no_change():
    basket, seen = Basket(items=[1, 2]), Basket(items=[1, 2])
    assert seen.total == 3
    assert fingerprint(basket) == fingerprint(seen)


def _basket():
    basket = Basket(items=[1])
    return basket, basket._seen


def _within(make, part):
    value = make()
    return value, part(value)


MUTABLE = {
    "a private attribute": _basket,
    "a field of a dataclass with slots": lambda: _within(lambda: Slots([1]), lambda value: value.x),
    "a namespace": lambda: _within(lambda: SimpleNamespace(x=[1]), lambda value: value.x),
    "an object in an array": lambda: _within(lambda: np.array([[1], None], dtype=object), lambda value: value[0]),
    "an attribute that no field declares": lambda: _within(lambda: with_(Data(1), more=[1]), lambda value: value.more),
    "an attribute of a list": lambda: _within(lambda: with_(Rows([1]), more=[1]), lambda value: value.more),
    "a column of somebody's own frame": lambda: _within(lambda: Frame({"a": [1]}), lambda value: value["a"].array),
    "somebody's own array": lambda: _within(lambda: np.zeros(2).view(Vector), lambda value: value),
    "a frame of polars": lambda: _within(lambda: pl.DataFrame({"a": [1]}), lambda value: value),
}


def _change(part) -> None:
    if isinstance(part, pl.DataFrame):
        part[0, "a"] = 9
    elif hasattr(part, "append"):
        part.append(9)
    else:
        part[0] = 9


@pytest.mark.parametrize("what", MUTABLE)
def test_what_code_changes_inside_is_seen_and_a_frozen_copy_keeps_what_was_shown(what):
    value, part = MUTABLE[what]()
    shown, kept = print_of(value), frozen(value)
    assert not shown.live
    _change(part)
    if what.startswith("a column of"):
        value["a"] = part
    assert print_of(value) != shown
    assert print_of(kept) == shown


def test_a_frozen_copy_has_what_its_making_has_worked_out():
    assert frozen(Derived(2)).cents == 200


def test_a_secret_in_a_named_tuple_has_no_fingerprint_either():
    class Login(NamedTuple):
        user: str
        password: str

    assert fingerprint(Login("ada", "one-secret")) == fingerprint(Login("ada", "another-one"))
    assert print_of(Login("ada", "one-secret")) != print_of(Login("ada", "another-one"))


def test_a_secret_has_no_fingerprint_of_its_own():
    """A hash of a password in a file could be guessed offline."""
    assert fingerprint({"p": SecretStr("a")}) == fingerprint({"p": SecretStr("b")})


@pytest.mark.parametrize("value", [object(), lambda: 1, open, [object()], pl.DataFrame(TABLE).lazy(), iter([1])])
def test_what_has_no_content_to_compare_is_refused_with_the_way_out(value):
    with pytest.raises(UsageError, match=r"`.*` has no content .*leave `key` out"):
        fingerprint(value)


def test_a_value_that_contains_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(UsageError, match="contains itself"):
        fingerprint(loop)
