"""What people decided, in sessions and at checkpoints: the same decision again, or an error; never another one."""

import asyncio
import json
from dataclasses import dataclass

import pandas
import pytest
from pydantic import BaseModel, Field, SecretStr

from hitl_nb import Journal, Session, approve, ask, choose, human_in_the_loop, interrupt, on_interrupt, review, use
from hitl_nb.errors import Declined, Expired, ReplayMismatch, ScriptError
from hitl_nb.journal import open_journal
from hitl_nb.people import AllOf, Escalate, Policy, Remember, ScriptedPerson, allow, deny
from hitl_nb.testing import ScriptedModel, calls, record, replay
from tests.flow.dialogue import STEPS, keep_first, plan, the_model, told
from tests.unit.test_agent_checkpoints import Interrupting, resumed, stop

pytestmark = pytest.mark.timeout(300)


class Budget(BaseModel):
    euros: int


@pytest.fixture
def path(tmp_path):
    return tmp_path / "case.json"


async def recorded(path, dialogue, *answers):
    """Record `dialogue`, a function of the people; gives what it returns."""
    with record(path):
        return await dialogue(ScriptedPerson(answers, name="ada"))


async def replayed(path, dialogue):
    with replay(path):
        return await dialogue(None)


async def outcome_of(awaitable):
    try:
        return await awaitable
    except (Declined, Expired) as error:
        return error.call


async def test_checkpoints_outside_of_sessions_are_replayed_with_typed_answers(path):
    async def dialogue(people):
        return [
            await interrupt("How much?", answer=Budget, people=people),
            await approve("Go?", {"rows": 3}, people=people),
            await ask("Your name?", people=people),
            await review({"a": 1, "b": [2]}, people=people),
        ]

    answers = await recorded(path, dialogue, {"euros": 3}, True, "Ada", {"a": 1, "b": [2, 3]})
    assert await replayed(path, dialogue) == answers == [Budget(euros=3), True, "Ada", {"a": 1, "b": [2, 3]}]


@pytest.mark.parametrize(
    "decide",
    [
        lambda call: call.decline("no money"),
        lambda call: call.answer_instead("use the other table"),
        lambda call: call.respond({"euros": 2}, reason="cheaper"),
        lambda call: call.cancel("moot"),
    ],
    ids=["declined", "answered instead", "edited", "cancelled"],
)
async def test_the_model_is_told_the_same_of_every_kind_of_decision(path, decide):
    @human_in_the_loop
    def spend(euros: int) -> Budget:
        """Spend."""

    async def dialogue(people):
        session = plan(people, tools=[spend])
        reply = await session.run("Go")
        call = reply.calls[0]
        return told(session), (call.outcome, call.answer, call.edits, call.reason, call.answered_by)

    with ScriptedModel([calls("spend", euros=3), lambda request: request.messages[-1]["content"]]):
        before = await recorded(path, dialogue, decide)
    assert await replayed(path, dialogue) == before


async def test_what_was_confirmed_as_proposed_is_given_back_as_the_very_object(path):
    frame = pandas.DataFrame({"id": [1, 2]})

    async def dialogue(people):
        return await interrupt("Delete these?", frame, people=people)

    assert await recorded(path, dialogue, frame) is frame
    assert await replayed(path, dialogue) is frame
    frame.loc[0, "id"] = 7
    with pytest.raises(ReplayMismatch, match="sha256"):
        await replayed(path, dialogue)


async def test_an_answer_that_json_cannot_hold_is_an_error_and_no_other_answer(path):
    async def dialogue(people):
        return await interrupt("Which table?", people=people)

    await recorded(path, dialogue, pandas.DataFrame({"id": [1]}))
    with pytest.raises(ReplayMismatch, match=r"the answer was a `pandas\S*DataFrame`, which the file cannot hold"):
        await replayed(path, dialogue)


