"""Side by side with the released web client, Node's `@ag-ui/client`: the same server, the same messages at the end."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest
from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from crewai.flow.flow import Flow, start
from fastapi import FastAPI
from litellm import acompletion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import HttpAgent
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says
from tests.conftest import REPO
from tests.serving import serving

pytestmark = pytest.mark.timeout(300)  # the first time, npm fetches the client

SOURCE = Path(__file__).parent / "node"
INSTALLED = REPO / ".node"


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


@pytest.fixture(scope="module")
def node() -> str:
    """Install the client into a folder that git ignores; gives the way to Node."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        _give_up("Node and npm are not installed")
    wanted = (SOURCE / "package.json").read_text(encoding="utf-8")
    stamp = INSTALLED / "installed.json"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        INSTALLED.mkdir(exist_ok=True)
        shutil.copy(SOURCE / "package.json", INSTALLED)
        command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock"]
        done = subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True, timeout=240)
        if done.returncode:
            _give_up(f"npm could not install @ag-ui/client: {done.stderr[-300:]}")
        stamp.write_text(wanted, encoding="utf-8")
    return str(found)


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


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
        web = await _drive(node, task)

    mine = [message.model_dump(mode="json", by_alias=True) for message in session.messages]
    assert [message["role"] for message in web] == [
        *("user", "assistant", "tool", "assistant", "tool", "tool", "assistant"),
    ]
    assert comparable(mine) == comparable(web)
    assert len(ours.requests) == len(theirs.requests) == 3
    for mine_asked, web_asked in zip(ours.requests, theirs.requests, strict=True):
        assert comparable(mine_asked.messages) == comparable(web_asked.messages)
        assert mine_asked.tools == web_asked.tools


async def _drive(node: str, task: dict[str, Any]) -> list[dict[str, Any]]:
    script = INSTALLED / "drive.mjs"
    shutil.copy(SOURCE / "drive.mjs", script)
    process = await asyncio.create_subprocess_exec(
        node,
        str(script),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(json.dumps(task).encode()), 60)
    assert process.returncode == 0, err.decode()
    messages: list[dict[str, Any]] = json.loads(out)
    return messages
