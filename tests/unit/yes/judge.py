"""What of an afternoon is a fault: all that the model does not allow, and all that is told in two ways."""

import json
from collections.abc import Iterator
from typing import Any

from hitl_nb import Call
from hitl_nb._calls import Decision, Handle
from tests.unit.yes.afternoon import exactly
from tests.unit.yes.kernels import Asked, Kernel, Run
from tests.unit.yes.model import Case
from tests.unit.yes.world import World


def faults(world: World) -> Iterator[str]:
    """Give them in words."""
    for case in world.cases:
        for word in case.wrong():
            yield f"counted, and must not have: {word} of {case.question}"
    for run in world.runs:
        yield from _of_run(world, run)
    yield from _of_runs(world)
    for call in world.decided:
        if "#" not in call.id:  # a question of everybody's, and not the own one of somebody among several
            yield from _of_call(world, call)
    for asked in world.asked:
        yield from _of_cell(world, asked)
    for kernel in world.kernels:
        yield from _of_told(world, kernel)
    yield from world.not_run
    yield from _of_journal(world)


def _allowed(world: World, case: Case) -> set[str | None]:
    """Two kernels that go on with one agent ask the same question: either's people may answer it."""
    if isinstance(case.process[1], int) and not world.afternoon.rounds:
        return case.allowed()
    return set().union(*(each.allowed() for each in world.cases if each.question == case.question))


def _of_run(world: World, run: Run) -> Iterator[str]:
    allowed = _allowed(world, run.case)
    if not run.case.words and world.afternoon.rounds:
        # Restored: what an earlier kernel has left, which is JSON.
        allowed = {world.in_json.get(each) for each in allowed}
    if run.value not in allowed:
        yield f"ran with {run.value}, which nobody allowed: {run.case.question}"


def _of_runs(world: World) -> Iterator[str]:
    journal = list(world.auditor) if world.auditor is not None else []
    for question, runs in _by(world.runs, lambda run: run.wire or run.case).items():
        asked = set().union(*(run.occurrences(world) for run in runs))
        rows = {row["question"] for row in journal if row.get("occurrence") in asked}
        begun = [row for row in journal if row["event"] == "started" and row["question"] in rows]
        most = 1 if world.auditor is None else len(begun)
        if len(runs) > most:
            yield f"ran {len(runs)} times for {most} grants: {question}"
        if len({run.case for run in runs}) < len(runs):
            yield f"ran twice in one kernel: {question}"
    for run in world.runs:
        yield from _of_runner(world, run, journal)


def _of_runner(world: World, run: Run, journal: list[dict[str, Any]]) -> Iterator[str]:
    """It runs where it was answered; or where an approval was found that had never begun, and nobody was asked."""
    if not any(held.call.render.case_of(held.call) is run.case for held in world.held):
        return
    asked = [row for row in journal if row.get("occurrence") in run.occurrences(world)]
    for question in {row["question"] for row in asked}:
        answers = [row for row in journal if row["event"] == "answered" and row["question"] == question]
        first = min(row["id"] for row in asked if row["question"] == question)
        for answer in answers:
            by = answer.get("by") or ""
            if "@" in by and run.kernel.name not in by and first < answer["id"]:
                yield f"ran in {run.kernel.name}, which had asked, and {by} had answered elsewhere"


def _of_call(world: World, call: Call) -> Iterator[str]:
    case = call.render.case_of(call)
    decision = Handle.of(call).decision
    assert decision is not None
    if decision.via == "replay" and world.afternoon.rounds:
        return  # the record of what an earlier kernel was answered
    if decision.approves:
        yield from _of_approval(world, case, decision)
    said = (decision.outcome, decision.answer, decision.edits, decision.result, decision.by)
    if (call.outcome, call.answer, call.edits, call.result, call.answered_by) != said:
        yield f"the call says {call.outcome} by {call.answered_by}, its decision {decision}"
    row = world.auditor.winner(call) if world.auditor is not None and not call.render.kernel.killed else None
    if row is not None:
        told = (row.outcome, row.result, row.reason, *row.edits)
        if exactly(list(told)) != exactly([decision.outcome, decision.result, decision.reason, *decision.edits]):
            yield f"the journal says {told}, the call {decision}"
        if row.approved and exactly(row.answer) != exactly(_answer(decision)):
            yield f"the journal says {row.answer}, the call {decision}"


def _answer(decision: Decision) -> Any:
    """What was said, as it was said then: whoever gave the object may have changed it since."""
    try:
        value = json.loads(decision.result)
    except ValueError:
        return f"not even JSON: {decision.result}"
    return value["value"] if isinstance(value, dict) and "value" in value else value


def _of_approval(world: World, case: Case, decision: Decision) -> Iterator[str]:
    answer = exactly(_answer(decision))
    if answer not in {world.in_json[each] for each in _allowed(world, case) if each in world.in_json}:
        yield f"{decision.outcome} with {answer}, which nobody allowed: {case.question}"
    if case.proposal == "True":
        return
    if decision.outcome == "answered" and answer != world.in_json[case.proposal]:
        yield f"{decision.outcome}: {answer} for {case.proposal}"
    if [edit["path"] for edit in decision.edits] != ([] if decision.outcome == "answered" else ["amount"]):
        yield f"{decision.outcome} with edits {decision.edits}: {answer} for {case.proposal}"


def _of_cell(world: World, asked: Asked) -> Iterator[str]:
    case, about = asked.case, asked.case.question[-1]
    if asked.error is not None or asked.result is asked:
        return
    if asked.cell_.asks == "pay":
        runs = [run for run in world.runs if run.case is case]
        if [f"paid#{run.number}" for run in runs] != [asked.result]:
            yield f"gave {asked.result}, and {runs} ran"
        return
    if asked.result is False and asked.cell_.asks == "approve":
        return
    if asked.result_then not in case.allowed():
        yield f"gave {asked.result_then}, which nobody allowed: {case.question}"
    if asked.payload_then != about:
        yield f"gave {asked.result_then} for {about}, which was {asked.payload_then} by then"
    if asked.result_then == about and asked.result is not asked.payload:
        yield f"gave another object than {about}"


def _of_told(world: World, kernel: Kernel) -> Iterator[str]:
    """What the models hear is what happened, and always the same."""
    if kernel.agent is None:
        return
    told: dict[str, str] = {}
    for given in kernel.agent.told:
        for wire, content in given.items():
            if told.setdefault(wire, content) != content:
                yield f"{kernel.name} was told {told[wire]}, and then {content}"
    if not kernel.killed:
        told |= {m.tool_call_id: str(m.content) for m in kernel.session.messages if m.role == "tool"}
    for wire, content in told.items():
        runs = [run for run in world.runs if run.wire == wire]
        paid = [run for run in runs if f"paid#{run.number}" in content]
        refused = '"approved":false' in content or content.startswith("Error: Human")
        if refused and runs:
            yield f"{kernel.name} was told of {wire} {content}, and it ran: {runs}"
        if not refused and not paid and "may not have" not in content:
            yield f"{kernel.name} was told of {wire} {content}"


def _of_journal(world: World) -> Iterator[str]:
    """Every run that has begun came to an end, if nobody was killed; and the chain is whole."""
    if world.auditor is None:
        return
    rows = list(world.auditor)
    begun, ended = ({row["question"] for row in rows if row["event"] == event} for event in ("started", "ended"))
    if begun != ended and not any(kernel.killed for kernel in world.kernels):
        yield f"began {begun}, and ended {ended}"
    if not world.auditor.verify().ok:
        yield f"the journal is not whole: {world.auditor.verify()}"


def _by(things: Any, key: Any) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found
