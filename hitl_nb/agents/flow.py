"""A CrewAI Flow in the kernel's own loop: no port, no server, the user's Flow not a line changed.

`ag_ui_crewai` serves a Flow over HTTP; here the same Flow runs in a task of the kernel, and its events reach us
through CrewAI's scoped stream sink, called synchronously where the event arises, so that the order is exact and
concurrent runs cannot mix (facts/crewai.md §2.1, option C). A failing Flow raises its own exception.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    Event,
    Message,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
)

from hitl_nb._history import open_calls, tool_calls
from hitl_nb._library import library
from hitl_nb.agents._outgoing import presentable
from hitl_nb.agents._settle import settled
from hitl_nb.agents._translate import Translator
from hitl_nb.errors import AgentDefinitionError

_RESERVED = {"messages", "copilotkit", "tools", "context", "id", "ag-ui"}
"""Keys of a Flow's state that belong to the protocol, not to the user's shared state."""


class FlowAgent:
    """Runs a ``Flow[CopilotKitState]`` that streams with ``copilotkit_stream``.

    Args:
        flow: A Flow class, instantiated anew for each run (recommended: a run starts from the session's history
            and state alone), or an instance, used as it is.

    Raises:
        AgentDefinitionError: The Flow's state has no ``messages``, so that a conversation cannot reach it.
    """

    def __init__(self, flow: Any) -> None:
        self._flow = flow
        self._checked = False

    def __repr__(self) -> str:
        name = self._flow.__name__ if isinstance(self._flow, type) else type(self._flow).__name__
        return f"FlowAgent({name})"

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Run the Flow once on the history of `input`; yields AG-UI events while the Flow streams.

        Raises:
            Exception: Whatever the Flow raised, itself, after a ``RUN_ERROR`` event.
        """
        flow = self._fresh()
        translator = Translator(
            known=(message.id for message in input.messages), used=(call.id for call in tool_calls(input.messages))
        )
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id, protocol_version=PROTOCOL_VERSION)
        events: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(_kickoff(flow, input, events), name=f"hitl_nb flow {input.run_id}")
        try:
            while (event := await events.get()) is not _END:
                for translated in translator.translate(event):
                    yield translated
            for translated in translator.flush():
                yield translated
            try:
                await task
            except Exception as error:
                yield RunErrorEvent(message=f"{type(error).__name__}: {error}", code="FLOW_ERROR")
                raise
            for final in _final_events(flow, input, translator):
                yield final
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _fresh(self) -> Any:
        flow = self._flow() if isinstance(self._flow, type) else self._flow
        if not self._checked:
            _require_messages(flow)
            self._checked = True
        return flow


_END = object()


async def _kickoff(flow: Any, input: RunAgentInput, events: "asyncio.Queue[Any]") -> None:  # noqa: A002
    loop = asyncio.get_running_loop()

    def sink(source: Any, event: Any) -> None:
        # Sync methods of a Flow emit from worker threads.
        if source is flow:
            loop.call_soon_threadsafe(events.put_nowait, event)

    try:
        with _quiet_console(), _connected(flow, sink):
            await flow.kickoff_async(inputs=_inputs(input))
    finally:
        loop.call_soon_threadsafe(events.put_nowait, _END)


def _inputs(input: RunAgentInput) -> dict[str, Any]:  # noqa: A002
    endpoint = _crewai_module("ag_ui_crewai.endpoint")
    inputs: dict[str, Any] = endpoint.crewai_prepare_inputs(
        state=input.state or {},
        messages=presentable(input.messages),
        tools=input.tools or [],
        context=input.context or [],
        forwarded_props=input.forwarded_props,
    )
    return inputs | {"id": input.thread_id}


@contextmanager
def _connected(flow: Any, sink: Any) -> Iterator[None]:
    """Let `copilotkit_stream` find the Flow, and its events find us; both are context variables of this task."""
    stream_context = _crewai_module("crewai.events.stream_context")
    context = _crewai_module("ag_ui_crewai.context")
    sinks, current = stream_context.add_stream_sink(sink), context.flow_context.set(flow)
    try:
        yield
    finally:
        context.flow_context.reset(current)
        stream_context.reset_stream_sinks(sinks)


@contextmanager
def _quiet_console() -> Iterator[None]:
    """No rich panels in the cell. The switch is a context variable, so it ends with this task."""
    try:
        printer = importlib.import_module("crewai_core.printer")
    except ImportError:
        yield
        return
    printer.set_suppress_console_output(True)
    yield


def _final_events(flow: Any, input: RunAgentInput, translator: Translator) -> Iterator[Event]:  # noqa: A002
    messages = settled(_messages(flow), input.messages, translator.streamed)
    pending = [call.id for call in open_calls(messages)]
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                if call.id in pending:
                    yield from translator.announce(message.id, call)
    yield MessagesSnapshotEvent(messages=messages)
    yield StateSnapshotEvent(snapshot=_user_state(flow))
    yield RunFinishedEvent(
        thread_id=input.thread_id,
        run_id=input.run_id,
        outcome=RunFinishedSuccessOutcome(pending_tool_call_ids=pending or None),
    )


def _messages(flow: Any) -> list[Message]:
    convert = _crewai_module("ag_ui_crewai.sdk").litellm_messages_to_ag_ui_messages
    converted: list[Message] = convert(_state(flow)["messages"])
    return converted


def _user_state(flow: Any) -> dict[str, Any]:
    return {key: value for key, value in _state(flow).items() if key not in _RESERVED}


def _state(flow: Any) -> dict[str, Any]:
    state = flow.state
    if isinstance(state, dict):
        return state
    dumped: dict[str, Any] = state.model_dump(exclude={"messages"})
    return dumped | {"messages": getattr(state, "messages", [])}


def _require_messages(flow: Any) -> None:
    state = flow.state
    if "messages" in state if isinstance(state, dict) else hasattr(state, "messages"):
        return
    name = type(flow).__name__
    raise AgentDefinitionError(
        f"`{name}` keeps no `messages` in its state, so it cannot be given the conversation. "
        f"Write `class {name}(Flow[CopilotKitState])` with `from ag_ui_crewai.sdk import CopilotKitState`."
    )


def _crewai_module(name: str) -> Any:
    return library(name, extra="crewai", what="Running a CrewAI Flow")
