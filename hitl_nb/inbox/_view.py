"""`Journal.inbox()`: the open questions of every job, to answer in a notebook or in code."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from html import escape
from typing import Any

from hitl_nb._awaiting import Unasked
from hitl_nb._calls import Call
from hitl_nb._kernel import front_end
from hitl_nb._text import said_line
from hitl_nb._transcript import Transcript
from hitl_nb.errors import NoHumanError, UsageError
from hitl_nb.inbox._live import Feed, Live
from hitl_nb.inbox._posting import expires_at, opened
from hitl_nb.interrupts import Batch, review_calls
from hitl_nb.journal import Filter, Journal, Order, Posted
from hitl_nb.people import NotebookPerson, Person, showing


class InboxView:
    """The open questions in a journal; as the last line of a cell they are live cards.

    In code each is a `Call`: ``for call in journal.inbox(): call.respond(call.proposal, by="ada")``. The first answer
    counts, wherever it is given; whoever asked checks it once more.

    Args:
        journal: Where they are.
        to: Whom they are for; None shows all.
        job: Of which job; None shows all.
        order: Which come first: ``oldest``, ``newest`` or ``riskiest``.

    Raises:
        UsageError: There is no such order.
    """

    def __init__(
        self, journal: Journal, *, to: str | None = None, job: str | None = None, order: Order = "oldest"
    ) -> None:
        self._journal, self._which = journal, Filter(to=to, job=job, order=order)
        self._calls: dict[int, Call] = {}
        self._task: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Call]:
        """Iterate over the open questions, in order; needs a running loop, as every kernel has."""
        return iter([self._call(each) for each in self._open()])

    def __len__(self) -> int:
        return sum(count.open for count in self._journal.postings.counts(self._which))

    def __getitem__(self, number: int) -> Call:
        return list(self)[number]

    def review(
        self, message: str = "Which of these?", *, reason: str | None = None, person: Person | None = None
    ) -> Unasked[Batch]:
        """Decide the open questions at one table, as they are now: ``await journal.inbox(to="finance").review()``.

        Args:
            message: What stands above the table.
            reason: What the declined ones are told.
            person: Who decides; default: whoever sits in front of this notebook.

        Returns:
            What became of each; see `review_calls`.

        Raises:
            UsageError: None is open.
        """
        return review_calls(self, message, reason=reason, people=person)

    def assign(self, call: Call, to: str | None) -> None:
        """Give a question to somebody, who finds it by ``inbox(to=...)``; others can answer it all the same.

        Args:
            call: One of this view.
            to: A name, a team; None takes it back.

        Raises:
            UsageError: It is none of this view.
        """
        question = next((question for question, known in self._calls.items() if known == call), None)
        if question is None:
            raise UsageError(f'`{call!r}` is not in this inbox. Write `inbox.assign(inbox[0], "ada")`.')
        self._journal.postings.assign(question, to)

    def _open(self) -> list[Posted]:
        return self._journal.postings.posted(self._which)

    def _call(self, posted: Posted) -> Call:
        """The call of a question; the same as long as this view is there."""
        known = self._calls.get(posted.asked.question)
        if known is None:
            before = self._calls.get(posted.about.get("again") or 0)
            known = self._calls[posted.asked.question] = opened(posted, self._journal, before=before)
        return known

    # -- in a cell ----------------------------------------------------------------------------------------

    def start(self) -> "InboxView":
        """Show the questions as live cards in this cell, new ones as they come, until `stop`.

        Raises:
            UsageError: It is shown already; or there is no running loop.
            NoHumanError: There is no front end.
        """
        if self._task is not None and not self._task.done():
            raise UsageError("This inbox is shown already. Write `journal.inbox()` for another one.")
        if front_end() != "possible":
            raise NoHumanError(
                "This notebook has no front end, so nobody could answer. In code: "
                "`for call in journal.inbox(): call.respond(call.proposal)`."
            )
        transcript = Transcript()
        transcript.foreground = False
        transcript.journal = self._journal
        person = NotebookPerson(self._journal.who())
        ready = ExitStack()
        ready.enter_context(showing([person], transcript))
        live = Live(self._journal, self._call, person, transcript, partial(self._gone, transcript))
        self._task = asyncio.ensure_future(self._show(live, ready))
        return self

    def stop(self) -> None:
        """Show nothing more; the questions stay open."""
        if self._task is not None:
            self._task.cancel()

    def _gone(self, transcript: Transcript, call: Call, words: str) -> None:
        """Show what was erased no more, nor keep it."""
        self._calls = {question: known for question, known in self._calls.items() if known is not call}
        transcript.take_away(call, f"A question that was here is not any more: {words}.")

    async def _show(self, live: Live, ready: ExitStack) -> None:
        feed = Feed(self._journal)
        with ready:
            try:
                await feed.follow(self._which, live.take)
                await feed.run()
            finally:
                live.close()

    def _ipython_display_(self) -> None:
        if front_end() != "possible":
            raise NotImplementedError  # then IPython shows what can be read
        self.start()

    # -- to read ------------------------------------------------------------------------------------------

    def _lines(self) -> list[tuple[str, str, str]]:
        texts = [
            (each.asked.message or each.asked.tool, each.about["to"], each.about["asker"]) for each in self._open()
        ]
        return [(said_line(question), said_line(to), said_line(asker)) for question, to, asker in texts]

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in line)}</tr>" for line in self._lines())
        return f"<table><tr><th>question</th><th>to</th><th>asked by</th></tr>{rows}</table>"

    def __repr__(self) -> str:
        lines = [f"  {message}{f' (to {to})' if to else ''}" for message, to, _ in self._lines()]
        return "\n".join([f"<inbox of {self._journal.where}: {len(lines)} open>", *lines])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the open questions as plain data.

        Returns:
            A dict each: id, question, to, job, asked_at, expires, asker, assigned, looking.
        """
        return [
            {
                "id": each.asked.id,
                "question": each.asked.message,
                "to": each.about["to"],
                "job": each.job,
                "asked_at": each.asked.asked_at,
                "expires": expires_at(each),
                "asker": each.about["asker"],
                "assigned": each.assigned,
                "looking": each.looking,
            }
            for each in self._open()
        ]
