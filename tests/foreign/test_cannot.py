"""What an adapter cannot: its own client, the released one for the web, fails likewise."""

from typing import Any

import pytest
from ag_ui_crewai._hitl import agui_feedback_provider
from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from ag_ui_strands import add_strands_fastapi_endpoint
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI
from litellm import acompletion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.errors import AgentError
from hitl_nb.testing import ScriptedPerson
from tests.conformance.adapters.every import BENCHES
from tests.conformance.adapters.strands import Strands
from tests.flow import strict
from tests.foreign.web import drive
from tests.serving import serving

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_all_that_is_said_to_be_impossible_is_shown_here():
    assert {(bench.__name__, column) for bench in BENCHES for column in bench.cannot} == {
        ("Strands", "edit"),
        ("Feedback", "parallel"),
        ("FeedbackOutcome", "parallel"),
        ("Seed", "reasoning"),
    }


async def test_strands_runs_what_the_model_wrote_whatever_comes_beside_the_yes(node):
    bench, app = Strands(), FastAPI()
    add_strands_fastapi_endpoint(app, bench.agent, path="/agent")
    payload = {"approved": True, "editedArgs": {"table": "a", "rows": 7}}
    with serving(app) as url:
        task = {"url": f"{url}/agent", "text": "Delete", "payload": payload, "rounds": 1}
        web = await drive(node, task, "resume.mjs")
    assert (len(web["asked"]), web["error"]) == (1, None)
    assert bench.done == ["delete 1 of a"]


class TwoQuestions(Flow[CopilotKitState]):
    """Two steps that ask at once."""

    @start()
    async def begin(self) -> None: ...

    @listen(begin)
    @human_feedback(message="Delete a?", provider=agui_feedback_provider)
    async def first(self) -> str:
        return "a"

    @listen(begin)
    @human_feedback(message="Delete b?", provider=agui_feedback_provider)
    async def second(self) -> str:
        return "b"


async def test_crewai_keeps_one_of_two_questions(node, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))
    app = FastAPI()
    add_crewai_flow_fastapi_endpoint(app=app, flow=TwoQuestions(), path="/agent", emit_interrupt_outcome=True)
    with serving(app) as url:
        task = {"url": f"{url}/agent", "text": "Delete", "payload": "yes", "rounds": 3}
        web = await drive(node, task, "resume.mjs")
    assert len({question for questions in web["asked"] for question in questions}) < 2


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


async def test_crewais_server_hands_thoughts_on_as_messages_that_no_provider_takes(node):
    def chat(url: str) -> Any:
        class Chat(Flow[CopilotKitState]):
            @start()
            async def chat(self) -> None:
                stream = await acompletion(
                    model="deepseek/deepseek-reasoner",
                    messages=[
                        {key: part for key, part in dict(it).items() if key != "id"} for it in self.state.messages
                    ],
                    tools=[*self.state.copilotkit.actions],
                    stream=True,
                    api_base=url,
                    api_key="k",
                )
                self.state.messages.append((await copilotkit_stream(stream)).choices[0].message)

        return Chat()

    async def refusals(client: Any) -> list[str]:
        turns = [strict.deepseek_asks(1, '{"question": "Which?"}'), strict.openai_says("Done.")]
        with strict.serving(strict.StrictServer(turns, strict.deepseek)) as model:
            app = FastAPI()
            add_crewai_flow_fastapi_endpoint(app=app, flow=chat(model.url), path="/agent")
            with serving(app) as url:
                await client(f"{url}/agent")
            return model.refusals

    async def web(url: str) -> None:
        tools = [ask.advertised().model_dump(mode="json", by_alias=True)]
        messages = await drive(node, {"url": url, "text": "Paint", "tools": tools, "answers": ["That."]})
        assert messages[-1]["content"] != "Done."

    async def ours(url: str) -> None:
        with pytest.raises(AgentError):
            await Session(url, tools=[ask], people=[ScriptedPerson(["That."])], journal=None).run("Paint")

    for client in (web, ours):
        found = await refusals(client)
        assert found[0] == "unknown role reasoning"
