"""A model and its tools without a framework: one litellm call a run, streamed as AG-UI events.

Enough for a chat that may ask a person. Each run is one reply of the model; when it calls tools, the session
answers them and runs the agent again with the history, which is the loop.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    Event,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    Tool,
)

from hitl_nb._history import tool_calls
from hitl_nb._offline import keep_offline
from hitl_nb.agents._chunks import CallAssembler, Fragment
from hitl_nb.agents._identity import fresh_message_id
from hitl_nb.agents._outgoing import openai_messages
from hitl_nb.errors import AgentDefinitionError, MissingExtraError

_OURS = ("messages", "tools", "stream")
_ONLY_WITH_TOOLS = ("parallel_tool_calls", "tool_choice")
"""Without tools these are answered with 400, and so is `tools: []` (facts/crewai.md §9.23)."""


class ChatAgent:
    """Streams a reply of `model` each run.

    Args:
        model: A litellm model name, e.g. ``"openai/gpt-4o"`` or ``"ollama_chat/qwen3"``
            (https://docs.litellm.ai/docs/providers).
        system: The system prompt.
        options: Handed to ``litellm.acompletion`` with each call: ``temperature``, ``api_key``, ``max_tokens``, …

    Raises:
        AgentDefinitionError: An option that the agent sets itself.
        MissingExtraError: litellm is not installed.

    ::

        session = Session(ChatAgent("openai/gpt-4o", system="You plan trips."), tools=[generate_task_steps])
    """

    def __init__(self, model: str, *, system: str | None = None, **options: Any) -> None:
        for name in _OURS:
            if name in options:
                raise AgentDefinitionError(
                    f"`{name}` is set by the agent itself. Write `ChatAgent({model!r})` without `{name}=`."
                )
        _litellm()
        self._model = model
        self._system = system
        self._options = options

    def __repr__(self) -> str:
        return f"ChatAgent({self._model})"

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Ask the model once, with the history and the tools of `input`; yields AG-UI events while it streams.

        Raises:
            Exception: Whatever litellm raised, itself, after a ``RUN_ERROR`` event.
        """
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id, protocol_version=PROTOCOL_VERSION)
        reply = _Reply(input)
        try:
            async with aclosing(await self._ask(input)) as chunks:
                async for chunk in chunks:
                    for event in reply.feed(chunk):
                        yield event
                    if reply.finish_reason is not None:
                        # litellm's stream goes on for up to seconds after the last word (facts/performance.md §0.3).
                        break
        except Exception as error:
            yield RunErrorEvent(message=f"{type(error).__name__}: {error}", code="MODEL_ERROR")
            raise
        for event in reply.finish():
            yield event
        outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=reply.call_ids or None)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id, outcome=outcome)

    async def _ask(self, input: RunAgentInput) -> Any:  # noqa: A002
        options = {"tools": [_openai_tool(tool) for tool in input.tools or ()], **self._options}
        if not options["tools"]:
            options = {key: value for key, value in options.items() if key not in ("tools", *_ONLY_WITH_TOOLS)}
        messages = openai_messages(input.messages, self._system)
        return await _litellm().acompletion(model=self._model, messages=messages, stream=True, **options)


class _Reply:
    """One reply of the model, from its chunks to AG-UI events: one message, which may hold text and calls."""

    def __init__(self, input: RunAgentInput) -> None:  # noqa: A002
        self._id = fresh_message_id()
        used = [call.id for call in tool_calls(input.messages)]
        self._calls = CallAssembler(self._id, used, [tool.name for tool in input.tools or ()])
        self._talking = False
        self.finish_reason: str | None = None

    @property
    def call_ids(self) -> list[str]:
        return self._calls.ids

    def feed(self, chunk: Any) -> Iterator[Event]:
        if not chunk.choices:  # usage, or a content filter's remark
            return
        choice = chunk.choices[0]
        if text := choice.delta.content:
            if not self._talking:
                self._talking = True
                yield TextMessageStartEvent(message_id=self._id, role="assistant")
            yield TextMessageContentEvent(message_id=self._id, delta=text)
        for piece in choice.delta.tool_calls or ():
            if (fragment := _fragment(piece)) is not None:
                yield from self._calls.feed(fragment)
        self.finish_reason = choice.finish_reason

    def finish(self) -> Iterator[Event]:
        if self._talking:
            yield TextMessageEndEvent(message_id=self._id)
        yield from self._calls.finish(self.finish_reason)


def _fragment(piece: Any) -> Fragment | None:
    function = getattr(piece, "function", None)
    if function is None:  # a custom tool of OpenAI's, which nobody here has offered
        return None
    return Fragment(
        index=getattr(piece, "index", None),
        id=piece.id or "",
        name=function.name or "",
        arguments=function.arguments or "",
    )


def _openai_tool(tool: Tool) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _litellm() -> Any:
    """Import at the moment of use: litellm costs seconds, and `import hitl_nb` must not (facts/crewai.md §8.1)."""
    keep_offline()
    try:
        import litellm
    except ImportError as error:
        raise MissingExtraError(
            '`ChatAgent` calls models through litellm. Install it with `pip install "hitl-nb[litellm]"` '
            "and restart the kernel."
        ) from error
    return litellm
