"""The journal as a table: one row a call, one row an event, filtered, exported."""

import csv
import json
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from hitl_nb._calls import Handle
from hitl_nb.errors import UsageError
from hitl_nb.journal import Journal
from tests.unit.journal.asking import STEPS, Step, answered, asked

REPO = Path(__file__).parents[3]
COLUMNS = """
id tool kind message outcome by via reason asked_at answered_at seconds args answer edited late thread run
""".split()


@pytest.fixture
async def full(journal):
    """An approval, an edit, a refusal with a late answer, an expiry, an open call."""
    answered(journal, value=STEPS.steps, id="approved")
    answered(journal, value=[STEPS.steps[0], Step(description="fly", status="disabled")], id="edited", by="bob")
    declined = asked(journal, {"path": "/tmp"}, id="declined")
    declined.decline("too risky", by="ada")
    journal.answered(declined)
    journal.late(declined, "yes", "bob")
    journal.late(declined, "yes!", "bob")
    expired = asked(journal, id="expired", thread="other")
    Handle.of(expired).expire("nobody answered")
    journal.answered(expired)
    asked(journal, id="open", thread="other")
    return journal


async def test_one_row_a_call_in_the_order_of_the_questions(full):
    frame = full.to_frame()
    assert list(frame.columns) == COLUMNS
    assert list(frame["id"]) == ["approved", "edited", "declined", "expired", "open"]
    assert [None if pd.isna(word) else word for word in frame["outcome"]] == [
        *("answered", "edited", "declined", "expired", None)
    ]
    assert list(frame["late"]) == [0, 0, 2, 0, 0]
    row = frame.iloc[2]
    assert (row["by"], row["reason"], row["thread"], row["run"], row["tool"]) == (
        *("ada", "too risky", "t", "run_1", "generate_steps"),
    )
    assert row["args"] == '{"path":"/tmp"}'


async def test_times_are_times_and_seconds_lie_between_them(full):
    frame = full.to_frame()
    for name in ("asked_at", "answered_at"):
        assert str(frame[name].dt.tz) == "UTC"
    took = (frame["answered_at"] - frame["asked_at"]).dt.total_seconds()
    assert ((took - frame["seconds"]).abs()[:4] < 0.002).all()
    assert math.isnan(frame["seconds"].iloc[4])
    assert abs(frame["asked_at"].iloc[0].to_pydatetime() - datetime.now(UTC)) < timedelta(minutes=5)


async def test_expanded_there_is_a_column_an_argument_and_answers_are_data(full):
    frame = full.to_frame(expand=True)
    assert "args" not in frame.columns
    assert frame["args.steps"].iloc[0] == STEPS.model_dump()["steps"]
    assert frame["args.path"].iloc[2] == "/tmp"
    assert frame["answer"].iloc[1][1] == {"description": "fly", "status": "disabled"}
    assert frame["edited"].iloc[1] == [{"path": "steps[1].status", "from": "enabled", "to": "disabled"}]
    assert list(frame.columns).index("args.steps") == COLUMNS.index("args")


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["approved", "edited", "declined", "expired", "open"]),
        ({"tool": "generate_steps"}, ["approved", "edited", "declined", "expired", "open"]),
        ({"tool": "other"}, []),
        ({"tool": []}, []),
        ({"outcome": "declined"}, ["declined"]),
        ({"outcome": ["declined", "expired"]}, ["declined", "expired"]),
        ({"outcome": "open"}, ["open"]),
        ({"by": "ada"}, ["approved", "declined"]),
        ({"by": {"ada", "bob"}, "outcome": "edited"}, ["edited"]),
        ({"by": {"ada", "bob"}, "outcome": ("answered", "edited")}, ["approved", "edited"]),
        ({"thread": "other"}, ["expired", "open"]),
        ({"thread": None}, ["approved", "edited", "declined", "expired", "open"]),
        ({"since": timedelta(hours=1)}, ["approved", "edited", "declined", "expired", "open"]),
        ({"since": timedelta(seconds=-10)}, []),
        ({"since": "2020-01-01"}, ["approved", "edited", "declined", "expired", "open"]),
        ({"since": "2999-12-31T10:00+01:00"}, []),
        ({"since": datetime(2999, 1, 1)}, []),
    ],
)
async def test_filters_take_what_fits_all_of_them(full, filters, ids):
    assert list(full.to_frame(**filters)["id"]) == ids
    assert full.summary(**filters).asked == len(ids)


async def test_since_is_told_apart_to_the_microsecond(full):
    moments = full.to_frame()["asked_at"]
    assert list(full.to_frame(since=moments.iloc[2].to_pydatetime())["id"]) == ["declined", "expired", "open"]
    assert list(full.to_frame(since=moments.iloc[3].isoformat())["id"]) == ["expired", "open"]


@pytest.mark.parametrize("read", ["to_frame", "events", "summary"])
async def test_a_filter_that_there_is_not_is_named_with_those_there_are(full, read):
    with pytest.raises(UsageError, match=r"no filter `user=`. Write one of `tool=`, .*`since=`"):
        getattr(full, read)(user="ada")


