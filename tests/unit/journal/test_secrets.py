"""Secrets never enter: the file, and SQLite's -wal beside it, do not hold their bytes, whatever way they took."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._schema import validator_for
from hitl_nb.journal import Journal
from tests.unit.journal.asking import a_call, answered, asked, events

SECRET = "hunter2-κλειδί"
MASK = "**********"

PASSWORD = {"type": "string", "format": "password"}
LOGIN = {"type": "object", "properties": {"user": {"type": "string"}, "password": PASSWORD}}


class Login(BaseModel):
    user: str
    password: SecretStr


class Nested(BaseModel):
    logins: list[Login]
    by_host: dict[str, SecretStr] = {}


class Aliased(BaseModel):
    token: Annotated[
        str,
        Field(validation_alias="readToken", serialization_alias="writtenToken", json_schema_extra={"writeOnly": True}),
    ]


class Tree(BaseModel):
    secret: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = ""
    children: list["Tree"] = []


@dataclass
class Key:
    value: SecretBytes


def leaks(path, secret: str = SECRET) -> list[str]:
    """The files beside the journal that hold the secret, in any of the ways it could be written."""
    forms = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[1:-1]}
    return [file.name for file in path.parent.iterdir() if any(form.encode() in file.read_bytes() for form in forms)]


def test_the_search_for_leaks_finds_one(path):
    path.with_name("journal.sqlite-wal").write_text(f'{{"password": {json.dumps(SECRET)}}}')
    assert leaks(path) == ["journal.sqlite-wal"]


TYPED = [
    (Login, Login(user="ada", password=SECRET)),  # type: ignore[arg-type]
    (Nested, Nested(logins=[Login(user="ada", password=SECRET)], by_host={"h": SecretStr(SECRET)})),  # type: ignore[arg-type]
    (SecretStr, SecretStr(SECRET)),
    (Key, Key(value=SecretBytes(SECRET.encode()))),
    (Secret[str], Secret[str](SECRET)),
    (dict[str, Any], {"deep": [{"key": SecretStr(SECRET)}]}),
    (Aliased, Aliased(readToken=SECRET)),  # type: ignore[call-arg]
    (Tree, Tree(children=[Tree(children=[Tree(children=[Tree(secret=SECRET)])])])),
    (Annotated[str, Field(json_schema_extra={"format": "password"})], SECRET),
]
IN_JSON_SCHEMA = [
    (PASSWORD, SECRET),
    (LOGIN, {"user": "ada", "password": SECRET}),
    ({"type": "object", "properties": {"p": {"type": "string", "writeOnly": True}}}, {"p": SECRET}),
    ({"type": "object", "properties": {"p": {"writeOnly": True}}}, {"p": {"any": ["shape", SECRET]}}),
    ({"$defs": {"p": PASSWORD}, "type": "object", "properties": {"p": {"$ref": "#/$defs/p"}}}, {"p": SECRET}),
    ({"type": "object", "properties": {"p": {"anyOf": [PASSWORD, {"type": "null"}]}}}, {"p": SECRET}),
    ({"oneOf": [{"type": "integer"}, LOGIN]}, {"password": SECRET}),
    ({"allOf": [{"type": "object"}, LOGIN]}, {"password": SECRET}),
    ({"type": "array", "items": LOGIN}, [{"user": "x"}, {"password": SECRET}]),
    ({"type": "array", "prefixItems": [{"type": "string"}, PASSWORD]}, ["x", SECRET]),
    ({"type": "object", "additionalProperties": PASSWORD}, {"any": SECRET}),
    ({"type": "object", "patternProperties": {"^p": PASSWORD}}, {"pw": SECRET}),
    ({"if": {"properties": {"user": {}}}, "then": LOGIN}, {"user": "x", "password": SECRET}),
    ({"type": "object", "dependentSchemas": {"user": LOGIN}}, {"user": "x", "password": SECRET}),
    (
        {"$defs": {"t": {"properties": {"p": PASSWORD, "t": {"$ref": "#/$defs/t"}}}}, "$ref": "#/$defs/t"},
        {"t": {"t": {"t": {"p": SECRET}}}},
    ),
]


@pytest.mark.parametrize(("answer", "value"), [*TYPED, *IN_JSON_SCHEMA])
async def test_a_secret_in_an_answer_is_not_in_the_file(journal, path, answer, value):
    call = answered(journal, {"question": "login?"}, value, answer=answer)
    journal.late(call, value, "bob")
    assert journal.answered(call) is False
    journal.save_thread("t", json.dumps([{"id": "1", "role": "tool", "content": call.result}]), "{}")
    assert leaks(path) == []
    assert MASK in json.dumps(journal.winner(call).answer)
    assert "answer" in journal.winner(call).redacted
    assert [MASK in row["value"] for row in events(journal, "late")] == [True, True]


@pytest.mark.parametrize(("parameters", "args"), [pair for pair in TYPED + IN_JSON_SCHEMA if pair[0] is not PASSWORD])
async def test_a_secret_in_the_arguments_is_not_in_the_file(journal, path, parameters, args):
    raw = {"value": SECRET, "extra": [SECRET]}
    call = a_call(args, parameters=parameters, message=f"Log in with {SECRET}?")
    journal.asked(call, arguments=json.dumps(raw))
    messages = [{"toolCalls": [{"id": call.id, "function": {"name": call.name, "arguments": json.dumps(raw)}}]}]
    journal.save_thread("t", json.dumps(messages), json.dumps({"seen": f"it is {SECRET}, of course"}))
    call.respond(args, by="ada")
    journal.answered(call)
    assert leaks(path) == []
    [row] = events(journal, "asked")
    assert row["redacted"] == '["args"]'
    stored = journal.load_thread("t")
    assert stored.state == {"seen": f"it is {MASK}, of course"}
    assert json.loads(stored.messages[0]["toolCalls"][0]["function"]["arguments"]) == {"value": MASK, "extra": [MASK]}


async def test_a_changed_secret_is_not_told_by_the_edits(journal, path):
    old = "the-old-one"
    answered(journal, {"user": "a", "password": old}, {"user": "b", "password": SECRET}, answer=LOGIN, parameters=LOGIN)
    assert leaks(path) == leaks(path, old) == []
    assert json.loads(events(journal, "answered")[0]["edited"]) == [
        {"path": "user", "from": "a", "to": "b"},
        {"path": "password", "from": MASK, "to": MASK},
    ]


async def test_edits_and_reasons_are_cleaned(journal, path):
    call = asked(journal, {"password": "the-old-one"}, answer=LOGIN, parameters=LOGIN)
    call.respond({"password": SECRET}, reason=f"it is now {SECRET}")
    journal.answered(call)
    assert leaks(path) == leaks(path, "the-old-one") == []
    assert json.loads(events(journal, "answered")[0]["edited"]) == [{"path": "password", "from": MASK, "to": MASK}]
    assert journal.winner(call).reason == f"it is now {MASK}"


@pytest.mark.parametrize("arguments", [f'{{"password": "{SECRET}', f'{{"pasword": "{SECRET}"}}', f'"{SECRET}"'])
async def test_arguments_that_never_were_valid_are_hidden_whole_if_the_tool_knows_secrets(journal, path, arguments):
    call = Call(id="call_1", name="login", args_type=validator_for(LOGIN), thread_id="t")
    journal.asked(call, arguments=arguments)
    Handle.of(call).reject(f"invalid: {arguments}")
    journal.answered(call)
    messages = [{"toolCalls": [{"id": "call_1", "function": {"name": "login", "arguments": arguments}}]}]
    journal.save_thread("t", json.dumps(messages), "null")
    assert leaks(path) == []
    kept = journal.load_thread("t").messages[0]["toolCalls"][0]["function"]["arguments"]
    assert json.loads(kept) == {"redacted": MASK}


async def test_a_history_saved_before_anybody_is_asked_is_clean_if_the_tools_are_named(journal, path):
    arguments = json.dumps({"user": "ada", "password": SECRET})
    torn = arguments[:-5]
    messages = [
        {"role": "user", "content": "log in"},
        {"toolCalls": [{"id": "1", "function": {"name": "login", "arguments": arguments}}]},
        {"toolCalls": [{"id": "2", "function": {"name": "login", "arguments": torn}}]},
        {"toolCalls": [{"id": "3", "function": {"name": "other", "arguments": "{}"}}]},
    ]
    parameters = {"login": validator_for(Login), "other": validator_for({"type": "object"})}
    journal.save_thread("t", json.dumps(messages), "{}", parameters=parameters)
    assert leaks(path) == []
    kept = [m["toolCalls"][0]["function"]["arguments"] for m in journal.load_thread("t").messages[1:]]
    assert [json.loads(text) for text in kept] == [
        {"user": "ada", "password": MASK},
        {"redacted": MASK},
        {},
    ]


async def test_a_number_can_be_a_secret(journal, path):
    schema = {"type": "object", "properties": {"pin": {"type": "integer", "writeOnly": True}}}
    call = answered(journal, {"q": "pin?"}, {"pin": 7391}, answer=schema)
    journal.save_thread("t", json.dumps([{"content": call.result}, {"content": {"pin": 7391}}]), "{}")
    assert leaks(path, "7391") == []


async def test_a_short_secret_does_not_tear_other_texts_apart(journal):
    answered(journal, {"q": "?"}, {"password": "a"}, answer=LOGIN)
    journal.save_thread("t", '[{"content":"a plan for a day"},{"content":"a"}]', "{}")
    assert [m["content"] for m in journal.load_thread("t").messages] == ["a plan for a day", MASK]


async def test_a_secret_that_begins_another_is_hidden_with_it(journal, path):
    answered(journal, {"q": "?"}, {"password": "hunter"}, answer=LOGIN)
    answered(journal, {"q": "?"}, {"password": "hunter22"}, answer=LOGIN, id="call_2")
    journal.save_thread("t", '[{"content":"say hunter22 now"}]', "{}")
    assert journal.load_thread("t").messages == [{"content": f"say {MASK} now"}]


async def test_the_result_for_the_model_is_kept_in_its_redacted_form_and_says_so(journal):
    plain = answered(journal, {"q": "?"}, {"password": SECRET}, answer=LOGIN)
    typed = answered(journal, {"q": "?"}, Login(user="a", password=SECRET), answer=Login, id="call_2")  # type: ignore[arg-type]
    assert journal.winner(plain).result == f'{{"password":"{MASK}"}}'
    assert journal.winner(plain).redacted == ("answer", "result")
    # The live result had stars, too: it can be delivered as it is.
    assert journal.winner(typed).result == typed.result
    assert journal.winner(typed).redacted == ("answer",)


async def test_a_late_value_of_the_wrong_form_is_hidden_whole(journal, path):
    call = answered(journal, {"q": "?"}, {"password": "x"}, answer=LOGIN)
    journal.late(call, [SECRET], "bob")
    assert leaks(path) == []


async def test_an_answer_type_of_ones_own_may_say_where_a_secret_stands(journal, path):
    class Own:
        __slots__ = ()
        json_schema = LOGIN

        def validate(self, value):
            return value

    call = a_call({"q": "?"})
    call.answer_type = Own()
    journal.asked(call, arguments="{}")
    call.respond({"password": SECRET})
    journal.answered(call)
    assert leaks(path) == []


async def test_a_reference_into_nowhere_is_taken_for_a_secret(journal, path):
    schema = {"properties": {"p": PASSWORD, "q": {"$ref": "elsewhere.json"}}}
    call = Call(id="call_1", name="odd", thread_id="t")
    Handle.of(call).open_now({"q": SECRET})
    journal.asked(call, arguments="{}", parameters=validator_for(schema))
    assert leaks(path) == []


async def test_without_secrets_nothing_is_changed(journal):
    answered(journal, {"user": "ada", "stars": "***"}, {"user": "ada"}, answer={"type": "object"})
    assert journal.winner("call_1").redacted == ()
    assert "redacted" not in events(journal, "asked")[0]


async def test_exports_and_views_hold_no_secret_either(journal, tmp_path):
    answered(journal, Login(user="ada", password=SECRET), Login(user="ada", password=SECRET), answer=Login)  # type: ignore[arg-type]
    texts = [
        journal.to_jsonl(tmp_path / "x.jsonl").read_text(),
        journal.to_csv(tmp_path / "x.csv").read_text(),
        journal.to_frame(expand=True).to_string(),
        journal.events().to_string(),
        journal._repr_html_(),
    ]
    assert not [text for text in texts if SECRET in text]
    with Journal("memory") as memory:
        answered(memory, Login(user="ada", password=SECRET), "ok")  # type: ignore[arg-type]
        assert not [row for row in memory if SECRET in str(row)]
