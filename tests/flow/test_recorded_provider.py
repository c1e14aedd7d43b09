"""Recording a provider over HTTP: the request reaches it as the user made it, and no key of it reaches the file."""

import json

import pytest
from litellm import acompletion

from hitl_nb import Session
from hitl_nb.agents import ChatAgent
from hitl_nb.testing import ScriptedPerson, record, replay
from tests.flow.dialogue import keep_first, no_network, propose, told
from tests.serving import serving

pytestmark = pytest.mark.timeout(300)

KEY = "sk-not-a-real-key-1234567890"


class OpenAI:
    """As much of OpenAI's API as a chat needs; proposes a step, then says so."""

    def __init__(self):
        self.requests = []

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.requests.append((headers, json.loads(body)))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for chunk in self._chunks(len(self.requests)):
            data = f"data: {json.dumps(chunk)}\n\n".encode()
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    def _chunks(self, number):
        arguments = '{"steps":[{"description":"pack"}]}'
        call = {"index": 0, "id": "call_Zk93", "type": "function", "function": {"name": "propose", "arguments": ""}}
        rest = [{"index": 0, "function": {"arguments": arguments[at : at + 5]}} for at in range(0, len(arguments), 5)]
        calls = [{"role": "assistant", "content": None, "tool_calls": [call]}, *({"tool_calls": [it]} for it in rest)]
        deltas = calls if number == 1 else [{"role": "assistant", "content": "So be "}, {"content": "it."}]
        for delta in deltas:
            yield self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])
        yield self._chunk([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if number == 1 else "stop"}])

    def _chunk(self, choices):
        return {"id": "cmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": choices}


async def test_keys_and_headers_reach_the_provider_and_not_the_file_and_the_case_replays(tmp_path, monkeypatch):
    path = tmp_path / "case.json"
    options = {"api_key": KEY, "extra_headers": {"x-team": "rovers"}, "temperature": 0.5, "extra_body": {"top_a": 1}}

    async def dialogue(base, people):
        agent = ChatAgent("openai/gpt-4o", system=f"Never say {KEY}.", api_base=base, **options)
        session = Session(agent, tools=[propose], people=people)
        await session.run("Plan a trip")
        return told(session)

    app = OpenAI()
    with serving(app) as base, record(path):
        before = await dialogue(base, ScriptedPerson([keep_first]))
    headers, body = app.requests[0]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-team"] == "rovers"
    assert (body["model"], body["temperature"], body["top_a"], body["stream"]) == ("gpt-4o", 0.5, 1, True)
    assert before[-1]["content"] == "So be it."
    text = path.read_text()
    assert KEY not in text
    assert "rovers" not in text
    assert "call_Zk93" not in text
    assert json.loads(text)["turns"][0]["request"]["options"] == {"extra_body": {"top_a": 1}, "temperature": 0.5}
    with no_network(monkeypatch), replay(path):
        after = await dialogue("http://127.0.0.1:9", None)
    assert json.dumps(after) == json.dumps(before).replace("call_Zk93", "call_1")


async def test_a_provider_that_cannot_be_reached_fails_as_it_always_does(tmp_path):
    with pytest.raises(Exception, match="(?i)connection"), record(tmp_path / "case.json"):
        await acompletion(
            model="openai/gpt-4o",
            api_base="http://127.0.0.1:9",
            api_key=KEY,
            max_retries=0,
            messages=[{"role": "user", "content": "?"}],
        )
    assert list(tmp_path.iterdir()) == []
