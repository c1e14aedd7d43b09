"""Shared state: what the person changes reaches the agent, what the agent changes is seen, and no overlap is silent."""

import random
from typing import Any

import ipywidgets
import pytest
from ag_ui.core import CustomEvent, StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel, Field

from hitl_nb import Session
from hitl_nb._merge import NOT_THERE, RowId, changes, path_of, put, same, text_of, value_at
from hitl_nb._transcript import NoteEntry
from hitl_nb.errors import InvalidValue, UsageError
from hitl_nb.session import State
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


def snapshot(**state):
    return lambda _: [StateSnapshotEvent(snapshot=state)]


def patch(*operations):
    return lambda _: [StateDeltaEvent(delta=list(operations))]


def session_of(*turns, state=None, **options):
    agent = ScriptedAgent(list(turns))
    return Session(agent, state={"title": "Mars", "days": 3} if state is None else state, **options), agent


async def test_the_persons_edits_travel_with_the_next_run_and_the_agents_come_back():
    session, agent = session_of(snapshot(title="Mars", days=4), says("ok"))
    session.state["title"] = "Moon"
    await session.run("go")
    assert agent.inputs[0].state == {"title": "Moon", "days": 3}
    # The agent has not taken the title: that is no silent loss.
    assert session.state == {"title": "Moon", "days": 4}
    (conflict,) = session.state.conflicts
    assert (conflict.path, conflict.was, conflict.yours, conflict.theirs) == ("title", "Mars", "Moon", "Mars")
    await session.run("on")
    assert agent.inputs[1].state == {"title": "Moon", "days": 4}


async def test_what_is_changed_in_place_travels_too():
    session, agent = session_of(says("ok"), state={"steps": [{"id": 1, "done": False}]})
    session.state["steps"][0]["done"] = True
    session.state["steps"].append({"id": 2, "done": False})
    await session.run("go")
    assert agent.inputs[0].state == {"steps": [{"id": 1, "done": True}, {"id": 2, "done": False}]}


class Trip(BaseModel):
    title: str = "Mars"
    days: int = Field(default=3, ge=1)


async def test_a_model_is_read_changed_and_checked_as_a_model():
    session, agent = session_of(snapshot(title="Mars", days=5), says("ok"), state=Trip)
    assert session.state.value == Trip()
    session.state.value.days = 4
    await session.run("go")
    assert agent.inputs[0].state == {"title": "Mars", "days": 4}
    assert session.state.value == Trip(days=5)
    with pytest.raises(InvalidValue, match="days"):
        session.state.set("days", 0)
    assert session.state["days"] == 5
    session.state.value.title = "Moon"
    assert session.state.data == {"title": "Moon", "days": 5}


async def test_an_overlap_is_a_conflict_and_the_persons_value_stands_until_it_is_resolved():
    def turn(_):
        session.state["days"] = 10  # while the agent works
        yield StateSnapshotEvent(snapshot={"title": "Phobos", "days": 7})

    session, agent = session_of(turn, snapshot(title="Phobos", days=8), says("ok"))
    await session.run("go")
    assert session.state == {"title": "Phobos", "days": 10}
    (conflict,) = session.state.conflicts
    assert (conflict.was, conflict.yours, conflict.theirs) == (3, 10, 7)
    assert "1 conflict" in repr(session.state)

    await session.run("again")
    assert agent.inputs[1].state["days"] == 10
    assert session.state["days"] == 10  # also when the agent writes again
    assert session.state.conflicts[0].theirs == 8
    session.state.resolve("days", "theirs")
    assert (session.state["days"], session.state.conflicts) == (8, [])
    with pytest.raises(UsageError, match="no conflict `days`"):
        session.state.resolve("days", "mine")


async def test_rows_are_matched_by_their_id_whatever_moved():
    before = [{"id": 1, "title": "pack"}, {"id": 2, "title": "launch"}]

    def turn(_):
        session.state.set("steps[id=1].title", "pack well")
        rows = [{"id": 3, "title": "land"}, {"id": 2, "title": "lift off"}, {"id": 1, "title": "pack"}]
        yield StateSnapshotEvent(snapshot={"steps": rows})

    session, _ = session_of(turn, says("ok"), state={"steps": before})
    await session.run("go")
    titles = [row["title"] for row in session.state["steps"]]
    assert titles == ["land", "lift off", "pack well"]
    assert session.state.conflicts == []


