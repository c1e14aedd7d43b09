"""CrewAI's own questions to a human, answered by cards: one line, and not a change to the crew or the Flow.

::

    from hitl_nb.crewai import approve_tools, install

    install()                                   # or `with install(people=[policy, NotebookPerson()]):`
    await ReviewFlow().kickoff_async()          # @human_feedback, self.ask() in sync steps
    await crew.akickoff()                       # Task(human_input=True)

    with approve_tools(["send_email"]):         # a person sees the arguments first; anything but a yes blocks it
        await crew.akickoff()
"""

from hitl_nb._doors import all_at_home
from hitl_nb.crewai._install import Installation, ToolGate, approve_tools, install, uninstall

__all__ = ["Installation", "ToolGate", "approve_tools", "install", "uninstall"]

all_at_home(globals())
