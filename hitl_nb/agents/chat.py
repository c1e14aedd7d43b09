"""A model and its tools without a framework: one litellm call a run, streamed as AG-UI events.

Enough for a chat that may ask a person. Each run is one reply of the model; when it calls tools, the session
answers them and runs the agent again with the history, which is the loop.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    ContentPart,
    CustomEvent,
    Event,
    Message,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    Tool,
    ToolCall,
    ToolMessage,
    UserMessage,
)

from hitl_nb._library import library
from hitl_nb.agents._call_assembler import CallAssembler, Fragment
from hitl_nb.agents._ids import fresh_message_id
from hitl_nb.agents._litellm import Thoughts, provider_of, sealed, sendable
from hitl_nb.agents._reply import EMPTY, FINISHED, UNUSUAL, Heard, Listening, Reply
from hitl_nb.agui import tool_calls
from hitl_nb.errors import AgentDefinitionError, UsageError

_Json = dict[str, object]

_OURS = ("messages", "tools", "stream")
_ONLY_WITH_TOOLS = ("parallel_tool_calls", "tool_choice")
"""Without tools OpenAI and vllm answer these with 400, and `tools: []`, too."""

_FREE_CHOICES = (None, "auto", "none")


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

    def __init__(self, model: str, *, system: str | None = None, **options: object) -> None:
        for name in _OURS:
            if name in options:
                raise AgentDefinitionError(
                    f"`{name}` is set by the agent itself. Write `ChatAgent({model!r})` without `{name}=`."
                )
        self._litellm = library("litellm", extra="litellm", what="`ChatAgent`")
        self._model = model
        self._system = system
        self._options = options

    @property
    def takes_images(self) -> bool:
        """Whether the model looks at pictures, as far as litellm knows."""
        try:
            return bool(self._litellm.supports_vision(model=self._model))
        except Exception:
            return False

    def __repr__(self) -> str:
        return f"ChatAgent({self._model})"

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Ask the model once, with the history and the tools of `input`; yields AG-UI events while it streams.

        Raises:
            Exception: Whatever litellm raised, itself, after a ``RUN_ERROR`` event.
        """
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id, protocol_version=PROTOCOL_VERSION)
        try:
            async with aclosing(Listening(await self._ask(input))) as chunks:
                reply = _Answer(input)
                async for _ in chunks:
                    for event in reply.feed(chunks.heard):
                        yield event
                    if chunks.reply.finish_reason is not None:
                        # litellm goes on for up to seconds after the last word: it builds the whole response again.
                        break
        except Exception as error:
            yield RunErrorEvent(message=f"{type(error).__name__}: {error}", code="MODEL_ERROR")
            raise
        for event in reply.finish(chunks.reply):
            yield event
        outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=reply.calls.ids or None)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id, outcome=outcome)

    async def _ask(self, input: RunAgentInput) -> AsyncGenerator[Any, None]:  # noqa: A002
        options = {"tools": [_openai_tool(tool) for tool in input.tools or ()], **self._options}
        choice = input.forwarded_props.get("toolChoice") if isinstance(input.forwarded_props, dict) else None
        if choice is not None:
            options["tool_choice"] = choice
        if not options["tools"]:
            options = {key: value for key, value in options.items() if key not in ("tools", *_ONLY_WITH_TOOLS)}
        elif input.messages and input.messages[-1].role == "tool" and options.get("tool_choice") not in _FREE_CHOICES:
            # It has called what it had to; told so again, it would never come to its last word.
            del options["tool_choice"]
        where = {key: self._options.get(key) for key in ("custom_llm_provider", "api_base")}
        messages = openai_messages(input.messages, self._system, provider_of(self._litellm, self._model, **where))
        stream: AsyncGenerator[Any, None] = await self._litellm.acompletion(
            model=self._model, messages=messages, stream=True, **options
        )
        return stream


# -- what the model is sent ---------------------------------------------------------------------------------------


