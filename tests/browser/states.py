"""Every state of every card, as the gallery photographs it and the page shows it by hand.

A state is a list of items and, where a state is what a person or a kernel did, the acts of ``page.js`` that lead to it.
"""

from typing import Any

from tests.browser.form_states import FORM_STATES
from tests.browser.items import Item, arg, call, message, note, record, review, row, step
from tests.browser.mcp_states import MCP_STATES
from tests.browser.other_states import OTHER_STATES
from tests.browser.shared_states import SHARED_STATES
from tests.browser.small_states import SMALL_STATES
from tests.browser.tool_states import TOOL_STATES
from tests.browser.turn_states import TURN_STATES
from tests.browser.value_states import VALUE_STATES

LONG = (
    "Dear Ada,\n\nthank you for the flight plan. Before we file it, two remarks:\n"
    "  1. The window opens at 04:12 UTC, not at 04:21.\n"
    "  2. Seat 2B has no view.\n\n" + "All other arrangements stand as discussed on Monday. " * 30 + "\n\nYours,\nGrace"
)
ASK_AGAIN = "Nothing waits for this answer any more. Run the cell again, or write: await approve('Drop?', ...)"
FOOTER = "generate_task_steps · by ada · 2026-11-29 14:05 UTC"
_STEPS = [
    step("Choose a launch window between two dust storms"),
    step(
        "Book two seats, window and aisle, with an option on a third in case the mission doctor comes along after all"
    ),
    step("Wipe the old flight computer", checked=False, note="Cannot be undone"),
    step("Pack potatoes"),
]
_DECIDED = [row(_STEPS[0]["label"], mark="on"), row(_STEPS[1]["label"], mark="on"), row(_STEPS[2]["label"], mark="off")]
_ARGS = [arg("recipient", "ada@example.org"), arg("subject", "Flight plan"), arg("retries", "3")]
_LONG_ARGS = [*_ARGS, arg("body", LONG, long=True)]
_MAIL = {"name": "send_email", "title": "Send email", "message": "Sends one email from the shared account."}


def _decided(key: str, outcome: str, headline: str, rows: list[Item], **changes: Any) -> Item:
    decided = record(outcome, headline, rows, FOOTER)
    return review(key, **{"status": "complete", "record": decided, "message": "", **changes})


def _again(item: Item) -> Item:
    item["record"]["again"] = ASK_AGAIN
    return item


def _steps(**changes: Any) -> Item:
    return review(**{"props": {"steps": _STEPS}, **changes})


STATES: dict[str, dict[str, Any]] = {
    "steps-writing": {
        "items": [_steps(status="inProgress", props={"steps": [_STEPS[0], step("Book two seats, win")]})],
    },
    "steps-writing-no-words-yet": {"items": [_steps(status="inProgress", props={"steps": [_STEPS[0], step("")]})]},
    "steps-writing-nothing-yet": {"items": [review(status="inProgress", labels=(), message="")]},
    "steps-open": {"items": [_steps()]},
    "steps-focus": {"items": [_steps()], "acts": ["focus"]},
    "steps-none": {"items": [_steps()], "acts": ["none"]},
    "steps-declining": {"items": [_steps()], "acts": ["decline"]},
    "steps-sending": {"items": [_steps()], "acts": ["busy", "confirm"]},
    "steps-refused": {"items": [_steps()], "acts": ["refuse", "confirm"]},
    "steps-disconnected": {"items": [_steps()], "acts": ["disconnect"]},
    "steps-warning": {"items": [_steps(warning="The text holds invisible characters; they are shown escaped.")]},
    "steps-many": {"items": [review(labels=tuple(f"Step {number}" for number in range(1, 25)))]},
    "plain-writing": {"items": [call(status="inProgress", **_MAIL, props={"rows": _ARGS[:2]})]},
    "plain-open": {"items": [call(**_MAIL, props={"rows": _ARGS})]},
    "plain-long": {"items": [call(**_MAIL, props={"rows": _LONG_ARGS})]},
    "plain-empty": {"items": [call(message="", name="reboot", title="Reboot", decline=None, confirm="Reboot now")]},
    "missing-card": {"items": [call(card="starmap")]},
    "expired": {
        "items": [_again(_decided("r5", "expired", "Expired: nobody answered in time", []))],
        "acts": ["again"],
    },
    "records": {
        "items": [
            _decided("r1", "answered", "Confirmed 2 of 3 steps", _DECIDED),
            _decided(
                "r2", "edited", "Confirmed with changes", [row("Flight plan", label="subject"), row(LONG, label="body")]
            ),
            _decided("r3", "declined", "Declined: too dangerous", _DECIDED),
            _decided("r4", "cancelled", "Cancelled", []),
            _again(_decided("r5", "expired", "Expired: nobody answered in time", [])),
            _decided("r6", "invalid", "Not asked: the model's call was invalid", []),
            _decided("r7", "aborted", "Stopped before an answer", []),
            _decided("r9", "aborted", "Failed before an answer: ZeroDivisionError", []),
            _decided("r8", "superseded", "Superseded", []),
        ],
    },
    "conversation": {
        "items": [
            message("m1", "Plan a trip to Mars. Keep it cheap.", role="user"),
            message("m2", "I will propose the steps first.\n\nNothing is booked before you approve them."),
            _decided("c0", "answered", "Confirmed 2 of 3 steps", _DECIDED),
            note("n1", "The model asked again with other arguments."),
            note("n2", "The reply was cut off at the token limit.", level="warning"),
            note("n3", "AgentError: the model's provider refused the request.", level="error"),
            _steps(key="c2"),
            message("m3", "Meanwhile I look at the weath", streaming=True),
        ],
    },
    **FORM_STATES,
    **MCP_STATES,
    **SHARED_STATES,
    **SMALL_STATES,
    **TOOL_STATES,
    **TURN_STATES,
    **OTHER_STATES,
    **VALUE_STATES,
}
