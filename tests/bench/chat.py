"""What a streamed token costs in the panel: `python -m tests.bench.chat`.

Ratios of one run, kernel side: 10,000 chunks into a conversation, beside `ipywidgets.HTML` whose value is set with each
chunk; a token at message 500 beside one at message 5; the last update of 1 MB of Markdown beside the tenth.
"""

import asyncio
import statistics
import time
from typing import Any

import ipywidgets

from hitl_nb._transcript import MessageEntry, Transcript
from hitl_nb.cards._transport import CardList
from hitl_nb.cards._view import RunView
from tests.bench.figure import tell

CHUNKS = 10_000
WORDS = "A line of *words* with `code`, and a [link](https://example.org/a). "
BLOCK = f"## A title\n\n{WORDS * 3}\n\n- one\n- two\n- three\n\n```python\nprint(1)\n```\n\n"


async def chunks_into_the_panel() -> float:
    """Seconds a chunk, with the updates that go out meanwhile."""
    transcript = Transcript()
    view = RunView(transcript)
    entry = MessageEntry(key="m", role="assistant", streaming=True)
    transcript.add(entry)
    began = time.perf_counter()
    for at in range(CHUNKS):
        entry.grow("word " if at % 20 else "word.\n\n")
        transcript.touch(entry)
        if at % 20 == 0:
            await asyncio.sleep(0)
    for cards in view._slots.lists:
        cards.updates.flush()
    return (time.perf_counter() - began) / CHUNKS


async def chunks_into_html() -> float:
    """Seconds a chunk of the usual way: the whole text, set with each."""
    widget = ipywidgets.HTML()
    text = ""
    began = time.perf_counter()
    for at in range(CHUNKS):
        text += "word " if at % 20 else "word.<p>"
        widget.value = text
        if at % 20 == 0:
            await asyncio.sleep(0)
    return (time.perf_counter() - began) / CHUNKS


async def token_at(message: int) -> float:
    """Seconds of a token with its update, as the n-th message of a conversation; the median of many."""
    transcript = Transcript()
    view = RunView(transcript)
    for at in range(message - 1):
        transcript.add(MessageEntry(key=f"m{at}", role="assistant", text=WORDS * 5))
    for cards in view._slots.lists:
        cards.updates.flush()
    entry = MessageEntry(key="last", role="assistant", streaming=True)
    transcript.add(entry)
    times = []
    for _ in range(400):
        began = time.perf_counter()
        entry.grow("word ")
        transcript.touch(entry)
        for cards in view._slots.lists:
            cards.updates.flush()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


class _Markdown:
    """A text that streams into a view, a block with each update."""

    def __init__(self) -> None:
        self._transcript = Transcript()
        self._view = RunView(self._transcript)
        self._entry = MessageEntry(key="m", role="assistant", streaming=True)
        self._transcript.add(self._entry)
        self.size = 0

    def update(self) -> float:
        """Seconds of processor time for one more block."""
        self._entry.grow(BLOCK)
        self.size += len(BLOCK)
        self._transcript.touch(self._entry)
        began = time.process_time()
        for cards in self._view._slots.lists:
            cards.updates.flush()
        took = time.process_time() - began
        self._view._messages._texts[self._entry.key]._next = 0.0  # each update reads what is new
        return took


async def updates_of_a_megabyte() -> tuple[float, float]:
    """Seconds of the tenth update, and of one of 1 MB: in turn, so that both see the same machine; medians."""
    long = _Markdown()
    while long.size < 1_000_000:
        long.update()
    tenths, lasts = [], []
    for _ in range(60):
        short = _Markdown()
        tenths.append([short.update() for _ in range(10)][-1])
        lasts.append(long.update())
    return statistics.median(tenths), statistics.median(lasts)


def silent(_: Any, content: Any, buffers: Any = None) -> None:
    """Nobody listens: what is measured is our side."""


async def main() -> None:
    CardList.send = silent
    ours, html = await chunks_into_the_panel(), await chunks_into_html()
    tell(
        "kernel, a chunk into the panel / ipywidgets.HTML set a chunk, 10,000 of them",
        ours / html,
        1,
        note=f"{ours * 1e6:.1f} µs to {html * 1e6:.1f} µs",
    )
    five, many = await token_at(5), await token_at(500)
    tell("a token at message 500 / at message 5", many / five, 1.2, note=f"{many * 1e6:.0f} µs to {five * 1e6:.0f} µs")
    tenth, last = await updates_of_a_megabyte()
    tell(
        "1 MB of Markdown, the last update / the tenth",
        last / tenth,
        2,
        note=f"{last * 1e3:.2f} ms to {tenth * 1e3:.2f} ms",
    )


if __name__ == "__main__":
    asyncio.run(main())
