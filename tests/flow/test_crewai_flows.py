"""``@human_feedback`` and ``flow.ask()`` in real Flows."""

import asyncio
from typing import Any

import pytest
from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence

from hitl_nb import Session, pending
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.crewai import install
from hitl_nb.errors import (
    Cancelled,
    Declined,
    Expired,
    InvalidValue,
    NoHumanError,
    NotApproved,
    ScriptError,
    UsageError,
)
from hitl_nb.testing import ScriptedModel, ScriptedPerson
from tests.flow.crews import scripted

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a process imports crewai
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # crewai reads its own deprecated fields
]


def review_flow(llm: Any = None, **options: Any) -> Any:
    """A Flow that publishes only what was approved."""

    class ReviewFlow(Flow):
        published: list[str] = []  # noqa: RUF012
        dropped: list[str] = []  # noqa: RUF012

        @start()
        @human_feedback("Publish this?", emit=["approved", "rejected"], llm=llm, **options)
        async def draft(self):
            return "A draft."

        @listen("approved")
        def publish(self, result):
            type(self).published.append(result.feedback)

        @listen("rejected")
        def drop(self, result):
            type(self).dropped.append(result.feedback)

    ReviewFlow.published, ReviewFlow.dropped = [], []
    return ReviewFlow


@pytest.mark.parametrize(("answer", "published", "dropped"), [("approved", 1, 0), ("rejected", 0, 1)])
async def test_an_outcome_is_taken_as_it_is_without_a_model(answer, published, dropped):
    llm = scripted("rejected")
    flow = review_flow(llm)
    with ScriptedPerson({"draft": [answer]}) as person, install(people=person):
        await flow().kickoff_async()
    assert llm.requests == []
    assert (len(flow.published), len(flow.dropped)) == (published, dropped)
    assert [*flow.published, *flow.dropped] == [answer]
    assert person.asked[0].args == {"output": "A draft."}
    assert person.asked[0].message == "Publish this?"


async def test_an_outcome_needs_neither_a_model_nor_a_key():
    for flow in (review_flow(), review_flow("gpt-4o")):
        with install(people=ScriptedPerson(["rejected"])):
            await flow().kickoff_async()
        assert (flow.published, flow.dropped) == ([], ["rejected"])


async def test_words_are_read_by_the_flows_own_model_and_the_person_says_whether_that_is_right():
    llm = scripted('{"outcome": "rejected"}')
    flow = review_flow(llm)
    with ScriptedPerson({"draft": ["I would rather not", True]}) as person, install(people=person):
        await flow().kickoff_async()
    assert len(llm.requests) == 1
    assert (flow.published, flow.dropped) == ([], ["I would rather not"])
    reading = person.asked[1]
    assert reading.message == ("You wrote 'I would rather not'; the model reads it as `rejected`. Is that right?")
    assert reading.args == {"feedback": "I would rather not", "outcome": "rejected"}


def declined(call):
    call.decline("that is not what I wrote")


@pytest.mark.parametrize("no", [False, declined])
async def test_a_no_that_a_model_reads_as_approved_is_not_approved_and_asks_again(no):
    llm = scripted('{"outcome": "approved"}')
    flow = review_flow(llm)
    with ScriptedPerson(["no!", no, "no, really", no, "rejected"]) as person, install(people=person):
        await flow().kickoff_async()
    assert len(llm.requests) == 2
    assert (flow.published, flow.dropped) == ([], ["rejected"])
    assert [call.message for call in person.asked][::2] == ["Publish this?"] * 3


async def passes_on_the_reading(call):
    if "Is that right?" not in call.message:
        call.respond("no!")


async def answers_the_reading_with_one(call):
    call.respond(1 if "Is that right?" in call.message else "no!")


async def cancels_the_reading(call):
    call.cancel("moot") if "Is that right?" in call.message else call.respond("no!")


@pytest.mark.parametrize(
    ("person", "error"),
    [
        (passes_on_the_reading, NoHumanError),
        (answers_the_reading_with_one, InvalidValue),
        (cancels_the_reading, Cancelled),
        (["no!"], ScriptError),
        (["no!", "yes"], InvalidValue),
    ],
)
@pytest.mark.parametrize("options", [{}, {"default_outcome": "approved"}], ids=["", "with a default"])
async def test_a_reading_that_nobody_confirms_approves_nothing(person, error, options):
    flow = review_flow(scripted('{"outcome": "approved"}'), **options)
    people = ScriptedPerson(person) if isinstance(person, list) else person
    with install(people=people), pytest.raises(error):
        await flow().kickoff_async()
    assert (flow.published, flow.dropped) == ([], [])


