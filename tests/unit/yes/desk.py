"""What these tests share: waiting for what has to come, people who wait, and an agent that stops at checkpoints."""

import asyncio
import time

from ag_ui.core import Interrupt, RunFinishedEvent, RunFinishedInterruptOutcome, RunStartedEvent

from hitl_nb._waiting import until_decided
from hitl_nb.testing import says
from tests.agents import ScriptedAgent

PATIENCE = 20.0


async def until(condition):
    """Turn the loop until `condition` gives something, and give that."""
    give_up = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < give_up, "it never came"
        await asyncio.sleep(0.001)
    return found


async def waits(call):
    """Somebody who takes their time."""
    await until_decided(call)


class Keeps:
    """Somebody who keeps the question in their hand, for good."""

    def __init__(self, name=None):
        self.name = name
        self.calls = []

    async def __call__(self, call):
        self.calls.append(call)
        await until_decided(call)


class Stops(ScriptedAgent):
    """Ends its runs with these lists of interrupt ids, one run each, then says ok."""

    def __init__(self, *stops, message="Deploy?"):
        super().__init__([*stops, says("ok")])
        self._message = message

    async def run(self, input):  # noqa: A002
        turn = self.turns[len(self.inputs)]
        if not isinstance(turn, list):
            async for event in super().run(input):
                yield event
            return
        self.inputs.append(input.model_copy(deep=True))
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        interrupts = [Interrupt(id=each, reason="approval", message=self._message) for each in turn]
        outcome = RunFinishedInterruptOutcome(interrupts=interrupts)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id, outcome=outcome)

    def resumed(self, run):
        """What a run was told of its checkpoints: (id, status, payload)."""
        entries = self.inputs[run].resume or []
        return [(each.interrupt_id, str(getattr(each.status, "value", each.status)), each.payload) for each in entries]
