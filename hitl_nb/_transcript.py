"""What a run looks like, without a screen: an ordered list of messages, calls and notes.

The session writes it; a widget in the cell, a static record in the saved notebook and a test read it. So nothing
is shown twice, and headless is the same as on screen.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from hitl_nb._calls import Call
from hitl_nb._steps import Memory
from hitl_nb._text import Pieces


class MessageEntry:
    """Text of the user or of the assistant; grows while it streams."""

    def __init__(
        self,
        *,
        key: str,
        role: Literal["user", "assistant", "reasoning"],
        text: str = "",
        streaming: bool = False,
        attached: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.attached = tuple(attached)
        """What the user has handed over with it: what each is called, and a picture as a ``data:`` address."""
        self.key = key
        self.role = role
        self.streaming = streaming
        self._said = Pieces(text)

    @property
    def text(self) -> str:
        """What was said so far."""
        return self._said.read()

    @property
    def said(self) -> Pieces:
        """The same, of which a part can be taken without all of it being joined."""
        return self._said

    def grow(self, piece: str) -> None:
        """Say more."""
        self._said.add(piece)


@dataclass(kw_only=True)
class CallEntry:
    """One question; its own traits say how far it is."""

    key: str
    call: Call


@dataclass(kw_only=True)
class NoteEntry:
    """A line about the run itself: it was stopped, it failed."""

    key: str
    level: Literal["info", "warning", "error"]
    text: str
    instead_of: str = ""
    """The occurrence of a call that is shown no more, nor kept: it was erased."""


@dataclass(kw_only=True)
class ToolEntry:
    """A tool call that nobody is asked about, to look at; the traits of the call say how far it is."""

    key: str
    call: Call
    render: Callable[[Call], object] | None = None
    """What draws it; None: the card for such calls."""


class StateEntry:
    """The shared state of one run, to look at, as a function of the user's draws it; it stays as the run left it."""

    def __init__(self, *, key: str, render: Callable[[Any], object], state: Any) -> None:
        self.key, self.render, self.state = key, render, state


Entry = MessageEntry | CallEntry | NoteEntry | ToolEntry | StateEntry


class Transcript:
    """The entries of one run in order; watchers are told which entry changed."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._watchers: list[Callable[[Entry], None]] = []
        self.foreground = True
        """Whether a cell awaits this run (then clicks may need the kernel's help)."""
        self.finished = False
        self.tells_all = False
        """Whether it is a conversation: with what the agent thinks, and with every call."""
        self.memory = Memory()
        """What was decided for the message that began this run, should a step of the agent's code run again."""
        self.journal: Any = None
        """What records the questions, or None."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def __contains__(self, call: object) -> bool:
        return any(isinstance(entry, CallEntry) and entry.call == call for entry in self._entries.values())

    def head(self) -> str | None:
        """Return the hash of the journal's last row, for the notebook to keep: so that a truncated journal is seen."""
        head: str | None = getattr(self.journal, "head", None)
        return head

    @property
    def calls(self) -> list[Call]:
        """The calls of this run, in the order in which they were made."""
        return [entry.call for entry in self._entries.values() if isinstance(entry, CallEntry)]

    @property
    def tools(self) -> list[Call]:
        """The calls of this run that are shown and that nobody is asked about."""
        return [entry.call for entry in self._entries.values() if isinstance(entry, ToolEntry)]

    def add(self, entry: Entry) -> None:
        """Append an entry, or say that the one with this key has changed."""
        self._entries[entry.key] = entry
        self.touch(entry)

    def touch(self, entry: Entry) -> None:
        """Tell the watchers that this entry has changed."""
        for watcher in tuple(self._watchers):
            watcher(entry)

    def note(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Append a line about the run."""
        self.add(NoteEntry(key=f"note-{len(self._entries)}", level=level, text=text))

    def take_away(self, call: Call, words: str) -> None:
        """Show a call no more; a line says what became of it."""
        self._entries.pop(call.occurrence, None)
        self.add(NoteEntry(key=f"gone-{call.occurrence}", level="info", text=words, instead_of=call.occurrence))

    @contextmanager
    def watched(self, watcher: Callable[[Entry], None]) -> Iterator[None]:
        """Call `watcher(entry)` for each change, in the loop's thread."""
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)
