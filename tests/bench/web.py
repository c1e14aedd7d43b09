"""From an answer to the model's next request, beside CopilotKit's own way: `python -m tests.bench.web`.

The peer is the released `@ag-ui/client` in Node against `ag_ui_crewai` over HTTP on this machine, without a browser and
without React, which come on top; CrewAI's console writes there, as it does by default. Ours is the same Flow in the
kernel, the same Flow on the same server, and the model without a Flow. In turn, wall time by one clock: from the answer
to the Flow's call of litellm; medians of pairs.
"""

import asyncio
import gc
import json
import os
import shutil
import statistics
import time
import warnings
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import litellm
    from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
    from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
    from crewai.flow.flow import Flow, start
    from fastapi import FastAPI

from ag_ui.core import AssistantMessage, Message, UserMessage

import hitl_nb
from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent, FlowAgent, HttpAgent
from hitl_nb.testing import ScriptedModel, calls, says
from tests.bench.figure import tell
from tests.foreign.web import INSTALLED, installed
from tests.serving import serving

ROUNDS = 6
asked: list[int] = []
"""When litellm was called, in nanoseconds."""
_entered = litellm.acompletion


async def acompletion(**options: Any) -> Any:
    """Call litellm, and note when."""
    asked.append(time.monotonic_ns())
    return await _entered(**options)


class Chat(Flow[CopilotKitState]):
    @start()
    async def chat(self) -> None:
        tools = [*self.state.copilotkit.actions]
        stream = await acompletion(model="openai/gpt-4o", messages=self.state.messages, tools=tools, stream=True)
        response = await copilotkit_stream(stream)
        self.state.messages.append(response.choices[0].message)


@human_in_the_loop
def choose_city(cities: list[str]) -> str:
    """Let the user choose a city."""


def before(count: int) -> list[Message]:
    """A history."""
    words = "word " * 36
    return [
        AssistantMessage(id=f"m{at}", content=f"Said before, {at}. {words}")
        if at % 2
        else UserMessage(id=f"m{at}", content=f"Said before, {at}. {words}")
        for at in range(count)
    ]


async def ours(make: Callable[[], Any], history: int) -> float:
    """Milliseconds from the answer to litellm."""
    answered = 0

    async def person(call: Any) -> None:
        nonlocal answered
        answered = time.monotonic_ns()
        call.respond("Ulm")

    session = Session(make(), tools=[choose_city], people=[person], journal=None)
    session._thread.messages = before(history)
    await session.run("Where to?")
    return (asked[-1] - answered) / 1e6


class Web:
    """Node, for as long as the block runs."""

    def __init__(self, node: str, url: str) -> None:
        self._node, self._url = node, url

    async def __aenter__(self) -> "Web":
        script = INSTALLED / "web_peer.mjs"
        shutil.copy(Path(__file__).with_name("web_peer.mjs"), script)
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(self._node, str(script), stdin=pipe, stdout=pipe)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def took(self, history: int) -> float:
        """Milliseconds from the answer to litellm."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        tools = [choose_city.advertised().model_dump(mode="json", by_alias=True)]
        task = json.dumps({"url": self._url, "tools": tools, "history": history})
        self._process.stdin.write(f"{task}\n".encode())
        await self._process.stdin.drain()
        answered = int(await asyncio.wait_for(self._process.stdout.readline(), 60))
        return (asked[-1] - answered) / 1e6


async def once(work: Callable[[], Awaitable[float]]) -> float:
    """One conversation of two requests."""
    gc.collect()
    with ScriptedModel([calls("choose_city", cities=["Ulm", "Jena"]), says("Ulm it is.")]):
        return await work()


async def measure(url: str, web: Web) -> None:
    """Tell all of them, without and with a history."""
    agents: dict[str, Callable[[], Any]] = {
        "a Flow in the kernel": lambda: FlowAgent(Chat),
        "ChatAgent": lambda: ChatAgent("openai/gpt-4o"),
        "the same server by HttpAgent": lambda: HttpAgent(url),
    }
    for history, rounds in ((0, ROUNDS), (300, 2)):
        rows = []
        for _ in range(rounds + 1):
            works = [partial(web.took, history), *(partial(ours, make, history) for make in agents.values())]
            rows.append([await once(work) for work in works])
        columns = list(zip(*rows[1:], strict=True))
        for name, mine in zip(agents, columns[1:], strict=True):
            ratio = statistics.median(a / b for a, b in zip(mine, columns[0], strict=True))
            after = f", after {history} messages" if history else ""
            what = f"answer → litellm called, {name} / @ag-ui/client against ag_ui_crewai{after}"
            note = f"{statistics.median(mine):.1f} ms to {statistics.median(columns[0]):.1f} ms"
            tell(what, ratio, 1 if "HttpAgent" in name else 0.5, note=note)


async def main() -> None:
    """Start the server and Node."""
    hitl_nb.use(journal="off")
    gc.collect()
    gc.freeze()  # or each collection reads through all of litellm and CrewAI
    node = installed()
    app = FastAPI()
    add_crewai_flow_fastapi_endpoint(app=app, flow=Chat(), path="/agent")
    with serving(app) as address, mock.patch.object(litellm, "acompletion", acompletion):
        async with Web(node, f"{address}/agent") as web:
            await measure(f"{address}/agent", web)


if __name__ == "__main__":
    asyncio.run(main())
