"""What a person is, what describes one, the person at the notebook, and what is said when nobody can be asked."""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from hitl_nb._awaiting import in_background, say
from hitl_nb._calls import Call, Handle, drawn_live_by, told_where_by
from hitl_nb._kernel import (
    OVERRULED,
    current_kernel,
    delivery,
    front_end,
    in_voila,
    let_newer_cells_run,
    marimo_notebook,
    refuse_capture,
)
from hitl_nb._process import in_a_browser, not_believed, shell, user_name
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb._waiting import TICK, until_decided
from hitl_nb.errors import NoHumanError

if TYPE_CHECKING:
    from hitl_nb.cards import RunView


VARIABLE: Final = "HITL_NB_PEOPLE"
"""Puts somebody else into a notebook that a human normally answers, without a change to the notebook."""

IN_CODE: Final = "hitl_nb.use(people=…)"
"""What says the same in code."""


class Person(Protocol):
    """Anything that can be asked.

    A person may also have ``watch(transcript)``, a context manager around the whole run that yields whether it
    shows the run to somebody, ``via``, the word for the path in the record, and ``declared()``; see `declared`.
    """

    def __call__(self, call: Call, /) -> Awaitable[object]:
        """Answer the call (``call.respond``, ``call.decline``), or return without doing so to pass."""
        ...


def declared(person: object) -> Any | None:
    """Return plain data that says who has to answer: equal for the same person, here and in the next kernel.

    A decision is found again only for whom it was asked for. None if nobody can tell, and then it is asked again.

    ================================================  ================================================
    an object with a method ``declared()``            what that gives; None is allowed
    its bound method                                  that, and the method's name
    a function of a module (or of the notebook)       ``["function", module, qualified name]``
    a lambda, a closure, a function inside another    None: the same name may mean anything
    a class, a `functools.partial`, all other things  None
    ================================================  ================================================
    """
    if inspect.isfunction(person):
        return _declared_function(person)
    if inspect.ismethod(person):
        owner = declared(person.__self__)
        return None if owner is None else ["method", owner, person.__func__.__name__]
    own = None if isinstance(person, type) else getattr(person, "declared", None)
    return own() if callable(own) else None


def declared_all(people: Iterable[object]) -> list[Any] | None:
    """Return `declared` of each; None if one of them has none."""
    found = [declared(person) for person in people]
    return None if any(each is None for each in found) else found


def declared_kind(person: object) -> str | None:
    """Return the name of a person's class for its `declared`: a subclass, which may do anything, is somebody else."""
    kind = type(person)
    name = kind.__qualname__ if kind.__module__.startswith("hitl_nb.") else f"{kind.__module__}.{kind.__qualname__}"
    return None if "<" in name else name


def _declared_function(function: Any) -> list[str] | None:
    # Its code tells where it was written, whatever a decorator, or somebody, has named it.
    names = (function.__module__, function.__qualname__, function.__code__.co_qualname)
    named = all(isinstance(name, str) and "<" not in name for name in names)
    return ["function", *names[:2]] if named and function.__closure__ is None else None


def nobody_answered(call: Call, why: str, *, again: str = "", here: str = "") -> str:
    """Return the message of `NoHumanError`: the question, why nobody answers, and the three ways out.

    Args:
        call: The call.
        why: Why nobody answers.
        again: What shows the question again to whoever sits there.
        here: What to do in the front end that is there; default: open one.
    """
    later = not_believed(VARIABLE, IN_CODE)
    return (
        f"`{call.name}` ({call.id}) needs a person, and {why}. Nothing was answered or executed.\n"
        f"{_asked(call)}{again}"
        "Three ways to answer it:\n"
        "  a script:     Session(..., people=[ScriptedPerson([...])]), or HITL_NB_PEOPLE=script:answers.py\n"
        "  a policy:     Session(..., people=[policy]) with `async def policy(call): call.respond(...)`\n"
        f"  a front end:  {here or _NO_FRONT_END}" + (f"\n{later}" if later else "")
    )


_NO_FRONT_END = "open the notebook in JupyterLab and run the cell there"


