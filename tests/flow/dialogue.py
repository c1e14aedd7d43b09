"""A dialogue to record: a chat Flow that proposes steps, and a model that goes on with what came back."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from crewai.flow.flow import Flow, start
from litellm import acompletion
from pydantic import BaseModel

from hitl_nb import Session, human_in_the_loop
from hitl_nb.testing import ScriptedModel, calls, says


class Step(BaseModel):
    description: str
    on: bool = True


@human_in_the_loop
def propose(steps: list[Step]) -> list[Step]:
    """Propose the steps."""


STEPS = [{"description": "pack"}, {"description": "fly"}]


class Trip(Flow[CopilotKitState]):
    """What a test may change: the prompt, the model, the options."""

    prompt = "You plan trips."
    model = "openai/gpt-4o"
    options: ClassVar[dict[str, Any]] = {}

    @start()
    async def chat(self):
        system = {"role": "system", "content": self.prompt}
        response = await copilotkit_stream(
            await acompletion(
                model=self.model,
                messages=[system, *self.state.messages],
                tools=[*self.state.copilotkit.actions],
                stream=True,
                **self.options,
            )
        )
        self.state.messages.append(response.choices[0].message)


def conclude(request: Any) -> Any:
    return says(f"Then: {request.messages[-1]['content']}")


def the_model(**options: Any) -> ScriptedModel:
    """The other side of one round: some words, a proposal, and what comes of the answer."""
    call = calls("propose", id=options.pop("id", None), steps=STEPS)
    return ScriptedModel([[says("Let me see."), call], conclude], **options)


def plan(people: Any = None, *, flow: Any = Trip, tools: Any = (propose,), **options: Any) -> Session:
    return Session(flow, tools=tools, people=people, **options)


def keep_first(call: Any) -> Any:
    return call.args.steps[:1]


def told(session: Session) -> list[Any]:
    """The messages without their ids."""
    return [message.model_dump(exclude={"id"}, exclude_none=True) for message in session.messages]


@contextmanager
def no_network(monkeypatch: Any) -> Iterator[list[Any]]:
    """Every attempt to connect fails, and is noted."""
    attempts: list[Any] = []

    def refuse(self: Any, address: Any) -> None:
        attempts.append(address)
        raise AssertionError(f"connects to {address}")

    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket.socket, "connect_ex", refuse)
        yield attempts
    assert attempts == []