async def test_chosen_objects_are_found_among_the_options(path):
    @dataclass(frozen=True)
    class City:
        name: str

    cities = [City("Rome"), City("Oslo"), City("Bern")]

    async def dialogue(people):
        return [
            await choose("Where?", cities, people=people),
            await choose("And?", cities, multiple=True, people=people),
        ]

    await recorded(path, dialogue, cities[1], [cities[2], cities[0]])
    one, several = await replayed(path, dialogue)
    assert one is cities[1]
    assert several == [cities[2], cities[0]]


async def test_equal_questions_asked_at_once_keep_their_own_answers_in_whatever_order_they_were_decided(path):
    async def dialogue(people):
        asked = [asyncio.create_task(interrupt("Go?", people=people)) for _ in range(3)]
        return await asyncio.gather(*asked)

    async def in_order(call):
        numbers.append(call)
        number = len(numbers)
        await asyncio.sleep(0.05 * (3 - number))
        call.respond(number)

    numbers = []
    with record(path):
        assert await dialogue(in_order) == [1, 2, 3]
    assert [answer["answer"] for answer in json.loads(path.read_text())["answers"]] == [3, 2, 1]
    assert await replayed(path, dialogue) == [1, 2, 3]


async def test_time_that_was_up_is_up_at_once_in_the_replay(path):
    async def never(call):
        await asyncio.Event().wait()

    async def dialogue(people):
        people = people and never
        call = await outcome_of(interrupt("Now?", timeout=0.01 if people else 3600, people=people))
        value = await interrupt("And now?", timeout=0.01 if people else 3600, if_expired="late", people=people)
        return call.outcome, value

    assert await recorded(path, dialogue) == await replayed(path, dialogue) == ("expired", "late")


async def test_several_people_a_rule_and_an_escalation_are_one_recorded_answer_each(path):
    async def ada(call):
        call.respond(call.args, by="ada")

    async def bob(call):
        call.respond(call.args, by="bob")

    async def asleep(call):
        await asyncio.Event().wait()

    async def dialogue(people):
        four_eyes = people and AllOf(ada, bob)
        late = people and Escalate(asleep, after=0.01, to=bob)
        rule = people and [Policy(allow("small", kind="interrupt")), ada]
        return [
            await interrupt("Both?", {"a": 1}, people=four_eyes),
            await interrupt("Late?", {"b": 1}, people=late),
            await interrupt("Rule?", {"c": 1}, name="small", people=rule),
        ]

    assert await recorded(path, dialogue) == await replayed(path, dialogue)
    assert [answer["by"] for answer in json.loads(path.read_text())["answers"]] == [
        "ada and bob",
        "bob",
        "policy: allow small",
    ]


async def test_a_checkpoint_of_the_agent_is_replayed_and_its_handler_is_code_that_answers_again(path):
    handled = []

    async def handler(call):
        if call.id == "mine":
            handled.append(call.id)
            call.respond({"approved": True})

    async def dialogue(people):
        agent = Interrupting(stop("mine", "theirs"), then=["Done."])
        await Session(agent, interrupts=[on_interrupt(handler=handler)], people=people).run("Go")
        return resumed(agent)

    before = await recorded(path, dialogue, {"approved": True, "limit": 3})
    assert await replayed(path, dialogue) == before
    assert [entry[0] for entry in before] == ["mine", "theirs"]
    assert handled == ["mine", "mine"]
    assert [answer["question"] for answer in json.loads(path.read_text())["answers"]] == ["theirs?"]


@human_in_the_loop
def spend(euros: int) -> Budget:
    """Spend."""


async def approves(call):
    call.respond({"euros": call.args.euros}, by="ada")


