"""`hitl_nb.agui` does with a stream what the released web client does with it."""

import json
import os
from pathlib import Path

import pytest

from tests.conformance.agui import cases, main, passes

TRACES = Path(__file__).parents[3] / "shared" / "conformance" / "agui_traces.jsonl"

# Where we deliberately differ: id of the case -> one line why. An entry that passes fails the test.
KNOWN: dict[str, str] = {}


@pytest.fixture
def traces():
    if not TRACES.exists():
        reason = "the recorded traces are not beside the project (../shared/conformance/agui_traces.jsonl)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return cases(TRACES)


def test_exactly_the_known_traces_differ(traces):
    failing = {case["id"] for case in traces if not passes(case)}
    assert failing == KNOWN.keys() & {case["id"] for case in traces}


def test_at_least_98_percent_of_the_traces_pass(traces):
    assert sum(map(passes, traces)) >= 0.98 * len(traces)


def test_the_runner_names_what_fails_and_ends_with_the_score(tmp_path, capsys):
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    right = {"id": "a", "kind": "verify", "events": [started], "expect": {"out": [started], "error": None}}
    wrong = right | {"id": "b", "expect": {"out": [], "error": "no"}}
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(map(json.dumps, [right, wrong])), encoding="utf-8")
    main(file)
    assert capsys.readouterr().out == "b\nagui: 1/2\n"


def test_what_cannot_be_played_is_a_difference_and_no_traceback(tmp_path, capsys):
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    lines = [
        json.dumps({"id": "a", "kind": "verify", "events": [started], "expect": {"out": [started], "error": None}}),
        json.dumps({"id": "b", "kind": "of the future", "events": []}),
        json.dumps({"id": "c", "kind": "apply", "events": [{"type": "NOT_YET"}]}),
        json.dumps({"id": "d", "kind": "verify", "events": 7, "expect": {}}),
        json.dumps({"kind": "apply"}),
        "[1]",
        "{",
    ]
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    main(file)
    *said, score = capsys.readouterr().out.splitlines()
    assert [line.partition(": cannot be played: ")[0] for line in said] == [
        *("b", "c", "d", "a case without an id", "line 6", "line 7")
    ]
    assert score == "agui: 1/7"
