"""What must fail, line by line, and with what: the error codes of mypy and of pyright stand behind each.

Nobody runs this. Whatever a checker says of any other line is a fault of ours: a false alarm.
"""

# pyright: standard, reportUnnecessaryComparison=true

from ag_ui.core import Interrupt

from hitl_nb import (
    Session,
    approve,
    ask,
    choose,
    frontend_tool,
    gate,
    human_in_the_loop,
    interrupt,
    on_interrupt,
    review,
)


@gate
def pay(to: str, amount: int) -> str:
    """Pay."""
    return f"{to} {amount}"


@frontend_tool
def count(table: str) -> int:
    """Count."""
    return len(table)


@human_in_the_loop
def plan(steps: list[str]) -> list[str]:
    """Plan."""
    raise NotImplementedError


def takes(interrupt: Interrupt) -> bool:
    """Whether it is about something."""
    return interrupt.id == "a"


class NoAgent:
    """Nothing that runs."""


async def slips(flag: bool) -> None:
    """One a line."""
    Session(42)  # arg-type, reportArgumentType
    Session(NoAgent)  # arg-type, reportArgumentType
    Session("https://example.org", [plan, takes])  # list-item, reportArgumentType
    Session("https://example.org", [on_interrupt(enabled=takes)])  # list-item, reportArgumentType
    Session("https://example.org", people=["ada"])  # list-item, reportArgumentType
    Session("https://example.org").run(42)  # arg-type, reportArgumentType
    Session("https://example.org").run("go", pending="wait")  # call-arg, reportCallIssue
    Session("https://example.org").run("go", if_busy="queue")  # arg-type, reportArgumentType

    approve("x", timout=5)  # call-arg, reportCallIssue
    approve("x", timeout=1, if_expired=True)  # call-arg, reportCallIssue
    approve("x", risk="huge")  # arg-type, reportArgumentType
    approve("x", escalate_to="the boss", timeout=1)  # arg-type, reportArgumentType
    interrupt("x", on_timeout=None)  # call-overload, reportCallIssue
    interrupt.sync("x", again=True)  # call-overload, reportCallIssue
    ask("x", options=["a"])  # call-overload, reportCallIssue
    choose("x", 42)  # call-overload, reportArgumentType
    review([1], reason="why")  # call-overload, reportCallIssue

    if approve("x"):  # truthy-bool, reportGeneralTypeIssues
        print("dropped")
    if not interrupt("x", answer=bool):  # truthy-bool, reportGeneralTypeIssues
        print("kept")
    if pay("ada", 500):  # truthy-bool, reportGeneralTypeIssues
        print("paid")
    print(len(review([1])))  # arg-type, reportArgumentType
    print(approve("x") == 1)  # comparison-overlap, reportUnnecessaryComparison
    print(ask("x") + "!")  # operator, reportOperatorIssue
    print(interrupt.sync("x", answer=int) + "!")  # operator, reportOperatorIssue
    print((await ask("x", answer=int)).upper())  # attr-defined, reportAttributeAccessIssue
    print((await choose("x", [1, 2], multiple=True)) + 1)  # operator, reportOperatorIssue
    print((await interrupt("x", answer=int, timeout=1, if_expired=None)) + 1)  # operator, reportOptionalOperand
    print((await choose("x", ["a"], multiple=flag)).upper())  # union-attr, reportAttributeAccessIssue

    pay("ada", "many")  # arg-type, reportArgumentType
    pay("ada")  # call-arg, reportCallIssue
    pay.sync("ada", amout=5)  # call-arg, reportCallIssue
    print((await pay("ada", 5)) / 2)  # operator, reportOperatorIssue
    count(42)  # arg-type, reportArgumentType
    print(count("rows").upper())  # attr-defined, reportAttributeAccessIssue
    for step in plan(["a"]):  # attr-defined, reportGeneralTypeIssues
        print(step)
    gate(render="card")  # call-overload, reportArgumentType
    human_in_the_loop(render="card")  # call-overload, reportArgumentType
    on_interrupt(handler=42)  # arg-type, reportArgumentType
