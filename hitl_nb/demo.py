"""A Flow to try hitl_nb on: what your own code looks like, in one import.

Importing this module imports CrewAI and litellm (about 10 s the first time); ``hitl_nb`` itself never does.
"""

import json
import sys
from typing import Literal

from hitl_nb._library import library
from hitl_nb._process import keep_offline, shell

keep_offline()
if shell() is not None and "crewai" not in sys.modules:  # else a cell seems to hang
    sys.stdout.write("Loading CrewAI, about ten seconds …\n")

library("ag_ui_crewai.sdk", extra="crewai", what="`hitl_nb.demo`, a CrewAI Flow,")  # or the pip line

from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream  # noqa: E402
from crewai.flow.flow import Flow, listen, router, start  # noqa: E402
from litellm import acompletion  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from hitl_nb.testing import Request as _Request  # noqa: E402
from hitl_nb.testing import ScriptedModel, calls, says  # noqa: E402

__all__ = ["PlanFlow", "Step", "offline_model"]


class Step(BaseModel):
    """One step of a plan."""

    description: str
    status: Literal["enabled", "disabled", "executing"] = "enabled"


class PlanFlow(Flow[CopilotKitState]):  # type: ignore[misc]  # crewai is untyped here
    """A chat Flow: the model proposes steps by calling a tool, and goes on with what the person chose."""

    @start()
    async def begin(self) -> None:
        """Take the conversation as it is."""

    @router(begin)
    async def chat(self) -> str:
        """Let the model speak once; the session answers its tool calls and runs the Flow again."""
        instructions = "Plan what the user asks for. Propose the steps with the tool before you do anything."
        response = await copilotkit_stream(
            await acompletion(
                model="openai/gpt-4o",
                messages=[{"role": "system", "content": instructions}, *self.state.messages],
                tools=[*self.state.copilotkit.actions],
                stream=True,
            )
        )
        self.state.messages.append(response.choices[0].message)
        return "done"

    @listen("done")
    async def finish(self) -> None:
        """Nothing is left to do."""


def _conclusion(told: str) -> str:
    """What a sensible model says to the answer that it is told: it keeps to the steps, and to a no."""
    try:
        answer = json.loads(told)
    except ValueError:
        return f"Understood: {told}"
    if isinstance(answer, dict) and answer.get("approved") is False:
        reason = f" ({answer['reason']})" if answer.get("reason") else ""
        return f"Then I do none of it{reason}."
    if isinstance(answer, dict):
        answer = answer.get("value", answer)  # what a person changed comes with what was changed
    steps = answer.get("steps") if isinstance(answer, dict) else answer
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return f"Understood: {told}"
    chosen = [str(step.get("description")) for step in steps if step.get("status") != "disabled"]
    return f"Understood. I go on with exactly this: {', '.join(chosen)}." if chosen else "Then nothing is left to do."


def offline_model(pace: float = 0.02) -> ScriptedModel:
    """Answer for ``openai/gpt-4o`` from a script: no key, no network. Delete the call to talk to the real model.

    Args:
        pace: Seconds between two streamed fragments.
    """
    steps = ["Pack the rover", "Wait for the launch window", "Launch", "Land in Jezero crater"]
    propose = calls("generate_task_steps", steps=[Step(description=step) for step in steps])

    def conclude(request: _Request) -> object:
        return says(_conclusion(str(request.messages[-1]["content"])))

    return ScriptedModel([propose, conclude] * 20, alias="openai/gpt-4o", pace=pace).install()