def openai_messages(messages: Iterable[Message], system: str | None = None, provider: str = "") -> list[_Json]:
    """Return the history in OpenAI's form, which litellm takes for every provider.

    No `id` and no null fields, since strict providers answer them with 400. Activities and reasoning are for people
    and stay here; what the provider itself has thought goes back to it, in its own form.

    Raises:
        UsageError: A user message holds something other than text and images.
    """
    sent: list[_Json] = [{"role": "system", "content": system}] if system else []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = [_openai_call(call) for call in message.tool_calls or ()]
            # OpenAI wants the key `content` when there are no calls, and takes null beside them.
            content: _Json = {"content": message.content or ""} if message.content or not calls else {}
            thought = {"encrypted_value": message.encrypted_value}
            sent.append({"role": "assistant", **content, **({"tool_calls": calls} if calls else {}), **thought})
        elif isinstance(message, ToolMessage):
            content = {"content": _openai_content(message.content)}
            sent.append({"role": "tool", "tool_call_id": message.tool_call_id, **content})
        elif isinstance(message, UserMessage):
            sent.append({"role": "user", "content": _openai_content(message.content)})
        elif message.role in ("system", "developer"):
            sent.append({"role": message.role, "content": message.content})
    return sendable(sent, provider, Thoughts())


def _openai_call(call: ToolCall) -> _Json:
    function: _Json = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function, "encrypted_value": call.encrypted_value}


def _openai_content(content: str | Sequence[ContentPart]) -> object:
    return content if isinstance(content, str) else [_openai_part(part) for part in content]


def _openai_part(part: ContentPart) -> _Json:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    if part.type == "image" and part.source.type in ("url", "data"):
        source = part.source
        url = source.value if source.type == "url" else f"data:{source.mime_type};base64,{source.value}"
        return {"type": "image_url", "image_url": {"url": url}}
    raise UsageError(
        f"`ChatAgent` sends text and images; a part of the type `{part.type}` needs an agent of your own: "
        "write a class with `async def run(self, input)` that yields AG-UI events."
    )


def _openai_tool(tool: Tool) -> _Json:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


# -- what it answers ----------------------------------------------------------------------------------------------


class _Answer:
    """One reply of the model, from its chunks to AG-UI events: one message, which may hold text and calls."""

    def __init__(self, input: RunAgentInput) -> None:  # noqa: A002
        self._id = fresh_message_id()
        used = [call.id for call in tool_calls(input.messages)]
        self.calls = CallAssembler(self._id, used, [tool.name for tool in input.tools or ()])
        self._talking = False
        self._thinking = ""
        """The id of the message of thoughts that is open."""

    def feed(self, heard: Heard) -> Iterator[Event]:
        if heard.thought:
            yield from self._think(heard.thought)
        if self._thinking and (heard.words or heard.pieces):
            yield from self._stop_thinking()
        if heard.words:
            if not self._talking:
                self._talking = True
                yield TextMessageStartEvent(message_id=self._id, role="assistant")
            yield TextMessageContentEvent(message_id=self._id, delta=heard.words)
        for piece, extra in heard.pieces:
            function = getattr(piece, "function", None)
            if function is None:  # a custom tool of OpenAI's, which nobody here has offered
                continue
            index: int | None = getattr(piece, "index", None)
            name, arguments = function.name or "", function.arguments or ""
            yield from self.calls.feed(
                Fragment(index=index, id=piece.id or "", name=name, arguments=arguments, extra=extra)
            )

    def finish(self, reply: Reply) -> Iterator[Event]:
        yield from self._stop_thinking()
        if self._talking:
            yield TextMessageEndEvent(message_id=self._id)
        yield from self.calls.finish(reply.finish_reason)
        something = self._talking or bool(self.calls.ids)
        if something and (value := sealed(reply.provider, reply.fields)):
            yield ReasoningEncryptedValueEvent(subtype="message", entity_id=self._id, encrypted_value=value)
        for call_id, extra in self.calls.extras.items():
            if value := sealed(reply.provider, extra):
                yield ReasoningEncryptedValueEvent(subtype="tool-call", entity_id=call_id, encrypted_value=value)
        if (ending := reply.finish_reason if something else EMPTY) in UNUSUAL:
            yield CustomEvent(name=FINISHED, value=ending)

    def _think(self, thought: str) -> Iterator[Event]:
        if not self._thinking:
            self._thinking = fresh_message_id()
            yield ReasoningStartEvent(message_id=self._thinking)
            yield ReasoningMessageStartEvent(message_id=self._thinking, role="reasoning")
        yield ReasoningMessageContentEvent(message_id=self._thinking, delta=thought)

    def _stop_thinking(self) -> Iterator[Event]:
        if self._thinking:
            yield ReasoningMessageEndEvent(message_id=self._thinking)
            yield ReasoningEndEvent(message_id=self._thinking)
            self._thinking = ""
