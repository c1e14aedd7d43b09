"""Kernels: sessions and cells with people of their own in front of them, on one journal."""

import asyncio
import json
import uuid
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ag_ui.core import RunFinishedEvent, RunStartedEvent, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent

from hitl_nb import Call, Journal, Session, approve, gate, interrupt, use
from hitl_nb.errors import HitlError
from hitl_nb.people import AllOf, Escalate, Policy, Remember, allow, current_asking, deny
from tests.unit.yes.afternoon import MESSAGES, Cell, arguments, change, content, exactly, is_small
from tests.unit.yes.model import All, Ask, Case, Memo, Row, Rule, Then

if TYPE_CHECKING:
    from tests.unit.yes.world import World

# -- people -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Held:
    """A question in somebody's hand."""

    who: "Somebody"
    call: Call
    context: Context
    """Of their own code: tasks that they start have it."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False
    """Whether they are no longer asked: they have answered, passed, or time was up for them."""


class Somebody:
    """Who holds a question, for good, and answers when they are told to."""

    def __init__(self, kernel: "Kernel", who: Ask) -> None:
        self.kernel, self.name, self.via = kernel, who.name, "card" if who.card else "callback"

    def declared(self):
        return ["Somebody", self.name, self.via]

    async def __call__(self, call):
        loop, asking = asyncio.get_running_loop(), current_asking()
        assert asking is not None
        held = Held(self, call, copy_context())
        self.kernel.world.held.append(held)
        self.kernel.world.screens[id(asking.transcript)] = asking.transcript
        call.add_done_callback(lambda: loop.is_closed() or loop.call_soon_threadsafe(held.done.set))
        try:
            await held.done.wait()
        finally:
            held.over = True


def raises(args):
    raise ValueError("it cannot tell")


def greedy(args):
    """Changes what it looks at."""
    change(args, 0)
    return True


_WHEN = {"always": None, "small": is_small, "raises": raises, "greedy": greedy}


def made(who: Any, kernel: "Kernel") -> Any:
    """The real people of a composition."""
    match who:
        case Ask():
            return Somebody(kernel, who)
        case Rule(name, effect, when, kind):
            make = partial(allow, kind=kind or "tool") if effect == "allow" else partial(deny, kind=kind)
            return Policy(make("pay", when=_WHEN[when], name=name))
        case All(people):
            return AllOf(*(made(each, kernel) for each in people))
        case Then((first, *to)):
            return Escalate(made(first, kernel), after=_patience(who), to=made(to[0], kernel) if to else None)
        case Memo((person,)):
            return Remember(made(person, kernel))
        case Row(people):
            return [made(each, kernel) for each in people]
    raise TypeError(who)


def _patience(who: Any) -> float:
    return 1.0 + 2 * max(map(_patience, getattr(who, "people", ())), default=-0.5)


# -- kernels ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """The gated function ran."""

    kernel: "Kernel"
    case: Case
    value: str
    number: int

    wire: str = ""
    """The id of the agent's call."""

    def occurrences(self, world: "World") -> set[str]:
        """The askings that it may have come from."""
        return {call.occurrence for call in world.decided if call.render.case_of(call) is self.case}


class _Owner:
    """Leads from each call back to what asks it: it stands where a card would be named, and is never drawn."""

    def __call__(self, call: Call) -> Any:
        raise AssertionError("nothing is drawn here")


