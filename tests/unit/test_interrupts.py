"""Checkpoints: the code stands still at the question and goes on with the answer, or not at all."""

import asyncio
import inspect
import threading

import pytest
from pydantic import BaseModel

from hitl_nb import Session, approve, ask, choose, human_in_the_loop, interrupt, pending, review
from hitl_nb._waiting import until_decided
from hitl_nb.errors import Cancelled, Declined, Expired, InvalidValue, LoopBlockedError, NoHumanError, UsageError
from hitl_nb.people import Escalate
from hitl_nb.testing import ScriptedPerson, calls, says
from tests.agents import ScriptedAgent


class Budget(BaseModel):
    euros: int


async def waits(call):
    await until_decided(call)


async def test_the_answer_comes_back_typed():
    assert await interrupt("How much?", answer=Budget, people=ScriptedPerson([{"euros": 3}])) == Budget(euros=3)


async def test_without_an_answer_type_confirm_answers_with_what_was_shown():
    rows = [{"id": 1}, {"id": 2}]
    asked = asyncio.create_task(interrupt("Delete?", rows, people=waits))
    await asyncio.sleep(0)
    (call,) = pending()
    from hitl_nb.cards import Plain

    call.respond(Plain(call).answer({}))
    assert await asked is rows


@pytest.mark.parametrize(
    ("decide", "error"), [(lambda c: c.decline("no money"), Declined), (lambda c: c.cancel("moot"), Cancelled)]
)
async def test_a_refusal_raises_and_carries_its_reason(decide, error):
    with pytest.raises(error, match="no money|moot") as caught:
        await interrupt("Spend?", people=ScriptedPerson([decide]))
    assert not caught.value.call.approved


async def test_approve_is_true_only_for_a_yes():
    assert await approve("Go?", people=ScriptedPerson([True])) is True
    assert await approve("Go?", people=ScriptedPerson([lambda c: c.decline()])) is False
    assert await approve("Go?", people=waits, timeout=0.01) is False


async def test_several_at_once_get_each_their_own_answer_in_any_order():
    asked = asyncio.gather(*(interrupt(f"{n}?", people=waits) for n in range(3)))
    await asyncio.sleep(0.01)
    for call in reversed(pending()):
        call.respond(call.message)
    assert await asked == ["0?", "1?", "2?"]


async def test_expiry_is_not_a_no_and_leaves_nothing_open():
    with pytest.raises(Expired):
        await interrupt("Now?", people=waits, timeout=0.01)
    assert pending() == []


async def test_if_expired_stands_in_for_the_answer_and_it_is_recorded_as_expired():
    transcripts = []

    class Watching:
        def watch(self, transcript):
            transcripts.append(transcript)
            from contextlib import nullcontext

            return nullcontext(False)

        async def __call__(self, call):
            await until_decided(call)

    assert await interrupt("Now?", people=Watching(), timeout=0.01, if_expired="skip") == "skip"
    assert transcripts[0].calls[0].outcome == "expired"


async def test_when_time_is_up_another_person_is_asked():
    async def boss(call):
        call.respond("by the boss")

    assert await interrupt("Now?", people=waits, timeout=0.01, escalate_to=boss) == "by the boss"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"escalate_to": waits}, "timeout=60, escalate_to=person"),
        ({"timeout": 1, "escalate_to": "skip"}, "if_expired="),
        ({"timeout": 1, "escalate_to": waits, "if_expired": "skip"}, r"Escalate\(first, after=60, to=boss\)"),
        ({"timeout": 1, "if_expired": waits}, "escalate_to="),
    ],
)
async def test_options_that_contradict_each_other_say_the_line_to_write(options, line):
    with pytest.raises(UsageError, match=line):
        interrupt("Now?", **options)


async def test_someone_else_is_asked_and_then_the_question_expires():
    nobody = Escalate(waits, after=0.01, to=waits)
    assert await interrupt("Now?", people=nobody, timeout=0.03, if_expired=None) is None


@pytest.mark.parametrize("question", [interrupt, approve, ask, choose, review, interrupt.sync])
def test_a_slip_in_an_option_is_a_type_error_that_names_the_function_and_asks_nothing(question):
    with pytest.raises(TypeError, match=rf"{question.__qualname__}\(\) got an unexpected keyword argument 'timout'"):
        question("Go?", ["a"], timout=5)
    assert pending() == []


