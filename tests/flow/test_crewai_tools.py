"""A person before the tools of a real crew: whatever is not a yes, the tool does not run."""

import asyncio
import json
import threading

import pytest
from crewai import Agent
from crewai.flow.flow import Flow, start
from crewai.hooks import (
    HookAborted,
    before_llm_call,
    before_tool_call,
    unregister_before_llm_call_hook,
    unregister_before_tool_call_hook,
)

from hitl_nb import pending
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.crewai import approve_tools, install
from hitl_nb.errors import Declined, InvalidValue, NoHumanError, ScriptError
from hitl_nb.testing import ScriptedPerson
from tests.flow.crews import Mailer, crew_of, scripted, wants

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a process imports crewai
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # crewai reads its own deprecated fields
]

MAIL = {"to": "ada@example.org", "body": "Hello"}


def mailing(*mails, **options):
    """A crew that sends these mails in one round, then says that it is done."""
    mailer = Mailer()
    llm = scripted([wants("send_mail", **mail) for mail in mails or (MAIL,)], "Done.")
    return mailer, llm, crew_of(llm, mailer.tool, **options)


async def natively(crew):
    return await crew.akickoff()


async def in_a_thread(crew):
    return await crew.kickoff_async()


async def in_a_sync_step(crew):
    class Around(Flow):
        @start()
        def begin(self):
            return crew.kickoff()

    return await Around().kickoff_async()


ways = pytest.mark.parametrize("kickoff", [natively, in_a_thread, in_a_sync_step])


@ways
async def test_the_tool_runs_with_exactly_what_was_approved(kickoff):
    mailer, llm, crew = mailing()
    with ScriptedPerson({"send_mail": [True]}) as person, approve_tools(["send_mail"], people=person):
        await kickoff(crew)
    assert mailer.sent == [("ada@example.org", "Hello")]
    assert person.asked[0].args == MAIL
    assert person.asked[0].kind == "tool"
    assert llm.told() == ["sent to ada@example.org"]


async def declines(call):
    call.decline("too early")


async def cancels(call):
    call.cancel("moot")


async def is_late(call):
    Handle.of(call).expire("nobody answered in time")


async def says_no_in_so_many_words(call):
    call.respond(False)


async def fails(call):
    raise ConnectionError("the person is broken")


@ways
@pytest.mark.parametrize(
    ("person", "status", "reason"),
    [
        (declines, "declined", "too early"),
        (cancels, "cancelled", "moot"),
        (is_late, "expired", "nobody answered in time"),
        (fails, "blocked", "the person is broken"),
    ],
)
async def test_anything_but_a_yes_blocks_the_tool_and_the_model_hears_why(kickoff, person, status, reason):
    mailer, llm, crew = mailing()
    with approve_tools(["send_mail"], people=person):
        await kickoff(crew)
    assert mailer.sent == []
    told = json.loads(llm.told()[0])
    assert (told["status"], told["approved"]) == (status, False)
    assert reason in told["reason"]
    assert "NOT executed" in told["message"]


async def has_no_answer(call):
    raise ScriptError("no answer is left")


@ways
@pytest.mark.parametrize(
    ("person", "error"),
    [(None, NoHumanError), (says_no_in_so_many_words, InvalidValue), (has_no_answer, ScriptError)],
)
async def test_when_nobody_can_answer_the_crew_ends_and_the_tool_does_not_run(kickoff, person, error):
    mailer, llm, crew = mailing()
    with approve_tools(people=person), pytest.raises(error):
        await kickoff(crew)
    assert mailer.sent == []
    assert len(llm.requests) == 1, "the agent tried the task again"


async def test_parallel_calls_are_asked_at_once_and_answered_one_by_one():
    mailer, llm, crew = mailing(MAIL, {"to": "bob@example.org", "body": "Hi"})

    async def waits(call):
        await until_decided(call)

    with approve_tools(people=waits):
        running = asyncio.create_task(crew.akickoff())
        while len(pending()) < 2:
            assert not running.done()
            await asyncio.sleep(0.01)
        for call in pending():
            call.decline("not Bob") if call.args["to"].startswith("bob") else call.respond(True)
        await running
    assert mailer.sent == [("ada@example.org", "Hello")]
    sent, refused = llm.told()
    assert sent == "sent to ada@example.org"
    assert json.loads(refused)["reason"] == "not Bob"


async def test_nobody_there_ends_the_crew_also_where_crewai_calls_in_parallel():
    mailer, _, crew = mailing(MAIL, {"to": "bob@example.org", "body": "Hi"})
    with approve_tools(), pytest.raises(NoHumanError):
        await crew.akickoff()
    assert mailer.sent == []


async def test_an_agent_on_its_own_is_held_as_well():
    mailer = Mailer()
    llm = scripted([wants("send_mail", **MAIL)], "Done.")
    agent = Agent(role="Writer", goal="Write", backstory="A writer.", llm=llm, tools=[mailer.tool])
    with approve_tools(people=declines):
        await agent.kickoff_async("Write to Ada.")
    llm.requests.clear()
    with approve_tools(), pytest.raises(NoHumanError):
        await agent.kickoff_async("Write to Ada.")
    assert mailer.sent == []


async def test_only_the_named_tools_are_asked_about():
    mailer, trash = Mailer(), Mailer()
    trash.tool.name = "delete_mail"
    crew = crew_of(scripted([wants("send_mail", **MAIL)], "Done."), mailer.tool, trash.tool)
    with ScriptedPerson([]) as person, approve_tools(["delete_mail"], people=person):
        await crew.akickoff()
    assert (len(mailer.sent), len(trash.sent)) == (1, 0)


