"""`HttpAgent` against a server that behaves in every way a server can; no answer is lost or misplaced by it."""

import asyncio
import itertools
import sys
from typing import Any

import httpx
import pytest
from ag_ui.core import ActivityMessage, ResumeEntry, RunAgentInput, RunFinishedEvent, Tool, UserMessage

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import HttpAgent, agent_of
from hitl_nb.agents import http as http_module
from hitl_nb.errors import (
    AgentDefinitionError,
    AgentError,
    MissingExtraError,
    ProtocolError,
    RunStopped,
    UsageError,
)
from hitl_nb.testing import ScriptedPerson
from tests.sse import SseServer, calls, events_of, replies, says


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


ASKS = tuple(calls("call_1", "ask", '{"question": ', '"Go?"}', parentMessageId="m1"))


def session(server: SseServer, *answers: object, **options: Any) -> Session:
    return Session(server.url, tools=[ask], people=[ScriptedPerson(list(answers))], **options)


# -- what the server gets ---------------------------------------------------------------------------------


async def test_the_second_request_holds_the_answer_and_nothing_that_a_server_could_refuse():
    async with SseServer(replies(*ASKS), replies(*says("Gone."))) as server:
        reply = await session(server, "yes").run("Well?")

    assert reply.text == "Gone."
    first, second = server.bodies
    assert first.keys() >= {"threadId", "runId", "messages", "tools", "context", "forwardedProps", "state"}
    assert first["protocolVersion"] == "1.0"
    assert "resume" not in first
    assert [tool["name"] for tool in first["tools"]] == ["ask"]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
    asked, answer = second["messages"][1:]
    assert asked["toolCalls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "ask", "arguments": '{"question": "Go?"}'}}
    ]
    assert (answer["toolCallId"], answer["content"]) == ("call_1", "yes")
    assert not [message for message in second["messages"] if None in message.values()]


def test_nulls_of_the_users_own_stay_and_others_are_left_out():
    body = http_module.request_body(
        RunAgentInput(
            thread_id="t",
            run_id="r",
            messages=[UserMessage(id="u", content="go"), ActivityMessage(id="a", activity_type="plan", content={})],
            state={"city": None, "score": float("nan")},
            tools=[Tool(name="t", description="d", parameters={"default": None})],
            resume=[
                ResumeEntry(interrupt_id="i", status="resolved", payload=None),
                ResumeEntry(interrupt_id="j", status="cancelled"),
            ],
        )
    )
    assert httpx.Response(200, content=body).json() == {
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "messages": [{"id": "u", "role": "user", "content": "go"}],
        "state": {"city": None, "score": None},
        "tools": [{"name": "t", "description": "d", "parameters": {"default": None}}],
        "context": [],
        "forwardedProps": {},
        "resume": [
            {"interruptId": "i", "status": "resolved", "payload": None},
            {"interruptId": "j", "status": "cancelled"},
        ],
    }


async def test_state_that_is_no_json_is_refused_by_name():
    agent = HttpAgent("http://localhost:1/agent")
    with pytest.raises(UsageError, match=r"Keep plain data in `session\.state`"):
        async for _ in agent.run(RunAgentInput(thread_id="t", run_id="r", messages=[], state={"frame": object()})):
            pass


async def test_headers_are_sent_and_never_shown():
    async with SseServer(replies(*says("Hello."))) as server:
        agent = HttpAgent(server.url, headers={"Authorization": "Bearer secret"})
        await Session(agent).run("Hi")
    assert server.headers[0]["authorization"] == "bearer secret"
    assert server.headers[0]["accept"] == "text/event-stream"
    assert "secret" not in repr(agent)


async def test_a_client_of_your_own_stays_open():
    async with httpx.AsyncClient() as client, SseServer(replies(*says("1", "m1")), replies(*says("2", "m2"))) as server:
        session = Session(HttpAgent(server.url, client=client))
        await session.run("one")
        assert (await session.run("two")).text == "2"
        assert not client.is_closed


# -- where servers differ ---------------------------------------------------------------------------------


DONE = replies(*says("Done."))


async def asked_and_answered(*events: Any, then: Any = DONE) -> tuple[str, dict[str, str]]:
    """Give the arguments of the one question, and the results that the second request holds."""
    person = ScriptedPerson(["yes"])
    async with SseServer(replies(*events), then) as server:
        with person:
            await Session(server.url, tools=[ask], people=[person]).run("Well?")
    return person.asked[0].args.question, server.results(1)


