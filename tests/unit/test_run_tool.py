"""Tools that code calls, and calls that are only looked at: what runs, and what the next model request holds."""

import asyncio
import threading

import pytest
from ag_ui.core import ToolCallResultEvent
from pydantic import BaseModel

from hitl_nb import Session, frontend_tool, gate, human_in_the_loop, report_progress
from hitl_nb.agui._messages import check
from hitl_nb.cards import StepReview
from hitl_nb.errors import InvalidValue, NotAwaitedError, RunStopped, ToolDefinitionError, UsageError
from hitl_nb.testing import ScriptedPerson, calls, says
from tests.agents import ScriptedAgent


class Rows(BaseModel):
    count: int


@frontend_tool
def row_count(table: str, scale: int = 1) -> Rows:
    """Count rows."""
    return Rows(count=7 * scale)


@human_in_the_loop
def ask_name(hint: str) -> str:
    """Ask for a name."""


def session_of(agent, *answers, tools=(row_count, ask_name), **options):
    return Session(agent, tools=tools, people=[ScriptedPerson(list(answers))], **options)


async def test_code_runs_a_tool_without_a_turn_of_the_model_and_the_next_request_holds_call_and_result():
    agent = ScriptedAgent([says("seven")])
    session = session_of(agent)
    call = await session.run_tool("row_count", {"table": "orders"})
    assert call.answer == Rows(count=7)
    assert (call.outcome, call.result) == ("answered", '{"count":7}')
    assert agent.inputs == []

    await session.run("How many rows?")
    told = agent.inputs[0].messages
    assert [message.role for message in told] == ["assistant", "tool", "user"]
    assert told[0].tool_calls[0].function.arguments == '{"table":"orders"}'
    assert told[0].tool_calls[0].id == told[1].tool_call_id == call.id
    assert told[1].content == '{"count":7}'


@pytest.mark.parametrize("follow_up", [True, "And in words?"])
async def test_a_follow_up_runs_the_model_with_the_result(follow_up):
    agent = ScriptedAgent([says("seven")])
    session = session_of(agent)
    await session.run_tool("row_count", {"table": "orders"}, follow_up=follow_up)
    roles = [message.role for message in agent.inputs[0].messages]
    assert roles == ["assistant", "tool", *(["user"] if follow_up is not True else [])]
    assert session.messages[-1].content == "seven"


async def test_a_tool_that_a_person_answers_is_put_to_the_person():
    agent = ScriptedAgent([says("Hello Ada")])
    session = session_of(agent, "Ada")
    call = await session.run_tool("ask_name", {"hint": "first"}, follow_up=True)
    assert (call.answer, call.via) == ("Ada", "script")
    assert agent.results(0) == {call.id: "Ada"}


async def test_a_gate_asks_and_runs_what_was_approved():
    ran = []

    @gate
    def drop(table: str) -> str:
        """Drop a table."""
        ran.append(table)
        report_progress(1, 2)
        return "dropped"

    agent = ScriptedAgent([says("gone")])
    session = session_of(agent, lambda call: call.respond(call.proposal), tools=[drop])
    await session.run_tool("drop", {"table": "old"}, follow_up=True)
    assert ran == ["old"]
    assert list(agent.results(0).values()) == ["dropped"]


async def test_what_code_gets_wrong_is_said_before_anything_runs():
    session = session_of(ScriptedAgent([]))
    with pytest.raises(UsageError, match="no tool `rows`; it has `row_count`, `ask_name`"):
        session.run_tool("rows")
    with pytest.raises(InvalidValue, match="table"):
        session.run_tool("row_count", {"tabel": "orders"})
    with pytest.raises(UsageError, match="if_busy"):
        await session.run_tool("row_count", {"table": "orders"}, if_busy="never")
    pending = session.run_tool("row_count", {"table": "orders"})
    with pytest.raises(NotAwaitedError, match="call = await session.run_tool"):
        bool(pending)
    assert session.messages == []


async def test_a_tool_that_is_hidden_from_the_model_can_be_called_by_code_but_not_by_the_model():
    @frontend_tool(available=False)
    def secret_door() -> str:
        """Open it."""
        return "open"

    agent = ScriptedAgent([calls("secret_door"), says("no door")])
    session = session_of(agent, tools=[secret_door])
    assert (await session.run_tool("secret_door")).answer == "open"
    await session.run("Open it")
    assert "unknown tool" in agent.results(1)["call_1"]


async def test_a_tool_that_fails_is_a_call_with_a_reason_and_the_model_reads_it():
    @frontend_tool
    def fails() -> None:
        """Fail."""
        raise ValueError("no such table")

    agent = ScriptedAgent([says("sorry")])
    session = session_of(agent, tools=[fails])
    call = await session.run_tool("fails", follow_up=True)
    assert (call.outcome, call.reason) == ("invalid", "no such table")
    assert agent.results(0) == {call.id: "Error: no such table"}


