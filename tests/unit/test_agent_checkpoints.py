"""AG-UI interrupts of any agent: all addressed, in one resume, never a follow-up while one is open."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from ag_ui.core import (
    CustomEvent,
    Interrupt,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    ToolCallResultEvent,
)

from hitl_nb import Journal, Session, human_in_the_loop, on_interrupt
from hitl_nb._waiting import until_decided
from hitl_nb.cards import Text
from hitl_nb.errors import InvalidValue, RunStopped, SessionBusyError, ToolDefinitionError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import Desk


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


async def test_a_stopped_run_leaves_the_interrupt_to_the_next_run_which_tells_of_it_first():
    agent = Interrupting(stop("a"), then=("all right", "again what?"))
    session = Session(agent, people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    run.stop()
    with pytest.raises(RunStopped):
        await run
    reply = await session.run("again")
    assert resumed(agent) == [("a", "cancelled", None)]
    assert [message.content for message in agent.inputs[1].messages] == ["go"]
    assert [message.content for message in agent.inputs[2].messages] == ["go", "all right", "again"]
    assert (resumed(agent, run=2), reply.text) == ([], "again what?")


async def test_an_agent_that_fails_on_resuming_gets_the_answer_again():
    def fails(input):  # noqa: A002
        raise OSError("network")

    agent = Interrupting(stop("a"), fails, then=("ok", "retried"))
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


# -- how each framework says what it stops at, and reads what it is told --------------------------------------


class Events(ScriptedAgent):
    """Ends its first run with these events, and then talks."""

    def __init__(self, *events, outcome=None, before=None, then=("ok",)):
        super().__init__([None, *(says(text) for text in then)])
        self.events, self.outcome, self.before = events, outcome, before

    async def run(self, input):  # noqa: A002
        if self.inputs:
            async for event in super().run(input):
                yield event
            return
        self.inputs.append(input.model_copy(deep=True))
        identity = {"thread_id": input.thread_id, "run_id": input.run_id}
        yield RunStartedEvent(**identity)
        for event in [*(self._events(self.before, "before") if self.before else ()), *self.events]:
            yield event
        yield RunFinishedEvent(
            **identity, outcome=self.outcome and RunFinishedInterruptOutcome(interrupts=self.outcome)
        )


def langgraph(value, number):
    """As LangGraph's adapter sends it: what is no text as JSON text, the id in the raw event."""
    sent = value if isinstance(value, str) else json.dumps(value)
    return CustomEvent(name="on_interrupt", value=sent, raw_event={"id": f"{number:032x}", "value": value})


def command(agent):
    return agent.inputs[1].forwarded_props["command"]["resume"]


async def test_a_question_of_langgraph_is_answered_in_words_where_its_user_says_so():
    agent = Events(langgraph("Which city?", 7))

    async def person(call):
        Desk(call).send({"text": "Ulm"})

    await Session(agent, interrupts=on_interrupt(render=Text), people=[person]).run("go")
    assert command(agent) == {f"{7:032x}": "Ulm"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda call: call.respond("true"), "true"),  # in a map LangGraph's adapter reads no JSON out of it
        (lambda call: call.respond(None), None),
        (lambda call: call.decline("no"), False),
        (lambda call: call.cancel(), False),
        (lambda call: call.respond(call.proposal), {"approved": True}),
    ],
)
async def test_langgraph_is_told_under_the_id_of_the_interrupt_and_a_no_is_never_true(answer, told):
    agent = Events(langgraph("Go on?", 7))
    await Session(agent, people=[ScriptedPerson([answer])]).run("go")
    assert command(agent) == {f"{7:032x}": told}
    assert agent.inputs[1].resume is None


async def test_two_questions_of_langgraph_keep_both_answers_also_in_its_other_form():
    raw = [{"id": f"{n:032x}", "reason": "langgraph:interrupt", "metadata": {"langgraph": {"raw": n}}} for n in (1, 2)]
    for agent in (
        Events(langgraph({"n": 1}, 1), langgraph({"n": 2}, 2)),
        Events(outcome=[Interrupt.model_validate(fields) for fields in raw]),
    ):
        person = ScriptedPerson(["A", lambda call: call.decline()])
        await Session(agent, people=[person]).run("go")
        assert command(agent) == {f"{1:032x}": "A", f"{2:032x}": False}


async def test_the_card_shows_the_question_once_and_no_json():
    person = ScriptedPerson([True])
    await Session(Events(langgraph({"question": "Delete?", "rows": [1, 2]}, 1)), people=[person]).run("go")
    (call,) = person.asked
    assert (call.message, call.args) == ("Delete?", {"rows": [1, 2]})


