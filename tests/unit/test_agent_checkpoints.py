"""AG-UI interrupts of any agent: all addressed, in one resume, never a follow-up while one is open."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from ag_ui.core import CustomEvent, Interrupt, RunFinishedEvent, RunFinishedInterruptOutcome, RunStartedEvent

from hitl_nb import Session, human_in_the_loop, on_interrupt
from hitl_nb._waiting import until_decided
from hitl_nb.errors import InvalidValue, RunStopped, SessionBusyError, ToolDefinitionError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


class Interrupting(ScriptedAgent):
    """Ends its first runs with interrupts instead of a plain RUN_FINISHED."""

    def __init__(self, *stops, then=("ok",)):
        super().__init__([*stops, *(says(text) for text in then)])

    async def run(self, input):  # noqa: A002
        turn = self.turns[len(self.inputs)]
        if not isinstance(turn, tuple):
            async for event in super().run(input):
                yield event
            return
        self.inputs.append(input.model_copy(deep=True))
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        before, interrupts = turn
        for event in self._events(before, "before") if before else ():
            yield event
        outcome = RunFinishedInterruptOutcome(interrupts=interrupts)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id, outcome=outcome)


def stop(*ids, before=None, **fields):
    return (before, [Interrupt(id=i, reason="approval", message=f"{i}?", **fields) for i in ids])


def resumed(agent, run=1):
    return [
        (entry.interrupt_id, str(getattr(entry.status, "value", entry.status)), entry.payload)
        for entry in agent.inputs[run].resume or []
    ]


async def waits(call):
    await until_decided(call)


async def test_several_interrupts_answered_in_any_order_make_one_resume():
    agent = Interrupting(stop("a", "b"))
    session = Session(agent, people=[waits])
    run = session.start("go")
    while len(session.pending) < 2:
        await asyncio.sleep(0)
    a, b = session.pending
    b.respond("B")
    await asyncio.sleep(0)
    assert len(agent.inputs) == 1
    a.respond("A")
    await run
    assert sorted(resumed(agent)) == [("a", "resolved", "A"), ("b", "resolved", "B")]


async def test_a_refusal_is_cancelled_on_the_wire_and_carries_no_payload():
    agent = Interrupting(stop("a"))
    await Session(agent, people=[ScriptedPerson([lambda call: call.decline("no")])]).run("go")
    assert resumed(agent) == [("a", "cancelled", None)]


async def test_a_response_is_checked_against_the_schema_before_it_is_sent():
    agent = Interrupting(stop("a", response_schema={"type": "string", "enum": ["yes", "no"]}))
    session = Session(agent, people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    (call,) = session.pending
    with pytest.raises(InvalidValue):
        call.respond("maybe")
    call.respond("no")
    await run
    assert resumed(agent) == [("a", "resolved", "no")]


@pytest.mark.parametrize("seconds", [-1, 0.02])
async def test_an_expired_interrupt_is_cancelled_and_the_thread_goes_on(seconds):
    moment = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    agent = Interrupting(stop("a", expires_at=moment))
    reply = await Session(agent, people=[waits]).run("go")
    assert (reply.calls[0].outcome, reply.text) == ("expired", "ok")
    assert resumed(agent) == [("a", "cancelled", None)]


async def test_what_is_no_date_never_expires():
    agent = Interrupting(stop("a", expires_at="soon"))
    await Session(agent, people=[ScriptedPerson([1])]).run("go")
    assert resumed(agent) == [("a", "resolved", 1)]


async def test_a_stopped_run_leaves_the_interrupt_to_the_next_run():
    agent = Interrupting(stop("a"))
    session = Session(agent, people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    run.stop()
    with pytest.raises(RunStopped):
        await run
    await session.run("again")
    assert resumed(agent) == [("a", "cancelled", None)]


async def test_an_agent_that_fails_on_resuming_gets_the_answer_again():
    def fails(input):  # noqa: A002
        raise OSError("network")

    agent = Interrupting(stop("a"), fails)
    session = Session(agent, people=[ScriptedPerson(["A"])])
    with pytest.raises(OSError, match="network"):
        await session.run("go")
    await session.run("retry")
    assert resumed(agent, run=2) == [("a", "resolved", "A")]


async def test_a_new_message_while_an_interrupt_is_open_is_refused():
    session = Session(Interrupting(stop("a")), people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    with pytest.raises(SessionBusyError, match="approval"):
        await session.run("me too")
    session.pending[0].respond(1)
    await run


async def test_a_tool_call_and_an_interrupt_of_one_run_are_both_answered_in_one_re_entry():
    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    agent = Interrupting(stop("a", before=calls("ask", question="b?")))
    person = ScriptedPerson({"ask": ["B"], "approval": ["A"]})
    await Session(agent, tools=[ask], people=[person]).run("go")
    assert resumed(agent) == [("a", "resolved", "A")]
    assert agent.results(1) == {"call_1": "B"}
    assert len(agent.inputs) == 2


async def test_on_interrupt_asks_its_handler_first_and_draws_with_its_render():
    seen = []

    async def handler(call):
        if call.message == "a?":
            call.respond("by the handler")

    def render(call):
        seen.append(call.id)

    agent = Interrupting(stop("a"), stop("b"))
    own = [on_interrupt(handler=handler, render=render, enabled=lambda interrupt: interrupt.id in "ab")]
    await Session(agent, interrupts=own, people=[ScriptedPerson(["by a person"])]).run("go")
    assert resumed(agent, 1) == [("a", "resolved", "by the handler")]
    assert resumed(agent, 2) == [("b", "resolved", "by a person")]


async def test_an_interrupt_that_nobody_takes_still_gets_a_card():
    own = on_interrupt(enabled=lambda interrupt: 1 / 0)
    agent = Interrupting(stop("a"))
    await Session(agent, interrupts=own, people=[ScriptedPerson([1])]).run("go")
    assert resumed(agent) == [("a", "resolved", 1)]


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ToolDefinitionError, match=r"on_interrupt\("):
        on_interrupt(render=42)  # type: ignore[arg-type]


@pytest.mark.parametrize("slip", [{"tools": [on_interrupt()]}, {"tools": on_interrupt()}, {"interrupts": [lambda: 1]}])
def test_what_is_about_checkpoints_is_no_tool_and_a_function_is_not_about_checkpoints(slip):
    with pytest.raises(ToolDefinitionError, match=r"interrupts=\[on_interrupt\("):
        Session(Interrupting(), **slip)


async def test_the_legacy_event_is_answered_by_the_command():
    class Legacy(ScriptedAgent):
        async def run(self, input):  # noqa: A002
            if self.inputs:
                async for event in super().run(input):
                    yield event
                return
            self.inputs.append(input)
            yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
            yield CustomEvent(name="on_interrupt", value={"question": "sure?"})
            yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)

    agent = Legacy([None, says("ok")])
    await Session(agent, people=[ScriptedPerson([{"ok": True}])]).run("go")
    expected = {"command": {"resume": {"ok": True}, "interruptEvent": {"question": "sure?"}}}
    assert agent.inputs[1].forwarded_props == expected


async def test_headless_code_iterates_over_requests_and_answers_them():
    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    agent = ScriptedAgent([[calls("ask", question="a?"), calls("ask", question="b?")], says("ok")])
    session = Session(agent, tools=[ask], people=[])

    async def answer():
        async for call in session.requests():
            call.respond(call.args.question.upper())

    answering = asyncio.create_task(answer())
    await asyncio.sleep(0)
    await session.run("go")
    answering.cancel()
    assert agent.results(1) == {"call_1": "A?", "call_2": "B?"}


async def test_subscribers_see_every_event_and_every_answer_in_order():
    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    seen = []
    session = Session(
        ScriptedAgent([calls("ask", question="a?"), says("ok")]), tools=[ask], people=[ScriptedPerson(["A"])]
    )
    unsubscribe = session.subscribe(lambda event: seen.append(event.type.value))
    await session.run("go")
    assert [kind for kind in seen if kind.startswith(("RUN", "TOOL_CALL_RESULT"))] == [
        "RUN_STARTED",
        "RUN_FINISHED",
        "TOOL_CALL_RESULT",
        "RUN_STARTED",
        "RUN_FINISHED",
    ]
    unsubscribe()


async def test_a_run_is_an_iterator_over_its_events():
    session = Session(ScriptedAgent([says("hello")]))
    run = session.start("go")
    kinds = [event.type.value async for event in run.events()]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert (await run).text == "hello"
