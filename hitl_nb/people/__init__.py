"""Who answers: a person is an async callable that gets the `Call`, and answers it or returns to pass.

Several in a row, the first that answers wins: ``Session(..., people=[policy, NotebookPerson()])``. Yours can be as
small as this::

    async def policy(call):
        if call.name == "read_file":
            call.respond({"approved": True}, by="read-only policy")
"""

from hitl_nb.people._asking import Asking, ask_in_turn, asking, current_asking
from hitl_nb.people._compose import AllOf, Escalate, Remember
from hitl_nb.people._notebook import NotebookPerson
from hitl_nb.people._person import Person, nobody_answered, people_of, people_replaced
from hitl_nb.people._policy import Policy, Rule, allow, deny
from hitl_nb.people._script import ScriptedPerson
from hitl_nb.people._show import delivering, showing

__all__ = [
    "AllOf",
    "Asking",
    "Escalate",
    "NotebookPerson",
    "Person",
    "Policy",
    "Remember",
    "Rule",
    "ScriptedPerson",
    "allow",
    "ask_in_turn",
    "asking",
    "current_asking",
    "delivering",
    "deny",
    "nobody_answered",
    "people_of",
    "people_replaced",
    "showing",
]