@pytest.mark.parametrize(
    "people",
    [
        lambda: [Policy(deny("spend")), approves],
        lambda: [approves, Policy(deny("spend"))],
        lambda: AllOf(approves, Policy(deny("spend"))),
        lambda: Escalate(Policy(deny("spend")), after=60, to=approves),
        lambda: [passes, Remember(Policy(deny("spend"))), approves],
    ],
    ids=["first", "last", "among all", "escalating", "remembering"],
)
async def test_what_a_rule_forbids_before_anybody_is_asked_is_recorded_and_forbidden_again(path, people):
    async def dialogue(people):
        session = plan(people, tools=[spend])
        reply = await session.run("Go")
        return told(session), [(call.outcome, call.reason, call.answered_by) for call in reply.calls[-1:]]

    with ScriptedModel([calls("spend", euros=3), lambda request: request.messages[-1]["content"]]), record(path):
        before = await dialogue(people())
    assert before[1][0][0] == "declined"
    assert [answer["outcome"] for answer in json.loads(path.read_text())["answers"]] == ["declined"]
    assert await replayed(path, dialogue) == before


async def passes(call):
    pass


async def test_who_answers_one_of_several_in_turn_is_recorded_once_with_what_they_changed(path):
    async def cuts(call):
        call.respond(call.args.steps[:1], reason="cheaper", by="bob")

    async def dialogue(people):
        session = plan(people)
        (call,) = (await session.run("Go")).calls
        return told(session), (call.outcome, call.answer, call.edits, call.reason, call.answered_by)

    with the_model(), record(path):
        before = await dialogue([passes, cuts])
    outcome, _, edits, *_ = before[1]
    assert (outcome, [edit["path"] for edit in edits]) == ("edited", ["steps[1]"])
    assert len(json.loads(path.read_text())["answers"]) == 1
    assert await replayed(path, dialogue) == before


async def test_an_agents_question_that_comes_again_under_the_same_id_keeps_an_answer_of_its_own(path):
    async def dialogue(people):
        agent = Interrupting(stop("same"), stop("same"), then=["Done."])
        await Session(agent, people=people).run("Go")
        return resumed(agent, 1), resumed(agent, 2)

    before = await recorded(path, dialogue, "first", "second")
    assert [entry[2] for (entry,) in before] == ["first", "second"]
    assert [answer["call"] for answer in json.loads(path.read_text())["answers"]] == ["question_1", "question_2"]
    assert await replayed(path, dialogue) == before


async def test_one_is_not_true_in_a_replay(path):
    async def dialogue(people):
        return await interrupt("How many?", answer=int | bool, people=people)

    for answer in (1, True, 0, False):
        assert type(await recorded(path, dialogue, answer)) is type(await replayed(path, dialogue)) is type(answer)


# -- anything else is an error --------------------------------------------------------------------------------


async def test_a_changed_question_is_an_error_that_shows_the_change(path):
    async def dialogue(people, rows=3):
        return await approve("Delete?", {"rows": rows}, people=people)

    await recorded(path, dialogue, True)
    with pytest.raises(ReplayMismatch) as caught, replay(path):
        await dialogue(None, rows=3000)
    assert "-  rows: 3\n+  rows: 3000" in caught.value.diff
    with pytest.raises(ReplayMismatch, match=r"no answer left to a question of `ask`"), replay(path):
        await ask("Delete?", {"rows": 3})


async def test_a_question_more_and_a_question_less_are_errors(path):
    async def dialogue(people, times=1):
        return [await approve("Go?", people=people) for _ in range(times)]

    await recorded(path, dialogue, True)
    with pytest.raises(ReplayMismatch, match="no answer left"), replay(path):
        await dialogue(None, times=2)
    with pytest.raises(ScriptError, match=r"the answer to `approve` \(question_1\)"), replay(path):
        await dialogue(None, times=0)


async def test_a_narrower_type_of_the_answer_is_an_error(path):
    class Small(BaseModel):
        euros: int = Field(le=2)

    async def dialogue(people, answer=Budget):
        return await interrupt("How much?", answer=answer, people=people)

    await recorded(path, dialogue, {"euros": 3})
    with pytest.raises(ReplayMismatch, match="cannot be answered as in"), replay(path):
        await dialogue(None, answer=Small)


