"""A session with a model and a person, recorded once, and replayed without both."""

import asyncio
import contextlib
import json

import litellm
import pytest
from litellm import acompletion, completion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent
from hitl_nb.errors import ReplayMismatch, ScriptError, UsageError
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, record, replay
from tests.flow.dialogue import STEPS, Step, Trip, keep_first, no_network, plan, propose, the_model, told
from tests.flow.shapes import Shape, f, provider

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "case.json"


@pytest.fixture
async def recorded(path):
    """The messages of a recorded session, whose file is `path`."""
    with the_model(), record(path):
        session = plan(ScriptedPerson([keep_first], name="ada"))
        await session.run("Plan a trip")
    return told(session)


# -- the same again -------------------------------------------------------------------------------------------


async def test_a_replay_calls_no_model_asks_nobody_and_ends_in_the_same_messages(recorded, path, monkeypatch):
    async def nobody(call):
        raise AssertionError("a person was asked")

    with no_network(monkeypatch), the_model() as model, replay(path):
        session = plan(nobody)
        reply = await session.run("Plan a trip")
    assert model.requests == []
    assert told(session) == recorded
    edited = json.loads(recorded[-1]["content"].removeprefix("Then: "))
    assert (edited["status"], edited["value"]) == ("edited", [{"description": "pack", "on": True}])
    decision = reply.calls[0]
    assert (decision.answer, decision.answered_by, decision.via) == ([Step(description="pack")], "ada", "replay")
    assert (decision.outcome, [edit["path"] for edit in decision.edits]) == ("edited", ["steps[1]"])


async def test_the_same_dialogue_gives_the_same_bytes_whatever_ids_and_pieces_the_provider_sends(recorded, path):
    first = path.read_bytes()
    with the_model(id="toolu_01XyZ", fragment=3), record(path):
        await plan(ScriptedPerson([keep_first], name="ada")).run("Plan a trip")
    assert path.read_bytes() == first
    assert first.endswith(b"}\n")


async def test_a_person_of_the_users_own_is_recorded_like_any_other(path):
    async def ada(call):
        await asyncio.sleep(0)
        call.decline("too far", by="ada")

    with the_model(), record(path):
        session = plan(ada)
        await session.run("Plan a trip")
    with replay(path):
        again = plan()
        reply = await again.run("Plan a trip")
    assert told(again) == told(session)
    assert (reply.calls[0].outcome, reply.calls[0].reason) == ("declined", "too far")


async def test_what_a_request_repeats_of_the_one_before_is_written_once(recorded, path):
    turns = json.loads(path.read_text())["turns"]
    assert turns[1]["request"]["messages"][0] == {"same": 2}
    assert set(turns[1]["request"]) == {"messages"}
    assert path.read_text().count("You plan trips.") == 1


@pytest.mark.parametrize(
    "model", ["gpt-4o", "anthropic/claude-sonnet-4-5", "ollama_chat/qwen3", "gemini/gemini-2.5-pro"]
)
async def test_a_replay_answers_for_models_of_any_name(recorded, path, model, monkeypatch):
    monkeypatch.setattr(Trip, "model", model)
    with no_network(monkeypatch), replay(path):
        session = plan()
        await session.run("Plan a trip")
    assert told(session) == recorded


async def test_parallel_calls_keep_their_own_answers_and_the_order_in_which_they_were_decided(path):
    both = [calls("propose", steps=STEPS), calls("propose", steps=STEPS)]
    order = []

    async def second_first(call):
        if call.id == "call_1":
            await done.wait()
        call.respond([] if call.id == "call_1" else call.args.steps)
        done.set()

    async def noted(session):
        await session.run("Go")
        order.append([call.id for call in sorted(session_calls(session), key=lambda call: call.answered_at)])
        return [m["content"] for m in told(session) if m["role"] == "tool"]

    def session_calls(session):
        return session._run.transcript.calls

    done = asyncio.Event()
    with ScriptedModel([both, "Done."]), record(path):
        answers = await noted(plan(second_first))
    with replay(path):
        assert await noted(plan()) == answers
    assert order == [["call_2", "call_1"]] * 2
    assert [json.loads(answer).get("value") for answer in answers[:1]] == [[]]
    assert json.loads(answers[1]) == [Step.model_validate(step).model_dump() for step in STEPS]


async def test_what_code_decides_by_itself_is_not_recorded_and_decided_again(path):
    from hitl_nb import frontend_tool, gate

    ran = []

    @gate(when=lambda args: args.amount > 100)
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    @frontend_tool
    def look() -> str:
        """Look."""
        return "nothing"

    turns = [[calls("pay", amount=5), calls("look"), calls("pay", amount=500), calls("pay", amount="x")], "Done."]
    with ScriptedModel(turns), record(path):
        session = plan(ScriptedPerson([lambda call: call.args], name="ada"), tools=[pay, look])
        await session.run("Go")
    assert [answer["args"] for answer in json.loads(path.read_text())["answers"]] == [{"amount": 500}]
    with replay(path):
        again = plan(tools=[pay, look])
        await again.run("Go")
    assert told(again) == told(session)
    assert ran == [5, 500, 5, 500]