@pytest.mark.parametrize(
    "words", ["Approved!", "approved.", "APPROVED", " approved ", '"approved"', "`Approved`", "**approved**!"]
)
async def test_an_outcome_is_the_same_without_case_and_punctuation(words):
    llm = scripted("rejected")
    flow = review_flow(llm)
    with ScriptedPerson([words]) as person, install(people=person):
        await flow().kickoff_async()
    assert llm.requests == []
    assert [words.strip()] == flow.published
    assert len(person.asked) == 1


async def test_what_a_provider_of_the_flows_own_was_told_is_read_no_more_freely():
    class Mine:
        def request_feedback(self, context, flow):
            return "no!"

    flow = review_flow(scripted('{"outcome": "approved"}'), provider=Mine())
    with ScriptedPerson([False]) as person, install(people=person), pytest.raises(NotApproved, match="does not mean"):
        await flow().kickoff_async()
    assert "The feedback is 'no!'" in person.asked[0].message
    with ScriptedPerson([True]) as person, install(people=person):
        await flow().kickoff_async()
    assert flow.published == ["no!"]


async def test_words_without_a_model_say_what_to_write():
    flow = review_flow("gpt-4o")
    with install(people=ScriptedPerson(["I would rather not"])), pytest.raises(UsageError, match="llm="):
        await flow().kickoff_async()
    assert (flow.published, flow.dropped) == ([], [])


async def declines(call):
    call.decline("not yet")


async def cancels(call):
    call.cancel()


async def is_late(call):
    Handle.of(call).expire("nobody answered in time")


async def says_nothing(call):
    call.respond("")


async def answers_none(call):
    call.respond(None)


async def passes(call):
    pass


async def fails(call):
    raise ValueError("the person is broken")


no_answers = pytest.mark.parametrize(
    ("person", "error"),
    [
        (declines, Declined),
        (cancels, Cancelled),
        (is_late, Expired),
        (says_nothing, InvalidValue),
        (answers_none, InvalidValue),
        (passes, NoHumanError),
        (fails, ValueError),
        (None, NoHumanError),
    ],
)


@no_answers
@pytest.mark.parametrize("options", [{}, {"default_outcome": "approved"}], ids=["", "with a default"])
async def test_without_an_answer_nothing_is_approved(person, error, options):
    flow = review_flow(scripted("approved"), **options)
    with install(people=person), pytest.raises(error):
        await flow().kickoff_async()
    assert (flow.published, flow.dropped) == ([], [])


async def test_feedback_without_outcomes_is_the_persons_words():
    class Noting(Flow):
        @start()
        @human_feedback("What do you think?")
        def draft(self):
            return {"title": "Mars"}

    with ScriptedPerson(["Nice"]) as person, install(people=person):
        result = await Noting().kickoff_async()
    assert result.feedback == "Nice"
    assert person.asked[0].args == {"title": "Mars"}


async def test_a_provider_that_the_flow_names_itself_keeps_its_say():
    class Mine:
        def request_feedback(self, context, flow):
            return "approved"

    flow = review_flow(scripted("rejected"), provider=Mine())
    with install():
        await flow().kickoff_async()
    assert flow.published == ["approved"]


async def test_inside_a_session_the_sessions_people_answer_in_the_same_record():
    class Chat(Flow):
        @start()
        @human_feedback("Say this?")
        async def draft(self):
            self.state["messages"].append({"role": "assistant", "content": "Hello."})
            return "Hello."

        initial_state = {"messages": []}  # noqa: RUF012

    with ScriptedPerson(["Fine"]) as person, install(people=ScriptedPerson([])):
        reply = await Session(Chat, people=[person]).run("Hi")
    assert [call.name for call in reply.calls] == ["draft"]


# -- a pause that outlives the process ------------------------------------------------------------------------


class Pause:
    def request_feedback(self, context, flow):
        raise HumanFeedbackPending(context=context)


@pytest.fixture
def paused(tmp_path):
    async def paused(llm=None, **options):
        store = SQLiteFlowPersistence(str(tmp_path / "flows.db"))
        flow = review_flow(llm or scripted("approved"), provider=Pause(), **options)
        result = await flow(persistence=store).kickoff_async()
        assert isinstance(result, HumanFeedbackPending)
        return flow, lambda: flow.from_pending(result.context.flow_id, store)

    return paused


