"""What one page of the inbox shows: the cards of the open questions, and the answers of whoever sits in front of it.

A desk is to a page what a kernel's view is to a cell: the same items, the same numbered updates, the same clicks. It
is known by a name that the page has made up, so that a page whose server was restarted goes on where it was: the
drafts it holds, and an answer that it sends again, are about the same questions.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from hitl_nb._calls import Call, Handle
from hitl_nb._schema import validator_for
from hitl_nb._text import logger, visible_line
from hitl_nb._transcript import CallEntry, Entry, Transcript
from hitl_nb._waiting import until_decided
from hitl_nb.cards import BatchReview, Item, Talk, Updates, item_of, takes_clicks
from hitl_nb.errors import HitlError
from hitl_nb.inbox._live import Feed, Found, Live
from hitl_nb.inbox._posting import opened
from hitl_nb.interrupts import decided_together
from hitl_nb.journal import Filter, Posted
from hitl_nb.people import ask_in_turn

_log = logger()

_RECORDS: Final = 20
"""What is decided and still shown, at the most: enough to see who was faster."""

_BEHIND: Final = 1000
"""Messages that a page may leave unread; it then has to ask anew."""

LONGEST_NAME: Final = 200
"""Characters of somebody's name."""

_OF_THE_PAGE: Final = frozenset({"together", "give"})
"""What only this page asks for; all else is about a card, as in a notebook."""

_OBSERVED: Final = ("args", "status", "turn", "error")


class Visitor:
    """Somebody at the page.

    Args:
        name: Who that is, as the gateway says.
    """

    via = "card"

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, call: Call) -> None:
        """Wait until it is decided, here or elsewhere."""
        await until_decided(call)


