"""`ag_ui_crewai`'s own server: the documentation's Flow with a tool of this side, and a Flow with `@human_feedback`."""

import json
import os
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ag_ui_crewai._hitl import agui_feedback_provider
    from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
    from ag_ui_crewai.sdk import CopilotKitState
    from crewai.flow.flow import Flow, listen, router, start
    from crewai.flow.human_feedback import human_feedback
    from fastapi import FastAPI, Request

from hitl_nb import Call, human_in_the_loop
from hitl_nb.testing import ScriptedModel, calls, says
from tests.conformance.adapters.bench import Bench
from tests.flow.seed import seed_flow
from tests.serving import serving


class Served(Bench):
    """A Flow behind `add_crewai_flow_fastapi_endpoint`, with folders of its own."""

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._open = ExitStack()
        folder = self._open.enter_context(tempfile.TemporaryDirectory())
        for name in ("HOME", "CREWAI_STORAGE_DIR"):
            self._says(name, folder)
        app = FastAPI()
        app.post("/v1/chat/completions")(_read_as)
        add_crewai_flow_fastapi_endpoint(app=app, flow=self._flow(Path(folder)), path="/agent", **self.options)
        url = self._open.enter_context(serving(app))
        self._url = f"{url}/agent"
        self._says("OPENAI_BASE_URL", f"{url}/v1")
        self._says("OPENAI_API_KEY", "no key")

    def _says(self, name: str, value: str) -> None:
        self._open.callback(_set, name, os.environ.get(name))
        os.environ[name] = value

    @property
    def agent(self) -> Any:
        return self._url

    def _flow(self, folder: Path) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        self._open.close()


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


class Seed(Served):
    """The Flow of CrewAI's documentation, taken out of it at run time; the tool is one of this side."""

    name = "ag-ui-crewai: the documentation's Flow, a tool of this side"
    cannot: ClassVar[dict[str, str]] = {
        "reasoning": "its server hands thoughts on as messages that providers refuse (a Flow in the kernel does not)"
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

        @human_in_the_loop
        def delete(table: str, rows: int):
            """Delete rows of a table."""

        self.tools = [delete]
        wanted = [calls("delete", table=table, rows=row) for row, table in enumerate("ab"[: self.calls], start=1)]
        self.model = self._open.enter_context(ScriptedModel([wanted, says("Finished."), says("Bye."), says("Bye.")]))

    def _flow(self, folder: Path) -> Any:
        sys.modules.pop("my_agents.human_in_the_loop_flow", None)
        sys.modules.pop("my_agents", None)
        return seed_flow(folder)()

    def edit(self, call: Call) -> Any:
        return call.args.model_copy(update={"rows": 7})

    @property
    def done(self) -> list[str]:
        """The tool has no body: what runs is what the model is told that the person has approved."""
        told = [m["content"] for m in self.model.requests[-1].messages if m["role"] == "tool"]
        answers = [json.loads(content) for content in told if content.startswith("{")]
        final = [answer.get("value", answer) for answer in answers if answer.get("approved") is not False]
        return [f"delete {answer['rows']} of {answer['table']}" for answer in final]

    @done.setter
    def done(self, _: list[str]) -> None: ...

    def requests(self) -> list[str]:
        return [str(request.messages) for request in self.model.requests]

    def prove(self) -> None:
        open_calls: list[str] = []
        for message in self.model.requests[-1].messages:
            if message["role"] == "tool":
                assert open_calls, f"a result without a call: {message}"
                assert message["tool_call_id"] == open_calls.pop(0), f"a result out of order: {message}"
                continue
            assert not open_calls, f"calls without a result: {open_calls}"
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        assert not open_calls, f"calls without a result: {open_calls}"


class Feedback(Served):
    """A Flow that stops at `@human_feedback`, and goes on by the outcome."""

    name = "ag-ui-crewai: `@human_feedback(emit=[...])`, as it comes"
    cannot: ClassVar[dict[str, str]] = {"parallel": "CrewAI keeps one pending question a Flow, the last"}
    no_matter: ClassVar[frozenset[str]] = frozenset({"reasoning"})  # the Flow's code asks, and no model

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.heard: list[list[Any]] = []

    def _flow(self, folder: Path) -> Any:
        bench = self

        class DeleteFlow(Flow[CopilotKitState]):
            @start()
            async def begin(self) -> str:
                bench.heard.append(list(self.state.messages))
                return "began"

            @router(begin)
            async def route(self) -> str:
                last: Any = self.state.messages[-1]
                said = last["content"] if isinstance(last, dict) else last.content
                return "wanted" if said == "Delete the old rows" else "chats"

            @listen("chats")
            async def talk(self) -> None:
                self.state.messages.append({"role": "assistant", "content": "Bye."})

            @listen("wanted")
            @human_feedback(
                message="Delete 1 of a?",
                emit=["approved", "edited", "rejected"],
                llm="openai/gpt-4o",
                provider=agui_feedback_provider,
            )
            async def propose(self) -> dict[str, Any]:
                return {"table": "a", "rows": 1}

            @listen("approved")
            async def work(self) -> None:
                bench.done.append("delete 1 of a")
                self.state.messages.append({"role": "assistant", "content": "Finished."})

            @listen("edited")
            async def work_edited(self) -> None:
                bench.done.append(str(self.last_human_feedback.feedback).removeprefix("edited: "))
                self.state.messages.append({"role": "assistant", "content": "Finished."})

            @listen("rejected")
            async def leave(self) -> None:
                self.state.messages.append({"role": "assistant", "content": "Finished."})

        return DeleteFlow()

    def approve(self, call: Call) -> Any:
        return "approved"

    def edit(self, call: Call) -> Any:
        return "edited"

    def ran(self, *, table: str = "a", rows: int = 1) -> str:
        return "edited" if rows == 7 else super().ran(table=table, rows=rows)

    def requests(self) -> list[str]:
        return [str(messages) for messages in self.heard]


class FeedbackOutcome(Feedback):
    name = "ag-ui-crewai: `@human_feedback(emit=[...])`, `emit_interrupt_outcome=True`"
    options: ClassVar[dict[str, Any]] = {"emit_interrupt_outcome": True}


async def _read_as(request: Request) -> dict[str, Any]:
    """The model that CrewAI has read the words of an answer, also where they are the label itself."""
    body = await request.json()
    words = str(body["messages"][-1]["content"]).split("Feedback: ", 1)[1].split("Possible", 1)[0]
    label = next(label for label in ("rejected", "edited", "approved") if label in words)
    message = {"role": "assistant", "content": json.dumps({"outcome": label})}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}
