"""What goes through a form comes back exactly: types, order, every digit, whatever characters are in it."""

import asyncio
import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import BaseModel

from hitl_nb import human_in_the_loop, pending, review
from hitl_nb._schema import to_wire
from hitl_nb._waiting import until_decided
from tests.conformance.schema_browser import typed
from tests.conformance.schemas import cases, differences
from tests.conftest import shared_file
from tests.unit.cards.desk import Desk, ask, set_to
from tests.unit.schema import models

ALL = pytest.mark.parametrize("sample", models.SAMPLES.values(), ids=models.SAMPLES)


async def waits(call):
    await until_decided(call)


async def reviewed(value, act, **options):
    """What `review` gives after `act` at the desk, and the call."""
    asked = asyncio.create_task(review(value, people=waits, **options))
    await asyncio.sleep(0)
    (call,) = pending()
    act(Desk(call))
    return await asked, call


@ALL
async def test_a_model_confirmed_untouched_is_the_identical_instance(sample):
    final, call = await reviewed(sample, lambda desk: desk.confirm())
    assert final is sample
    assert call.answer is sample
    assert call.outcome == "answered"


@ALL
async def test_a_tool_with_these_parameters_answers_with_what_the_model_proposed(sample):
    tool = human_in_the_loop(type(sample), name="tool")
    proposed = json.loads(type(sample).model_validate(sample).model_dump_json(by_alias=True))
    if "password" in proposed:
        proposed["password"] = "hunter2"
    call, _ = await ask(tool, lambda desk: desk.confirm(), **proposed)
    assert call.answer is call.args
    assert tool.parameters.validate(proposed) == call.answer


@ALL
async def test_an_edit_of_one_control_is_the_only_change(sample):
    def act(desk):
        for leaf in desk.browser.leaves():
            new = typed(leaf)
            if new is not None and not isinstance(leaf.wire, list):
                try:
                    desk.confirm(set_to(new, *leaf.path))
                except Exception:
                    assert desk.call.status == "executing"
                    continue
                touched.append(leaf.path)
                return
        desk.confirm()

    touched: list[tuple[str | int, ...]] = []
    final, call = await reviewed(sample, act)
    assert type(final) is type(sample)
    changed = differences(to_wire(sample), to_wire(final))
    if touched and "password" not in touched[0]:
        assert changed
        assert {path[: len(touched[0])] for path in changed} == {touched[0]}
        assert call.outcome == "edited"
    assert not changed or call.edits


class Exact(BaseModel):
    big: int
    price: Decimal
    numbers: list[float]
    text: str
    naive: datetime
    aware: datetime
    keys: dict[str, int]


EXACT = Exact(
    big=2**60 + 1,
    price=Decimal("10.10"),
    numbers=[math.nan, math.inf, -math.inf, -0.0, 1e-12, 1.0],
    text="x" * 18_000,
    naive=datetime(2024, 2, 29, 10, 0, 0, 250_000),
    aware=datetime(2024, 2, 29, 10, tzinfo=UTC),
    keys={"": 1, "__proto__": 2, "10": 3, "9": 4, "$": 5, "a.b": 6},
)


async def test_what_javascript_would_damage_survives_an_edit_beside_it():
    final, call = await reviewed(EXACT, lambda desk: desk.confirm(set_to(7, "keys", "__proto__")))
    assert differences(to_wire(final), to_wire(EXACT.model_copy(update={"keys": {**EXACT.keys, "__proto__": 7}}))) == []
    assert list(call.edits) == [{"path": "keys.__proto__", "from": 2, "to": 7}]


NASTY = [
    "<img src=x onerror=alert(1)>",
    "a\u202egpj.exe",
    "zero\u200bwidth",
    "line\r\nline",
    "null\x00byte",
    "half \ud83d pair",
    '{"$": "secret"}',
    "\u2028",
]


