"""`ag_ui_strands`, which no test knew: a tool that is interrupted before it runs."""

import warnings
from collections.abc import AsyncIterator
from typing import Any, ClassVar

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ag_ui_strands import StrandsAgent, StrandsAgentConfig, ToolBehavior
    from strands import Agent, tool
    from strands.models import Model

from tests.conformance.adapters.bench import SIGNATURE, THOUGHT, Bench


class Scripted(Model):
    """Streams a round of calls, "Finished.", and then "Bye."."""

    def __init__(self, calls: int, thinks: bool) -> None:
        self.calls, self.thinks = calls, thinks
        self.requests: list[list[Any]] = []

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("not asked for")

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.requests.append([dict(message) for message in messages])
        number = len(self.requests)
        yield {"messageStart": {"role": "assistant"}}
        if number > 1:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Finished." if number == 2 else "Bye."}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
            return
        if self.thinks:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": THOUGHT}}}}
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": SIGNATURE}}}}
            yield {"contentBlockStop": {}}
        for index, table in enumerate("ab"[: self.calls], start=1):
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "delete", "toolUseId": f"call_{table}"}}}}
            arguments = f'{{"table": "{table}", "rows": {index}}}'
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}


class Strands(Bench):
    name = "ag-ui-strands: `interrupt_on_call=True`"
    cannot: ClassVar[dict[str, str]] = {
        "edit": "it takes a yes or a no, and runs the tool with the model's arguments whatever comes beside the yes"
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.model = Scripted(self.calls, self.thinks)

        @tool
        def delete(table: str, rows: int) -> str:
            """Delete rows of a table."""
            self.done.append(f"delete {rows} of {table}")
            return f"deleted {rows}"

        config = StrandsAgentConfig(tool_behaviors={"delete": ToolBehavior(interrupt_on_call=True)})
        agent = Agent(model=self.model, tools=[delete], callback_handler=None)
        self._agent = StrandsAgent(agent, name="bench", config=config)

    @property
    def agent(self) -> Any:
        return self._agent

    def requests(self) -> list[str]:
        return [str(request) for request in self.model.requests]

    def prove(self) -> None:
        open_calls: list[str] = []
        for message in self.model.requests[-1]:
            results = [part["toolResult"]["toolUseId"] for part in message["content"] if "toolResult" in part]
            assert sorted(results) == sorted(open_calls), f"calls {open_calls}, results {results}"
            open_calls = [part["toolUse"]["toolUseId"] for part in message["content"] if "toolUse" in part]
        assert not open_calls, f"calls without a result: {open_calls}"
