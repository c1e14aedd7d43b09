"""An afternoon with the real thing: kernels, people, cards and a clock, driven by a list of what happens.

Nothing of the product is replaced. People are callables, kernels are sessions (or cells) with connections of their
own to one journal, a card is a call and the turn it was drawn for; time goes by when it is said to. The world takes
down what it sees from outside, for `judge.faults`.
"""

import ast
import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVarTuple

from pydantic_core import to_jsonable_python

from hitl_nb import Call, Journal
from hitl_nb._calls import Handle, decisions_watched, pending
from hitl_nb.errors import HitlError
from tests.unit.yes.afternoon import EDITS, SETTLED, Afternoon, Do, change, exactly
from tests.unit.yes.kernels import Asked, Held, Kernel, Run
from tests.unit.yes.model import NO, Case, Word

Ts = TypeVarTuple("Ts")


MOST_LATE = 30
"""Hundredths of a second that a busy machine may take between a row on disk and whoever waits for it."""


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time goes by when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        super().__init__()

    def time(self) -> float:
        return self.now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self.steps += 1
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self.steps += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


@dataclass(frozen=True)
class Card:
    """A question as a browser has drawn it."""

    call: Call
    token: str
    held: Held | None
    """Who was being asked then."""


class World:
    """Where it all happens."""

    def __init__(self, afternoon: Afternoon, path: Path) -> None:
        self.afternoon, self.path = afternoon, path
        self.kernels: list[Kernel] = []
        self.cases: list[Case] = []
        self.asked: list[Asked] = []
        self.held: list[Held] = []
        self.cards: list[Card] = []
        self.given: list[Any] = []
        """What was given as an answer, and can be changed afterwards."""
        self.runs: list[Run] = []
        self.not_run: list[str] = []
        self.decided: list[Call] = []
        self.in_json: dict[str | None, str] = {}
        """What answers look like in a journal, and to a model."""

        self.screens: dict[int, Any] = {}
        self.works = asyncio.Event()
        self.auditor = Journal(path) if afternoon.journal == "file" else None

    def open(self, case: Case) -> Case:
        """Count a case among those that later ones may recall."""
        self.in_json[case.proposal] = exactly(to_jsonable_python(ast.literal_eval(case.proposal)))
        case.earlier = list(self.cases)
        self.cases.append(case)
        return case

    async def play(self) -> None:
        """Live through the afternoon, and its evening: all is stopped, and one more kernel looks what is left."""
        with decisions_watched(self._decided):
            try:
                self._kernel()
                await self.settle()
                for do in self.afternoon.does:
                    self.draw()
                    await self._do(do)
                    await self._pace(do.pace)
                await self._evening()
            finally:
                for kernel in self.kernels:
                    kernel.stop()
                await self._patiently()

    def close(self) -> None:
        """Close all files."""
        for journal in (self.auditor, *(kernel.journal for kernel in self.kernels)):
            if journal is not None:
                journal.close()

    def _not_run(self) -> Iterator[str]:
        """What was approved where nobody disturbs, and has not run although it is its turn."""
        for call in self.decided:
            owner = call.render
            if call.via == "replay" or "#" in call.id or call.kind != "tool" or not call.approved:
                continue
            case, kernel = owner.case_of(call), owner.kernel
            by = call.answered_by or ""
            excuses = [
                kernel.disturbed,
                isinstance(owner.error, HitlError) if owner is not kernel else kernel.run.status == "failed",
                any(each.render is owner for each in self._shown()),  # a call ahead of it
                "@" in by and kernel.name not in by,  # another kernel's
                any(run.case.question == case.question for run in self.runs),
            ]
            if not any(excuses):
                yield f"approved, and it has not run: {call} {case.question}"

    def _decided(self, call: Call) -> None:
        if call.render is not None:
            self.decided.append(call)

    async def _evening(self) -> None:
        self.works.set()
        await self.settle()
        self.not_run = list(self._not_run())
        for _ in range(MOST_LATE):
            if not self.not_run:
                break
            self._flush(0.01)
            await self.settle()
            self.not_run = list(self._not_run())
        for kernel in self._alive():
            kernel.stop()
        await self._patiently()
        if self.afternoon.rounds and self.auditor is not None:
            self._kernel()
            await self.settle()
            self.kernels[-1].stop()
            await self._patiently()

    async def _patiently(self) -> None:
        loop: Any = asyncio.get_running_loop()
        for _ in range(500):
            await self.settle()
            if all(task.done() for kernel in self.kernels for task in kernel.tasks):
                return
            loop.now += 0.3
        raise AssertionError("it never came to an end")

    # -- what happens ------------------------------------------------------------------------------------------

    async def _do(self, do: Do) -> None:
        match do.verb:
            case "kernel":
                self._kernel()
            case "cell" if do.cell is not None and (kernel := back(self._alive(), do.pick)):
                kernel.ask(do.cell)
            case "kill" if kernel := back(self._alive(), do.pick):
                kernel.kill()
            case "stop" if kernel := back(self._alive(), do.pick):
                kernel.stop()
            case "work":
                self.works.set()
                self.works = asyncio.Event()
            case "time":
                loop: Any = asyncio.get_running_loop()
                loop.now += 1.1
            case "pass" if held := back(self._open(), do.pick):
                held.done.set()
            case "click" if card := back(self.cards, do.pick):
                self._click(card, do)
            case "say" if held := back(self.held, do.pick):
                await self._say(held, do)
            case "code" if call := back(self._shown(), do.pick):
                self._code(call, do)
            case "change" if held := back(self.held, do.pick):
                change(held.call.args, do.what)
            case "change_given" if given := back(self.given, do.pick):
                change(given, do.what)

    def _kernel(self) -> None:
        several = self.afternoon.journal == "file"
        if not self.kernels or (several and len(self._alive()) < 2):
            kernel = Kernel(self)
            self.kernels.append(kernel)
            if self.afternoon.rounds:
                kernel.begin()

    def _alive(self) -> list[Kernel]:
        return [kernel for kernel in self.kernels if kernel.alive]

    def _open(self) -> list[Held]:
        return [held for held in self.held if not held.over]

    def _asked(self, call: Call) -> Held | None:
        """Who is being asked this just now."""
        return next((held for held in reversed(self._open()) if held.call == call), None)

    def _shown(self) -> list[Call]:
        """What stands on a screen and is not decided, with the calls that nobody can answer."""
        return [call for screen in self.screens.values() for call in screen.calls if call.status == "executing"]

    def draw(self) -> None:
        """Draw on both screens. An older card stays on one of them until it is drawn again, and may be clicked late."""
        known = {(card.call.occurrence, card.token) for card in self.cards}
        for call in self._shown():
            token = call.turn.token if call.turn is not None else ""
            if (call.occurrence, token) not in known:
                self.cards.append(Card(call, token, self._asked(call)))

    def _click(self, card: Card, do: Do) -> None:
        held = card.held
        in_turn = held is not None and not held.over and held.who.via == "card"
        name = held.who.name if held is not None else "a card of nobody"
        act, note = self._choice(card.call, name, in_turn, do, via="card")
        with suppress(HitlError), Handle.of(card.call).turns.clicked(card.token):
            note(act())

    async def _say(self, held: Held, do: Do) -> None:
        """Answer with the question in hand: as it is, in a task of one's own, or in a thread."""
        if do.how == 0 and any(each is held.call for each in pending()):
            self._code(held.call, do)  # the call itself, and not a face of it
            return
        if do.how == 2:
            await self.settle()  # what is scheduled would happen while the thread runs
        act, note = self._choice(held.call, held.who.name, not held.over, do)
        with suppress(HitlError):
            if do.how == 2:
                note(await asyncio.to_thread(held.context.copy().run, act))
            else:
                note(held.context.copy().run(act) if do.how else act())

    def _code(self, call: Call, do: Do) -> None:
        """Answer in a cell, in nobody's place."""
        held, case = self._asked(call), call.render.case_of(call)
        if held is None and "#" in call.id:
            return
        several = any(each.call != call and each.call.render.case_of(each.call) is case for each in self._open())
        act, note = self._choice(call, held.who.name if held else None, held is not None or not several, do)
        with suppress(HitlError):
            note(act())

    def _choice(
        self, call: Call, who: str | None, in_turn: bool, do: Do, via: Any = None
    ) -> tuple[Callable[[], bool], Callable[[bool], None]]:
        """What somebody does with a question, and what to do with what they are told of it."""
        case = call.render.case_of(call)
        by = f"{who or 'code'}{case.process[0].name}"
        changed = exactly(call.args) != case.question[-1]
        says, value = NO, None
        match do.what:
            case 0 | 1:
                value = True if case.proposal == "True" else call.proposal
            case 2:
                value = False if case.proposal == "True" else self._edited(call, do.edit)
            case 3:
                act = partial(call.cancel, by=by, via=via)
            case _:
                act = partial(call.decline, "no", by=by, via=via)
        if do.what <= 2:
            act, says = partial(call.respond, value, by=by, via=via), exactly(value)
        self.in_json[says] = exactly(to_jsonable_python(value))

        def note(counts: bool) -> None:
            if counts:
                case.words.append(Word(who, says, in_turn, changed, call.occurrence))

        return act, note

    def _edited(self, call: Call, edit: int) -> Any:
        amount = EDITS[edit]
        args = call.args
        if isinstance(args, dict):
            return {**args, "amount": amount}
        value = args.model_copy(update={"amount": amount})
        self.given.append(value)
        return value

    # -- how far it goes ---------------------------------------------------------------------------------------

    async def _pace(self, pace: int) -> None:
        if pace >= SETTLED:
            await self.settle()
            return
        if pace:
            self._flush()
        for _ in range(pace):
            await asyncio.sleep(0)

    async def settle(self) -> None:
        """Go on until nothing happens any more by itself."""
        loop: Any = asyncio.get_running_loop()
        at_rest = 0
        while at_rest < 2:
            before = loop.steps
            self._flush()
            for _ in range(3):
                await asyncio.sleep(0)
            at_rest = at_rest + 1 if loop.steps - before == 3 else 0

    def _flush(self, patience: float = 0.0002) -> None:
        """Wait until all is on disk that anybody has begun to write."""
        writing = [kernel.journal for kernel in self.kernels if kernel.journal is not None and not kernel.killed]
        for journal in writing:
            journal.winner("nobody")  # reading waits for what was begun
        if writing:
            time.sleep(patience)  # a writer tells whoever waits for it a moment later


def back(things: list[Any], pick: int) -> Any:
    """The latest, the one before, …; None if there are none."""
    return things[-1 - pick % len(things)] if things else None
