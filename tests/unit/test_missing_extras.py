"""An optional library that is not there says its pip line, and that the kernel has to be restarted."""

import sys

import pytest
from ag_ui.core import RunAgentInput, UserMessage

from hitl_nb.agents import FlowAgent
from hitl_nb.errors import MissingExtraError
from hitl_nb.testing import ScriptedModel


def test_a_scripted_model_without_litellm(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hitl-nb\[litellm\]".*restart the kernel'):
        ScriptedModel([]).install()


async def test_a_flow_without_ag_ui_crewai(monkeypatch):
    class AnyFlow:
        state = {"messages": []}  # noqa: RUF012

        async def kickoff_async(self, inputs):
            raise AssertionError("it must not get this far")

    for name in ("crewai", "ag_ui_crewai", "ag_ui_crewai.endpoint"):
        monkeypatch.setitem(sys.modules, name, None)
    question = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="go")])
    with pytest.raises(MissingExtraError, match=r'pip install "hitl-nb\[crewai\]"'):
        async for _ in FlowAgent(AnyFlow()).run(question):
            pass


def test_it_is_an_import_error_too():
    assert issubclass(MissingExtraError, ImportError)