async def test_an_answer_that_was_given_after_one_that_is_not_asked_any_more_is_an_error_in_the_end(path, monkeypatch):
    monkeypatch.setattr("hitl_nb.testing._replay._PATIENCE", 0.1)

    async def dialogue(people, questions=("A?", "B?")):
        return [await approve(question, people=people) for question in questions]

    await recorded(path, dialogue, True, True)
    with pytest.raises(ReplayMismatch, match=r"answered after `approve` \(question_1\)"), replay(path):
        await dialogue(None, questions=["B?"])


# -- the journal and the secrets ------------------------------------------------------------------------------


async def test_a_replay_writes_nothing_into_the_journal_and_finds_nothing_there(path, tmp_path):
    async def dialogue(people):
        return await approve("Delete?", {"rows": 3}, key="delete", people=people)

    with use(journal=tmp_path / "journal.sqlite"):
        assert await recorded(path, dialogue, True) is True
        before = len(list(open_journal() or ()))
        assert await replayed(path, dialogue) is True
        assert await replayed(path, dialogue) is True
        assert len(list(open_journal() or ())) == before


async def test_a_decision_that_the_journal_remembered_while_recording_is_in_the_case(path, tmp_path):
    async def dialogue(people):
        return await approve("Delete?", {"rows": 3}, key="delete", people=people)

    with use(journal=tmp_path / "journal.sqlite"):
        await dialogue(ScriptedPerson([True], name="ada"))
        with record(path):
            same_script = ScriptedPerson([True], name="ada")
            assert await dialogue(same_script) is True
    assert same_script.asked == []
    with use(journal="off"):
        assert await replayed(path, dialogue) is True


class Login(BaseModel):
    user: str
    token: str = Field(json_schema_extra={"format": "password"})


async def test_secrets_are_stars_in_the_file_wherever_they_turn_up_and_the_case_replays(path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "key-of-the-environment")

    @human_in_the_loop
    def log_in(hint: str, password: SecretStr) -> Login:
        """Log in."""

    async def dialogue(people):
        session = plan(people, tools=[log_in])
        await session.run("Log in, the key is key-of-the-environment")
        return session

    def quotes(request):
        return f"You said {request.messages[-1]['content']}"

    with ScriptedModel([calls("log_in", hint="old: hunter2hunter2", password="hunter2hunter2"), quotes]):
        before = await recorded(path, dialogue, {"user": "ada", "token": "s3cret-t0ken"})
    text = path.read_text()
    for secret in ("hunter2", "s3cret-t0ken", "key-of-the-environment"):
        assert secret not in text
    assert "s3cret-t0ken" in told(before)[-1]["content"]
    again = await replayed(path, dialogue)
    assert told(again)[-1]["content"] == 'You said {"user":"ada","token":"**********"}'
    assert len(told(again)) == len(told(before))


async def test_explicit_people_of_a_session_and_of_a_checkpoint_are_not_asked(path):
    async def dialogue(people):
        return [await approve("Go?", people=people), (await plan(people).run("Go")).calls[0].answer]

    with the_model():
        before = await recorded(path, dialogue, True, keep_first)

    async def somebody_else(call):
        raise AssertionError("asked")

    with replay(path):
        assert await dialogue([somebody_else, somebody_else]) == before
    assert STEPS[0]["description"] == before[1][0].description


async def test_an_explicit_journal_records_a_replayed_decision_as_such(path, tmp_path):
    journal = Journal(tmp_path / "journal.sqlite")

    async def dialogue(people, journal="memory"):
        return await plan(people, journal=journal).run("Go")

    with the_model():
        await recorded(path, dialogue, keep_first)
    with replay(path):
        await dialogue(None, journal)
    assert [event["via"] for event in journal if event["event"] == "answered"] == ["replay"]
