"""Side by side with the released web client, Node's `@ag-ui/client`: the same server, the same messages at the end."""

from typing import Any

import pytest
from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from crewai.flow.flow import Flow, start
from fastapi import FastAPI
from litellm import acompletion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import HttpAgent
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says
from tests.foreign.web import drive
from tests.serving import serving

pytestmark = pytest.mark.timeout(300)  # the first time, npm fetches the client


@human_in_the_loop
def choose_city(cities: list[str]) -> str:
    """Let the user choose a city."""


class ChatFlow(Flow[CopilotKitState]):
    @start()
    async def chat(self):
        response = await copilotkit_stream(
            await acompletion(
                model="openai/gpt-4o",
                messages=self.state.messages,
                tools=[*self.state.copilotkit.actions],
                stream=True,
            )
        )
        self.state.messages.append(response.choices[0].message)


def turns() -> list[Any]:
    return [
        [says("Let me see. "), calls("choose_city", cities=["Ulm", "Köln ☃"])],
        [calls("choose_city", cities=["Bonn"]), calls("choose_city", cities=["Jena"])],
        says("Köln ☃, Bonn and Jena it is."),
    ]


ANSWERS = ["Köln ☃", "Bonn", "Jena"]


@pytest.fixture(scope="module")
def server() -> Any:
    app = FastAPI()
    add_crewai_flow_fastapi_endpoint(app=app, flow=ChatFlow(), path="/agent")
    with serving(app) as url:
        yield f"{url}/agent"


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without their own ids; those of the calls are the model's, and have to be the same."""
    return [{key: value for key, value in message.items() if key != "id"} for message in messages]


async def test_both_clients_end_with_the_same_messages(server, node):
    with ScriptedModel(turns()) as ours, ScriptedPerson(list(ANSWERS)) as person:
        session = Session(HttpAgent(server), tools=[choose_city], people=[person])
        await session.run("Where to?")
    with ScriptedModel(turns()) as theirs:
        task = {
            "url": server,
            "text": "Where to?",
            "tools": [choose_city.advertised().model_dump(mode="json", by_alias=True)],
            "answers": ANSWERS,
        }
        web = await drive(node, task)

    mine = [message.model_dump(mode="json", by_alias=True) for message in session.messages]
    assert [message["role"] for message in web] == [
        *("user", "assistant", "tool", "assistant", "tool", "tool", "assistant"),
    ]
    assert comparable(mine) == comparable(web)
    assert len(ours.requests) == len(theirs.requests) == 3
    for mine_asked, web_asked in zip(ours.requests, theirs.requests, strict=True):
        assert comparable(mine_asked.messages) == comparable(web_asked.messages)
        assert mine_asked.tools == web_asked.tools
