"""Keys that JSON writes alike stay apart in the record: what was shown as two is not written as one."""

import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from hitl_nb.journal import Journal
from hitl_nb.journal._rows import json_text
from tests.unit.journal.asking import answered, asked, events


class Colour(Enum):
    RED = "red"


class Table(BaseModel):
    rows: dict[Any, Any]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


@dataclass
class Plain:
    rows: dict


NO_ID = UUID(int=0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({1: "a", "1": "b"}, '{"int(1)":"a","1":"b"}'),
        ({"1": "b", 1: "a"}, '{"1":"b","int(1)":"a"}'),
        ({None: 1, "None": 2}, '{"NoneType(None)":1,"None":2}'),
        ({True: 1, "true": 2}, '{"bool(True)":1,"true":2}'),
        ({1.5: 1, "1.5": 2}, '{"float(1.5)":1,"1.5":2}'),
        ({(1, 2): 1, "1,2": 2}, '{"tuple((1, 2))":1,"1,2":2}'),
        ({date(2026, 1, 2): 1, "2026-01-02": 2}, '{"date(datetime.date(2026, 1, 2))":1,"2026-01-02":2}'),
        ({1: 1, "1": 2, "int(1)": 3}, '{"int(1)\'":1,"1":2,"int(1)":3}'),
        ([{"deep": ({1: 1, "1": 2},)}], '[{"deep":[{"int(1)":1,"1":2}]}]'),
        (Table(rows={1: 1, "1": 2}), '{"rows":{"int(1)":1,"1":2}}'),
        ([Table(rows={1: 1, "1": 2})], '[{"rows":{"int(1)":1,"1":2}}]'),
        (Open(rows={1: 1, "1": 2}), '{"rows":{"int(1)":1,"1":2}}'),  # type: ignore[call-arg]
        (Plain({1: 1, "1": 2}), '{"rows":{"int(1)":1,"1":2}}'),
        ({1: 1, 2: 2}, '{"1":1,"2":2}'),
        ({Colour.RED: 1, NO_ID: 2}, f'{{"red":1,"{NO_ID}":2}}'),
    ],
)
def test_a_key_that_is_no_text_has_its_type_where_it_would_be_taken_for_another(value, text):
    assert json_text(value) == text


keys = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["None", "true", "1", "-1", "int(1)", "0.5", 0.5])
)


@settings(deadline=None)
@given(st.dictionaries(keys, st.integers(), max_size=8))
def test_no_key_is_lost(value):
    assert sorted(json.loads(json_text(value)).values()) == sorted(value.values())


async def test_both_are_in_the_record_and_in_the_expanded_table(journal):
    answered(journal, {1: "one", "1": "text"}, {2: "two", "2": "text"})
    [asked_row, answered_row] = events(journal)
    assert json.loads(asked_row["args"]) == {"int(1)": "one", "1": "text"}
    assert json.loads(answered_row["answer"]) == {"int(2)": "two", "2": "text"}
    frame = journal.to_frame(expand=True)
    assert (frame["args.int(1)"][0], frame["args.1"][0]) == ("one", "text")
    assert frame["answer"][0] == {"int(2)": "two", "2": "text"}


async def test_they_make_another_content(journal):
    asked(journal, {1: "one", "1": "text"})
    asked(journal, {1: "text", "1": "one"})
    first, second = events(journal, "asked")
    assert first["args_sha256"] != second["args_sha256"]


def test_a_value_that_contains_itself_is_recorded_all_the_same():
    value: list = []
    value.append(value)
    assert json_text({1: value, "1": value}) == '{"type":"builtins.dict"}'
    with Journal("memory"):
        pass
