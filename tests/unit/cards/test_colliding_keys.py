"""Keys that are one text in JSON: every entry is in the rows, the record and the form, and is edited as itself."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hitl_nb._schema import validator_for
from hitl_nb.cards import Form, Plain
from hitl_nb.cards._card import argument_rows
from tests.unit.cards.desk import Desk, opened, record, set_to
from tests.unit.schema.test_colliding_keys import payloads

ANYTHING = validator_for(dict)


def asked(payload, **options):
    return opened(payload, offer=payload, kind="interrupt", **options)


def values_of(rows):
    return [int((row["text"] if isinstance(row, dict) else row.text).replace(",", "")) for row in rows]


@given(payloads)
def test_every_entry_is_a_row_with_a_label_of_its_own(payload):
    with asked(payload, render=Plain) as call:
        rows = argument_rows(call)
        assert values_of(rows) == list(payload.values())
        assert len({row.label for row in rows}) == len(payload)
        assert values_of(Desk(call).props["rows"]) == list(payload.values())


@given(payloads)
def test_every_entry_is_in_the_record(payload):
    with asked(payload, render=Plain) as call:
        call.respond(payload)
        lines = [line for line in record(call).splitlines() if line.startswith("    • ")]
    assert [line.rpartition(": ")[2].replace(",", "") for line in lines] == [str(value) for value in payload.values()]
    assert len(set(lines)) == len(payload)


@given(payloads)
def test_every_entry_is_in_the_form_and_untouched_nothing_is_changed(payload):
    with asked(payload, render=Form, answer_type=ANYTHING) as call:
        wire = Desk(call).props["value"]
        entries = wire["entries"] if wire.get("$") == "object" else list(wire.items())
        assert [value for _, value in entries] == list(payload.values())
        assert len({json.dumps(key) for key, _ in entries}) == len(payload)
        Desk(call).confirm()
        assert list(call.answer.items()) == list(payload.items())
        assert (call.outcome, call.edits) == ("answered", ())


@given(payloads.filter(len), st.data())
def test_an_entry_that_is_edited_is_the_one_that_was_shown(payload, data):
    with asked(payload, render=Form, answer_type=ANYTHING) as call:
        labels = [row.label for row in argument_rows(call)]
        at = data.draw(st.integers(0, len(labels) - 1))
        Desk(call).confirm(set_to(-1, labels[at]))
        assert list(call.answer) == list(payload)
        assert list(call.answer.values()) == [-1 if place == at else old for place, old in enumerate(payload.values())]
        assert (call.outcome, len(call.edits)) == ("edited", 1)
        assert f"    • {labels[at]}: -1" in record(call)


def test_both_keys_of_a_payload_are_told_apart():
    with asked({1: "drop", "1": "keep"}, render=Plain) as call:
        call.respond(call.proposal)
    assert "    • 1 (int): drop\n    • 1: keep\n" in record(call)
