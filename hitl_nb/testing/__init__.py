"""A model and a person from a script: tutorials and tests without a key, a network or a human.

::

    from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says

    model = ScriptedModel([calls("generate_task_steps", steps=[...]), says("Done.")], alias="openai/gpt-4o")
    with model, ScriptedPerson([lambda call: call.args.steps]) as person:
        await Session(PlanFlow, tools=[generate_task_steps], people=[person]).run("Plan a trip to Mars")
    assert model.requests[1].messages[-1]["role"] == "tool"

A real session, written down once (`record`) and then played without its model and its people (`replay`)::

    with record("case.json"):      # once, with the real model and a real person
        await Session(PlanFlow, tools=[generate_task_steps]).run("Plan a trip to Mars")

    with replay("case.json"):      # ever after
        await Session(PlanFlow, tools=[generate_task_steps]).run("Plan a trip to Mars")
"""

from hitl_nb._doors import all_at_home
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing._environment import PAUSED
from hitl_nb.testing._model import Request, ScriptedModel
from hitl_nb.testing._record import record
from hitl_nb.testing._replay import Replay as Replay
from hitl_nb.testing._replay import replay
from hitl_nb.testing._turns import calls, says

__all__ = ["PAUSED", "Request", "ScriptedModel", "ScriptedPerson", "calls", "record", "replay", "says"]

all_at_home(globals())