async def test_a_since_that_is_no_time_is_refused(full):
    with pytest.raises(UsageError, match="`since='yesterday'` is no time. Write"):
        full.to_frame(since="yesterday")


async def test_a_filter_value_is_never_sql(full):
    assert list(full.to_frame(tool="x' OR 1=1 --")["id"]) == []


async def test_one_row_an_event(full):
    frame = full.events()
    assert list(frame["event"]) == [row["event"] for row in full]
    assert frame["id"].is_monotonic_increasing
    assert set(full.events(thread="other")["event"]) == {"asked", "answered"}
    assert list(full.events(by="bob")["event"]) == ["answered", "late", "late"]


async def test_an_empty_journal_gives_an_empty_frame_with_all_columns(journal):
    assert list(journal.to_frame().columns) == COLUMNS
    assert len(journal.to_frame()) == len(journal.events()) == 0
    assert len(journal.to_frame(expand=True)) == 0


# -- without pandas --------------------------------------------------------------------------------------------

HIDDEN = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in {hidden!r} else find(name, *rest)
from hitl_nb.journal import Journal
journal = Journal({path!r})
"""


def without(hidden: set[str], path, code: str) -> str:
    """What a fresh interpreter prints that lacks some libraries."""
    program = HIDDEN.format(hidden=hidden, path=str(path)) + code
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=REPO)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_without_pandas_it_is_a_polars_frame(full, path):
    code = """
frame = journal.to_frame()
print(type(frame).__module__.partition(".")[0], frame.height, frame["asked_at"].dtype, frame["outcome"].to_list())
wide = journal.to_frame(expand=True)
print(wide["args.path"].to_list(), wide["answer"].to_list()[2:], journal.events().height)
"""
    first, second = without({"pandas"}, path, code).splitlines()
    assert first.startswith("polars 5 Datetime(time_unit='us', time_zone='UTC')")
    assert first.endswith("['answered', 'edited', 'declined', 'expired', None]")
    assert second == "[None, None, '/tmp', None, None] [None, None, None] 11"


async def test_without_either_it_names_the_pip_line_and_the_way_without(full, path):
    code = """
from hitl_nb.errors import MissingExtraError
try:
    journal.to_frame()
except MissingExtraError as error:
    print(error)
print(journal.summary().asked, len(list(journal)))
"""
    text = without({"pandas", "polars"}, path, code)
    assert "`pip install pandas`" in text
    assert "to_jsonl" in text
    assert text.splitlines()[-1] == "5 11"


async def test_without_matplotlib_a_plot_names_the_pip_line(full, path):
    code = """
from hitl_nb.errors import MissingExtraError
try:
    journal.summary().plot()
except MissingExtraError as error:
    print(error)
"""
    assert "`pip install matplotlib`" in without({"matplotlib"}, path, code)


def test_importing_the_journal_loads_none_of_them(path):
    code = "print(sorted({'pandas', 'polars', 'matplotlib', 'numpy'} & set(sys.modules)))"
    assert without(set(), path, code).strip() == "[]"


# -- exports ---------------------------------------------------------------------------------------------------


async def test_json_lines_hold_every_event_with_its_data_nested(full, tmp_path):
    target = full.to_jsonl(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines] == [row["event"] for row in full]
    assert lines[0]["args"] == STEPS.model_dump()
    assert lines[1]["answer"] == STEPS.model_dump()["steps"]
    assert all(len(line["sha256"]) == 64 for line in lines)
    assert "reason" not in lines[0]
    only = full.to_jsonl(tmp_path / "some.jsonl", thread="other")
    assert len(only.read_text().splitlines()) == 3


async def test_json_lines_are_json_whatever_was_recorded(journal, tmp_path):
    answered(journal, {"x": math.nan, "y": -math.inf}, ["\ud83d", "ü", math.nan])

    def no_constant(word):
        raise AssertionError(word)

    lines = journal.to_jsonl(tmp_path / "out.jsonl").read_bytes().splitlines()
    rows = [json.loads(line, parse_constant=no_constant) for line in lines]
    assert rows[0]["args"] == {"x": "NaN", "y": "-Infinity"}
    assert rows[1]["answer"][1] == "ü"


async def test_csv_has_one_row_a_call(full, tmp_path):
    target = full.to_csv(tmp_path / "out.csv", outcome="declined")
    with target.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == COLUMNS
    assert [(row[0], row[7]) for row in rows] == [("declined", "too risky")]


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
async def test_csv_runs_nothing_in_a_spreadsheet(journal, tmp_path, text):
    call = asked(journal, message=text)
    call.decline(text, by=text)
    journal.answered(call)
    with journal.to_csv(tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        [_, row] = csv.reader(file)
    assert not [cell for cell in row if cell[:1] in tuple("=+-@\t\r")]
    assert row.count(f"'{text}") == 3


async def test_csv_leaves_numbers_as_they_are(journal, tmp_path):
    answered(journal, {"q": "?"}, -5)
    with journal.to_csv(tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        [header, row] = csv.reader(file)
    assert row[header.index("answer")] == "-5"


def test_a_journal_is_never_false():
    """`if journal:` asks whether there is one."""
    with Journal("memory") as empty:
        assert empty
