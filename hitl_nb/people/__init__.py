"""Who answers: a person is an async callable that gets the `Call`, and answers it or returns to pass.

Several in a row, the first that answers wins: ``Session(..., people=[policy, NotebookPerson()])``. Yours can be as
small as this::

    async def policy(call):
        if call.name == "read_file":
            call.respond({"approved": True}, by="read-only policy")
"""

from hitl_nb.people._asking import Asking, ask_in_turn, asking, consult, current_asking, in_time, may_recall
from hitl_nb.people._compose import AllOf, Escalate, Remember
from hitl_nb.people._default import UsedPeople, people_of, people_replaced, stand_in, take_stand_in_note
from hitl_nb.people._notebook import NotebookPerson
from hitl_nb.people._person import Person, declared, declared_all, nobody_answered
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
    "UsedPeople",
    "allow",
    "ask_in_turn",
    "asking",
    "consult",
    "current_asking",
    "declared",
    "declared_all",
    "delivering",
    "deny",
    "in_time",
    "may_recall",
    "nobody_answered",
    "people_of",
    "people_replaced",
    "showing",
    "stand_in",
    "take_stand_in_note",
]
