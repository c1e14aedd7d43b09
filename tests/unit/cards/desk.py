"""A card on somebody's desk, without a browser: what goes out is what the browser gets, what comes in what it sends."""

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hitl_nb import Call, Session
from hitl_nb._calls import Handle
from hitl_nb._transcript import CallEntry
from hitl_nb.cards._protocol import item_of
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.cards._registry import card_of
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.conformance.schema_browser import Browser


class Desk:
    """One call, as the person at its card has it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.warnings: dict[str, str] = {}

    @property
    def item(self) -> dict[str, Any]:
        """What the browser gets."""
        return json.loads(
            json.dumps(item_of(CallEntry(key=self.call.occurrence, call=self.call), self.warnings), allow_nan=False)
        )

    @property
    def props(self) -> dict[str, Any]:
        return self.item["props"]

    @property
    def browser(self) -> Browser:
        """The page of a form."""
        props = self.props
        return Browser(**{name: json.dumps(props[name]) for name in ("form", "value", "layout")})

    def send(self, value: Any) -> bool:
        """Send what a card's own module sends."""
        return card_of(self.call).decide(json.loads(json.dumps(value)))

    def confirm(self, *edits: dict[str, Any]) -> bool:
        """Press Confirm on a form after these edits."""
        return self.send({"edits": edits})


class AtTheDesk:
    """Ada, who answers on a card."""

    via = "card"
    name = "ada"

    def __init__(self, act: Any) -> None:
        self._act = act

    async def __call__(self, call: Call) -> None:
        done = self._act(Desk(call))
        if inspect.isawaitable(done):
            await done


def set_to(value: Any, *path: str | int) -> dict[str, Any]:
    """The edit of one place."""
    return {"op": "set", "path": path, "value": value}


async def ask(tool: Any, act: Any, /, **args: Any) -> tuple[Call, ScriptedAgent]:
    """Let a model call the tool once, and `act` at the desk; gives the decided call and the agent."""

    agent = ScriptedAgent([calls(tool.name, **args), says("ok")])
    reply = await Session(agent, tools=[tool], people=[AtTheDesk(act)]).run("go")
    return reply.calls[0], agent


@contextmanager
def opened(args: Any, **options: Any) -> Iterator[Call]:
    """Give an open call that no session has asked; at the end it is open no more."""
    call = Call(**{"id": "c", "name": "pay", **options})
    Handle.of(call).open_now(args)
    try:
        yield call
    finally:
        Handle.of(call).close("superseded")


def record(call: Call) -> str:
    """The record of a decided call, as text."""
    return bundle([(CallEntry(key=call.occurrence, call=call), record_of_call(call))])["text/plain"]


def everything_kept(call: Call) -> str:
    """All that is shown or saved of a decided call: the wire item, and the record in both forms."""
    saved = bundle([(CallEntry(key=call.occurrence, call=call), record_of_call(call))])
    return json.dumps([Desk(call).item, saved, list(call.edits)], ensure_ascii=False) + repr(call)