async def test_a_durable_pause_is_resumed_by_an_outcome_without_a_model(paused):
    with install():
        flow, again = await paused()
        await again().resume_async("rejected")
    assert (flow.published, flow.dropped) == ([], ["rejected"])


async def test_a_durable_pause_resumed_without_words_approves_nothing_and_stays_pending(paused):
    with install():
        flow, again = await paused()
        with pytest.raises(NotApproved, match="default_outcome"):
            await again().resume_async()
        assert (flow.published, flow.dropped) == ([], [])
        await again().resume_async("approved")
    assert flow.published == ["approved"]


async def test_a_durable_pause_that_is_resumed_in_words_needs_a_person_to_confirm_how_they_are_read(paused):
    # A model of an object's own would not outlive the pause.
    with ScriptedModel([lambda request: '{"outcome": "approved"}'] * 9) as model:
        with install():
            flow, again = await paused(model.name)
            with pytest.raises(NoHumanError):
                await again().resume_async("no!")
        with install(people=ScriptedPerson([False])), pytest.raises(NotApproved, match="does not mean `approved`"):
            await again().resume_async("no!")
        assert (flow.published, flow.dropped) == ([], [])
        with install(people=ScriptedPerson([True])):
            await again().resume_async("yes, publish it")
    assert flow.published == ["yes, publish it"]


async def test_the_default_outcome_of_a_resumed_pause_is_the_authors_own_word(paused):
    with install():
        flow, again = await paused(default_outcome="rejected")
        await again().resume_async()
    assert (flow.published, len(flow.dropped)) == ([], 1)


# -- flow.ask() -------------------------------------------------------------------------------------------------


def asking_flow(**options: Any) -> type:
    class AskFlow(Flow):
        @start()
        def greet(self):
            return f"Hello, {self.ask('Your name?', **options)}!"

    return AskFlow


async def test_a_sync_step_asks_and_goes_on_with_the_answer():
    with ScriptedPerson({"greet": ["Ada"]}) as person, install(people=person):
        assert await asking_flow()().kickoff_async() == "Hello, Ada!"
    assert person.asked[0].message == "Your name?"


@no_answers
async def test_no_answer_is_an_error_and_never_none(person, error):
    with install(people=person), pytest.raises(error):
        await asking_flow()().kickoff_async()


async def test_the_step_itself_can_take_a_no():
    class Polite(Flow):
        @start()
        def greet(self):
            try:
                return self.ask("Your name?")
            except Declined:
                return "stranger"

    with install(people=ScriptedPerson([lambda call: call.decline()])):
        assert await Polite().kickoff_async() == "stranger"


async def test_the_time_that_the_step_gives_is_the_questions_and_leaves_nothing_open():
    calls = []

    async def waits(call):
        calls.append(call)
        await until_decided(call)

    with install(people=waits):
        assert await asking_flow(timeout=0.05)().kickoff_async() == "Hello, None!"
    assert calls[0].outcome == "expired"
    assert pending() == []


async def test_an_async_step_is_told_the_line_to_write():
    class Async(Flow):
        @start()
        async def greet(self):
            return self.ask("Your name?")

    with install(people=ScriptedPerson([])), pytest.raises(UsageError, match=r"await asyncio\.to_thread\(self\.ask"):
        await Async().kickoff_async()


async def test_that_line_works():
    class Async(Flow):
        @start()
        async def greet(self):
            return await asyncio.to_thread(self.ask, "Your name?")

    with install(people=ScriptedPerson(["Ada"])):
        assert await Async().kickoff_async() == "Ada"


async def test_several_steps_that_ask_at_once_get_each_their_own_answer():
    class Two(Flow):
        @start()
        def one(self):
            self.state["one"] = self.ask("One?")

        @start()
        def two(self):
            self.state["two"] = self.ask("Two?")

    async def answers_in_words(call):
        while len(pending()) < 2 and not any(done):
            await asyncio.sleep(0.01)
        done.append(call)
        call.respond(f"answer to {call.message}")

    done: list[Any] = []
    flow = Two()
    with install(people=answers_in_words):
        await flow.kickoff_async()
    assert (flow.state["one"], flow.state["two"]) == ("answer to One?", "answer to Two?")


def test_a_script_may_kick_off_a_flow_synchronously():
    with install(people=ScriptedPerson(["Ada"])):
        assert asking_flow()().kickoff() == "Hello, Ada!"
    flow = review_flow(scripted("rejected"))
    with install(people=ScriptedPerson(["approved"])):
        flow().kickoff()
    assert flow.published == ["approved"]
