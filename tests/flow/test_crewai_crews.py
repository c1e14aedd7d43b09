"""``Task(human_input=True)`` in real crews, however they are started."""

import asyncio
import threading

import pytest
from crewai.flow.flow import Flow, start

from hitl_nb import pending
from hitl_nb._waiting import until_decided
from hitl_nb.crewai import install
from hitl_nb.errors import Declined, InvalidValue, NoHumanError
from hitl_nb.testing import ScriptedPerson
from tests.flow.crews import crew_of, scripted

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a process imports crewai
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # crewai reads its own deprecated fields
]


async def natively(crew):
    return await crew.akickoff()


async def in_a_thread(crew):
    return await crew.kickoff_async()


async def in_a_thread_of_ones_own(crew):
    return await asyncio.to_thread(crew.kickoff)


async def in_an_async_step(crew):
    class Around(Flow):
        @start()
        async def begin(self):
            return await crew.akickoff()

    return await Around().kickoff_async()


async def in_a_sync_step(crew):
    class Around(Flow):
        @start()
        def begin(self):
            return crew.kickoff()

    return await Around().kickoff_async()


ways = pytest.mark.parametrize(
    "kickoff", [natively, in_a_thread, in_a_thread_of_ones_own, in_an_async_step, in_a_sync_step]
)


@ways
async def test_the_crew_waits_and_works_in_what_the_person_says_until_they_accept(kickoff):
    llm = scripted("first draft", "second draft")
    with ScriptedPerson({"write_report": ["Shorter, please", True]}) as person, install(people=person):
        result = await kickoff(crew_of(llm, human_input=True))
    assert result.raw == "second draft"
    assert [call.args["result"] for call in person.asked] == ["first draft", "second draft"]
    assert "Shorter, please" in str(llm.requests[1][-1]["content"])


@ways
async def test_nobody_there_is_an_error_and_never_an_approval(kickoff):
    llm = scripted("first draft")
    with install(), pytest.raises(NoHumanError, match="write_report"):
        await kickoff(crew_of(llm, human_input=True))
    assert len(llm.requests) == 1, "the agent tried the task again"


@ways
async def test_a_refusal_ends_the_crew_and_is_not_asked_again(kickoff):
    llm = scripted("first draft")
    person = ScriptedPerson([lambda call: call.decline("off topic")])
    with install(people=person), pytest.raises(Declined, match="off topic"):
        await kickoff(crew_of(llm, human_input=True))
    assert len(person.asked) == len(llm.requests) == 1


async def test_silence_is_no_acceptance():
    with install(people=ScriptedPerson([" "])), pytest.raises(InvalidValue):
        await crew_of(scripted("draft"), human_input=True).akickoff()


async def test_the_person_takes_their_time_and_the_loop_stays_free():
    async def waits(call):
        await until_decided(call)

    with install(people=waits):
        running = asyncio.create_task(crew_of(scripted("draft"), human_input=True).kickoff_async())
        while not pending():
            assert not running.done()
            await asyncio.sleep(0.01)
        (call,) = pending()
        assert call.kind == "feedback"
        call.respond(True)
        assert (await running).raw == "draft"


async def test_stopping_the_crew_closes_the_question_that_its_thread_waits_for():
    async def waits(call):
        await until_decided(call)

    with install(people=waits):
        running = asyncio.create_task(crew_of(scripted("draft"), human_input=True).kickoff_async())
        while not pending():
            await asyncio.sleep(0.01)
        (call,) = pending()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while not call.decided:
            await asyncio.sleep(0.01)
    assert call.outcome == "aborted"
    assert pending() == []


async def test_a_thread_that_outlives_its_stopped_crew_asks_nobody():
    reached, stopped, over = threading.Event(), threading.Event(), threading.Event()

    class Slow(Flow):
        @start()
        def begin(self):
            reached.set()
            stopped.wait()
            try:
                self.ask("Still there?")
            finally:
                over.set()

    with ScriptedPerson([]) as person, install(people=person):
        running = asyncio.create_task(Slow().kickoff_async())
        await asyncio.to_thread(reached.wait)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        stopped.set()
        await asyncio.to_thread(over.wait)
    assert person.asked == []


def test_a_script_without_a_loop_is_asked_as_well():
    with ScriptedPerson(["Longer", True]) as person, install(people=person):
        result = crew_of(scripted("short", "long"), human_input=True).kickoff()
    assert result.raw == "long"
