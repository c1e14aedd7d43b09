"""What a model thought goes back to it, word for word: a server of each kind refuses the thread otherwise."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from crewai.flow.flow import Flow, start
from litellm import acompletion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent
from hitl_nb.testing import ScriptedPerson, record, replay
from tests.flow import strict
from tests.flow.strict import StrictServer, serving
from tests.flow.valid import Recorded

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True, kw_only=True)
class Provider:
    name: str
    model: str
    rule: strict.Rule
    asks: Callable[[int, str], list[Any]]
    says: Callable[[str], list[Any]]
    shown: str | None = "Which wall? Ask."
    options: Any = None


PROVIDERS = [
    Provider(
        name="Anthropic, signed and redacted blocks",
        model="anthropic/claude-sonnet-4-5",
        rule=strict.anthropic,
        asks=strict.anthropic_asks,
        says=strict.anthropic_says,
        options={"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000},
    ),
    Provider(
        name="DeepSeek, reasoning_content",
        model="deepseek/deepseek-reasoner",
        rule=strict.deepseek,
        asks=strict.deepseek_asks,
        says=strict.openai_says,
    ),
    Provider(
        name="OpenRouter, reasoning_details",
        model="openrouter/google/gemini-3-pro",
        rule=strict.openrouter,
        asks=strict.openrouter_asks,
        says=strict.openai_says,
    ),
    Provider(
        name="Gemini over OpenAI's wire, signatures on calls",
        model="openai/gemini-3-pro",
        rule=strict.gemini,
        asks=strict.gemini_asks,
        says=strict.openai_says,
        shown=None,
    ),
]


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


def chat_agent(provider: Provider, url: str) -> Any:
    return ChatAgent(provider.model, api_base=url, api_key="k", **(provider.options or {}))


def flow_agent(provider: Provider, url: str) -> Any:
    class Chat(Flow[CopilotKitState]):
        @start()
        async def chat(self):
            stream = await acompletion(
                model=provider.model,
                messages=[{"role": "system", "content": "Be brief."}, *self.state.messages],
                tools=[*self.state.copilotkit.actions],
                stream=True,
                api_base=url,
                api_key="k",
                **(provider.options or {}),
            )
            self.state.messages.append((await copilotkit_stream(stream)).choices[0].message)

    return Chat


def rebuilding_flow_agent(provider: Provider, url: str) -> Any:
    """A Flow that makes the messages of its requests itself, out of what it knows."""

    class Chat(Flow[CopilotKitState]):
        @start()
        async def chat(self):
            known = ("role", "content", "tool_calls", "tool_call_id")
            messages = [{key: it[key] for key in known if it.get(key)} for it in self.state.messages]
            stream = await acompletion(
                model=provider.model,
                messages=messages,
                tools=[*self.state.copilotkit.actions],
                stream=True,
                api_base=url,
                api_key="k",
                **(provider.options or {}),
            )
            message = (await copilotkit_stream(stream)).choices[0].message
            said = message.model_dump(exclude_none=True)
            self.state.messages.append({key: said[key] for key in known if key in said})

    return Chat


AGENTS = [chat_agent, flow_agent, rebuilding_flow_agent]
QUESTION = '{"question": "Which wall?"}'


@pytest.mark.parametrize("agent_of", AGENTS, ids=lambda it: it.__name__)
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
async def test_between_a_question_and_its_answer_and_over_a_restart(provider, agent_of, tmp_path):
    turns = [provider.asks(1, QUESTION), provider.says("Noted."), provider.asks(2, QUESTION), provider.says("Done.")]
    journal = tmp_path / "journal.sqlite"
    with serving(StrictServer(turns, provider.rule)) as server, ScriptedPerson(["north", "south"]) as person:
        restored = partial(Session, tools=[ask], people=[person], journal=journal, thread_id="t")
        first = await restored(agent_of(provider, server.url)).run("Paint a wall")
        second = await restored(agent_of(provider, server.url)).run("Another one")

    assert (first.text, second.text) == ("Noted.", "Done.")
    assert len(server.bodies) == 4
    assert not server.refusals
    shown = [message.content for message in second.messages if message.role == "reasoning"]
    assert shown == [provider.shown] * 2 if provider.shown else not shown


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
async def test_within_one_run_of_a_flow_that_answers_a_call_itself(provider):
    turns = [provider.asks(1, QUESTION), provider.says("Done.")]

    class Working(Flow[CopilotKitState]):
        @start()
        async def chat(self):
            for _ in range(2):
                stream = await acompletion(
                    model=provider.model,
                    messages=self.state.messages,
                    tools=[*self.state.copilotkit.actions],
                    stream=True,
                    api_base=server.url,
                    api_key="k",
                    **(provider.options or {}),
                )
                message = (await copilotkit_stream(stream)).choices[0].message
                self.state.messages.append(message)
                for call in message.tool_calls or ():
                    self.state.messages.append({"role": "tool", "tool_call_id": call.id, "content": "north"})

    with serving(StrictServer(turns, provider.rule)) as server:
        reply = await Session(Working, tools=[ask]).run("Paint a wall")
    assert reply.text == "Done."
    assert not server.refusals


@pytest.mark.parametrize("agent_of", [chat_agent, flow_agent], ids=lambda it: it.__name__)
async def test_another_provider_is_not_told_what_this_one_thought(agent_of, tmp_path):
    asks, says = PROVIDERS[1], PROVIDERS[3]
    turns = [asks.asks(1, QUESTION), strict.openai_says("Noted."), strict.openai_says("Hello.")]
    journal = tmp_path / "journal.sqlite"
    with serving(StrictServer(turns)) as server, ScriptedPerson(["north"]) as person:
        restored = partial(Session, tools=[ask], people=[person], journal=journal, thread_id="t")
        await restored(agent_of(asks, server.url)).run("Paint a wall")
        await restored(agent_of(says, server.url)).run("Hello?")
    calling = [message for message in server.bodies[-1]["messages"] if message.get("tool_calls")]
    assert calling
    assert all(message.keys() <= {"role", "content", "tool_calls"} for message in calling)


@pytest.mark.parametrize("agent_of", [chat_agent, flow_agent], ids=lambda it: it.__name__)
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
async def test_a_recorded_case_keeps_them_and_the_model_of_the_replay_gets_them_back(provider, agent_of, tmp_path):
    path = tmp_path / "case.json"

    async def north(call):
        call.respond("north", by="ada")

    async def talk(url):
        session = Session(agent_of(provider, url), tools=[ask], people=[north], journal=None)
        reply = await session.run("Paint a wall")
        return reply.text, [message.content for message in reply.messages if message.role == "reasoning"]

    with serving(StrictServer([provider.asks(1, QUESTION), provider.says("Noted.")], provider.rule)) as server:
        with record(path):
            assert await talk(server.url) == ("Noted.", [provider.shown] if provider.shown else [])
        assert not server.refusals
    asked, again = json.loads(path.read_text())["turns"]
    thought = {**asked.get("thoughts", {}), **asked["reply"][-1].get("extra", {})}
    assert thought
    sent = next(message for message in again["request"]["messages"] if "tool_calls" in message)
    assert thought.items() <= {**sent, **sent["tool_calls"][0]}.items()
    with replay(path):  # which compares each request with the one of then
        assert await talk("http://127.0.0.1:9") == ("Noted.", [provider.shown] if provider.shown else [])


async def test_a_provider_that_refuses_its_own_words_is_not_told_them_while_it_is_recorded(tmp_path):
    groq = Provider(
        name="Groq",
        model="groq/qwen3",
        rule=lambda body: "reasoning_content" if any("reasoning_content" in it for it in body["messages"]) else None,
        asks=strict.deepseek_asks,
        says=strict.openai_says,
    )

    async def north(call):
        call.respond("north", by="ada")

    with serving(StrictServer([groq.asks(1, QUESTION), groq.says("Noted.")], groq.rule)) as server:
        with record(tmp_path / "case.json"):
            session = Session(chat_agent(groq, server.url), tools=[ask], people=[north], journal=None)
            assert (await session.run("Paint a wall")).text == "Noted."
        assert not server.refusals


async def test_thoughts_are_a_legal_stream_of_their_own():
    provider = PROVIDERS[0]
    turns = [provider.asks(1, QUESTION), provider.says("Noted.")]
    with serving(StrictServer(turns, provider.rule)) as server, ScriptedPerson(["north"]) as person:
        recorded = Recorded(chat_agent(provider, server.url))
        await Session(recorded, tools=[ask], people=[person]).run("Paint a wall")
    recorded.assert_valid()
    kinds = [event.type.value for event in recorded.runs[0]]
    assert kinds[1:3] == ["REASONING_START", "REASONING_MESSAGE_START"]
    assert kinds.index("REASONING_END") < kinds.index("TOOL_CALL_START") < kinds.index("REASONING_ENCRYPTED_VALUE")