async def test_a_stop_ends_a_tool_at_its_next_await_and_a_thread_at_its_next_report():
    reached, go_on, ended = asyncio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    def work():
        try:
            report_progress(1, 3, "reading")
            loop.call_soon_threadsafe(reached.set)
            assert go_on.wait(30)
            report_progress(2, 3)
        except RunStopped as error:
            ended.append(str(error))
            raise

    @frontend_tool
    async def index() -> str:
        """Index everything."""
        await asyncio.to_thread(work)
        return "done"

    agent = ScriptedAgent([calls("index"), says("so be it")])
    session = session_of(agent, tools=[index])
    session.render_tool_call()
    run = session.start("go")
    await reached.wait()
    (call,) = run.transcript.tools
    await asyncio.sleep(0)
    assert (call.progress.fraction, call.progress.message) == (1 / 3, "reading")
    run.stop()
    with pytest.raises(RunStopped):
        await run
    go_on.set()
    while not ended:
        await asyncio.sleep(0.01)
    assert "stopped" in ended[0]
    await session.run("And now?")
    check(session.messages)
    assert agent.results(1) == {call.id: call.result}
    assert "may or may not" in call.result


async def test_progress_of_a_function_that_is_called_in_a_cell_goes_nowhere_and_wrong_ones_are_refused():
    report_progress(1, 2, "reading")
    with pytest.raises(UsageError, match="report_progress"):
        report_progress("half")  # type: ignore[arg-type]  # the mistake


def test_a_card_that_waits_for_an_answer_cannot_draw_what_nobody_is_asked():
    with pytest.raises(ToolDefinitionError, match="nobody is asked here"):
        frontend_tool(render=StepReview)(row_count.function)
    with pytest.raises(ToolDefinitionError, match="cannot be called"):
        Session(ScriptedAgent([])).render_tool_call("search", "card")  # type: ignore[arg-type]  # the mistake


def shown(session, run):
    from hitl_nb.cards._record import _record_of_entry, bundle

    return bundle([(entry, _record_of_entry(entry)) for entry in run.transcript])["text/plain"]


async def test_calls_are_shown_where_that_is_wanted_by_the_name_by_the_star_or_by_the_tool_itself():
    @frontend_tool(render=lambda call: f"**{call.status}**")
    def drawn() -> str:
        """Has a drawing of its own."""
        return "x"

    turn = [calls("row_count", table="orders"), calls("drawn")]
    quiet = session_of(ScriptedAgent([turn, says("ok")]), tools=[row_count, drawn])
    run = quiet.start("go")
    await run
    assert shown(quiet, run) == "You: go\n⚙ complete\nAssistant: ok"

    session = session_of(ScriptedAgent([turn, says("ok")]), tools=[row_count, drawn])
    session.render_tool_call()
    run = session.start("go")
    await run
    assert shown(session, run).split("\n") == [
        "You: go",
        "⚙ Row count (row_count), done",
        "    • table: orders",
        "    • scale: 1",
        "    • result: count: 7",
        "⚙ complete",
        "Assistant: ok",
    ]


async def test_what_the_agent_runs_itself_is_shown_with_its_result_as_it_comes():
    seen: list[object] = []

    def turn(input_):
        yield from agent._events([calls("search", query="mars")], "m1")
        yield ToolCallResultEvent(message_id="r1", tool_call_id="call_1", content='{"hits": 3}')
        seen.append([call.status for call in run.transcript.tools])
        yield from agent._events(says("three"), "m2")

    agent = ScriptedAgent([turn])
    session = session_of(agent, tools=[])

    @session.render_tool_call("search")
    def search(call):
        seen.append((call.status, call.args, call.result))
        return f"{call.args}"

    run = session.start("go")
    await run
    assert seen == [["complete"]]  # nothing draws it here; it ended before the next word
    (call,) = run.transcript.tools
    assert (call.args, call.result) == ({"query": "mars"}, '{"hits": 3}')
    assert session.pending == []


async def test_a_drawing_that_fails_is_told_of_and_the_call_runs_all_the_same():
    session = session_of(ScriptedAgent([calls("row_count", table="orders"), says("ok")]))
    session.render_tool_call("row_count", lambda call: 1 / 0)
    run = session.start("go")
    assert (await run).text == "ok"
    assert "Row count (row_count), done" in shown(session, run)


async def test_secrets_of_a_call_that_is_only_looked_at_are_stars():
    @frontend_tool
    def log_in(user: str, password: str) -> dict[str, str]:
        """Log in."""
        return {"token": "tok-123456789", "user": user}

    session = session_of(
        ScriptedAgent([calls("log_in", user="ada", password="hunter2-secret"), says("ok")]), tools=[log_in]
    )
    session.render_tool_call()
    run = session.start("go")
    await run
    assert "hunter2" not in shown(session, run)
    assert "tok-123456789" not in shown(session, run)
    assert "ada" in shown(session, run)