async def test_chunks_stand_for_start_args_and_end():
    chunk = {"type": "TOOL_CALL_CHUNK", "toolCallId": "call_1", "toolCallName": "ask", "delta": '{"question":'}
    rest = {"type": "TOOL_CALL_CHUNK", "delta": ' "Go?"}'}
    assert await asked_and_answered(chunk, rest) == ("Go?", {"call_1": "yes"})


async def test_an_end_that_comes_late_is_in_time():
    start, *args, end = ASKS
    assert await asked_and_answered(start, *args, *says("I asked.", "m2"), end) == ("Go?", {"call_1": "yes"})


async def test_events_of_a_newer_protocol_and_keep_alives_are_skipped():
    async def reply(line, body):
        await line.head()
        await line.send(": ping\n\n")
        await line.send("id: 1\n\n")
        for event in events_of(body, {"type": "HOLOGRAM_START", "angle": 3}, *ASKS):
            await line.event(event)
        await line.end()

    async with SseServer(reply, replies(*says("Done."))) as server:
        await session(server, "yes").run("Well?")
    assert server.results(1) == {"call_1": "yes"}


_ids = itertools.count()


def snapshot_with_fresh_ids(*new):
    """A server whose assistant messages have another id in every snapshot, and which keeps no tool results."""

    def snapshot(body):
        kept = [m for m in body["messages"] if m["role"] != "tool"]
        messages = [m | {"id": f"fresh-{next(_ids)}"} if m["role"] == "assistant" else m for m in [*kept, *new]]
        return {"type": "MESSAGES_SNAPSHOT", "messages": messages}

    return snapshot


def assistant(*made, content=None):
    tool_calls = [
        {"id": call_id, "type": "function", "function": {"name": "ask", "arguments": f'{{"question": "{question}"}}'}}
        for call_id, question in made
    ]
    return {"id": "", "role": "assistant"} | ({"toolCalls": tool_calls} if made else {"content": content})


