"""Planted faults: each takes one idea away, and the property test has to notice (`test_mutants.py`).

=====================  ==========================================================================================
an idea                what is left without it
=====================  ==========================================================================================
turns                  whoever holds a question may answer it, also while somebody else is being asked
cards                  a click counts for whoever is asked now, whatever turn its card was drawn for
ballots                of several who are asked, one may answer for all
closing                `Escalate` does not take the question away from the first one when time is up
first_answer           the last answer wins
lost_race              a decision that lost against another kernel's counts all the same
grants                 what was approved may begin any number of times
losers                 what was approved may begin in a kernel whose own answer lost
frozen                 what runs is the very object that was shown, and that code may change
compared_to_run        it is not compared once more right before it runs
compared_to_answer     a person may approve what code has changed since it was shown
compared_to_return     code may change a checkpoint's payload between the answer and its return
lossless               1, 1.0 and True are the same content
recalled_who           a sticky decision answers for whoever is asked
recalled_message       a sticky decision answers to other words
remembered_message     `Remember` answers to other words
denied_first           a memory answers although a rule forbids it
edits                  what an answer changed is not told
=====================  ==========================================================================================
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from hitl_nb._calls import Call, Handle, Print, _call, _grant, _handle, fingerprint
from hitl_nb._calls._grant import Grant
from hitl_nb._calls._turns import Turns
from hitl_nb.interrupts import _deciding, _sticky
from hitl_nb.journal import Journal
from hitl_nb.people import Escalate, _asking, _compose, in_time
from tests.unit.yes.afternoon import Afternoon, Cell, Do, exactly
from tests.unit.yes.model import All, Ask, Memo, Row, Rule, Then

Mutant = Callable[[pytest.MonkeyPatch], None]


def turns(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Turns, "may_answer", lambda self, mine: True)


def cards(patch: pytest.MonkeyPatch) -> None:
    true_clicked = Turns.clicked

    def clicked(self: Turns, token: Any) -> Any:
        turn = self._call.turn
        return true_clicked(self, token if turn is None else turn.token)

    patch.setattr(Turns, "clicked", clicked)


def ballots(patch: pytest.MonkeyPatch) -> None:
    true_turn = Turns._turn
    patch.setattr(Turns, "_turn", lambda self, **about: true_turn(self, **{**about, "several": False}))


def closing(patch: pytest.MonkeyPatch) -> None:
    async def escalate(self: Escalate, call: Call) -> None:
        if not await in_time(self._first(call), self._after) and not call.decided:
            if self._to is None:
                Handle.of(call).expire("nobody answered")
            else:
                await self._to(call)

    patch.setattr(Escalate, "__call__", escalate)


def first_answer(patch: pytest.MonkeyPatch) -> None:
    true_decide, true_respond = Handle._decide, Handle.respond

    def decide(self: Handle, decision: Any, *, holds: bool = False) -> bool:
        self.decision = self.taken = None
        return true_decide(self, decision, holds=holds)

    def respond(self: Handle, *args: Any, **options: Any) -> bool:
        self.decision = self.taken = None
        return true_respond(self, *args, **options)

    patch.setattr(Handle, "_decide", decide)
    patch.setattr(Handle, "respond", respond)
    patch.setattr(Call, "decided", property(lambda self: False))


def lost_race(patch: pytest.MonkeyPatch) -> None:
    true_written = Handle._written

    def written(self: Handle, recorder: Any, decision: Any, writing: Any) -> None:
        won: Future[bool] = Future()
        won.set_result(True)
        true_written(self, recorder, decision, writing if writing.exception() else won)

    patch.setattr(Handle, "_written", written)


def grants(patch: pytest.MonkeyPatch) -> None:
    true_begin = Journal.begin_started

    def begin_started(self: Journal, call: Call) -> Any:
        true_begin(self, call).exception()
        granted: Future[bool] = Future()
        granted.set_result(True)
        return granted

    patch.setattr(Journal, "begin_started", begin_started)


def losers(patch: pytest.MonkeyPatch) -> None:
    true_begin = Grant.begin

    async def begin(self: Grant) -> Any:
        self._handle.is_mine = True
        return await true_begin(self)

    patch.setattr(Grant, "begin", begin)


def frozen(patch: pytest.MonkeyPatch) -> None:
    for module in (_handle, _grant):
        patch.setattr(module, "frozen", lambda value: value)


class _Whatever(str):
    """Is equal to everything."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def compared_to_run(patch: pytest.MonkeyPatch) -> None:
    true_begin = Grant.begin

    async def begin(self: Grant) -> Any:
        if self.approved is not None:
            self.approved = (self.approved[0], Print(digest=_Whatever()))
        return await true_begin(self)

    patch.setattr(Grant, "begin", begin)


