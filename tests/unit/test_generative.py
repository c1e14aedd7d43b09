"""What a session draws of the agent's state, and what it tells the agent beside the conversation."""

import pandas as pd
import polars as pl
import pytest
from ag_ui.core import StateDeltaEvent, StateSnapshotEvent

from hitl_nb import Session
from hitl_nb.cards import Checklist
from hitl_nb.cards._record import _record_of_entry, bundle
from hitl_nb.errors import ToolDefinitionError, UsageError
from hitl_nb.testing import says
from tests.agents import ScriptedAgent


def shown(run):
    return bundle([(entry, _record_of_entry(entry)) for entry in run.transcript])["text/plain"]


def told(agent, run):
    return list(agent.inputs[run].context or [])


def working(*far):
    """A run that takes steps, one after the other."""

    def turn(input_):
        steps = [{"description": f"step {at}", "status": "pending"} for at in range(3)]
        yield StateSnapshotEvent(snapshot={"steps": steps})
        for at in far:
            done = {"op": "replace", "path": f"/steps/{at}/status", "value": "completed"}
            yield StateDeltaEvent.model_validate({"delta": [done]})
        yield from agent._events(says("done"), f"m-{len(agent.inputs)}")

    agent = ScriptedAgent([turn, turn])
    return agent


async def test_each_run_has_a_checklist_of_its_own_that_stays_as_the_run_left_it():
    session = Session(working(0, 1))
    session.render_state(Checklist("steps"))
    first = session.start("go")
    await first
    assert shown(first).split("\n") == [
        "You: go",
        "◆ ▰▰▰▰▰▰▰▰▰▰▰▰▰▱▱▱▱▱▱▱ 2 of 3 done",
        "  │ - ✓ step 0",
        "  │ - ✓ step 1",
        "  │ - ○ step 2",
        "Assistant: done",
    ]
    session.state["steps"][2]["status"] = "completed"
    second = session.start("again")
    await second
    assert "2 of 3 done" in shown(first)


async def test_a_drawing_may_be_a_decorator_and_ends():
    session = Session(working(0))
    end = session.render_state(lambda state: f"{len(state['steps'])} steps")
    run = session.start("go")
    await run
    assert "◆ 3 steps" in shown(run)
    end()
    run = session.start("again")
    await run
    assert "◆" not in shown(run)
    with pytest.raises(ToolDefinitionError, match="render_state"):
        session.render_state("steps")  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ({"title": "a*b", "status": "executing"}, "- ● **a\\*b**"),
        ({"name": "x", "done": True}, "- ✓ x"),
        ({"description": "x", "status": "failed"}, "- ✕ x"),
        ("plain", "- ○ plain"),
    ],
)
def test_a_checklist_takes_steps_of_many_forms(step, line):
    drawn = Checklist()({"steps": [step]})
    assert drawn is not None
    assert drawn.split("\n")[2] == line
    assert Checklist()({}) is None


async def test_the_agent_is_told_of_a_value_as_it_is_at_each_run():
    agent = ScriptedAgent([says("ok"), says("ok")])
    session = Session(agent)
    df = pd.DataFrame({"city": ["Paris", "Rome", None], "pop": [2.1, 2.8, 0.5]})
    end = session.agent_context("the table", lambda: df)
    session.agent_context("a note", {"n": 1})
    await session.run("go")
    table, note = told(agent, 0)
    assert (note.description, note.value) == ("a note", '{"n": 1}')
    assert table.value.split("\n")[:4] == [
        "A table of 3 rows and 2 columns.",
        "",
        f"- city: {df['city'].dtype}, 1 missing, 2 different: Paris, Rome",
        "- pop: float64, from 0.5 to 2.8",
    ]
    assert "0,Paris,2.1" in table.value
    df = df.head(1)
    end()
    await session.run("on")
    assert [each.description for each in told(agent, 1)] == ["a note"]


async def test_a_table_of_polars_is_told_as_well_and_what_fails_says_so():
    agent = ScriptedAgent([says("ok")])
    session = Session(agent)
    session.agent_context("polars", pl.DataFrame({"a": [1, 2]}))
    session.agent_context("broken", lambda: 1 / 0)
    await session.run("go")
    polars, broken = told(agent, 0)
    assert "- a: Int64, from 1 to 2" in polars.value
    assert broken.value == "(it cannot be read: ZeroDivisionError: division by zero)"
    with pytest.raises(UsageError, match="in words first"):
        session.agent_context(5, "x")  # type: ignore[arg-type]  # the mistake