async def test_a_question_that_was_still_open_when_the_run_was_stopped_stays_open_in_the_replay(path):
    async def stopped(person):
        session = plan(person)
        run = session.start("Plan a trip")
        while not session.pending:
            assert run.status == "running", run
            await asyncio.sleep(0.01)
        run.stop()
        await run.settled()
        return told(session)

    async def thinking(call):
        await asyncio.Event().wait()

    with the_model(), record(path):
        messages = await stopped(thinking)
    with replay(path):
        assert await stopped(None) == messages


async def test_a_question_that_was_stopped_before_anybody_was_asked_is_asked_of_nobody_in_the_replay(path):
    async def stopped(person):
        session = plan(person)
        run = session.start("Plan a trip")

        def at_once(entry):
            if hasattr(entry, "call"):
                entry.call.observe(lambda change: run.stop() if change.new == "executing" else None, "status")

        with run.transcript.watched(at_once):
            await run.settled()
        return told(session)

    async def nobody(call):
        raise AssertionError("a person was asked")

    with the_model(), record(path):
        messages = await stopped(nobody)
    assert [answer["outcome"] for answer in json.loads(path.read_text())["answers"]] == ["aborted"]
    with replay(path):
        assert await stopped(None) == messages
    with replay(path):
        run = plan().start("Plan a trip")
        while run.status != "waiting":
            await asyncio.sleep(0.01)
        run.stop()
        await run.settled()


# -- other ways to call a model -------------------------------------------------------------------------------


async def test_a_chat_agent_is_recorded_and_replayed(path):
    with the_model(), record(path):
        session = Session(
            ChatAgent("openai/gpt-4o", system="Hi."), tools=[propose], people=ScriptedPerson([keep_first])
        )
        await session.run("Go")
    with replay(path):
        again = Session(ChatAgent("openai/gpt-4o", system="Hi."), tools=[propose])
        await again.run("Go")
    assert told(again) == told(session)


@pytest.mark.parametrize("stream", [True, False])
async def test_plain_calls_of_litellm_are_recorded_too_also_synchronous_ones(path, stream):
    question = {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "Hi?"}], "stream": stream}

    def text(response):
        return "".join(c.choices[0].delta.content or "" for c in response) if stream else said(response)

    def said(response):
        return response.choices[0].message.content

    async def both():
        first = await acompletion(**question)
        first = "".join([c.choices[0].delta.content or "" async for c in first]) if stream else said(first)
        return [first, await asyncio.to_thread(lambda: text(completion(**question)))]

    with ScriptedModel(["One.", "Two."]), record(path):
        assert await both() == ["One.", "Two."]
    with replay(path):
        assert await both() == ["One.", "Two."]


async def test_options_that_only_some_providers_know_reach_the_model(path):
    options = {"user": "me", "reasoning_effort": "low", "temperature": 0.5, "top_k": 3, "seed": 1}
    question = {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "Hi?"}], **options}
    with ScriptedModel(["Hi."]) as model, record(path):
        # The scripted provider refuses what a custom provider does not know; a real one would not.
        await acompletion(**question, allowed_openai_params=["user", "reasoning_effort"])
    assert options.items() <= model.requests[0].options.items()
    assert json.loads(path.read_text())["turns"][0]["request"]["options"].items() >= options.items()
    with replay(path):
        await acompletion(**question)


async def test_calls_whose_pieces_the_provider_mixes_up_are_recorded_as_the_agent_understood_them(path):
    ollama = Shape(
        name="two whole calls at one place",
        deltas=[
            [f(0, "call_0", "propose", '{"steps": []}')],
            [f(0, "call_7", "propose", '{"steps": [{"description": "x"}]}')],
        ],
        chat=([], 0),
    )
    with provider(ollama, "Done."), record(path):
        session = Session(ChatAgent("openai/gpt-4o"), tools=[propose], people=ScriptedPerson([keep_first, keep_first]))
        await session.run("Go")
    assert [part["args"] for part in json.loads(path.read_text())["turns"][0]["reply"]] == [
        {"steps": []},
        {"steps": [{"description": "x"}]},
    ]
    with replay(path):
        again = Session(ChatAgent("openai/gpt-4o"), tools=[propose])
        await again.run("Go")
    assert [m["content"] for m in told(again) if m["role"] == "tool"] == ["[]", '[{"description":"x","on":true}]']


async def test_an_answer_that_was_cut_off_is_cut_off_again(path):
    cut = Shape(name="cut", deltas=["Half a sent"], finish="length", chat=([], 0))
    question = {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "Hi?"}]}
    with provider(cut), record(path):
        async for _ in await acompletion(**question, stream=True):
            pass
    with replay(path):
        assert (await acompletion(**question)).choices[0].finish_reason == "length"


# -- anything else is an error --------------------------------------------------------------------------------


