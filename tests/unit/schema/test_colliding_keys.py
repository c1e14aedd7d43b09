"""Keys that are one text in JSON and two keys in Python: every entry is shown, and is edited as itself."""

import json
from datetime import date
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb._schema import (
    FormNode,
    apply_edits,
    changes_of,
    form_tree,
    from_wire,
    hide_secrets,
    layout_of,
    readable,
    to_wire,
    validator_for,
)
from hitl_nb.errors import InvalidValue


class Colour(Enum):
    RED = "red"
    ONE = 1


ANYTHING = FormNode(kind="json")
NUMBERS = form_tree({"type": "object", "additionalProperties": {"type": "integer"}})
UUID_ = UUID(int=7)
PAIRS = [
    (1, "1"),
    (True, "true"),
    (None, "null"),
    (1.5, "1.5"),
    (2**60, str(2**60)),
    (Decimal("0.10"), "0.10"),
    (date(2024, 2, 29), "2024-02-29"),
    (Colour.RED, "red"),
    (Colour.ONE, 1),
    (UUID_, str(UUID_)),
    ((1, 2), "[1,2]"),
    (b"a", "a"),
]
keys = st.one_of(
    st.sampled_from(
        [key for pair in PAIRS for key in pair] + ["1 (int)", "true (bool)", "null (None)", "1 (int) (int)"]
    ),
    st.integers(-2, 12),
    st.integers(-2, 12).map(str),
    st.floats(),
)
payloads = st.dictionaries(keys, st.integers(0, 10**6), max_size=12)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_both_keys_are_there_and_can_be_told_apart(pair):
    shown = readable(dict(zip(pair, ("first", "second"), strict=True)))
    assert list(shown.values()) == ["first", "second"]


def test_the_text_keeps_its_name_and_the_other_says_what_it_is():
    value = {1: "a", "1": "b", None: "c", "null": "d", 2: "e"}
    assert readable(value) == {"1 (int)": "a", "1": "b", "null (None)": "c", "null": "d", "2": "e"}


def test_a_text_that_looks_like_the_longer_name_is_neither():
    assert readable({1: "a", "1": "b", "1 (int)": "c"}) == {"1 (int) (int)": "a", "1": "b", "1 (int)": "c"}


@given(payloads)
def test_every_entry_is_on_the_wire_and_in_what_is_read(value):
    assert list(readable(value).values()) == list(value.values())
    back = from_wire(to_wire(value))
    assert list(back.values()) == list(value.values())
    assert list(back) == list(readable(value))


@given(payloads, st.data())
def test_an_edit_by_its_shown_name_changes_that_entry_alone(value, data):
    names = list(readable(value))
    if not names:
        return
    at = data.draw(st.integers(0, len(names) - 1))
    edited = apply_edits(value, [{"op": "set", "path": [names[at]], "value": -1}], form=NUMBERS)
    assert list(edited) == list(value)
    assert list(edited.values()) == [-1 if place == at else each for place, each in enumerate(value.values())]
    assert [(each["from"], each["to"]) for each in changes_of(value, edited, ANYTHING)] == [
        (list(value.values())[at], -1)
    ]


@given(payloads, st.data())
def test_entries_taken_away_one_after_the_other_are_those_that_were_meant(value, data):
    names = dict(zip(readable(value), value, strict=True))
    gone = data.draw(st.lists(st.sampled_from(list(names)), unique=True)) if names else []
    edits = [{"op": "remove", "path": [name]} for name in gone]
    try:
        left = apply_edits(value, edits)
    except InvalidValue:
        return  # two that cannot be told apart any more: refused, and never the wrong one
    assert list(left) == [key for name, key in names.items() if name not in gone]


@given(payloads)
def test_what_a_json_box_shows_and_nobody_changes_stays_the_identical_object(value):
    text = json.dumps(readable(value))
    assert apply_edits(value, [{"op": "set", "path": [], "value": {"$": "json", "text": text}}]) is value


@given(payloads)
def test_a_form_has_a_place_for_each(value):
    assert hide_secrets(value, NUMBERS) is value
    assert layout_of(NUMBERS, value) == []
    assert layout_of(NUMBERS, {**value, "a": "text", 7.5: "text"})


def test_an_answer_with_other_keys_is_another_answer():
    changes = changes_of({1: "a"}, {"1": "a"}, ANYTHING)
    assert changes == [{"path": '["1 (int)"]', "from": "a"}, {"path": '["1"]', "to": "a"}]


def test_a_strict_type_takes_none_of_both_rather_than_one():
    strict = validator_for({"type": "object", "additionalProperties": {"type": "integer"}})
    assert strict.validate({1: 1, "1": 2}) == {1: 1, "1": 2}
    with pytest.raises(InvalidValue):
        validator_for(dict[str, date]).validate({1: "2024-02-29", "1": "2024-03-01"})


def test_an_object_with_one_key_twice_cannot_be_sent():
    with pytest.raises(InvalidValue, match="twice"):
        from_wire({"$": "object", "entries": [["1", 1], ["1", 2]]})
