"""The arguments of a tool call as text, which may not be JSON: while it grows, and when it has stayed broken.

A model writes them, so they may be torn, doubled, mixed up or missing. What is not JSON asks nobody: the session
refuses it, and the model reads why. But providers look at old calls again in every request (OpenAI refuses a nameless
one, Anthropic's arguments are parsed), and a refused call must not make the thread unusable for good.
"""

import json
import re
from collections.abc import Iterable

from ag_ui.core import AssistantMessage, Message, ToolCall

from hitl_nb._tools import UNNAMED_TOOL

INVALID_JSON = "INVALID_JSON"
"""The key under which a model finds what it wrote, when that is not JSON (as in Pydantic AI)."""

MIXED_UP = " <fragments of this call and of another one cannot be told apart>"
"""Behind the arguments of such a call, so that they are no JSON, whatever they were."""

_MARK = re.compile(r'\\.|["\\{}\[\]]', re.DOTALL)


class Brackets:
    """JSON text that comes in fragments, and where it has closed what it opened.

    Each character is looked at once: parsing the text again for every fragment would be quadratic in its length.

    Attributes:
        text: All of it so far.
        closed_at: The position behind the first complete object or array, or None. It says that the brackets
            match, not that the text between them is valid.
    """

    def __init__(self) -> None:
        self.text = ""
        self.closed_at: int | None = None
        self._seen = 0
        self._depth = 0
        self._quoted = False

    @property
    def head(self) -> str:
        """The text up to the end of the first complete object."""
        return self.text[: self.closed_at]

    @property
    def extra(self) -> str:
        """What came after that."""
        return self.text[len(self.head) :]

    @property
    def unclosed(self) -> bool:
        """Whether something is open still: the rest of it is missing, or somewhere else."""
        return self.closed_at is None and bool(self.text.strip())

    def feed(self, fragment: str) -> None:
        """Add a fragment."""
        self.text += fragment
        if self.closed_at is None:
            self._look()

    def _look(self) -> None:
        for match in _MARK.finditer(self.text, self._seen):
            mark = match.group()
            if mark == "\\" and self._quoted:
                # What it escapes comes with the next fragment.
                self._seen = match.start()
                return
            if mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and mark in "{[":
                self._depth += 1
            elif not self._quoted and mark in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self.closed_at = match.end()
                    return
        self._seen = len(self.text)


def unclosed(text: str) -> bool:
    """Return whether a whole text opens something that it does not close."""
    brackets = Brackets()
    brackets.feed(text)
    return brackets.unclosed


def presentable(messages: Iterable[Message]) -> list[Message]:
    """Return the history with every call named and its arguments a JSON object; whole calls stay untouched."""
    return [
        message.model_copy(update={"tool_calls": [presentable_call(call) for call in message.tool_calls]})
        if isinstance(message, AssistantMessage) and message.tool_calls
        else message
        for message in messages
    ]


def presentable_call(call: ToolCall) -> ToolCall:
    """Return the call itself where every provider takes it, else a copy that they take."""
    name, arguments = call.function.name or UNNAMED_TOOL, _json_object(call.function.arguments)
    if (name, arguments) == (call.function.name, call.function.arguments):
        return call
    function = call.function.model_copy(update={"name": name, "arguments": arguments})
    return call.model_copy(update={"function": function})


def _json_object(arguments: str) -> str:
    if not arguments.strip():
        return "{}"
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except ValueError:
        pass
    return json.dumps({INVALID_JSON: arguments}, ensure_ascii=False)