@pytest.mark.parametrize("question", [interrupt, approve, ask, choose, review, interrupt.sync])
def test_each_option_is_a_named_parameter_and_in_the_docstring(question):
    names = inspect.signature(question).parameters
    assert {"name", "render", "timeout", "escalate_to", "key", "refresh", "people", "kind"} < set(names)
    assert all(each.kind is not each.VAR_KEYWORD for each in names.values())
    assert [name for name in names if f"\n    {name}: " not in str(inspect.getdoc(question))] == []


async def test_an_answer_at_the_moment_of_expiry_counts_once():
    for _ in range(50):
        asked = asyncio.create_task(interrupt("Now?", people=waits, timeout=0.002))
        await asyncio.sleep(0.002)
        answered = [call.respond("yes") for call in pending()]
        result = await asyncio.gather(asked, return_exceptions=True)
        assert (result == ["yes"]) == (answered == [True])


async def test_cancelling_the_code_that_asked_closes_the_question():
    asked = asyncio.create_task(interrupt("Now?", people=waits))
    await asyncio.sleep(0)
    (call,) = pending()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert call.outcome == "aborted"
    assert call.respond("late") is False


async def test_a_wrong_answer_raises_in_the_responder_and_the_question_stays_open():
    asked = asyncio.create_task(interrupt("How much?", answer=Budget, people=waits))
    await asyncio.sleep(0)
    (call,) = pending()
    with pytest.raises(InvalidValue):
        call.respond({"euros": "many"})
    call.respond({"euros": 1})
    assert await asked == Budget(euros=1)


async def test_nobody_there_raises_at_once():
    with pytest.raises(NoHumanError, match="three ways|Three ways"):
        await interrupt("Anybody?")


async def test_a_worker_thread_asks_and_the_loop_stays_free():
    async def person(call):
        await asyncio.sleep(0.01)
        call.respond(threading.current_thread() is threading.main_thread())

    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    answers = []

    class Agent(ScriptedAgent):
        async def run(self, input):  # noqa: A002
            answers.append(await asyncio.to_thread(interrupt.sync, "From a thread?"))
            async for event in super().run(input):
                yield event

    await Session(Agent([says("ok")]), people=[person]).run("go")
    assert answers == [True]


async def test_sync_in_the_loops_own_thread_says_the_line_to_write():
    class Agent(ScriptedAgent):
        async def run(self, input):  # noqa: A002
            interrupt.sync("Here?")
            yield

    with pytest.raises(UsageError, match=r"await interrupt\('Here\?'"):
        await Session(Agent([]), people=[waits]).run("go")


async def test_sync_under_a_blocked_loop_says_so_instead_of_waiting_for_ever():
    seen = []

    class Agent(ScriptedAgent):
        async def run(self, input):  # noqa: A002
            import contextvars

            context = contextvars.copy_context()

            def work():
                try:
                    context.run(interrupt.sync, "Blocked?")
                except BaseException as error:
                    seen.append(error)

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()  # a sync kickoff in a cell: the loop stands still
            async for event in super().run(input):
                yield event

    await Session(Agent([says("ok")]), people=[waits]).run("go")
    assert isinstance(seen[0], LoopBlockedError)


async def test_a_checkpoint_inside_a_run_is_part_of_its_record():
    class Agent(ScriptedAgent):
        async def run(self, input):  # noqa: A002
            assert await approve("Before the model?")
            async for event in super().run(input):
                yield event

    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    agent = Agent([calls("ask", question="well?"), says("ok")])
    person = ScriptedPerson([True, "fine", True])
    reply = await Session(agent, tools=[ask], people=[person]).run("go")
    assert [call.name for call in reply.calls] == ["approve", "ask", "approve"]
    assert agent.results(1) == {"call_1": "fine"}


@pytest.mark.parametrize("message", ["", None, 7])
async def test_a_question_without_words_is_refused(message):
    with pytest.raises(UsageError, match="await interrupt"):
        await interrupt(message)


async def test_a_thousand_open_questions_answered_in_reverse_each_get_their_own_answer():
    asked = asyncio.gather(*(interrupt(f"{n}?", {"n": n}, people=waits) for n in range(1000)))
    while len(pending()) < 1000:
        await asyncio.sleep(0)
    for call in reversed(pending()):
        assert call.respond(call.args["n"])
    assert await asked == list(range(1000))
    assert pending() == []


async def test_a_timeout_error_of_a_policy_is_a_fault_and_not_an_expiry():
    async def broken(call):
        raise TimeoutError("the policy server is down")

    with pytest.raises(TimeoutError, match="policy server"):
        await interrupt("Now?", people=broken, timeout=60, if_expired="approved")
