"""A second opinion on the streams that we emit: ag-ui-validate, which knows nothing of our own verifier."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from ag_ui.core import Event, RunAgentInput
from ag_ui_validate.pytest_plugin import assert_valid_agui


class Recorded:
    """An agent that writes down what another one emits."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.runs: list[list[Event]] = []

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        self.runs.append([])
        async for event in self._agent.run(input):
            self.runs[-1].append(event)
            yield event

    def assert_valid(self, *, despite: Sequence[str] = ()) -> None:
        """Every run is a legal stream, without a warning; `despite` names rules that a model's fault breaks."""
        assert self.runs
        for run in self.runs:
            events = [event.model_dump(mode="json", by_alias=True) for event in run]
            assert_valid_agui(events, severity_overrides=dict.fromkeys(despite, "off"), max_warnings=0)