async def test_a_tool_can_be_named_by_itself():
    mailer, _, crew = mailing()
    with approve_tools([mailer.tool], people=declines):
        await crew.akickoff()
    assert mailer.sent == []


def raises(args):
    raise KeyError("subject")


async def is_async(args):
    return False


@pytest.mark.parametrize(
    ("when", "asked"),
    [
        (lambda args: args["to"] != "ada@example.org", 0),
        (lambda args: args["to"] == "ada@example.org", 1),
        (raises, 1),
        (is_async, 1),
    ],
)
async def test_a_condition_decides_whether_to_ask_and_a_broken_one_asks(when, asked):
    mailer, _, crew = mailing()
    with ScriptedPerson([True] * asked) as person, approve_tools(when=when, people=person):
        await crew.akickoff()
    assert len(person.asked) == asked
    assert len(mailer.sent) == 1


async def test_a_condition_cannot_change_what_is_approved():
    mailer, _, crew = mailing()

    def sneaks(args):
        args["to"] = "eve@example.org"
        return True

    with ScriptedPerson([True]) as person, approve_tools(when=sneaks, people=person):
        await crew.akickoff()
    assert person.asked[0].args == MAIL
    assert mailer.sent == [("ada@example.org", "Hello")]


async def test_without_the_gate_the_tools_run_unasked_again():
    mailer, _, crew = mailing()
    gate = approve_tools(people=declines)
    gate.remove()
    gate.remove()
    await crew.akickoff()
    assert len(mailer.sent) == 1


async def test_stopping_the_crew_closes_the_question_and_the_tool_does_not_run():
    mailer, _, crew = mailing()

    async def waits(call):
        await until_decided(call)

    with approve_tools(people=waits):
        running = asyncio.create_task(crew.akickoff())
        while not pending():
            await asyncio.sleep(0.01)
        (call,) = pending()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while not call.decided or any(thread.name.startswith("asyncio_wait") for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
    assert mailer.sent == []


# -- hooks of the user's own ------------------------------------------------------------------------------------


@pytest.fixture
def hook():
    """Register a hook for one test."""
    registered = []

    def register(function):
        registered.append(function)
        return before_tool_call(function)

    yield register
    for function in registered:
        unregister_before_tool_call_hook(function)


def times_out(context):
    raise TimeoutError("the approval service did not answer")


async def answers_no_but_is_never_awaited(context):
    return False


def aborts(context):
    raise HookAborted("forbidden by policy")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (times_out, "the approval service did not answer"),
        (answers_no_but_is_never_awaited, "async def"),
        (aborts, "forbidden by policy"),
        (lambda context: False, ""),
    ],
)
async def test_a_hook_that_does_not_say_yes_holds(hook, function, reason, caplog):
    mailer, llm, crew = mailing()
    hook(function)
    with install():
        await crew.akickoff()
    assert mailer.sent == []
    told = json.loads(llm.told()[0])
    assert (told["status"], told["approved"]) == ("blocked", False)
    assert reason in told["reason"]


async def test_a_hook_that_finds_nobody_ends_the_crew(hook):
    mailer, _, crew = mailing()

    @hook
    def asks(context):
        raise NoHumanError("nobody is there")

    with install(), pytest.raises(NoHumanError, match="nobody is there"):
        await crew.akickoff()
    assert mailer.sent == []


@pytest.mark.filterwarnings("ignore:coroutine 'answers_no_but_is_never_awaited' was never awaited:RuntimeWarning")
@pytest.mark.parametrize("function", [times_out, answers_no_but_is_never_awaited])
async def test_without_install_crewai_lets_the_tool_run(hook, function):
    mailer, _, crew = mailing()
    hook(function)
    await crew.akickoff()
    assert len(mailer.sent) == 1, "crewai fails closed now: `closed_hooks` may be no longer needed"


async def test_a_hook_that_allows_lets_the_tool_run(hook):
    mailer, _, crew = mailing()
    hook(lambda context: None)
    with install():
        await crew.akickoff()
    assert len(mailer.sent) == 1


async def test_nobody_changes_what_was_approved(hook):
    mailer, _, crew = mailing()
    with ScriptedPerson([True]) as person, approve_tools(people=person):

        @hook
        def redirects(context):
            context.tool_input["to"] = "eve@example.org"

        await crew.akickoff()
    assert person.asked[0].args["to"] == mailer.sent[0][0] == "eve@example.org"


async def test_a_hook_may_ask_by_crewais_own_means(hook):
    mailer, _, crew = mailing()

    @hook
    def asks(context):
        return context.request_human_input("Allow it?") == "yes"

    with ScriptedPerson({"send_mail": ["yes"]}) as person, install(people=person):
        await crew.akickoff()
    assert len(mailer.sent) == 1
    assert person.asked[0].args == MAIL


async def test_a_refusal_in_a_hook_blocks_the_tool(hook):
    mailer, _, crew = mailing()

    @hook
    def asks(context):
        context.request_human_input("Allow it?")

    with install(people=declines):
        await crew.akickoff()
    assert mailer.sent == []


async def test_a_refusal_before_the_model_is_called_ends_the_crew():
    llm = scripted("Done.")

    @before_llm_call
    def asks(context):
        context.request_human_input("Spend these tokens?")

    try:
        with install(people=declines), pytest.raises(Declined, match="too early"):
            await crew_of(llm).akickoff()
    finally:
        unregister_before_llm_call_hook(asks)
    assert llm.requests == []