def _not_drawn() -> str:
    """What to do where a front end is likely and has drawn nothing."""
    if in_voila():
        return _in_voila()
    if in_a_browser():
        return f"use two cells: {_TWO_LINES}"
    # A kernel cannot tell the two from each other: either way there is no browser half in the page.
    return (
        "just installed? Reload the page and run the cell again. Does JupyterLab run in another environment than\n"
        "                this kernel? There: `pip install anywidget`, then reload the page. `hitl_nb.doctor()` looks"
    )


_LONGEST = 200


def _asked(call: Call) -> str:
    """The question in lines to read, without secrets: whoever finds the log has to decide something."""
    from hitl_nb.cards import Plain

    rows = [f"    {row.label or 'value'}: {_brief(row.text)}\n" for row in Plain(call).rows()]
    return "".join([f"  {_brief(call.message)}\n" if call.message else "", *rows])


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … ({len(line) - _LONGEST} more characters)"


_TWO_LINES = "`q = approve(...).start()`, and `await q` in a later cell"
_TWO_CELLS = (
    "this kernel does not deliver clicks while a cell awaits. Use two cells instead:\n"
    '    run = session.start("...")       # first cell; answer its card\n'
    "    reply = await run                # second cell, after the answer\n"
    '    q = approve("...").start()       # likewise, and `await q`'
)


_IN_A_TASK = (
    "Voila shows its page once all cells have run, so no cell can wait for a click. Start it, and wait in a task:\n"
    '    q = approve("...").start()\n'
    "    async def go():\n"
    "        if await q:\n"
    "            ...                          # what comes of it\n"
    "    going = asyncio.create_task(go())    # keep it"
)


def _in_voila() -> str:
    return (
        "`q = approve(...).start()`, and `await q` in a task of your own; or `session.start(...)`" if in_voila() else ""
    )


