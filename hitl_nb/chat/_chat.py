"""A session to talk to: what was said, calls and cards in their place, a box to write in, stop from the first moment.

It draws what every run draws (`hitl_nb.cards.RunView`), one conversation long, between a head and a composer. What a
person writes belongs to the browser until it is sent; sending begins a run in the background, so no cell waits.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import ipywidgets
from ag_ui.core import AssistantMessage, Message, UserMessage
from IPython.display import display

import hitl_nb.data  # noqa: F401 - a card list draws the cards that are known when it begins
from hitl_nb._kernel import front_end
from hitl_nb._text import visible, visible_line
from hitl_nb._transcript import MessageEntry, Transcript
from hitl_nb.cards import Panel, RunView, display_record, keep_on_screen
from hitl_nb.errors import HitlError, UsageError
from hitl_nb.session import Attachment, Run, Sent, Suggestion, attachment_of, text_in

_DOCK = (
    "To have the chat beside the notebook, right-click it and choose “Create New View for Cell Output”, or install "
    "`sidecar` (`pip install sidecar`, restart the kernel) for `session.chat(dock=True)`."
)


class Talk(Protocol):
    """What a chat needs of a session."""

    @property
    def messages(self) -> list[Message]:
        """The history."""

    def start(self, text: str, *, if_busy: Any = "error", attachments: Sequence[Any] = ()) -> Run:
        """Send words."""

    def stop(self) -> None:
        """End what is under way."""

    @property
    def last_said(self) -> Sent | None:
        """The last thing that the user has said."""

    def sent_in(self, message: UserMessage) -> Sent:
        """Give the words of a user's message apart from what went with them."""

    def take_back(self) -> str | None:
        """Cut the history before the last thing that the user has said, and give that."""

    def on_run(self, function: Any) -> Any:
        """Have a function called with each run as it begins."""

    async def suggest(self) -> list[Suggestion]:
        """Give what may be said next."""


