"""LangChain's own seam for a model: what streams the pieces that a script has."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field


class Streamed(BaseChatModel):
    """Streams what `pieces` gives for each request, and keeps the requests."""

    requests: list[list[BaseMessage]] = Field(default_factory=list)

    def pieces(self, number: int) -> list[dict[str, Any]]:
        """Return what the chunks of a turn have, the first turn is number 1."""
        raise NotImplementedError

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Take whatever tools there are."""
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("it streams")

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.requests.append(list(messages))
        number = len(self.requests)
        for piece in self.pieces(number):
            chunk = ChatGenerationChunk(message=AIMessageChunk(id=f"run-{number}", **piece))
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