async def test_ids_that_change_with_every_snapshot_lose_no_answer():
    first, second = snapshot_with_fresh_ids(assistant(("a", "1?"))), snapshot_with_fresh_ids(assistant(("b", "2?")))
    async with SseServer(
        replies(*calls("a", "ask", '{"question": "1?"}', parentMessageId="m1"), first, first),
        replies(*calls("b", "ask", '{"question": "2?"}', parentMessageId="m2"), second, second),
        replies(*says("Done.", "m3"), snapshot_with_fresh_ids(assistant(content="Done."))),
    ) as server:
        thread = session(server, "one", "two")
        reply = await thread.run("Well?")

    assert server.results(2) == {"a": "one", "b": "two"}
    assert [message.role for message in reply.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [message.id for message in reply.messages[-1:]] == ["m3"]


async def test_a_server_that_uses_an_id_again_asks_a_new_question():
    """Ollama counts from 0 in every reply: the answer to the first question must not answer the second."""
    async with SseServer(
        replies(*calls("call_0", "ask", '{"question": "Delete the draft?"}')),
        replies(*calls("call_0", "ask", '{"question": "Delete everything?"}')),
        replies(*says("Done.")),
    ) as server:
        person = ScriptedPerson(["yes", "no"])
        with person:
            await Session(server.url, tools=[ask], people=[person]).run("Tidy up")

    assert [call.args.question for call in person.asked] == ["Delete the draft?", "Delete everything?"]
    third = server.bodies[2]["messages"]
    assert [m["content"] for m in third if m["role"] == "tool"] == ["yes", "no"]
    # The server, which may keep the conversation itself, hears of its calls by its own ids.
    assert [m["toolCallId"] for m in third if m["role"] == "tool"] == ["call_0", "call_0"]


async def test_an_id_that_is_used_again_in_snapshots_asks_a_new_question():
    async with SseServer(
        replies(snapshot_with_fresh_ids(assistant(("call_0", "1?")))),
        replies(*[snapshot_with_fresh_ids(assistant(("call_0", "2?")))] * 3),
        replies(*says("Done.")),
    ) as server:
        person = ScriptedPerson(["one", "two"])
        with person:
            await Session(server.url, tools=[ask], people=[person]).run("Well?")
    assert [call.args.question for call in person.asked] == ["1?", "2?"]
    assert [m["content"] for m in server.bodies[2]["messages"] if m["role"] == "tool"] == ["one", "two"]


async def test_calls_without_an_id_are_two_questions_with_two_answers():
    """What ag_ui_crewai makes of Gemini's stream: one START for both, the truth only in the snapshot."""
    mixed = calls("", "ask", '{"question": "1?"}', '{"question": "2?"}', parentMessageId="m1")
    async with SseServer(
        replies(*mixed, *[snapshot_with_fresh_ids(assistant(("", "1?"), ("", "2?")))] * 2), replies(*says("Done."))
    ) as server:
        person = ScriptedPerson([lambda call: f"to {call.args.question}"] * 2)
        with person:
            await Session(server.url, tools=[ask], people=[person]).run("Well?")
    assert [m["content"] for m in server.bodies[1]["messages"] if m["role"] == "tool"] == ["to 1?", "to 2?"]
    assert len(server.results(1)) == 2


async def test_a_line_that_stays_open_after_the_run_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(http_module, "_LINGER_SECONDS", 0.05)

    async def reply(line, body):
        await line.head()
        for event in events_of(body, *says("Done.")):
            await line.event(event)
        await line.left()
        server.left.set()

    async with SseServer(reply) as server:
        assert (await session(server).run("Well?")).text == "Done."
        await asyncio.wait_for(server.left.wait(), 5)


async def test_a_line_that_breaks_after_the_run_has_lost_nothing():
    async def reply(line, body):
        await line.head()
        for event in events_of(body, *says("Done.")):
            await line.event(event)

    async with SseServer(reply) as server:
        assert (await session(server).run("Well?")).text == "Done."


async def test_two_runs_in_one_stream_are_both_read():
    async def reply(line, body):
        await line.head()
        for event in [*events_of(body, *says("One.", "m1")), *events_of(body, *says("Two.", "m2"))]:
            await line.event(event)
        await line.end()

    async with SseServer(reply) as server:
        assert (await session(server).run("Well?")).text == "Two."


# -- what must not be let pass ----------------------------------------------------------------------------


def breaks_off(*events, end):
    async def reply(line, body):
        await line.head()
        for event in events_of(body, *events)[:-1]:
            await line.event(event)
        if end:
            await line.end()

    return reply


@pytest.mark.parametrize(("end", "code"), [(True, "STREAM_ENDED_EARLY"), (False, "STREAM_BROKE_OFF")])
@pytest.mark.parametrize("heard", [0, 1, 2, 4])
async def test_a_stream_that_breaks_off_asks_nobody_and_leaves_a_history_that_goes_on(end, code, heard):
    async with SseServer(breaks_off(*ASKS[:heard], end=end), replies(*says("Hello."))) as server:
        thread = session(server)
        with pytest.raises(AgentError, match=r'go on with `await session\.run\("Please go on"\)`') as caught:
            await thread.run("Well?")
        assert caught.value.code == code
        assert (await thread.run("Please go on")).text == "Hello."


@pytest.mark.parametrize("fault", ["cut", "500", "refused"])
async def test_an_answer_outlives_the_failure_of_the_run_that_carries_it(fault):
    async def fails(line, body):
        if fault == "500":
            await line.head("500 Internal Server Error", "text/plain")
            await line.end()
        elif fault == "cut":
            await breaks_off(end=False)(line, body)

    async with SseServer(replies(*ASKS), fails, replies(*says("Done."))) as server:
        thread = session(server, "yes")
        with pytest.raises(AgentError, match="is kept"):
            await thread.run("Well?")
        assert (await thread.run("Please go on")).text == "Done."
    assert server.results(2) == {"call_1": "yes"}
    assert len(server.bodies) == 3  # a POST is never repeated by itself


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        ("500 Internal Server Error", "ZeroDivisionError in the flow"),
        ("404 Not Found", "Check the path"),
        ("401 Unauthorized", "Authorization"),
        ("422 Unprocessable Entity", "another version of AG-UI"),
    ],
)
async def test_an_http_error_shows_its_status_and_what_the_server_said(status, hint):
    async def reply(line, _):
        await line.head(status, "text/plain")
        await line.send("ZeroDivisionError in the flow " + "x" * 5000)
        await line.end()

    async with SseServer(reply) as server:
        with pytest.raises(AgentError, match=status) as caught:
            await session(server).run("Well?")
    assert hint in str(caught.value)
    assert "ZeroDivisionError" in str(caught.value)
    assert len(str(caught.value)) < 700
    assert caught.value.code == f"HTTP_{status[:3]}"


async def test_a_redirect_is_not_followed_but_named():
    async def reply(line, _):
        await line.head("307 Temporary Redirect", location="http://127.0.0.1/agent/")
        await line.end()

    async with SseServer(reply) as server:
        with pytest.raises(AgentError, match=r'write `HttpAgent\("http://127.0.0.1/agent/"\)`'):
            await session(server).run("Well?")


