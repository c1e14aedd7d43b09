"""human_in_the_loop: three ways to define a tool, and each slip answered with the line to write."""

import asyncio
import sys
from datetime import date

import pytest
from pydantic import BaseModel

from hitl_nb import Session, frontend_tool, gate, human_in_the_loop
from hitl_nb.errors import HitlError, InvalidValue, ToolDefinitionError, UsageError
from hitl_nb.testing import ScriptedPerson, calls, says
from tests.agents import ScriptedAgent


class Mail(BaseModel):
    """Send a mail."""

    to: str
    subject: str = "hello"


def test_a_function_gives_name_description_parameters_and_answer():
    @human_in_the_loop
    def pick_date(question: str, earliest: date) -> date:
        """Ask for a date."""

    tool = pick_date.advertised()
    assert (tool.name, tool.description) == ("pick_date", "Ask for a date.")
    assert set(tool.parameters["properties"]) == {"question", "earliest"}
    assert pick_date.validated('{"question": "when?", "earliest": "2026-01-02"}').earliest == date(2026, 1, 2)
    assert pick_date.answer.validate("2026-03-04") == date(2026, 3, 4)


def test_the_decorator_takes_a_name_and_a_description_of_its_own():
    @human_in_the_loop(name="ask", description="Ask.")
    def anything(question: str) -> str: ...

    assert (anything.name, anything.description) == ("ask", "Ask.")


def test_a_pydantic_model_is_a_tool():
    tool = human_in_the_loop(Mail)
    assert tool.name == "Mail"
    assert tool.description == "Send a mail."
    assert tool.validated('{"to": "ada"}') == Mail(to="ada")


def test_a_json_schema_is_a_tool_and_its_arguments_stay_plain_data():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = human_in_the_loop(name="count", parameters=schema, answer=int)
    assert tool.validated('{"n": 1152921504606846977}') == {"n": 2**60 + 1}
    with pytest.raises(InvalidValue):
        tool.validated('{"n": "many"}')


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", "3", '"s"', '{"to": 1}', '{"to": "a"} trailing'])
def test_arguments_that_do_not_fit_are_refused_before_anybody_is_asked(arguments):
    with pytest.raises(InvalidValue):
        human_in_the_loop(Mail).validated(arguments)


def test_no_arguments_at_all_are_an_empty_object():
    @human_in_the_loop
    def ping() -> str:
        """Ping."""

    assert ping.validated("") is not None


@pytest.mark.parametrize(
    ("define", "line"),
    [
        (lambda: human_in_the_loop(42), "@human_in_the_loop"),  # type: ignore[call-overload]
        (lambda: human_in_the_loop("ask"), "@human_in_the_loop"),  # type: ignore[call-overload]
        (lambda: human_in_the_loop(parameters=42, name="ask"), "parameters=MyModel"),  # type: ignore[call-overload]
        (lambda: human_in_the_loop(parameters={"type": "object"}), 'human_in_the_loop(name="'),
        (lambda: human_in_the_loop(Mail, name="send mail"), 'name="send_mail"'),
        (lambda: human_in_the_loop(Mail, render=42), "render=StepReview"),  # type: ignore[call-overload]
        (lambda: human_in_the_loop(lambda question: None, name="ask"), "question"),
    ],
)
def test_a_wrong_definition_says_the_line_to_write(define, line):
    with pytest.raises(ToolDefinitionError) as caught:
        define()
    assert line in str(caught.value)


@pytest.mark.parametrize("decorator", [gate, gate(when=lambda args: False), frontend_tool, human_in_the_loop])
def test_a_generator_is_refused_since_a_call_of_it_does_nothing(decorator):
    def pay_all(to: list[str]):
        yield from to

    async def pay_slowly(to: list[str]):
        for name in to:
            yield name

    for function, line in (
        (pay_all, "`return list(pay_all(...))`"),
        (pay_slowly, "`return [one async for one in pay_slowly(...)]`"),
    ):
        with pytest.raises(ToolDefinitionError, match="has a `yield`") as caught:
            decorator(function)
        assert str(caught.value).endswith(f"with {line}.")


def test_functions_that_only_hold_a_generator_are_tools():
    @frontend_tool
    def total(numbers: list[int]) -> int:
        """Add."""

        def each():
            yield from numbers

        return sum(each())

    assert total([1, 2]) == 3


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="rendr"):
        human_in_the_loop(Mail, rendr=None)  # type: ignore[call-overload]


def test_a_tool_called_from_code_says_who_calls_it():
    with pytest.raises(UsageError, match="Session"):
        human_in_the_loop(Mail)(to="ada")


class Nobody:
    async def run(self, input):  # noqa: A002
        yield None


@pytest.mark.parametrize(
    ("tools", "line"),
    [
        ([human_in_the_loop(Mail), human_in_the_loop(Mail)], 'name="Mail_2"'),
        ([Mail], "@human_in_the_loop"),
        ([lambda: None], "@human_in_the_loop"),
    ],
)
def test_tools_that_cannot_be_told_apart_or_are_none_are_refused(tools, line):
    with pytest.raises(ToolDefinitionError) as caught:
        Session(Nobody(), tools=tools)
    assert line in str(caught.value)


@pytest.mark.parametrize("agent", [42, "a flow", Nobody, None])
def test_what_is_no_agent_is_refused_with_the_line_to_write(agent):
    with pytest.raises(HitlError, match=r"Session\(|HttpAgent\("):
        Session(agent)


def test_people_that_cannot_be_asked_are_refused():
    with pytest.raises(UsageError, match="async def person"):
        Session(Nobody(), people=[42])  # type: ignore[list-item]


def leaves(n: int) -> str:
    """Leave."""
    sys.exit(3)


def cancels(n: int) -> str:
    """Cancel."""
    raise asyncio.CancelledError


async def leaves_later(n: int) -> str:
    """Leave."""
    await asyncio.sleep(0)
    raise SystemExit


@pytest.mark.parametrize("function", [leaves, cancels, leaves_later])
@pytest.mark.parametrize("make", [frontend_tool, gate])
async def test_a_tool_that_would_end_the_process_is_an_error_for_the_model_once(function, make):
    tool = make(function)
    agent = ScriptedAgent([calls(function.__name__, n=1), says("ok")])
    reply = await Session(agent, tools=[tool], people=[ScriptedPerson([lambda c: c.args])], journal=None).run("go")
    assert agent.results(1)["call_1"].startswith("Error: ")
    assert reply.text == "ok"