class Kernel(_Owner):
    """A process with a connection of its own to the journal, and people of its own in front of it."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.name = f"@{len(world.kernels) + 1}"
        kept = world.afternoon.journal
        self.journal = None if kept == "off" else Journal(world.path if kept == "file" else "memory")
        self.people = [made(each, self) for each in world.afternoon.people]
        self.cases: dict[str, Case] = {}
        self.tasks: list[asyncio.Future[Any]] = []
        self.alive, self.killed, self.disturbed = True, False, False
        self.agent: Asks | None = None

    # -- an agent ----------------------------------------------------------------------------------------------

    @property
    def kernel(self) -> "Kernel":
        """Itself."""
        return self

    def begin(self) -> None:
        """Start the agent, or go on where an earlier kernel has left it."""
        self.agent = Asks(self.world.afternoon.rounds)
        self.session = Session(self.agent, [self._tool()], people=self.people[0], thread_id="t", journal=self.journal)
        self.run = self.session.resume().start() if len(self.world.kernels) > 1 else self.session.start("go")
        self.world.screens[id(self.run.transcript)] = self.run.transcript
        self.tasks.append(asyncio.ensure_future(self.run.settled()))

    def _tool(self) -> Any:
        @gate(render=self, description=MESSAGES[0])
        async def pay(order: int, amount: Any, rows: list[Any]) -> str:
            value = exactly({"order": order, "amount": amount, "rows": rows})
            wire = f"call_{order}"
            return await self.ran(self._case(wire), value, wire)

        return pay

    def case_of(self, call: Call) -> Case:
        """The case that a call of the agent is about."""
        return self._case(call.id.partition("#")[0])

    def _case(self, wire: str) -> Case:
        if wire not in self.cases:
            args = arguments(int(wire.removeprefix("call_")))
            question = ("tool", "pay", MESSAGES[0], "arguments", exactly(args))
            self.cases[wire] = self.world.open(
                Case(
                    people=self.world.afternoon.people[0],
                    question=question,
                    proposal=exactly(args),
                    is_small=is_small(args),
                    process=(self, 0),
                )
            )
        return self.cases[wire]

    async def ran(self, case: Case, value: str, wire: str = "") -> str:
        """Note that the gated function runs."""
        run = Run(self, case, value, len(self.world.runs) + 1, wire)
        self.world.runs.append(run)
        if self.world.afternoon.slow:
            await self.world.works.wait()
        return f"paid#{run.number}"

    # -- cells -------------------------------------------------------------------------------------------------

    def ask(self, cell: Cell) -> None:
        """Run a cell."""
        self.tasks.append(asyncio.ensure_future(Asked(self, cell).cell()))

    # -- its end -----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """The stop button."""
        self.disturbed = True
        if self.agent is not None:
            self.alive = False
            self.run.stop()
        else:
            for task in self.tasks:
                task.cancel()

    def kill(self) -> None:
        """The process is gone: what it has begun to write is written, and nothing after that."""
        if self.journal is not None:
            self.journal.close()
        self.stop()
        self.alive, self.killed = False, True


class Asks:
    """An agent that calls the gated function, in rounds; it goes on wherever the history is."""

    def __init__(self, rounds: tuple[int, ...]) -> None:
        self._rounds = rounds
        self.told: list[dict[str, str]] = []

    async def run(self, input):  # noqa: A002
        self.told.append({m.tool_call_id: m.content for m in input.messages if m.role == "tool"})
        had = sum(len(getattr(m, "tool_calls", None) or ()) for m in input.messages)
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        parent = uuid.uuid4().hex
        for number in self._next(had):
            name = f"call_{number}"
            yield ToolCallStartEvent(tool_call_id=name, tool_call_name="pay", parent_message_id=parent)
            yield ToolCallArgsEvent(tool_call_id=name, delta=json.dumps(arguments(number)))
            yield ToolCallEndEvent(tool_call_id=name)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)

    def _next(self, had: int) -> range:
        first = 1
        for width in self._rounds:
            if had < first - 1 + width:
                return range(first, first + width)
            first += width
        return range(0)


class Asked(_Owner):
    """One run of a cell, and what came of it."""

    def __init__(self, kernel: Kernel, cell: Cell) -> None:
        self.kernel, self.cell_ = kernel, cell
        self.world = kernel.world
        self.payload = content(cell.about)
        self.result: Any = self
        self.error: BaseException | None = None
        self.result_then = self.payload_then = ""
        world, is_pay = kernel.world, cell.asks == "pay"
        here = world.afternoon.people[cell.people]
        later = () if cell.to is None or not cell.timeout else (cell.to,)
        about = exactly(self.payload)
        self.who = here if is_pay or not cell.timeout else Then((here, *later))
        self.key = "drop" if cell.key and not is_pay and kernel.journal is not None else None
        self.case = world.open(
            Case(
                people=self.who,
                question=("tool" if is_pay else "interrupt", "pay", MESSAGES[cell.message], cell.asks, about),
                proposal="True" if cell.asks == "approve" else about,
                is_small=is_small(self.payload),
                process=(kernel, cell.people),
                sticky=None if self.key is None else (self.key, (*here.people, *later)),
                again=cell.again,
            )
        )
        world.asked.append(self)

    def case_of(self, call: Call) -> Case:
        """The case of each of its calls."""
        return self.case

    async def cell(self) -> None:
        cell, kernel = self.cell_, self.kernel
        people = kernel.people[cell.people]
        with use(people=people, journal="off" if kernel.journal is None else kernel.journal):
            try:
                self.result = await (self._gated() if cell.asks == "pay" else self._checkpoint(people))
            except (HitlError, asyncio.CancelledError) as error:
                self.error = error
            self.result_then, self.payload_then = exactly(self.result), exactly(self.payload)

    def _gated(self) -> Any:
        @gate(render=self, description=MESSAGES[self.cell_.message])
        async def pay(amount: Any, rows: list[Any]) -> str:
            return await self.kernel.ran(self.case, exactly({"amount": amount, "rows": rows}))

        return pay(**self.payload)

    def _checkpoint(self, people: Any) -> Any:
        cell = self.cell_
        options: dict[str, Any] = {"name": "pay", "render": self, "people": people, "key": self.key}
        options["refresh"] = cell.again
        if cell.timeout:
            options["timeout"] = 1.0 + max(map(_patience, self.case.people.people), default=0.0)
            if cell.to is not None:
                options["escalate_to"] = made(cell.to, self.kernel)
        ask = approve if cell.asks == "approve" else interrupt
        return ask(MESSAGES[cell.message], self.payload, **options)