class Desk:
    """One page of one person.

    Args:
        feed: Looks at the journal.
        user: Who sits in front of it.
        which: Which questions they want to see.
        name: What the page is called.
    """

    def __init__(self, feed: Feed, user: str, which: Filter, name: str) -> None:
        self.user = user
        self._feed, self._which, self._name = feed, which, name
        self._transcript = Transcript()
        self._transcript.journal = feed.journal
        self._live = Live(feed.journal, self._made, Visitor(user), self._transcript, self._gone)
        self._calls: dict[str, Call] = {}
        self._warnings: dict[str, str] = {}
        self._talk = Talk(self._calls.get, self._redraw, lambda _: self._updates, self._warnings)
        self._updates = Updates(self._send, self._take, lambda: None, self._talk.draft_of)
        self._pages: set[asyncio.Queue[str | None]] = set()
        self._asked: dict[int, Call] = {}
        """By the row of each question; one whose answer is refused is asked anew with what was typed."""
        self._together: tuple[Call, asyncio.Task[None], list[Call]] | None = None
        """The table at which many are decided, who waits for that, and which they are."""
        self._giving: set[asyncio.Task[None]] = set()
        self._counts = ""
        self._stack = ExitStack()

    @property
    def is_seen(self) -> bool:
        """Whether the page is connected."""
        return bool(self._pages)

    async def open(self) -> None:
        """Begin to show questions."""
        self._stack.enter_context(self._transcript.watched(self._changed))
        self._stack.callback(await self._feed.follow(self._which, self._found))

    def close(self) -> None:
        """Show nothing more; what is open stays open."""
        self._stack.close()
        if self._together is not None:
            self._together[1].cancel()
        self._live.close()
        self._talk.close()
        for page in self._pages:
            page.put_nowait(None)

    # -- to the page --------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator["asyncio.Queue[str | None]"]:
        """Give what the page is to be sent, as server-sent events; None ends it."""
        page: asyncio.Queue[str | None] = asyncio.Queue(_BEHIND)
        page.put_nowait(self._counts)
        self._pages.add(page)
        try:
            yield page
        finally:
            self._pages.discard(page)

    def _send(self, content: dict[str, Any]) -> None:
        self._publish(f"data: {json.dumps(content)}\n\n")

    def _publish(self, event: str) -> None:
        for page in list(self._pages):
            if page.full():
                self._pages.discard(page)  # it connects again, and asks for all of it
                while not page.empty():
                    page.get_nowait()
                page.put_nowait(None)
            else:
                page.put_nowait(event)

    async def _found(self, found: Found) -> None:
        await self._live.take(found)
        counts = {
            "user": visible_line(self.user),
            "open": sum(each.open for each in found.counts),
            "high": sum(each.high for each in found.counts),
            "to": [[visible_line(each.to), each.to, each.open] for each in found.everybody],
        }
        event = f"event: counts\ndata: {json.dumps(counts)}\n\n"
        if event != self._counts:
            self._counts = event
            self._publish(event)

    # -- what is drawn ------------------------------------------------------------------------------------

    def _made(self, posted: Posted) -> Call:
        question, before = posted.asked.question, self._asked.get(posted.about.get("again") or 0)
        call = opened(posted, self._feed.journal, f"{self._name}-{question}", before=before)
        self._asked[question] = call
        return call

    def _changed(self, entry: Entry) -> None:
        if not isinstance(entry, CallEntry):
            return
        call = entry.call
        if call.occurrence not in self._calls:
            self._calls[call.occurrence] = call
            call.observe(self._on_trait, names=list(_OBSERVED))
            self._talk.fetch(call)
        self._updates.show(self._item(call))

    def _item(self, call: Call) -> Item:
        return item_of(CallEntry(key=call.occurrence, call=call), self._warnings)

    def _redraw(self, call: Call) -> None:
        self._updates.show(self._item(call))

    def _on_trait(self, change: Any) -> None:
        call = change["owner"]
        self._redraw(call)
        if takes_clicks(call) or call.status == "complete":
            self._updates.flush()
        if change["name"] == "status" and call.status == "complete":
            self._talk.drafts.forget(call)
            self._clear_away()

    def _clear_away(self) -> None:
        old = self._live.decided[:-_RECORDS]
        for call in old:
            self._live.forget(call)
            self._forget(call)
        self._asked = {question: call for question, call in self._asked.items() if call not in old}

    def _gone(self, call: Call, words: str) -> None:
        """Take away what was erased, also the table in which it stands."""
        self._asked = {question: each for question, each in self._asked.items() if each is not call}
        self._forget(call)
        if self._together is not None and call in self._together[2]:
            self._together[1].cancel()
            self._forget(self._together[0])
        self._tell(f"A question that was here is not any more: {words}.")

    def _tell(self, words: str) -> None:
        self._publish(f"event: told\ndata: {json.dumps(visible_line(words))}\n\n")

    def _forget(self, call: Call) -> None:
        if self._calls.pop(call.occurrence, None) is not None:
            call.unobserve(self._on_trait, names=list(_OBSERVED))
            self._updates.drop([call.occurrence])

    # -- from the page ------------------------------------------------------------------------------------

    def receive(self, content: Any) -> None:
        """Do what a message of the page asks for."""
        if isinstance(content, dict) and content.get("op") in _OF_THE_PAGE:
            self._take(content)
        else:
            self._updates.receive(content)

    def _give(self, message: dict[str, Any]) -> None:
        """Give a question to somebody; to nobody, if that is nobody's name."""
        to, key = message.get("to"), message.get("call_id")
        question = next((each for each, call in self._asked.items() if call.occurrence == key), None)
        name = to.strip() if isinstance(to, str) else ""
        if question is not None and len(name) <= LONGEST_NAME and (not name or name.isprintable()):
            task = asyncio.ensure_future(asyncio.to_thread(self._feed.journal.postings.assign, question, name or None))
            self._giving.add(task)
            task.add_done_callback(self._given)

    def _given(self, done: "asyncio.Task[None]") -> None:
        self._giving.discard(done)
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.warning("A question could not be given to anybody: %s", error)

    # -- many at one table ----------------------------------------------------------------------------------

    def _put_together(self) -> None:
        """Show the open questions as one table, as they are now; each keeps a row of its own in the journal."""
        calls = [call for call in self._asked.values() if takes_clicks(call) and not call.decided]
        if len(calls) < 2 or (self._together is not None and not self._together[1].done()):
            return
        if self._together is not None:
            self._forget(self._together[0])
        table = Call(
            id=f"{self._name}-together-{len(self._calls)}",
            name="review_calls",
            title="Several at one table",
            message="Which of these?",
            render=partial(BatchReview, calls=calls),
            answer_type=validator_for(dict[str, list[str]]),
            compares=False,
        )
        Handle.of(table).open_now({"calls": [{"id": call.id, "name": call.name} for call in calls]})
        self._transcript.add(CallEntry(key=table.occurrence, call=table))
        self._together = table, asyncio.ensure_future(self._decide_together(table, calls)), calls

    async def _decide_together(self, table: Call, calls: list[Call]) -> None:
        try:
            await ask_in_turn(table, [Visitor(self.user)])
            if not table.approved:
                self._forget(table)
                return
            batch = decided_together(calls, table.answer, None, by=self.user)
            if batch.failed:
                words = "; ".join(f"{call.message or call.name}: {why}" for call, why in batch.failed)
                self._tell(f"Not decided at the table: {words}")
        except HitlError as error:
            Handle.of(table).problem(str(error))

    def _take(self, message: dict[str, Any]) -> None:
        try:
            if message["op"] == "together":
                self._put_together()
            elif message["op"] == "give":
                self._give(message)
            else:
                self._talk.take(message)
        except Exception:  # no page of ours says such a thing
            _log.exception("A message of the inbox's page could not be understood")