class Chat:
    """A panel to talk to a session. Made by `Session.chat`; as the last line of a cell it is there.

    Args:
        session: The session.
        title: What stands above.
        dock: Whether it is to be beside the notebook.
    """

    def __init__(self, session: Talk, *, title: str = "Chat", dock: bool = False) -> None:
        self._session, self._title, self._dock = session, title, dock
        self._attached: list[Attachment] = []
        self._run: Run | None = None
        self._sending = False
        self._words = ""
        self._suggestions: list[Suggestion] = []
        self._shown = False
        self._runs: list[Run] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._view: RunView | None = None

    # -- for the user -------------------------------------------------------------------------------------

    def attach(self, thing: Any, name: str | None = None) -> "Chat":
        """Hand something to the agent with the next message: a path, a figure, an image, a DataFrame, data.

        A picture travels as one where the agent takes pictures; all else as a summary that can be read.

        Args:
            thing: What.
            name: What it is called; default: the file's name, or what it is.

        Raises:
            UsageError: There is no such file, or it is too large.
        """
        self._attached.append(attachment_of(thing, name))
        self._draw()
        return self

    def send(self, text: str) -> Run:
        """Say something, as the composer does: a run in the background, drawn in this panel.

        Raises:
            SessionBusyError: A run is under way.
        """
        attached, self._attached = self._attached, []
        try:
            self._sending = True
            return self._session.start(text, attachments=attached)
        except HitlError:
            self._attached = attached
            raise
        finally:
            self._sending = False
            self._draw()

    def _ipython_display_(self) -> None:
        if front_end() != "possible":
            display_record(self._recalled())
            return
        view = self._opened()
        if self._dock and (side := _sidecar(self._title)) is not None:
            with side:
                view.display()
            return
        view.display()
        if self._dock:
            display({"text/plain": _DOCK}, raw=True)

    def __repr__(self) -> str:
        return f"<Chat {visible_line(self._title)}: {len(self._session.messages)} messages>"

    # -- the panel ----------------------------------------------------------------------------------------

    def _opened(self) -> RunView:
        if self._view is None:
            self._head = Panel(self._act, dict)
            self._foot = Panel(self._act, dict)
            self._view = RunView(self._recalled(), around=self._framed)
            keep_on_screen(self._view)
            self._session.on_run(self._begun)
            self._draw()
            self._later(self._suggest())
        return self._view

    def _recalled(self) -> Transcript:
        """What was said before, to read; what was asked and done stands where it was."""
        said = Transcript()
        for message in self._session.messages:
            if isinstance(message, UserMessage):
                sent = self._session.sent_in(message)
                attached = [(each.name, each.address) for each in sent.attachments]
                said.add(MessageEntry(key=message.id, role="user", text=sent.words, attached=attached))
            elif isinstance(message, AssistantMessage) and (text := text_in(message.content)):
                said.add(MessageEntry(key=message.id, role="assistant", text=text))
        return said

    def _framed(self, log: ipywidgets.Box) -> ipywidgets.Widget:
        log.add_class("hitl-chat-log")
        box = ipywidgets.VBox([self._head.cards, log, self._foot.cards])
        box.add_class("hitl-chat")
        return box

    def _begun(self, run: Run) -> None:
        """A run of the session begins: one that was begun here is drawn here alone, another one here, too."""
        assert self._view is not None
        self._run = run
        self._runs.append(run)
        if self._sending:
            run.transcript.tells_all = True
            self._view.follow(run.transcript)
        else:
            asyncio.get_running_loop().call_soon(self._view.follow, run.transcript)
        self._suggestions = []
        self._later(self._until_over(run))  # it has no status yet

    async def _until_over(self, run: Run) -> None:
        self._draw()
        watching = asyncio.ensure_future(run.settled())
        while not watching.done():
            await asyncio.wait([watching], timeout=0.25)
            self._draw()
        self._draw()
        assert self._view is not None
        self._view.save_soon()
        await self._suggest()

    async def _suggest(self) -> None:
        if not self._is_busy:
            self._suggestions = await self._session.suggest()
            self._draw()

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def _is_busy(self) -> bool:
        return self._run is not None and self._run.status in ("running", "waiting")

    def _draw(self) -> None:
        if self._view is None:
            return
        status = self._run.status if self._run is not None else "done"
        words = {"running": "The agent is at work", "waiting": "Waiting for you", "failed": "The last run failed"}
        self._head.cards.updates.show(
            {
                "key": "head",
                "type": "chat-head",
                "id": "head",
                "title": visible(self._title),
                "status": words.get(status, ""),
                "busy": self._is_busy,
            }
        )
        self._foot.cards.updates.show(
            {
                "key": "foot",
                "type": "composer",
                "id": "foot",
                "busy": self._is_busy,
                "last": self._last_said(),
                "suggestions": [{"title": visible(each.title), "message": each.message} for each in self._suggestions],
                "attached": [visible(each.name) for each in self._attached],
            }
        )

    def _last_said(self) -> str:
        said = self._session.last_said
        return said.words if said is not None else ""

    # -- what a person asks for ---------------------------------------------------------------------------

    async def _act(self, _key: str, body: Mapping[str, Any]) -> None:
        match body.get("do"):
            case "send":
                self.send(_text_in(body))
            case "stop":
                self._session.stop()
            case "retry":
                await self._again(None)
            case "edit":
                await self._again(_text_in(body))
            case "detach":
                at = body.get("at")
                if isinstance(at, int) and at < len(self._attached):
                    del self._attached[at]
                self._draw()

    async def _again(self, text: str | None) -> None:
        """Go back to before the last thing that the person has said, and say it again, or something else."""
        if self._run is not None and self._is_busy:
            self._session.stop()
            await self._run.settled()
        said = self._session.last_said
        if said is None:
            raise UsageError("Nothing has been said yet.")
        self._session.take_back()
        if self._runs and self._view is not None:
            self._view.forget(self._runs.pop().transcript)
        self._attached = [*said.attachments, *self._attached]  # what went with it goes with it again
        self.send(said.words if text is None else text)


def _text_in(body: Mapping[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str) or not text.strip():
        raise UsageError("There is nothing to send yet.")
    return text


def _sidecar(title: str) -> Any:
    with suppress(ImportError):
        from sidecar import Sidecar  # type: ignore[import-not-found,import-untyped,unused-ignore]  # optional

        return Sidecar(title=title, anchor="split-right")
    return None