async def test_a_changed_prompt_is_an_error_that_shows_the_change_and_what_to_write(recorded, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(Trip, "prompt", "You plan short trips.")
    with pytest.raises(ReplayMismatch) as caught, replay("case.json"):
        await plan().run("Plan a trip")
    assert caught.value.diff.splitlines()[0] == "--- case.json, turn 1"
    assert '-    content: "You plan trips."\n+    content: "You plan short trips."' in caught.value.diff
    assert caught.value.diff in str(caught.value)
    assert str(caught.value).endswith("record it again: `with record('case.json'): ...`.")


async def test_the_error_arrives_as_itself_where_the_session_is_awaited_and_once_more_at_the_end(recorded, path):
    async def caught():
        with pytest.raises(ReplayMismatch, match="Venus"):
            await plan().run("Plan a trip to Venus")
        await plan().run("Plan a trip")

    with pytest.raises(ReplayMismatch, match="Venus"), replay(path):
        await caught()


async def test_a_changed_tool_schema_is_an_error(recorded, path):
    @human_in_the_loop
    def propose(steps: list[Step], why: str) -> list[Step]:
        """Propose the steps."""

    with pytest.raises(ReplayMismatch) as caught, replay(path):
        await plan(tools=[propose]).run("Plan a trip")
    assert '+          - "why"\n' in caught.value.diff


async def test_a_changed_option_is_an_error(recorded, path, monkeypatch):
    monkeypatch.setattr(Trip, "options", {"temperature": 0.9})
    with pytest.raises(ReplayMismatch, match="temperature: 0.9"), replay(path):
        await plan().run("Plan a trip")


async def test_another_answer_than_recorded_cannot_be_continued_by_the_model(recorded, path):
    text = path.read_text()
    answers = text.rindex('"answers"')
    path.write_text(text[:answers] + text[answers:].replace('"pack"', '"swim"', 1).replace('"pack"', '"swim"'))
    with pytest.raises(ReplayMismatch, match="asks something else|something else than in turn 2"), replay(path):
        await plan().run("Plan a trip")


async def test_one_request_too_many_is_an_error(recorded, path):
    async def there_and_back():
        session = plan()
        await session.run("Plan a trip")
        await session.run("And back")

    with pytest.raises(ReplayMismatch, match="once more than the 2 times"), replay(path):
        await there_and_back()


async def test_a_mismatch_that_the_agent_has_caught_is_raised_at_the_end(recorded, path):
    async def careless():
        with contextlib.suppress(Exception):
            await acompletion(model="openai/gpt-4o", messages=[{"role": "user", "content": "Other."}])
        await plan().run("Plan a trip")

    with pytest.raises(ReplayMismatch, match="Other"), replay(path):
        await careless()


async def test_what_nothing_asked_for_is_named_at_the_end(recorded, path):
    with (
        pytest.raises(
            ScriptError, match=r"turn 1 \(after 'Plan a trip'\), turn 2 .*the answer to `propose` \(call_1\)"
        ),
        replay(path),
    ):
        pass


async def test_a_file_that_is_not_there_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(ScriptError, match=r"`nothing.json` is not there. Record it: `with record\('nothing.json'\)"),
        replay("nothing.json"),
    ):
        pass


@pytest.mark.parametrize("text", ["{", "[]", '{"hitl_nb_case": 99}', '{"hitl_nb_case": 1}'])
async def test_a_file_that_is_no_case_is_an_error(path, text):
    path.write_text(text)
    with pytest.raises(ScriptError, match="Record it again"), replay(path):
        pass


async def test_replaying_while_recording_is_refused(recorded, path):
    with pytest.raises(UsageError, match="after the other"), replay(path), record(path):
        pass
    with pytest.raises(UsageError, match="after the other"), record(path), replay(path):
        pass


# -- what is left behind --------------------------------------------------------------------------------------


async def test_an_exception_leaves_the_old_file_and_no_other(recorded, path):
    before = path.read_bytes()

    async def fails():
        await plan(ScriptedPerson([keep_first])).run("Plan a trip")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), the_model(), record(path):
        await fails()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


async def test_afterwards_litellm_is_as_it_was(recorded, path):
    aliases, providers = litellm.model_alias_map, list(litellm.custom_provider_map)
    before = dict(aliases)
    refused = {"model": "recorded/x", "messages": [{"role": "user", "content": "?"}], "user": "me"}
    with replay(path), ScriptedModel(["Kept."], alias="mine"):
        await plan().run("Plan a trip")
    assert litellm.model_alias_map is aliases
    assert dict(aliases) == before
    assert litellm.custom_provider_map[: len(providers)] == providers
    assert "recorded" not in [entry["provider"] for entry in litellm.custom_provider_map]
    with pytest.raises(Exception, match="does not support parameters|NOT provided|Unmapped|recorded"):
        await acompletion(**refused)


async def test_a_failed_request_is_no_turn(path):
    with the_model() as model, record(path):
        with pytest.raises(litellm.BadRequestError):
            await acompletion(model="no-such-model", messages=[{"role": "user", "content": "?"}])
        await plan(ScriptedPerson([keep_first])).run("Plan a trip")
    assert len(json.loads(path.read_text())["turns"]) == len(model.requests) == 2