class NotebookPerson:
    """Asks whoever sits in front of the notebook (the default of ``Session(people=...)``).

    Args:
        name: Who answers, in the record; default: the JupyterHub user, else the operating system's.
        handshake: Seconds until the browser must have drawn the first question; after that nobody is there.
        present: Whether somebody watches although the program that runs the cells says that nobody can type (an agent
            that runs them through the server's API). For a whole kernel: start it with ``HITL_NB_FRONT_END=1``.
    """

    via = "card"

    def __init__(self, name: str | None = None, *, handshake: float = 10.0, present: bool = False) -> None:
        self.name = user_name(name)
        self.handshake = handshake
        self.present = present

    @property
    def can_be_asked(self) -> bool:
        """Whether there may be a front end with somebody in front of it."""
        where = front_end()
        return where == "possible" or (where == "absent" and self.present)

    def declared(self) -> list[str] | None:
        """Say who this is, for decisions that are recalled; see `hitl_nb.people.declared`."""
        kind = declared_kind(self)
        return None if kind is None else [kind, self.name]

    @contextmanager
    def watch(self, transcript: Transcript) -> Iterator[bool]:
        """Show the run in the cell while it lasts; yields whether somebody may see it.

        Raises:
            NoHumanError: The cell captures its outputs.
        """
        if not self.can_be_asked:
            if not transcript.foreground and shell() is not None:
                # Now, in the cell that starts it: what fails in the background is put out nowhere.
                say(f"nobody can click here: {_absent()}. {_UNSEEN}")
            yield False
            return
        if refuse_capture(_CAPTURED):
            raise NoHumanError(_CAPTURED)
        import hitl_nb.data  # noqa: F401 - a card list draws the cards that are known when it begins
        from hitl_nb.cards import on_screen  # the only person who needs widgets, and only now

        with on_screen(transcript):
            yield True

    async def __call__(self, call: Call) -> None:
        """Wait until the person has decided, however long that takes.

        Raises:
            NoHumanError: No front end; or a likely one that never drew the question; or a kernel that cannot
                deliver clicks to this cell.
        """
        turn = call.turn
        if turn is not None and not turn.takes_clicks:
            # Asked by a person of the user's own, whose turn it is: `async def careful(call): await notebook(call)`.
            with Handle.of(call).turns.put_to(self) as mine:
                await self._ask(mine)
        else:
            await self._ask(call)

    async def _ask(self, call: Call) -> None:
        import hitl_nb.data  # noqa: F401 - as above
        from hitl_nb.cards import on_screen, view_of
        from hitl_nb.people._asking import current_asking

        view = view_of(call)
        if view is not None:
            await self._answered(view, call)
            return
        if not self.can_be_asked:
            raise NoHumanError(nobody_answered(call, _absent()))
        transcript = Transcript()
        asked_in = current_asking()
        transcript.foreground = not in_background() and (asked_in is None or asked_in.transcript.foreground)
        transcript.add(CallEntry(key=call.occurrence, call=call))
        with on_screen(transcript) as own:
            await self._answered(own, call)

    async def _answered(self, view: "RunView", call: Call) -> None:
        foreground = view.is_awaited(call)
        if foreground and delivery() == "unknown":
            why, here = (_IN_A_TASK, _in_voila()) if in_voila() else (_TWO_CELLS, "the two cells, here and now")
            raise NoHumanError(nobody_answered(call, why, here=here))
        answer = asyncio.ensure_future(until_decided(call))
        lost = asyncio.ensure_future(view.lost.wait())
        try:
            await self._drawn(view, call, [answer, lost])
            # A question in the background waits for as long as it takes, whoever looks.
            await asyncio.wait([answer, lost] if foreground else [answer], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await self._give_up(view, call)
        finally:
            answer.cancel()
            lost.cancel()

    async def _drawn(self, view: "RunView", call: Call, ends: list[asyncio.Future[Any]]) -> None:
        # In ticks, not in one timeout: while a cell blocks the loop, the browser's sign of life waits with us.
        for _ in range(max(1, round(self.handshake / TICK))):
            if view.drawn.is_set() or any(end.done() for end in ends):
                return
            await asyncio.wait(ends, timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
        if not view.drawn.is_set() and not view.has_pages:
            why = f"no browser has drawn it within {self.handshake:g} s"
            raise NoHumanError(nobody_answered(call, why, here=_not_drawn()))

    async def _give_up(self, view: "RunView", call: Call) -> None:
        """Close a question whose cell waits for a card that is drawn nowhere, also after it was shown again.

        Raises:
            NoHumanError: It is closed.
        """
        why = RUN_AGAIN if view.drawn.is_set() else NOT_DRAWN
        Handle.of(call).close("cancelled", why)
        await Handle.of(call).settled()
        if call.approved:
            return  # somebody has answered in another process
        let_newer_cells_run(current_kernel(), view.gone)
        raise NoHumanError(nobody_answered(call, why, again="To be asked again, run the cell that asks.\n"))

    def __repr__(self) -> str:
        return f"<NotebookPerson {self.name}>"


RUN_AGAIN = "this cell was run again or deleted, so that its card is gone"
NOT_DRAWN = "no page draws its card: this cell was run again or deleted, or its notebook is not trusted"


def _show_again(calls: Sequence[Call]) -> bool:
    if front_end() != "possible" or "hitl_nb.cards._screen" not in sys.modules:
        return False  # nobody looks, or nothing was ever shown
    from hitl_nb.cards import show_again

    return show_again(calls)


def _given_to_marimo(what: Sequence[object]) -> object | None:
    if "hitl_nb.cards._screen" not in sys.modules:
        return None
    from hitl_nb.cards import given_to_marimo

    return given_to_marimo(what)


drawn_live_by(_show_again, _given_to_marimo)
told_where_by(lambda: id(marimo_notebook()))


def _absent() -> str:
    if current_kernel() is None and "marimo" in sys.modules:
        return "this marimo notebook runs as a script or in a thread of its own, where there is no page with cards"
    if current_kernel() is None:
        return "this process is no notebook kernel, so there is no front end"
    return (
        "this notebook is executed without a front end (nbclient, nbconvert, papermill, nbval; if somebody watches all "
        f"the same, start Jupyter with {OVERRULED}=1)"
    )


_UNSEEN = (
    "A question of what was just started fails in the background, where no cell sees it. "
    "Write `await` before it, or start with HITL_NB_PEOPLE=script:answers.py."
)
_CAPTURED = (
    "`%%capture` keeps what this cell puts out, its card too, so that nobody could click. Nothing was asked. "
    "Write the cell without `%%capture`."
)
