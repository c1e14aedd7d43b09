"""States of a card while one after the other is asked, and of an answer until it counts."""

from typing import Any

from tests.browser.items import Item, arg, call, message, record, review, row, step, turn

_PAY = {
    "name": "pay",
    "title": "Pay",
    "message": "Transfer the money for the two seats?",
    "confirm": "Approve",
    "card": "approval",
}
_ROWS = [arg("to", "Acme Rockets"), arg("amount", "48000"), arg("cursor", "<sqlite3.Connection>")]
_STEPS = [step("Choose a launch window"), step("Book two seats"), step("Pack potatoes")]
_SAYS = "The steps are ready.\n\n✓ Confirmed 3 of 3 steps\n    ☑ Wipe the old flight computer\n    pay · by ada"
_RULE = turn("A rule decides first", is_open=False)
_WRITING = turn("The answer is being written down…", is_open=False)
_FAILED = "Your answer could not be written down and does not count: the disk is full"


def _pay(key: str = "c1", **changes: Any) -> Item:
    return call(key, **{"props": {"rows": _ROWS, "risk": "high", "reason": None}, **_PAY, **changes})


def _ballot(number: int, words: str) -> Item:
    asked = f"{_PAY['message']} (approval {number} of 2)"
    return _pay(f"b{number}", message=asked, turn=turn(words, token=f"b{number}"))


def _steps(**changes: Any) -> Item:
    return review(**{"props": {"steps": _STEPS}, **changes})


def _decided(key: str, outcome: str, headline: str, rows: list[Item]) -> Item:
    footer = "generate_task_steps · by ada · 2026-11-29 14:05 UTC"
    return review(key, status="complete", message="", record=record(outcome, headline, rows, footer))


TURN_STATES: dict[str, dict[str, Any]] = {
    "turn-rule": {"items": [_pay(turn=_RULE)]},
    "turn-rule-steps": {"items": [_steps(turn=_RULE)]},
    "turn-ada": {"items": [_pay(turn=turn("Waiting for Ada", token="t2"))]},
    "turn-passed-on": {"items": [_steps(turn=turn("Passed on to Bob", is_open=False, token="t3"))]},
    "turn-somebody-first": {"items": [_steps(turn=turn("Ada is asked first", is_open=False))]},
    "turn-too-late": {"items": [_steps()], "acts": ["refuse_turn", "confirm"]},
    "turn-several": {
        "items": [
            _pay(props={}, turn=turn("Asked of Ada and Bob, one card each", is_open=False, several=True)),
            _ballot(1, "Waiting for Ada"),
            _ballot(2, "Waiting for Bob"),
        ]
    },
    "answer-elsewhere-writing": {"items": [_steps(turn=_WRITING)]},
    "answer-not-written": {"items": [_steps(error=_FAILED)]},
    "answer-lost-race": {"items": [_steps()], "acts": ["busy", "confirm", "lose_race"]},
    "by-identity": {"items": [_pay(about="Compared by identity, not by content: sqlite3.Connection")]},
    "records-edited": {
        "items": [
            message("m0", _SAYS),
            _decided(
                "r1",
                "edited",
                "Confirmed 2 of 3 steps",
                [
                    row("Choose a launch window", mark="on"),
                    row("Book one seat", mark="on"),
                    row("Pack potatoes", mark="off"),
                    row("Book two seats → Book one seat", label="changed steps[1].description"),
                ],
            ),
            _decided(
                "r2",
                "answered",
                "Approved",
                [
                    row("48000", label="amount"),
                    row("Compared by identity, not by content: sqlite3.Connection"),
                ],
            ),
        ]
    },
}
