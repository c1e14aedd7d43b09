"""Whom the journeys beside the questions talk to: Flows in the kernel, the same behind `ag_ui_crewai`, LangGraph."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_emit_state, copilotkit_stream
from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from crewai.flow.flow import Flow, listen, router, start
from litellm import acompletion
from pydantic import Field

from hitl_nb.testing import Request, ScriptedModel, calls
from tests.flow.seed import code_block, seed_flow
from tests.foreign.cities import Scripted, agent
from tests.serving import serving

cities = Scripted(
    turns=["Where **to**?", [("call_a", '{"cities": ["Ulm", "Köln"]}')], "Köln it is."],
)
"""The model of the LangGraph agent."""

go_on = threading.Event()
"""A step of `BoardFlow` is done once it is set, in whichever loop the Flow runs."""


class BoardState(CopilotKitState):
    """What a board has."""

    title: str = ""
    days: int = 0
    steps: list[dict[str, Any]] = Field(default_factory=list)


class BoardFlow(Flow[BoardState]):
    """Does what is to be done, step by step, tells how far it is, and then has its model speak about the board."""

    @start()
    async def work(self) -> None:
        """Do the steps, and find a better title."""
        for step in self.state.steps:
            if step["status"] != "completed":
                await self._tell(step, "executing")
                while not go_on.wait(0.05):
                    await copilotkit_emit_state(self._board)
                self.state.title = f"{self.state.title}, reviewed"
                await self._tell(step, "completed")

    async def _tell(self, step: dict[str, Any], status: str) -> None:
        step["status"] = status
        await copilotkit_emit_state(self._board)

    @property
    def _board(self) -> dict[str, Any]:
        return {"title": self.state.title, "days": self.state.days, "steps": self.state.steps}

    @router(work)
    async def chat(self) -> str:
        """Let the model speak."""
        known = json.dumps({"board": self._board, "context": self.state.context})
        messages = [{"role": "system", "content": known}, *self.state.messages]
        tools = [*self.state.copilotkit.actions] or None
        response = await copilotkit_stream(
            await acompletion(model="openai/gpt-4o", messages=messages, tools=tools, stream=True)
        )
        self.state.messages.append(response.choices[0].message)
        return "done"

    @listen("done")
    async def finish(self) -> None:
        """Nothing is left to do."""


@contextmanager
def agents() -> Iterator[dict[str, dict[str, Any]]]:
    """Give the agents by where they run; the server is the documents' own, with one more path each."""
    flow = seed_flow(Path(mkdtemp()))
    names: dict[str, Any] = {"__name__": "server"}
    exec(compile(code_block("# server.py"), "server.py", "exec"), names)
    add_crewai_flow_fastapi_endpoint(app=names["app"], flow=BoardFlow(), path="/board")
    add_langgraph_fastapi_endpoint(names["app"], agent(cities), "/cities")
    with serving(names["app"]) as url:
        yield {
            "inside": {"plan": flow, "board": BoardFlow},
            "served": {"plan": f"{url}/human_in_the_loop", "board": f"{url}/board"},
            "graph": {"cities": f"{url}/cities"},
        }


def model_of(*turns: Any) -> ScriptedModel:
    """A model that says these, one after the other; whenever it is asked for suggestions, it suggests one."""
    left = iter(turns)

    def turn(request: Request) -> Any:
        if suggests(request):
            return calls("suggest_next_messages", suggestions=[{"title": "Go on", "message": "Go on, please"}])
        return next(left)

    return ScriptedModel([turn] * 30).install()


def suggests(request: Request) -> bool:
    """Whether the model is to suggest what may be said next."""
    return [tool["function"]["name"] for tool in request.tools] == ["suggest_next_messages"]


def told(model: ScriptedModel) -> str:
    """The messages of the last request about the conversation, as JSON."""
    last = [request for request in model.requests if not suggests(request)][-1]
    return json.dumps(last.messages, ensure_ascii=False)
