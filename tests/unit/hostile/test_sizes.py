"""Size, depth and patterns: every place that takes something from outside × everything there is too much of.

Each ends in words, for the model or for the person, or is taken and drawn; the run goes on, and what a model is sent
next is a history that it can read.
"""

import asyncio
import json
import math
from itertools import product
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from ag_ui.core import Interrupt
from pydantic import BaseModel, Field, create_model

from hitl_nb import Session, human_in_the_loop, interrupt
from hitl_nb._limits import ARGUMENTS, EVENT, SCHEMA_VALUES, WORDS
from hitl_nb.agents import ChatAgent
from hitl_nb.agui import check
from hitl_nb.errors import HitlError, InvalidValue, ToolDefinitionError
from hitl_nb.mcp import elicitation
from hitl_nb.testing import ScriptedModel, calls, says
from tests.agents import ScriptedAgent
from tests.sse import SseServer, events_of, replies
from tests.sse import says as server_says
from tests.unit.cards.desk import AtTheDesk, Desk
from tests.unit.test_agent_checkpoints import Interrupting

TAKEN = "taken"
FOREVER = "^(a+)+$"
STUCK = "a" * 5_000 + "!"
"""Python would look for this pattern in this text for longer than anybody lives."""


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def deep_schema(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def names(count: int) -> list[str]:
    return [f"name {number}" for number in range(count)]


# -- what comes, as a value and the type that it meets, and as a type -------------------------------------------------

VALUES: dict[str, tuple[dict[str, Any], Any]] = {
    "500 deep": ({}, deep(500)),
    "5,000 deep": ({}, deep(5_000)),
    "too many characters": ({}, "x" * (ARGUMENTS + 1)),
    "an enum of 2,000": ({"enum": names(2_000)}, "nobody"),
    "an enum of 10,000": ({"enum": names(10_000)}, "nobody"),
    "an evil pattern": ({"type": "string", "pattern": FOREVER}, STUCK),
    "an uncheckable pattern": ({"$ref": "#/x/y"}, "aa"),
    "a $ref in a circle": ({"$ref": "#/$defs/node"}, {"node": {"node": {"node": 1}}}),
    "NaN": ({"type": "number"}, math.nan),
    "Infinity": ({"type": "number"}, math.inf),
    "half a character": ({"type": "string"}, "a\ud800b"),
}
BESIDE: dict[str, Any] = {
    "x": {"y": {"pattern": r"^(a)\1$"}},
    "$defs": {"node": {"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}}},
}
"""What the references point to."""

SCHEMAS: dict[str, tuple[dict[str, Any], Any]] = {
    "500 deep": (deep_schema(500), {}),
    "5,000 deep": (deep_schema(5_000), {}),
    "too many characters": ({"enum": names(SCHEMA_VALUES + 1)}, "name 1"),
    "an enum of 2,000": ({"type": "string", "enum": names(2_000)}, "name 1"),
    "an enum of 10,000": ({"type": "string", "enum": names(10_000)}, "name 1"),
    "an evil pattern": ({"type": "string", "pattern": FOREVER}, "aa"),
    "an uncheckable pattern": ({"type": "string", "pattern": r"^(a)\1$"}, "aa"),
    "a $ref in a circle": ({"$ref": "#/$defs/itself"}, {}),
    "NaN": ({"type": "number", "default": math.nan}, 1),
    "Infinity": ({"type": "number", "maximum": math.inf}, 1),
    "half a character": ({"type": "string", "title": "a\ud800b"}, "aa"),
}
CIRCLE: dict[str, Any] = {"$defs": {"itself": {"$ref": "#/$defs/itself"}}}


def around(part: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """An object with one place of this type."""
    used = {name: each for name, each in beside.items() if name in str(part.get("$ref", ""))}
    return {"type": "object", "properties": {"it": part}, "required": ["it"], **used}


def strictly(text: str) -> Any:
    """Read JSON as a provider does: no NaN, no half of a character."""
    value = json.loads(text, parse_constant=pytest.fail)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def is_sent(request: Any) -> None:
    """Every call of a run's input has its result beside it, and all of it can be sent."""
    check(request.messages)
    strictly(request.model_dump_json(by_alias=True))


def drawn(desk: Desk) -> Any:
    """What is on the desk could be sent to a browser, and drawn."""
    json.dumps(desk.item, allow_nan=False).encode()
    return desk.call


def answered(desk: Desk, value: Any) -> str:
    """Answer, or say why that cannot be, and decline."""
    call = drawn(desk)
    try:
        call.respond(value)
    except InvalidValue as error:
        call.decline("cannot")
        return str(error)
    return TAKEN


# -- where it comes ---------------------------------------------------------------------------------------------------


def asking(checks: dict[str, Any]) -> Any:
    return human_in_the_loop(name="tool", description="Do.", parameters=checks)


async def through_a_model(tool: Any, arguments: str) -> str:
    """What a model is told, through litellm; the next request is valid, or the strictest provider refuses it."""
    asked = []

    def act(desk: Desk) -> None:
        asked.append(drawn(desk))
        desk.call.respond("fine")

    turns = [calls("tool", raw=arguments), says("ok")]
    with ScriptedModel(turns, fragment=1_000_000) as model:
        session = Session(ChatAgent("openai/gpt-4o"), tools=[tool], people=[AtTheDesk(act)], journal=None)
        assert (await session.run("go")).text == "ok"
    check(session.messages)
    sent = strictly(json.dumps(model.requests[1].messages, ensure_ascii=False))
    [call] = sent[-2]["tool_calls"]
    assert isinstance(strictly(call["function"]["arguments"]), dict)
    assert sent[-1]["tool_call_id"] == call["id"]
    return TAKEN if asked else str(sent[-1]["content"])


async def in_a_models_arguments(attack: str) -> str:
    part, value = VALUES[attack]
    levels = {"500 deep": 500, "5,000 deep": 5_000}.get(attack)
    text = json.dumps(value) if levels is None else "[" * levels + "]" * levels
    return await through_a_model(asking(around(part, BESIDE)), f'{{"it": {text}}}')


async def in_a_tool_of_a_dict(attack: str) -> str:
    part, good = SCHEMAS[attack]
    return await through_a_model(asking(around(part, CIRCLE)), json.dumps({"it": good}))


def model_of(attack: str) -> type[BaseModel]:
    part, _ = SCHEMAS[attack]
    if attack in ("500 deep", "5,000 deep"):
        # As deep as pydantic itself can be taken; it is slow there.
        made: type[BaseModel] = create_model("Leaf", a=(str, ""))
        for number in range(110):
            made = create_model(f"Node{number}", a=(made, ...))
        return made
    if attack == "a $ref in a circle":
        return Circle
    if attack == "too many characters":  # its author's own, and pydantic checks it: any size is taken
        return create_model("Long", it=(str, Field(json_schema_extra={"description": "x" * ARGUMENTS})))
    if "enum" in part:
        return create_model("Chosen", it=(Literal[tuple(part["enum"])], ...))
    kind = float if part.get("type") == "number" else str
    return create_model("Extra", it=(kind, Field(json_schema_extra={**part})))


class Circle(BaseModel):
    it: "Circle | None" = None


async def in_a_tool_of_pydantic(attack: str) -> str:
    made = model_of(attack)

    def tool(of: Any) -> str:
        """Do."""
        raise NotImplementedError

    tool.__annotations__ = {"of": made, "return": str}
    return await through_a_model(human_in_the_loop(tool), json.dumps({"of": {"it": SCHEMAS[attack][1] or None}}))


async def in_an_interrupt_of_an_agent(attack: str) -> str:
    part, good = SCHEMAS[attack]
    asks = Interrupt(id="i", reason="input", message="Which?", response_schema=around(part, CIRCLE))
    agent = Interrupting((None, [asks]), then=("ok", "ok"))
    asked = []

    def act(desk: Desk) -> None:
        asked.append(answered(desk, {"it": good}))

    session = Session(agent, people=[AtTheDesk(act)], journal=None)
    try:
        assert (await session.run("go")).text == "ok"
    except HitlError as error:
        assert not asked
        assert session.pending == []
        assert (await session.run("again")).text == "ok"
        [entry] = agent.inputs[1].resume or []
        assert (entry.status, entry.payload) == ("cancelled", None)
        is_sent(agent.inputs[1])
        return str(error)
    [entry] = agent.inputs[1].resume or []
    assert entry.payload == ({"it": good} if asked == [TAKEN] else None)
    is_sent(agent.inputs[1])
    return asked[0]


async def in_what_a_server_requests(attack: str) -> str:
    part, good = SCHEMAS[attack]

    def act(desk: Desk) -> None:
        drawn(desk).respond({"it": good})

    params = SimpleNamespace(message="Which?", mode="form", requestedSchema=around(part, CIRCLE))
    answers: Any = elicitation("orders", people=AtTheDesk(act))
    reply = await answers(None, params)
    json.dumps(reply.model_dump(mode="json")).encode()
    if getattr(reply, "action", "") == "accept":
        assert reply.content == {"it": good}
        return TAKEN
    return str(reply.message)


async def in_a_persons_answer(attack: str) -> str:
    part, value = VALUES[attack]
    tool = human_in_the_loop(name="tool", description="Do.", parameters={"type": "object"}, answer=around(part, BESIDE))
    said = []

    def act(desk: Desk) -> None:
        said.append(answered(desk, {"it": value}))

    agent = ScriptedAgent([calls("tool"), says("ok")])
    assert (await Session(agent, tools=[tool], people=[AtTheDesk(act)], journal=None).run("go")).text == "ok"
    is_sent(agent.inputs[1])
    return said[0]


async def in_what_code_asks_about(attack: str) -> str:
    _, value = VALUES[attack]
    if attack == "a $ref in a circle":
        value = [value]
        value.append(value)
    asked = []

    def act(desk: Desk) -> None:
        asked.append(drawn(desk))
        desk.call.respond("fine")

    try:
        assert await interrupt("Go on?", {"it": value}, answer=str, people=AtTheDesk(act)) == "fine"
    except HitlError as error:
        assert not asked
        return str(error)
    return TAKEN


async def in_a_line_of_a_stream(attack: str) -> str:
    part, good = SCHEMAS[attack]
    levels = {"500 deep": 500, "5,000 deep": 5_000}.get(attack)
    asks = {"id": "i", "reason": "input", "message": "Which?", "responseSchema": around(part, CIRCLE)}
    outcome = json.dumps({"type": "interrupt", "interrupts": [asks]}) if levels is None else "[" * levels + "]" * levels

    async def reply(line: Any, body: Any) -> None:
        first, last = events_of(body)
        await line.head()
        await line.send(f"data: {json.dumps(first)}\n\n")
        if attack == "too many characters":
            await line.send("data: " + " " * (EVENT + 1))
        await line.send(f'data: {json.dumps(last)[:-1]}, "outcome": {outcome}}}\n\n')
        await line.end()

    asked = []

    def act(desk: Desk) -> None:
        asked.append(answered(desk, {"it": good}))

    async with SseServer(reply, replies(*server_says("ok")), replies(*server_says("ok"))) as server:
        session = Session(server.url, people=[AtTheDesk(act)], journal=None)
        try:
            assert (await session.run("go")).text == "ok"
        except HitlError as error:
            assert not asked
            assert session.pending == []
            assert (await session.run("again")).text == "ok"
            return str(error)
    return asked[0]


PLACES = {
    name.removeprefix("in_").replace("_", " "): place
    for name, place in list(globals().items())
    if name.startswith("in_") and callable(place)
}

# -- what is said -----------------------------------------------------------------------------------------------------

DEEP = "nested more than 100 levels"
REFERENCE = "a reference back to a group cannot be checked"
NOT_ALLOWED = "does not allow"

_SCHEMA = {
    "500 deep": DEEP,
    "5,000 deep": DEEP,
    "too many characters": "at most 200,000 are taken",
    "an enum of 2,000": TAKEN,
    "an enum of 10,000": TAKEN,
    "an evil pattern": TAKEN,
    "an uncheckable pattern": REFERENCE,
    "a $ref in a circle": "its references have no end",
    "NaN": TAKEN,
    "Infinity": TAKEN,
    "half a character": TAKEN,
}
_VALUE = {
    "500 deep": DEEP,
    "5,000 deep": DEEP,
    "too many characters": "10,000,000",
    "an enum of 2,000": "'name 7' or …",
    "an enum of 10,000": "'name 7' or …",
    "an evil pattern": "should match the pattern",
    "an uncheckable pattern": REFERENCE,
    "a $ref in a circle": "`it.node.node.node`: Input should be of type object",
    "NaN": TAKEN,
    "Infinity": TAKEN,
    "half a character": TAKEN,
}
_ANY = dict.fromkeys(VALUES, TAKEN) | {"500 deep": DEEP, "5,000 deep": DEEP, "a $ref in a circle": DEEP}
TABLE: dict[str, dict[str, str]] = {
    "a models arguments": _VALUE,
    "a tool of a dict": _SCHEMA,
    # Checked by pydantic, and a circle is a model that contains itself.
    "a tool of pydantic": dict.fromkeys(VALUES, TAKEN) | dict.fromkeys(("500 deep", "5,000 deep"), "has no JSON form"),
    "an interrupt of an agent": _SCHEMA,
    "what a server requests": _SCHEMA
    | dict.fromkeys(("500 deep", "5,000 deep", "too many characters", "a $ref in a circle"), NOT_ALLOWED),
    "a persons answer": _VALUE,
    "what code asks about": _ANY,
    "a line of a stream": _SCHEMA | {"too many characters": "more than 32,000,000 bytes"},
}
"""What is said in each place of each attack, or that it is taken: it is drawn, answered, and sent on."""


def test_no_cell_is_missing():
    missing = [f"{place} × {attack}" for place, attack in product(PLACES, VALUES) if attack not in TABLE.get(place, {})]
    assert missing == []
    assert TABLE.keys() == PLACES.keys()
    assert SCHEMAS.keys() == VALUES.keys()


@pytest.mark.parametrize(("place", "attack"), list(product(PLACES, VALUES)))
async def test_what_is_too_much_ends_in_words_and_the_run_goes_on(place, attack):
    try:
        said = await asyncio.wait_for(PLACES[place](attack), 60)
    except ToolDefinitionError as error:  # for the author of the tool, where it is written
        assert "tool of" in place
        said = str(error)
    assert TABLE[place][attack] in said
    assert len(said) < 2 * WORDS