async def test_a_web_page_is_not_an_event_stream():
    async def reply(line, _):
        await line.head(kind="text/html")
        await line.send("<h1>Log in</h1>")
        await line.end()

    async with SseServer(reply) as server:
        with pytest.raises(AgentError, match=r"`text/html` instead of an event stream: `<h1>Log in</h1>`"):
            await session(server).run("Well?")


async def test_nobody_there_is_said_so():
    async with SseServer() as server:
        pass
    with pytest.raises(AgentError, match=r"cannot be reached .*Is the server running\?"):
        await session(server).run("Well?")


async def test_silence_ends_the_run():
    async def reply(line, _):
        await line.head()
        await line.left()

    async with SseServer(reply) as server:
        with pytest.raises(AgentError, match=r"silent for 0\.05 seconds"):
            await Session(HttpAgent(server.url, timeout=0.05)).run("Well?")


async def test_a_fault_that_the_server_reports_is_raised_with_its_code():
    async def reply(line, body):
        await line.head()
        await line.event(events_of(body)[0])
        await line.event({"type": "RUN_ERROR", "message": "CrewAI flow failed", "code": "FLOW"})
        await line.end()

    async with SseServer(reply) as server:
        with pytest.raises(AgentError, match="CrewAI flow failed") as caught:
            await session(server).run("Well?")
    assert caught.value.code == "FLOW"


async def test_what_is_not_json_and_what_is_malformed_ends_the_run():
    async def garbage(line, _):
        await line.head()
        await line.send("data: <oops>\n\n")
        await line.end()

    async with SseServer(garbage, replies({"type": "TOOL_CALL_START", "toolCallName": "ask"})) as server:
        with pytest.raises(AgentError, match="not JSON: `<oops>`"):
            await session(server).run("Well?")
        with pytest.raises(ProtocolError, match="`TOOL_CALL_START` is malformed at `toolCallId`"):
            await session(server).run("Well?")


async def test_stopping_the_run_hangs_up_at_once():
    started = asyncio.Event()

    async def reply(line, body):
        await line.head()
        await line.event(events_of(body)[0])
        started.set()
        await line.left()
        server.left.set()

    async with SseServer(reply) as server:
        run = session(server).start("Well?")
        await started.wait()
        run.stop()
        with pytest.raises(RunStopped):
            await run
        await asyncio.wait_for(server.left.wait(), 5)


# -- interrupts go through ----------------------------------------------------------------------------------


async def test_the_outcome_of_a_run_names_calls_by_our_ids():
    def again(body):
        return {"type": "TOOL_CALL_START", "toolCallId": "call_1", "toolCallName": "ask", "parentMessageId": "m9"}

    async def reply(line, body):
        await line.head()
        *events, finished = events_of(body, again(body), {"type": "TOOL_CALL_END", "toolCallId": "call_1"})
        for event in [*events, finished | {"outcome": {"type": "success", "pendingToolCallIds": ["call_1"]}}]:
            await line.event(event)
        await line.end()

    async with SseServer(replies(*ASKS), reply, replies(*says("Done."))) as server:
        thread = session(server, "yes")
        finished = []
        thread.subscribe(lambda event: finished.append(event) if isinstance(event, RunFinishedEvent) else None)
        await thread.run("Well?")
    second = finished[1].outcome.pending_tool_call_ids
    assert second == [thread.messages[3].tool_calls[0].id]
    assert second != ["call_1"]


# -- how it is made ---------------------------------------------------------------------------------------


def test_an_address_is_an_agent():
    assert repr(agent_of("http://localhost:8000/agent")) == "HttpAgent(http://localhost:8000/agent)"


@pytest.mark.parametrize("name", ["openai/gpt-4o", "ollama/llama3:latest", "my_agent"])
def test_the_name_of_a_model_is_told_the_agent_that_runs_it(name):
    with pytest.raises(AgentDefinitionError, match=rf"write `Session\(ChatAgent\('{name}'\)\)`"):
        agent_of(name)


@pytest.mark.parametrize("address", ["localhost:8000/agent", "ftp://localhost/agent", "http://"])
def test_what_is_no_address_is_refused_with_the_line_to_write(address):
    with pytest.raises(AgentDefinitionError, match=r'Write `HttpAgent\("http://localhost:8000/agent"\)`'):
        agent_of(address)


def test_a_missing_library_says_its_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hitl-nb\[http\]".*restart the kernel'):
        HttpAgent("http://localhost:8000/agent")
