"""Real crews on a model from a script: a text is a final answer, a list of `wants(...)` are tool calls."""

import itertools
import json
import threading
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

_ids = itertools.count(1)


def wants(name: str, **arguments: Any) -> dict[str, Any]:
    """One tool call of the model."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{next(_ids)}", "type": "function", "function": function}


class ScriptedLLM(BaseLLM):
    """Plays one turn a request, the last one for ever; keeps the requests."""

    turns: list[Any]
    requests: list[Any] = []  # noqa: RUF012 - pydantic copies it

    def call(self, messages, *args, **kwargs):
        self.requests.append(messages if isinstance(messages, str) else [dict(message) for message in messages])
        return self.turns[min(len(self.requests), len(self.turns)) - 1]

    async def acall(self, messages, *args, **kwargs):
        return self.call(messages, *args, **kwargs)

    def supports_function_calling(self) -> bool:
        return True

    def told(self) -> list[str]:
        """The tool results that the last request held."""
        return [message["content"] for message in self.requests[-1] if message["role"] == "tool"]


def scripted(*turns: Any) -> ScriptedLLM:
    return ScriptedLLM(model="scripted", turns=list(turns))


class TextLLM(ScriptedLLM):
    """A model without tool calling: it writes in words which tool it wants, and CrewAI reads them."""

    def supports_function_calling(self) -> bool:
        return False

    def told(self) -> list[str]:
        """What the last request says that came of the tools."""
        said = [message["content"] for message in self.requests[-1] if message["role"] == "assistant"]
        return [text.partition("Observation:")[2].strip() for text in said if "Observation:" in text]


def in_words(*turns: Any) -> TextLLM:
    """Play the same script without tool calling."""

    def text(turn: Any) -> str:
        if isinstance(turn, str):
            return f"Thought: I now know the final answer\nFinal Answer: {turn}"
        (call,) = turn
        function = call["function"]
        return f"Thought: I need a tool\nAction: {function['name']}\nAction Input: {function['arguments']}"

    return TextLLM(model="scripted", turns=[text(turn) for turn in turns])


class Mailer:
    """A tool with a side effect that can be counted, and the thread that it ran in."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.threads: list[threading.Thread] = []

        @tool("send_mail")
        def send_mail(to: str, body: str) -> str:
            """Send a mail."""
            self.sent.append((to, body))
            self.threads.append(threading.current_thread())
            return f"sent to {to}"

        self.tool = send_mail


def crew_of(llm: ScriptedLLM, *tools: Any, human_input: bool = False, **options: Any) -> Crew:
    """A crew of one agent with one task."""
    agent = Agent(role="Writer", goal="Write", backstory="A writer.", llm=llm, tools=list(tools), verbose=False)
    task = Task(
        name="write_report",
        description="Write a report.",
        expected_output="A report.",
        agent=agent,
        human_input=human_input,
    )
    return Crew(agents=[agent], tasks=[task], verbose=False, **options)