def test_what_one_side_takes_away_and_the_other_changes_is_a_conflict():
    state = State({"steps": [{"id": 1, "title": "pack"}]})
    state.to_send()
    state.delete("steps[id=1]")
    state.receive({"steps": [{"id": 1, "title": "pack well"}]})
    assert state == {"steps": []}
    (conflict,) = state.conflicts
    assert (conflict.path, conflict.yours, conflict.theirs) == (
        "steps[id=1]",
        NOT_THERE,
        {"id": 1, "title": "pack well"},
    )
    state.resolve(conflict.path, "theirs")
    assert state == {"steps": [{"id": 1, "title": "pack well"}]}


def test_rows_that_both_sides_have_moved_are_a_conflict_of_their_order():
    rows = [{"id": name} for name in "abc"]
    state = State({"steps": rows})
    state.to_send()
    state["steps"] = [{"id": name} for name in "cab"]
    state.receive({"steps": [{"id": name} for name in "bac"]})
    (conflict,) = state.conflicts
    assert conflict.is_order
    assert [row["id"] for row in state["steps"]] == ["c", "a", "b"]
    state.resolve("steps", "theirs")
    assert [row["id"] for row in state["steps"]] == ["b", "a", "c"]


def test_observers_hear_of_their_path_and_of_who_has_changed_it():
    state = State({"a": {"b": 1}, "c": 2})
    heard = []
    end = state.observe(lambda change: heard.append((change.path, change.old, change.new, change.by)), "a.b")
    state.set("c", 3)
    state.set("a.b", 5)
    state.to_send()
    state.receive({"a": {"b": 6}, "c": 3})
    assert heard == [("a.b", 1, 5, "person"), ("a.b", 5, 6, "agent")]
    end()
    state.set("a.b", 7)
    assert len(heard) == 2


def test_an_observer_that_fails_takes_nothing_with_it():
    state, heard = State({"a": 1}), []
    state.observe(lambda change: 1 / 0)
    state.observe(heard.append)
    state["a"] = 2
    assert [change.new for change in heard] == [{"a": 2}]


def test_a_widget_and_a_place_are_kept_the_same():
    state, slider = State({"days": 3}), ipywidgets.IntSlider()
    end = state.link(slider, "days")
    assert slider.value == 3
    slider.value = 5
    assert state["days"] == 5
    state.to_send()
    state.receive({"days": 9})
    assert slider.value == 9
    end()
    slider.value = 1
    assert state["days"] == 9


async def test_what_the_agent_is_about_to_write_is_seen_while_the_arguments_stream():
    seen = []

    def turn(_):
        yield CustomEvent(
            name="PredictState", value=[{"state_key": "recipe", "tool": "write", "tool_argument": "recipe"}]
        )
        yield from agent._events(calls("write", recipe={"title": "Soup", "steps": ["cut", "cook"]}), "m")
        yield StateSnapshotEvent(snapshot={"recipe": {"title": "Soup"}})

    agent = ScriptedAgent([turn, says("ok")])
    session = Session(agent, state={})
    session.state.watch(lambda: seen.append((session.state.predicted.get("recipe"), session.state.data)))
    await session.run("go")
    guesses = [guess for guess, data in seen if data == {}]
    assert guesses[-1] == {"title": "Soup", "steps": ["cut", "cook"]}
    assert len(guesses) > 2
    assert session.state == session.state.predicted == {"recipe": {"title": "Soup"}}


async def test_edits_and_conflicts_outlive_the_kernel(tmp_path):
    path = tmp_path / "j.sqlite"

    def turn(_):
        first.state["days"] = 10
        yield StateSnapshotEvent(snapshot={"title": "Mars", "days": 7})

    first, _ = session_of(turn, says("ok"), thread_id="t", journal=path)
    await first.run("go")
    first.state["title"] = "Moon"
    again, _ = session_of(says("ok"), thread_id="t", journal=path, state={})
    assert again.state == {"title": "Moon", "days": 10}
    assert [(each.path, each.theirs) for each in again.state.conflicts] == [("days", 7)]


