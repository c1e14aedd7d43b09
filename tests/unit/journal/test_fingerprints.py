"""The fingerprint of an input: equal for equal content, other for other content, the same in every process."""

import math
import os
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import combinations
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel, SecretStr

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
    ],
)
def test_values_with_the_same_content_have_the_same_fingerprint(first, second):
    assert fingerprint(first) == fingerprint(second)


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
