"""What the property test (`test_model.py`) has found, each as the shortest afternoon that shows it."""

import pytest

from tests.unit.yes.afternoon import Afternoon, Cell, Do
from tests.unit.yes.model import All, Ask, Memo, Row, Rule, Then
from tests.unit.yes.test_model import live, lived

NOBODY = Row((Ask("nobody"),))
ADA, BOB = Ask("Ada"), Ask("Bob")


def an_agent_asks(*people, **more):
    """An agent with one call, and what happens."""
    return lambda *does: Afternoon(people=(Row(people), NOBODY), does=does, **{"rounds": (1,), **more})


def cells_ask(*people, **more):
    """No agent."""
    return lambda *does: Afternoon(people=(Row(people), NOBODY), does=does, **more)


YES, EDITS, NO = Do("say"), Do("say", what=2), Do("say", what=4)


def at_once(do):
    """Before anything comes of it: what it writes is on its way to the disk."""
    return Do(do.verb, pick=do.pick, what=do.what, how=do.how, edit=do.edit, pace=0)


def cell(**what):
    return Do("cell", cell=Cell(**what))


FOUND = {
    "an edited answer that is changed on its way to the disk runs as it was given": an_agent_asks(ADA)(
        at_once(EDITS), Do("change_given")
    ),
    "a memory does not answer with the object of an earlier question": cells_ask(Memo((ADA,)))(
        cell(), YES, Do("change"), cell()
    ),
    "a memory does not answer with what an edited answer was changed to on its way to the disk": cells_ask(
        Memo((ADA,))
    )(cell(about=1), at_once(EDITS), at_once(Do("change")), cell(about=1)),
    "a stop while the grant is on its way to the disk is told as not executed": an_agent_asks(ADA)(
        Do("say", pace=3), Do("stop")
    ),
    "a stop while another kernel runs it is not told as the bare answer": an_agent_asks(
        Rule("rule", "allow", "small", "tool"), slow=True
    )(Do("kernel")),
    "a stop does not say aborted of what another kernel was allowed, and ran": an_agent_asks(ADA)(Do("kernel"), YES),
    "a stop does not say aborted of what another kernel was refused": an_agent_asks(ADA)(Do("kernel"), NO),
    "time that is up does not say expired of what another kernel was allowed": an_agent_asks(Then((ADA,)))(
        Do("kernel"), YES, Do("time")
    ),
    "what was approved here, and has run elsewhere, is not told as not executed": an_agent_asks(ADA, rounds=(2, 1))(
        YES, Do("kernel"), YES
    ),
    "several do not approve what was changed before they were asked": an_agent_asks(ADA, All((BOB, Ask("Cy"))))(
        Do("change"), Do("pass"), Do("click")
    ),
    "what was changed after several have approved it is not approved": an_agent_asks(All((ADA, BOB)))(
        YES, Do("say", pick=1, pace=0), Do("change")
    ),
    "no memory answers for one of several where a rule cannot tell": cells_ask(
        All((Memo((ADA,)), BOB)), Then((Ask("Cy"), Rule("rule", when="raises")))
    )(cell(), Do("say", pick=1), YES, cell(), YES),
    "an answer that JSON cannot hold does not stick": cells_ask(ADA)(
        cell(key=True), Do("say", what=2, edit=5), cell(key=True)
    ),
    "several who answer alike only in JSON differ": an_agent_asks(All((ADA, BOB)))(
        Do("say", what=2, edit=4), Do("say", pick=1, what=2, edit=5)
    ),
    "a rule that allows says nothing to a checkpoint unless it names the kind": cells_ask(
        Rule("rule", "allow", "small"), ADA
    )(cell(asks="approve"), Do("say", what=2)),
    "an edited answer from the journal tells what was edited": cells_ask(ADA)(cell(key=True), EDITS, cell(key=True)),
}


@pytest.mark.parametrize("sentence", FOUND)
def test_found(sentence):
    assert live(FOUND[sentence]) == []


@pytest.mark.xfail(
    strict=True,
    reason='The journal has an answer as JSON: a key 1 that code has put into an `Any` is "1" after a kill.',
)
def test_an_edited_answer_that_json_cannot_hold_does_not_run_after_a_kill_as_something_else():
    with lived(an_agent_asks(ADA)(at_once(Do("say", what=2, edit=5)), Do("kill"), Do("kernel"))) as world:
        said = {word.says for case in world.cases for word in case.words}
        assert {run.value for run in world.runs} <= said