async def test_the_calls_behind_an_interrupt_are_the_agents_own_and_nothing_is_made_up_beside_resume():
    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}}}
    stops = [Interrupt(id="i", reason="tool_call", tool_call_id="call_1", response_schema=schema)]
    agent = Events(outcome=stops, before=[calls("delete", n=1), calls("look", n=2)])
    results = {"call_1": "deleted 7", "call_2": "looked"}
    agent.turns[1] = lambda _: [
        ToolCallResultEvent(message_id=f"r-{call_id}", tool_call_id=call_id, content=content)
        for call_id, content in results.items()
    ]
    person = ScriptedPerson([lambda call: call.respond({**call.proposal, "n": 7})])
    session = Session(agent, tools=[ask], people=[person])
    await session.run("go")
    assert {m.tool_call_id: m.content for m in session.messages if m.role == "tool"} == results
    (call,) = person.asked
    assert (call.name, call.args, call.outcome) == ("delete", {"n": 1}, "edited")
    assert [m.role for m in agent.inputs[1].messages] == ["user", "assistant"]
    assert resumed(agent) == [("i", "resolved", {"approved": True, "editedArgs": {"n": 7}})]


async def test_a_no_where_the_agent_knows_one_goes_with_its_reason():
    properties = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
    agent = Interrupting(stop("a", response_schema={"type": "object", "properties": properties}))
    await Session(agent, people=[ScriptedPerson([lambda call: call.decline("too late")])]).run("go")
    assert resumed(agent) == [("a", "resolved", {"approved": False, "reason": "too late"})]


async def test_what_can_only_be_approved_is_not_approved_with_other_arguments():
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    stops = [Interrupt(id="i", reason="tool_call", tool_call_id="call_1", response_schema=schema)]
    session = Session(Events(outcome=stops, before=calls("delete", n=1)), people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    (call,) = session.pending
    for other in ({"n": 2}, "yes", 1):
        with pytest.raises(InvalidValue, match="as it is"):
            call.respond(other)
    call.respond(call.proposal)
    await run


async def test_several_actions_in_one_interrupt_of_langchain_are_questions_of_their_own():
    requests = [{"name": "delete", "args": {"n": n}, "description": "?"} for n in (1, 2, 3)]
    value = {"action_requests": requests, "review_configs": [{"action_name": "delete", "allowed_decisions": ["edit"]}]}
    agent = Events(langgraph(value, 1))
    answers = [lambda c: c.respond(c.proposal), lambda c: c.decline("no"), lambda c: c.respond({"n": 9})]
    await Session(agent, people=[ScriptedPerson(answers)]).run("go")
    assert command(agent)[f"{1:032x}"] == {
        "decisions": [
            {"type": "approve"},
            {"type": "reject", "message": "no"},
            {"type": "edit", "edited_action": {"name": "delete", "args": {"n": 9}}},
        ]
    }


async def test_after_a_restart_what_was_answered_is_told_and_what_was_open_is_asked(tmp_path):
    path = tmp_path / "journal.sqlite"
    stops = [Interrupt(id=i, reason="approval", message=f"{i}?", metadata={"about": i}) for i in "ab"]
    session = Session(Events(outcome=stops), people=[waits], thread_id="t", journal=Journal(path))
    run = session.start("go")
    while len(session.pending) < 2:
        await asyncio.sleep(0)
    first = session.pending[0]
    first.respond("A", by="ada")
    while first.status != "complete":
        await asyncio.sleep(0)
    session.journal.close()
    with suppress(Exception):
        run.stop()
        await run.settled()
    agent = ScriptedAgent([says("ok")])
    person = ScriptedPerson(["B"])
    session = Session(agent, people=[person], thread_id="t", journal=Journal(path))
    with pytest.raises(SessionBusyError, match=r"b\?"):
        await session.run("more")
    reply = await session.resume()
    assert [(call.id, call.args) for call in person.asked] == [("b", {"about": "b"})]
    assert resumed(agent, 0) == [("a", "resolved", "A"), ("b", "resolved", "B")]
    await session.resume()
    assert (reply.text, len(agent.inputs)) == ("ok", 1)
    session.journal.close()
    agent = ScriptedAgent([says("again")])
    session = Session(agent, people=[ScriptedPerson([])], thread_id="t", journal=Journal(path))
    await session.run("more")
    assert resumed(agent, 0) == []


async def test_a_new_message_after_a_restart_closes_what_was_open_also_in_the_journal(tmp_path):
    path = tmp_path / "journal.sqlite"
    stops = [Interrupt(id=i, reason="approval", message=f"{i}?", metadata={"about": i}) for i in "ab"]
    session = Session(Events(outcome=stops), people=[waits], thread_id="t", journal=Journal(path))
    run = session.start("go")
    while len(session.pending) < 2:
        await asyncio.sleep(0)
    session.journal.close()
    with suppress(Exception):
        run.stop()
        await run.settled()
    agent = ScriptedAgent([says("never mind"), says("ok")])
    session = Session(agent, people=[ScriptedPerson([])], thread_id="t", journal=Journal(path))
    reply = await session.run("more", if_busy="decline")
    assert resumed(agent, 0) == [("a", "cancelled", None), ("b", "cancelled", None)]
    assert reply.text == "ok"
    assert list(session.journal.to_frame()["outcome"]) == ["superseded", "superseded"]
    assert session.journal.load_thread("t").open == []
    assert session.journal.verify().ok
    session.journal.close()
    session = Session(ScriptedAgent([says("again")]), people=[ScriptedPerson([])], thread_id="t", journal=Journal(path))
    assert (await session.run("and more")).text == "again"
