"""Tests with agents and clients of others; imported once, and their own warnings are not ours."""

import os
import warnings

# No test leaves the machine.
os.environ.setdefault("LANGSMITH_TRACING", "false")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ag_ui_crewai.endpoint  # noqa: F401
    import ag_ui_langgraph  # noqa: F401
    import ag_ui_strands  # noqa: F401
    import crewai.flow.flow  # noqa: F401
    import langchain.agents.middleware  # noqa: F401
    import langchain_core.language_models  # noqa: F401
    import langgraph.graph  # noqa: F401
    import litellm  # noqa: F401
    import pydantic_ai.ui.ag_ui  # noqa: F401

import pytest

from tests.foreign.web import installed


@pytest.fixture(scope="session")
def node() -> str:
    """The way to Node, with the web client installed."""
    return installed()