@pytest.mark.parametrize("text", NASTY)
async def test_any_text_comes_back_as_it_was_and_nothing_in_it_is_invisible(text):
    rows = [{"name": text, "note": "plain"}]

    def act(desk):
        wire = json.dumps(desk.item, ensure_ascii=False)
        assert not any(sign in wire for sign in ("\u202e", "\u200b", "\r", "\x00", "\u2028"))
        leaf = next(leaf for leaf in desk.browser.leaves() if leaf.path == (0, "name"))
        desk.confirm(set_to(leaf.wire, 0, "name"), set_to("changed", 0, "note"))

    final, call = await reviewed(rows, act)
    assert final == [{"name": text, "note": "changed"}]
    assert list(call.edits) == [{"path": "[0].note", "from": "plain", "to": "changed"}]


async def test_a_text_with_invisible_characters_is_shown_as_json_text_with_a_warning():
    def act(desk):
        item = desk.item
        assert "invisible" in item["warning"]
        assert {"path": [0, "name"], "branch": None} in item["props"]["layout"]
        assert item["props"]["value"][0]["name"] == {"$": "escaped", "text": '"a\\u202eb"'}
        desk.confirm(set_to({"$": "json", "text": '"a\\u202ec"'}, 0, "name"))

    final, _ = await reviewed([{"name": "a\u202eb", "ok": True}], act)
    assert final == [{"name": "a\u202ec", "ok": True}]


async def test_words_of_a_schema_are_shown_with_their_invisible_characters_and_its_names_stay_exact():
    schema = {
        "type": "object",
        "properties": {"na\u200bme": {"type": "string", "title": "Na\u202eme", "enum": ["a\u200b", "b"]}},
    }
    tool = human_in_the_loop(name="tool", parameters=schema)

    def act(desk):
        ((name, child),) = desk.props["form"]["children"]
        assert (name, child["title"]) == ("na\u200bme", "Na\\u202eme")
        assert [option["label"] for option in child["options"]] == ["a\\u200b", "b"]
        desk.confirm(set_to(child["options"][0]["value"], name))

    call, _ = await ask(tool, act, **{"na\u200bme": "b"})
    assert call.answer == {"na\u200bme": "a\u200b"}


async def test_every_schema_of_the_stress_set_confirms_exactly_and_edits_in_one_place():
    failed = []
    for case in cases(shared_file("schemas/stress_set.json")):
        final, call = await reviewed(case.value, lambda desk: desk.confirm(), answer=case.schema)
        if final is not case.value or call.edits:
            failed.append(f"{case.id}: untouched")
    assert failed == []


async def test_an_edit_of_a_stress_schema_is_told_exactly():
    told = 0
    for case in list(cases(shared_file("schemas/stress_set.json")))[::4]:
        touched = []

        def act(desk, touched=touched):
            for leaf in desk.browser.leaves():
                if leaf.node["kind"] == "text" and isinstance(leaf.wire, str):
                    try:
                        desk.confirm(set_to(f"{leaf.wire} ☃", *leaf.path))
                    except Exception:
                        continue
                    touched.append(leaf.wire)
                    return
            desk.confirm()

        final, call = await reviewed(case.value, act, answer=case.schema)
        if touched:
            told += 1
            assert len(differences(case.value, final)) == 1, case.id
            ((edit),) = call.edits
            assert (edit["from"], edit["to"]) == (touched[0], f"{touched[0]} ☃"), case.id
    assert told > 100


def test_a_key_that_hides_something_is_shown_written_out_in_a_box_of_its_object():
    from hitl_nb.cards.form import readable_value

    shown, layout, hid = readable_value({"plain": 1, "to": {"pay\u202eme": 1}}, [])
    assert hid
    assert layout == [{"path": ["to"], "branch": None}]
    assert "\u202e" not in repr(shown)
    assert shown["to"]["entries"][0][0] == {"$": "escaped", "text": '"pay\\u202eme"'}
