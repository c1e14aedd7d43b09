"""A secret stays in the kernel: it is on no wire, in no record and in no edit, and yet the answer has it."""

import json

import pytest
from pydantic import BaseModel, SecretStr

from hitl_nb import human_in_the_loop
from hitl_nb.cards import Approval, Plain
from tests.unit.cards.desk import ask, everything_kept, set_to

OLD, NEW = "hunter2-old", "correct-horse-new"


class Login(BaseModel):
    user: str
    password: SecretStr


LOGIN_SCHEMA = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "password": {"type": "string", "format": "password"},
        "more": {"type": "array", "items": {"type": "object", "properties": {"token": {"writeOnly": True}}}},
    },
}

typed_login = human_in_the_loop(Login, name="login")
plain_login = human_in_the_loop(name="login", parameters=LOGIN_SCHEMA)
TOOLS = pytest.mark.parametrize("tool", [typed_login, plain_login], ids=["SecretStr", "format: password"])


def secret_of(answer):
    password = answer["password"] if isinstance(answer, dict) else answer.password
    return password.get_secret_value() if isinstance(password, SecretStr) else password


@TOOLS
async def test_an_untouched_secret_is_confirmed_and_nowhere_to_be_seen(tool):
    seen = []

    def act(desk):
        seen.append(json.dumps(desk.item))
        desk.confirm()

    call, _ = await ask(tool, act, user="ada", password=OLD)
    assert secret_of(call.answer) == OLD
    assert OLD not in seen[0] + everything_kept(call)


@TOOLS
async def test_a_secret_typed_anew_is_an_edit_that_tells_neither(tool):
    call, agent = await ask(
        tool, lambda desk: desk.confirm(set_to({"$": "secret", "text": NEW}, "password")), user="ada", password=OLD
    )
    assert secret_of(call.answer) == NEW
    assert list(call.edits) == [{"path": "password", "from": "**********", "to": "**********"}]
    kept = everything_kept(call)
    assert OLD not in kept
    assert NEW not in kept
    assert json.loads(agent.results(1)["call_1"])["edits"] == list(call.edits)


@TOOLS
async def test_an_edit_beside_a_secret_leaves_it_alone(tool):
    call, _ = await ask(tool, lambda desk: desk.confirm(set_to("bob", "user")), user="ada", password=OLD)
    assert secret_of(call.answer) == OLD
    assert [edit["path"] for edit in call.edits] == ["user"]
    assert OLD not in everything_kept(call)


@TOOLS
async def test_the_whole_sent_back_as_json_text_keeps_the_secret(tool):
    text = json.dumps({"user": "bob", "password": {"$": "secret"}})
    call, _ = await ask(tool, lambda desk: desk.confirm(set_to({"$": "json", "text": text})), user="ada", password=OLD)
    assert secret_of(call.answer) == OLD


async def test_secrets_inside_lists_are_hidden_where_a_row_is_added_or_taken_away():
    def act(desk):
        desk.confirm(
            {"op": "remove", "path": ["more", 0]},
            {"op": "add", "path": ["more", 0], "value": {"token": {"$": "secret", "text": NEW}}},
        )

    call, _ = await ask(plain_login, act, user="ada", more=[{"token": OLD}])
    assert call.answer["more"] == [{"token": NEW}]
    kept = everything_kept(call)
    assert OLD not in kept
    assert NEW not in kept
    assert call.edits


async def test_a_fault_in_a_secret_does_not_quote_it():
    tool = human_in_the_loop(
        name="login", parameters={"properties": {"password": {"type": "string", "format": "password", "maxLength": 3}}}
    )

    def act(desk):
        with pytest.raises(Exception, match="at most 3"):
            desk.confirm(set_to({"$": "secret", "text": NEW}, "password"))
        assert NEW not in json.dumps(desk.item)
        desk.confirm()

    await ask(tool, act, password="abc")


async def test_a_secret_answer_is_in_no_record():
    tool = human_in_the_loop(name="ask", parameters={"properties": {"question": {}}}, answer=SecretStr)
    call, agent = await ask(tool, lambda desk: desk.confirm(set_to({"$": "secret", "text": NEW})), question="key?")
    assert call.answer.get_secret_value() == NEW
    assert NEW not in everything_kept(call) + str(agent.inputs)


@pytest.mark.parametrize("card", [Approval, Plain])
@pytest.mark.parametrize("parameters", [Login, LOGIN_SCHEMA])
async def test_other_cards_hide_them_too(card, parameters):
    tool = human_in_the_loop(name="login", parameters=parameters, render=card)
    seen = []

    def act(desk):
        seen.append(json.dumps(desk.item))
        desk.send({"approved": True})

    call, _ = await ask(tool, act, user="ada", password=OLD)
    assert "ada" in seen[0]
    assert OLD not in seen[0] + everything_kept(call)