def compared_to_answer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Handle, "may_be_approved", lambda self: True)


def compared_to_return(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Handle, "was_changed", property(lambda self: False))


def lossless(patch: pytest.MonkeyPatch) -> None:
    def equal(value: Any) -> Print:
        return Print(digest=exactly(value).replace("True", "1").replace(".0", ""))

    for module in (_handle, _grant):
        patch.setattr(module, "print_of", equal)


def recalled_who(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_sticky, "declared_all", lambda people: [])


def recalled_message(patch: pytest.MonkeyPatch) -> None:
    def without_words(value: Any) -> str:
        is_question = isinstance(value, list) and len(value) == 5
        return fingerprint([*value[:2], *value[3:]] if is_question else value)

    patch.setattr(_sticky, "fingerprint", without_words)


def remembered_message(patch: pytest.MonkeyPatch) -> None:
    true_key = _compose.question_key
    patch.setattr(_compose, "question_key", lambda call: true_key(_without_words(call)))


def _without_words(call: Call) -> Call:
    same = call.again(id=call.id, message="")
    Handle.of(same).preview(call.args)
    return same


def denied_first(patch: pytest.MonkeyPatch) -> None:
    for module in (_asking, _compose):
        patch.setattr(module, "consult", lambda call, people: True)
    for module in (_asking, _deciding):
        patch.setattr(module, "may_recall", lambda call, people: True)


def edits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_call, "edits_of", lambda call, answer: ())


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Take one idea away while the block lasts."""
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        yield


# -- what shows each ----------------------------------------------------------------------------------------------

_NOBODY = Row((Ask("nobody"),))
_ADA, _BOB = Ask("Ada"), Ask("Bob")
_YES = Do("say")


def _agent(*people: Any, does: tuple[Do, ...], **more: Any) -> Afternoon:
    return Afternoon(people=(Row(people), _NOBODY), does=does, **{"rounds": (1,), **more})


def _cells(*people: Any, does: tuple[Do, ...], others: Row = _NOBODY) -> Afternoon:
    return Afternoon(people=(Row(people), others), does=does)


def _cell(**what: Any) -> Do:
    return Do("cell", cell=Cell(**what))


MUTANTS: dict[Mutant, Afternoon] = {
    turns: _agent(_ADA, _BOB, does=(Do("pass"), Do("say", pick=1))),
    cards: _agent(_ADA, _BOB, does=(Do("pass"), Do("click", pick=1))),
    ballots: _agent(All((_ADA, _BOB)), does=(Do("code", pick=2),)),
    closing: _agent(Then((_ADA, _BOB)), does=(Do("time"), Do("say", pick=1, how=1))),
    first_answer: _agent(_ADA, journal="off", does=(Do("say", pace=0), Do("say", what=4))),
    lost_race: _agent(_ADA, does=(Do("kernel"), Do("say", what=4), Do("say", pick=1))),
    grants: _agent(_ADA, slow=True, does=(_YES, Do("kill"), Do("kernel"))),
    losers: _agent(_ADA, does=(Do("kernel"), Do("say", pick=1, pace=0), Do("kill", pick=1), _YES)),
    frozen: _agent(_ADA, does=(Do("say", pace=0), Do("change"))),
    compared_to_run: _cells(_ADA, does=(_cell(asks="pay", about=5), Do("say", pace=3), Do("change", what=4))),
    compared_to_answer: _agent(_ADA, does=(Do("change"), _YES)),
    compared_to_return: _cells(_ADA, does=(_cell(), Do("say", pace=0), Do("change"))),
    lossless: _cells(_ADA, does=(_cell(), Do("say", pace=0), Do("change", what=2))),
    recalled_who: _cells(_ADA, others=Row((_BOB,)), does=(_cell(key=True), _YES, _cell(key=True, people=1))),
    recalled_message: _cells(_ADA, does=(_cell(key=True), _YES, _cell(key=True, message=1))),
    remembered_message: _cells(Memo((_ADA,)), does=(_cell(), _YES, _cell(message=1))),
    denied_first: _cells(_ADA, Rule("rule"), does=(_cell(), _YES)),
    edits: _agent(_ADA, does=(Do("say", what=2),)),
}
"""Each, with the shortest afternoon that shows it."""
