"""`ag_ui_langgraph.LangGraphAgent` in a session as it is, with a scripted model at LangChain's own seam."""

import pytest
from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.messages import AIMessage, ToolMessage

from hitl_nb import Session, human_in_the_loop
from hitl_nb.testing import ScriptedPerson
from tests.conformance.adapters.langgraph import LangGraphDefault
from tests.foreign.cities import Scripted, agent
from tests.serving import serving

pytestmark = [
    pytest.mark.timeout(300),
    # The adapter's own calls of LangGraph.
    pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10"),
]


@human_in_the_loop
def choose_city(cities: list[str]) -> str:
    """Let the user choose a city."""


async def test_the_next_model_request_holds_exactly_what_the_person_chose():
    model = Scripted(turns=[[("call_a", '{"cities": ["Ulm", "Köln"]}')], "Köln it is.", "Bye."])
    with ScriptedPerson([lambda call: call.args.cities[1]]) as person:
        session = Session(agent(model), tools=[choose_city], people=[person])
        reply = await session.run("Where to?")
        assert reply.text == "Köln it is."
        again = await session.run("Thanks")

    assert [call.args.cities for call in person.asked] == [["Ulm", "Köln"]]
    assert model.tools[0] == ["choose_city"]
    asked, answer = model.requests[1][-2:]
    assert isinstance(asked, AIMessage)
    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.content) == (asked.tool_calls[0]["id"], "Köln") == ("call_a", "Köln")
    assert again.text == "Bye."
    # The graph keeps the conversation, too: nothing of it is there twice.
    assert [message.type for message in model.requests[2]] == ["human", "ai", "tool", "ai", "human"]
    assert [message.role for message in session.messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant"),
    ]


async def test_parallel_calls_get_each_its_own_answer():
    model = Scripted(turns=[[("a", '{"cities": ["Ulm"]}'), ("b", '{"cities": ["Bonn"]}')], "Both."])
    with ScriptedPerson([lambda call: call.args.cities[0]] * 2) as person:
        await Session(agent(model), tools=[choose_city], people=[person]).run("Where to?")
    assert [(m.tool_call_id, m.content) for m in model.requests[1] if isinstance(m, ToolMessage)] == [
        ("a", "Ulm"),
        ("b", "Bonn"),
    ]


async def test_over_http_too_two_questions_keep_each_its_answer_and_nothing_is_asked_twice():
    # The adapter takes the ids out of its events when it is told to send no raw ones; as it comes, they are there.
    bench, app = LangGraphDefault(calls=2), FastAPI()
    add_langgraph_fastapi_endpoint(app, bench.agent, "/agent")
    answers = [lambda call: call.respond(True), lambda call: call.decline("no")]
    with serving(app) as url, ScriptedPerson(answers) as person:
        reply = await Session(f"{url}/agent", people=[person], journal=None).run("Delete the old rows")
    assert [(call.message, call.args) for call in person.asked] == [
        ("Delete 1 of a?", {"table": "a", "rows": 1}),
        ("Delete 2 of b?", {"table": "b", "rows": 2}),
    ]
    assert (bench.done, reply.text) == (["delete 1 of a"], "Finished.")
