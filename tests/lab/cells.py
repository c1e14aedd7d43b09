"""Code cells that several journeys share. The agent is a script, so that a kernel is ready in a second."""

SETUP = """\
from typing import Literal

from pydantic import BaseModel

from hitl_nb import Session, human_in_the_loop
from hitl_nb.cards import StepReview
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"]


@human_in_the_loop(render=StepReview)
def generate_task_steps(steps: list[Step]) -> list[Step]:
    "Propose steps."


STEPS = [{"description": name, "status": "enabled"} for name in ("pack", "launch", "land")]
propose = calls("generate_task_steps", steps=STEPS)
"""

ASK = "reply = await session.run('Go')\nreply"

TITLE = "Generate task steps"
"""The title of the card that `ASK` brings up."""


def setup(turns: str, **options: object) -> str:
    """The setup cell for an agent with these turns (Python source) and options."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"{SETUP}agent = ScriptedAgent({turns}{given})\nsession = Session(agent, tools=[generate_task_steps])\n"
