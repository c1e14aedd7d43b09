"""A real CrewAI server whose flow pauses at `@human_feedback`: the pause is a card here, the answer resumes it."""

import pytest
from ag_ui_crewai._hitl import agui_feedback_provider
from ag_ui_crewai.endpoint import add_crewai_flow_fastapi_endpoint
from ag_ui_crewai.sdk import CopilotKitState
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI

from hitl_nb import Session
from hitl_nb.people import ScriptedPerson
from tests.serving import serving

pytestmark = pytest.mark.timeout(300)  # the first test of a process imports crewai

published: list[str] = []


class PublishFlow(Flow[CopilotKitState]):
    """Drafts, asks, and only then publishes."""

    @start()
    @human_feedback(message="Publish this draft?", provider=agui_feedback_provider)
    async def draft(self):
        return "A draft about Mars"

    @listen(draft)
    async def publish(self, result):
        published.append(result.feedback)
        self.state.messages.append({"role": "assistant", "content": f"Published after: {result.feedback}"})


@pytest.fixture(params=["legacy event", "structured outcome"])
def server(request, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))
    published.clear()
    app = FastAPI()
    add_crewai_flow_fastapi_endpoint(
        app=app, flow=PublishFlow(), path="/publish", emit_interrupt_outcome=request.param == "structured outcome"
    )
    with serving(app) as url:
        yield f"{url}/publish"


async def test_the_pause_is_asked_here_and_the_answer_resumes_the_flow_there(server):
    person = ScriptedPerson(["yes, with a comma"])
    reply = await Session(server, people=[person]).run("Write about Mars")
    (call,) = person.asked
    assert (call.kind, call.message) == ("interrupt", "Publish this draft?")
    assert published == ["yes, with a comma"]
    assert "yes, with a comma" in reply.text


async def test_a_no_is_never_sent_as_an_empty_approval(server):
    reply = await Session(server, people=[ScriptedPerson([lambda call: call.decline("not yet")])]).run("Write")
    assert reply.calls[0].outcome == "declined"
    assert published == []
