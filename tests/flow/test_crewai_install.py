"""What `install` puts into CrewAI, and that it takes all of it out again."""

import asyncio
import sys
from typing import Any

import pytest
from crewai.core.providers.human_input import SyncHumanInputProvider, reset_provider, set_provider
from crewai.flow.flow import Flow, start
from crewai.flow.flow_config import flow_config
from crewai.hooks import get_before_tool_call_hooks
from crewai.hooks.dispatch import InterceptionPoint, get_hooks

from hitl_nb import use
from hitl_nb.crewai import approve_tools, install, uninstall
from hitl_nb.errors import MissingExtraError, NoHumanError, UsageError
from hitl_nb.testing import ScriptedPerson
from tests.flow.crews import crew_of, scripted

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a process imports crewai
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # crewai reads its own deprecated fields
]


def everything() -> dict[str, Any]:
    """Every attribute of every module and class of crewai, by identity."""
    found: dict[str, Any] = {}
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] == "crewai":
            for attribute, value in sorted(vars(module).items()):
                found[f"{name}.{attribute}"] = id(value)
                if isinstance(value, type) and value.__module__ == name:
                    found |= {f"{name}.{attribute}.{key}": id(member) for key, member in vars(value).items()}
    found |= {f"flow_config.{key}": value for key, value in vars(flow_config).items()}
    return found | {f"hooks.{point}": get_hooks(point) for point in InterceptionPoint}


def test_it_leaves_no_trace():
    with install():  # whatever crewai imports lazily is there from here on
        pass
    before = everything()
    with install(), approve_tools(["send_mail"]):
        during = everything()
    after = everything()
    assert [key for key in before if before[key] != during.get(key)] != []
    assert {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} == set()


def test_it_changes_only_what_it_says():
    with install():
        pass
    before = everything()
    with install():
        changed = {key for key, value in everything().items() if value != before.get(key)}
    resolvers = {"_resolve_llm_instance", "_deserialize_llm_from_context"}  # depends on crewai's version
    assert {key.rpartition(".")[2] for key in changed} - resolvers == {
        "POST_TOOL_CALL",
        "_finalize_human_feedback",
        "_hitl_provider",
        "_input_provider",
        "ainvoke",
        "akickoff",
        "arun",
        "ask",
        "handle_feedback",
        "handle_feedback_async",
        "invoke",
        "kickoff",
        "kickoff_async",
        "request_human_input",
        "resume_async",
        "run",
        "run_hooks",
    }


def test_installations_are_counted():
    first, second = install(), install()
    first.uninstall()
    first.uninstall()
    assert flow_config.hitl_provider is not None
    assert repr(second) == "<Installation: CrewAI's questions are answered by cards>"
    uninstall()
    assert flow_config.hitl_provider is None
    uninstall()
    assert repr(second) == "<Installation: uninstalled>"


def test_what_somebody_else_set_meanwhile_stays():
    mine = object()
    with install():
        flow_config.input_provider = mine
    assert flow_config.input_provider is mine
    flow_config.input_provider = None


def test_it_stays_out_when_it_cannot_come_in_whole(monkeypatch):
    before = everything()
    with pytest.raises(UsageError, match="people"):
        install(people="Ada")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "crewai.hooks.dispatch", None)
    with pytest.raises(MissingExtraError, match="restart the kernel"):
        install()
    monkeypatch.undo()
    monkeypatch.delattr(sys.modules["crewai.hooks.dispatch"], "run_hooks")
    with pytest.raises(MissingExtraError, match="another way"):
        install()
    monkeypatch.undo()
    assert everything() == before
    uninstall()


def test_a_gate_is_a_hook_like_any_other_while_it_stands():
    with approve_tools(["send mail"]) as gate:
        assert get_before_tool_call_hooks() == [gate]
        assert repr(gate) == "<ToolGate: send_mail>"
    assert get_before_tool_call_hooks() == []


class Asking(Flow):
    @start()
    def greet(self):
        return self.ask("Who?")


async def test_the_innermost_people_are_asked_and_none_means_those_around():
    with install(people=ScriptedPerson(["outer", "outer again"])):
        with install():
            assert await Asking().kickoff_async() == "outer"
        with install(people=ScriptedPerson(["inner"])):
            assert await Asking().kickoff_async() == "inner"
        assert await Asking().kickoff_async() == "outer again"


async def test_a_run_asks_the_people_that_were_there_when_it_began():
    began, may_ask = asyncio.Event(), asyncio.Event()

    class Slow(Flow):
        @start()
        async def greet(self):
            began.set()
            await may_ask.wait()
            return await asyncio.to_thread(self.ask, "Who?")

    with install(people=ScriptedPerson(["first"])):
        running = asyncio.create_task(Slow().kickoff_async())
        await began.wait()
        with install(people=ScriptedPerson(["second"])):
            may_ask.set()
            assert await running == "first"


async def test_a_script_that_stands_in_for_the_notebook_goes_on_from_question_to_question(tmp_path):
    script = tmp_path / "answers.py"
    script.write_text("answers = ['Ada', 'Bob']")
    with use(people=f"script:{script}"), install():
        assert [await Asking().kickoff_async(), await Asking().kickoff_async()] == ["Ada", "Bob"]


async def test_a_flow_with_an_input_provider_of_its_own_asks_that():
    class Mine:
        def request_input(self, message, flow, metadata=None):
            return "mine"

    with install():
        assert await Asking(input_provider=Mine()).kickoff_async() == "mine"


async def test_a_human_input_provider_of_the_users_own_keeps_its_say():
    class Mine(SyncHumanInputProvider):
        @staticmethod
        async def _prompt_input_async(crew):
            return ""

    token = set_provider(Mine())
    try:
        with install():
            assert (await crew_of(scripted("draft"), human_input=True).akickoff()).raw == "draft"
    finally:
        reset_provider(token)


async def test_a_provider_that_crewai_made_before_is_answered_by_a_card_all_the_same():
    token = set_provider(SyncHumanInputProvider())
    try:
        with install(), pytest.raises(NoHumanError):
            await crew_of(scripted("draft"), human_input=True).akickoff()
    finally:
        reset_provider(token)
