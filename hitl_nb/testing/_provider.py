"""A litellm provider that plays what it is told: what scripted and replayed models have in common."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hitl_nb._process import keep_offline
from hitl_nb.errors import MissingExtraError
from hitl_nb.testing._turns import Calls, Part, Says, fragments


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of a model."""

    message_id: str
    """What the provider calls it."""

    parts: Sequence[Part]
    """What it says and calls; each call has its id."""

    fragment: int = 12
    """Characters a streamed fragment."""

    pace: float | Callable[[], Awaitable[None]] = 0.0
    """Seconds between two fragments, or an async function awaited between them."""

    finish: str | None = None
    """The finish reason; None gives the usual one."""

    @property
    def finish_reason(self) -> str:
        """``tool_calls`` or ``stop``, unless it says another."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    @property
    def calls(self) -> list[Calls]:
        """The calls among the parts."""
        return [part for part in self.parts if isinstance(part, Calls)]

    @property
    def text(self) -> str:
        """All that is said."""
        return "".join(part.text for part in self.parts if isinstance(part, Says))

    async def rest(self) -> None:
        """Wait as long as `pace` says."""
        if callable(self.pace):
            await self.pace()
        elif self.pace:
            await asyncio.sleep(self.pace)


def has_litellm() -> bool:
    """Whether litellm is installed; does not import it."""
    return importlib.util.find_spec("litellm") is not None


def the_litellm(what: str) -> Any:
    """Import at the moment of use: litellm costs seconds, and `import hitl_nb` must not (facts/crewai.md §8.1).

    Raises:
        MissingExtraError: It is not installed; the message says that `what` needs it.
    """
    keep_offline()
    try:
        import litellm
    except ImportError as error:
        raise MissingExtraError(
            f'`{what}` plugs into litellm. Install it with `pip install "hitl-nb[litellm]"` and restart the kernel.'
        ) from error
    return litellm


def provider(reply_to: Callable[[str, Any, dict[str, Any]], Reply]) -> Any:
    """Give a handler for ``litellm.custom_provider_map``; its base class exists only once litellm is imported.

    Args:
        reply_to: Gives the reply to a request: the model's name, the messages, all other parameters.
    """
    from litellm import CustomLLM

    class Handler(CustomLLM):  # type: ignore[misc]  # litellm is untyped
        async def astreaming(
            self, model: str, messages: Any, optional_params: Any = None, **_: Any
        ) -> AsyncIterator[Any]:
            reply = reply_to(model, messages, optional_params or {})
            for position, chunk in enumerate(_chunks(reply)):
                if position:
                    await reply.rest()
                yield chunk

        def streaming(self, model: str, messages: Any, optional_params: Any = None, **_: Any) -> Iterator[Any]:
            yield from _chunks(reply_to(model, messages, optional_params or {}))

        async def acompletion(self, model: str, messages: Any, optional_params: Any = None, **_: Any) -> Any:
            return _response(reply_to(model, messages, optional_params or {}))

        def completion(self, model: str, messages: Any, optional_params: Any = None, **_: Any) -> Any:
            return _response(reply_to(model, messages, optional_params or {}))

    return Handler()


def _chunks(reply: Reply) -> Iterator[Any]:
    from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

    def chunk(delta: Any, finish: str | None = None) -> Any:
        choice = StreamingChoices(index=0, delta=delta, finish_reason=finish)
        return ModelResponseStream(id=reply.message_id, model="scripted", choices=[choice])

    index = 0
    for part in reply.parts:
        if isinstance(part, Says):
            for piece in fragments(part.text, reply.fragment):
                yield chunk(Delta(role="assistant", content=piece))
            continue
        for delta in _call_deltas(part, index, reply.fragment):
            yield chunk(delta)
        index += 1
    yield chunk(Delta(), reply.finish_reason)


def _call_deltas(call: Calls, index: int, size: int) -> Iterator[Any]:
    from litellm.types.utils import ChatCompletionDeltaToolCall, Delta, Function

    for position, piece in enumerate(fragments(call.arguments, size)):
        first = position == 0
        function = Function(name=call.name if first else None, arguments=piece)
        call_id = call.id if first else None
        tool_call = ChatCompletionDeltaToolCall(id=call_id, type="function", index=index, function=function)
        yield Delta(tool_calls=[tool_call])


def _response(reply: Reply) -> Any:
    from litellm.types.utils import Choices, Message, ModelResponse, Usage

    tool_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.calls
    ]
    message = Message(role="assistant", content=reply.text or None, tool_calls=tool_calls or None)
    choice = Choices(finish_reason=reply.finish_reason, index=0, message=message)
    usage = Usage(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    return ModelResponse(id=reply.message_id, model="scripted", choices=[choice], usage=usage)
