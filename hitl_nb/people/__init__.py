"""Who answers: a person is an async callable that gets the `Call`, and answers it or returns to pass.

Several in a row, the first that answers wins: ``Session(..., people=[policy, NotebookPerson()])``. Yours can be as
small as this::

    async def policy(call):
        if call.name == "read_file":
            call.respond({"approved": True}, by="read-only policy")
"""

from hitl_nb._doors import all_at_home
from hitl_nb.people._asking import Asking as Asking
from hitl_nb.people._asking import ask_in_turn as ask_in_turn
from hitl_nb.people._asking import asking as asking
from hitl_nb.people._asking import clicks_delivered as clicks_delivered
from hitl_nb.people._asking import consult as consult
from hitl_nb.people._asking import current_asking as current_asking
from hitl_nb.people._asking import in_time as in_time
from hitl_nb.people._asking import may_recall as may_recall
from hitl_nb.people._asking import showing as showing
from hitl_nb.people._compose import AllOf, Escalate, Remember
from hitl_nb.people._default import UsedPeople as UsedPeople
from hitl_nb.people._default import people_of as people_of
from hitl_nb.people._default import people_replaced as people_replaced
from hitl_nb.people._default import stand_in as stand_in
from hitl_nb.people._default import take_stand_in_note as take_stand_in_note
from hitl_nb.people._person import NOT_DRAWN as NOT_DRAWN
from hitl_nb.people._person import NotebookPerson, Person
from hitl_nb.people._person import declared as declared
from hitl_nb.people._person import declared_all as declared_all
from hitl_nb.people._person import nobody_answered as nobody_answered
from hitl_nb.people._stand_ins import Policy, Rule, ScriptedPerson, allow, deny

# For users. `x as x` above is what the other rooms of the house take; it is promised to nobody else.
__all__ = [
    "AllOf",
    "Escalate",
    "NotebookPerson",
    "Person",
    "Policy",
    "Remember",
    "Rule",
    "ScriptedPerson",
    "allow",
    "deny",
]

all_at_home(globals())