@pytest.mark.parametrize("text", ["a", "a.b", "steps[0].title", "steps[id=7].title", "steps[id=x y]"])
def test_paths_are_read_as_they_are_written(text):
    assert text_of(path_of(text)) == text


def test_wrong_paths_are_told():
    state = State({"a": 1})
    with pytest.raises(UsageError, match="no path"):
        state.set("a[", 1)
    with pytest.raises(UsageError, match="no place `steps\\[0\\]`"):
        State({"steps": "x"}).set("steps[0]", 1)


# -- a thousand afternoons of both sides ------------------------------------------------------------------------------


def random_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(8 if depth < 2 else 5)
    if kind < 5:
        return chance.choice([True, False, None, 0, 1, 2, "a", "b", 0.5])
    if kind == 5:
        return {chance.choice("xyz"): random_value(chance, depth + 1) for _ in range(chance.randrange(3))}
    if kind == 6:
        return [random_value(chance, depth + 1) for _ in range(chance.randrange(3))]
    names = chance.sample(range(6), chance.randrange(4))
    return [{"id": name, "v": chance.randrange(4)} for name in names]


def random_edit(chance: random.Random, document: Any) -> Any:
    """Change one place: a key, a row, a value inside."""
    places = [()]

    def walk(value, path):
        if isinstance(value, dict):
            for key in value:
                places.append((*path, key))
                walk(value[key], (*path, key))
        elif isinstance(value, list):
            for at in range(len(value)):
                places.append((*path, at))
                walk(value[at], (*path, at))

    walk(document, ())
    at = chance.choice(places[1:] or places)
    here = value_at(document, at)
    act = chance.randrange(5)
    if at and act == 0:
        return put(document, at, NOT_THERE)
    if isinstance(here, list) and act == 1:
        name = chance.randrange(9)
        return put(
            document,
            at,
            [*here, {"id": name, "v": chance.randrange(4)}]
            if not any(isinstance(row, dict) and row.get("id") == name for row in here)
            else here,
        )
    if isinstance(here, list) and act == 2:
        return put(document, at, chance.sample(here, len(here)))
    if isinstance(here, dict) and act < 4:
        return put(document, (*at, chance.choice("xyzw")), random_value(chance, 1))
    return put(document, at, random_value(chance, len(at))) if at else {**document, "k": random_value(chance)}


def inside(one, other):
    """Whether one place stands in the other, or the other way round."""
    one, other = (path_of(text_of(path)) for path in (one, other))
    # One side may see rows where the other sees positions: that is the same list.
    return all(
        a == b or (isinstance(a, int | RowId) and type(a) is not type(b)) for a, b in zip(one, other, strict=False)
    )


@pytest.mark.parametrize("block", range(10))
def test_in_a_thousand_interleavings_nothing_is_lost_silently_and_no_conflict_is_made_up(block):
    conflicts = 0
    for seed in range(block * 100, block * 100 + 100):
        chance = random.Random(seed)
        start = {key: random_value(chance) for key in "xyz"}
        state = State(start)
        state.receive(start)
        said, theirs = set(start), start
        for _ in range(chance.randrange(1, 4)):  # runs
            agreed = state.to_send()
            edited = [path for path, _, _ in changes(theirs, agreed)]  # that the agent may or may not take
            theirs = agreed
            open_before = {path_of(each.path) for each in state.conflicts}
            for _ in range(chance.randrange(1, 6)):
                if chance.random() < 0.5:
                    state.replace(random_edit(chance, state.data))
                    continue
                mine, theirs_before, known = state.data, theirs, {(c.path, c.is_order) for c in state.conflicts}
                theirs, whole = random_edit(chance, theirs), chance.random() < 0.5
                state.receive(theirs, whole=whole)
                said |= (
                    theirs.keys() if whole else {str(path[0]) for path, _, _ in changes(theirs_before, theirs) if path}
                )
                # A key that it has never said is not taken away by a snapshot without it.
                unsaid = {(key,): value for key, value in theirs_before.items() if key not in said}
                told = {**{key: value for (key,), value in unsaid.items()}, **theirs}
                check(theirs_before, mine, told, state, known, [*open_before, *edited])
            conflicts += len(state.conflicts)
            for conflict in state.conflicts:
                if chance.random() < 0.5:
                    state.resolve(conflict.path, chance.choice(["mine", "theirs"]))
                    break
    assert conflicts > 10  # it was no walk past each other


def check(base, mine, theirs, state, known, open_before):
    """What each side has changed since the other last knew is in the state, or in a conflict with both values."""
    told = [(path_of(each.path), each) for each in state.conflicts]
    after = state.data
    for path, _, new in changes(base, mine):
        kept = is_there(after, path, new)
        assert kept or any(inside(at, path) for at, _ in told), ("person", path, new, base, mine, theirs, after)
    for path, _, new in changes(base, theirs):
        kept = is_there(after, path, new)
        assert kept or any(inside(at, path) for at, _ in told), ("agent", path, new, base, mine, theirs, after)
    for at, each in told:
        if (each.path, each.is_order) in known or any(inside(at, path) for path in open_before):
            continue
        touched = [any(inside(at, path) for path, _, _ in changes(base, side)) for side in (mine, theirs)]
        assert all(touched), ("made up", each, base, mine, theirs)
        assert not same(each.yours, each.theirs)


def is_there(document, path, new):
    """Whether a value stands at a place; where a side sees rows and the other positions, in any item of that list."""
    for at, step in enumerate(path):
        inside_ = value_at(document, (step,))
        if inside_ is NOT_THERE and isinstance(document, list) and isinstance(step, int | RowId):
            return new is NOT_THERE or any(is_there(item, path[at + 1 :], new) for item in document)
        document = inside_
    return same(document, new) or contains(document, new)


def contains(there, new):
    """A container that both have filled: each part of it that this side has put there is there."""
    if isinstance(new, dict) and isinstance(there, dict):
        return all(key in there and contains(there[key], part) for key, part in new.items())
    if isinstance(new, list) and isinstance(there, list):
        return all(any(contains(each, part) for each in there) for part in new)
    return same(there, new)


async def test_a_change_of_the_agents_that_does_not_fit_is_told_and_the_next_run_asks_for_the_whole_state():
    away = {"op": "replace", "path": "/crew/0/name", "value": "Ada"}
    session, agent = session_of(patch(away), snapshot(title="Mars", days=9), says("ok"))
    run = session.start("go")
    await run
    assert session.state == {"title": "Mars", "days": 3}
    (note,) = [entry.text for entry in run.transcript if isinstance(entry, NoteEntry)]
    assert "did not fit what is there, and is missing here" in note
    run = session.start("again")
    await run
    (asked,) = agent.inputs[1].context
    assert "STATE_SNAPSHOT" in asked.value
    assert session.state == {"title": "Mars", "days": 9}
    assert [entry for entry in run.transcript if isinstance(entry, NoteEntry)] == []
    await session.run("on")
    assert agent.inputs[2].context == []


async def test_what_a_framework_keeps_in_its_state_for_itself_is_not_the_users():
    theirs = {"messages": [{"role": "user", "content": "go"}], "copilotkit": {"actions": []}, "id": "x", "context": []}
    session, agent = session_of(snapshot(**theirs, title="Mars", days=4), says("ok"), state={"title": "", "id": 7})
    await session.run("go")
    assert session.state == {"title": "Mars", "days": 4, "id": "x"}
    await session.run("on")
    assert set(agent.inputs[1].state) == {"title", "days", "id"}


async def test_what_the_agent_has_never_said_is_not_taken_away_by_a_snapshot_without_it_but_by_a_patch_that_does():
    away = {"op": "remove", "path": "/days"}
    session, agent = session_of(snapshot(crew=2), snapshot(), patch(away), says("ok"))
    session.state["title"] = "Moon"
    await session.run("go")
    assert session.state == {"title": "Moon", "days": 3, "crew": 2}
    await session.run("on")
    assert agent.inputs[1].state == {"title": "Moon", "days": 3, "crew": 2}
    assert session.state == {"title": "Moon", "days": 3}  # its own
    await session.run("on")
    assert session.state == {"title": "Moon"}
    assert session.state.conflicts == []
