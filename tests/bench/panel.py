"""What a streamed message costs the browser, beside `ipywidgets.HTML`: `python -m tests.bench.panel`.

10,000 chunks at 500 a second. The kernel's updates are recorded, and played to the linked widget in a page of Chromium,
each with the layout that it causes; in turn with it, what ipywidgets does with `HTML` whose value is set with each
chunk: 25 values and their layout in the time of one update. What a frame has to wait for, the worst of them and in all.
"""

import asyncio
import statistics
import sys
from typing import Any

from playwright.async_api import Page

from hitl_nb._transcript import MessageEntry, Transcript
from hitl_nb.cards._transport import CardList
from hitl_nb.cards._view import RunView
from tests.bench.figure import tell
from tests.browser.chromium import ADDRESS, executable, launched, serve

CHUNKS, AT_ONCE, ROUNDS = 10_000, 25, 2
PLAY = """
async ([updates, texts]) => {
  const run = await mount();
  const el = document.getElementById("el");
  const plain = document.getElementById("el2");
  const ours = [];
  for (const content of updates) {
    const begun = performance.now();
    run.model.receive(content);
    el.getBoundingClientRect();
    ours.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve));
  }
  const shown = el.textContent.length;
  unmount(run);
  const theirs = [];
  const box = plain.appendChild(document.createElement("div"));
  let text = "";
  for (let at = 0; at < texts.length; at += 25) {
    const begun = performance.now();
    for (const chunk of texts.slice(at, at + 25)) box.innerHTML = text += chunk;
    box.getBoundingClientRect();
    theirs.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve));
  }
  box.remove();
  return [ours, theirs, shown];
}
"""


async def updates() -> list[Any]:
    """What the kernel sends for so many chunks, at twenty updates a second."""
    sent: list[Any] = []

    def send(_: Any, content: Any, buffers: Any = None) -> None:
        sent.append(content)

    CardList.send = send
    transcript = Transcript()
    view = RunView(transcript)
    entry = MessageEntry(key="m", role="assistant", streaming=True)
    transcript.add(entry)
    for at in range(CHUNKS):
        entry.grow("word " if at % 20 else "word.\n\n")
        transcript.touch(entry)
        if at % AT_ONCE == AT_ONCE - 1:
            for cards in view._slots.lists:
                cards.updates.flush()
    return sent


async def played(page: Page, sent: list[Any]) -> tuple[list[float], list[float]]:
    texts = ["word " if at % 20 else "word.<p>" for at in range(CHUNKS)]
    ours, theirs, shown = await page.evaluate(PLAY, [sent, texts])
    assert shown > 4 * CHUNKS, "the message was not drawn"
    return ours, theirs


async def main() -> None:
    """Tell the worst frame, and all of them."""
    path = executable()
    if path is None:
        sys.exit("No Chromium: apt-get install chromium")
    sent = await updates()
    async with launched(path) as browser:
        page = await browser.new_page(viewport={"width": 800, "height": 900})
        await serve(page)
        await page.goto(ADDRESS)
        rounds = [await played(page, sent) for _ in range(ROUNDS)]
    for name, of in (("the worst frame", max), ("all frames", sum)):
        mine, other = ([of(found) for found in column] for column in zip(*rounds, strict=True))
        ratio = statistics.median(a / b for a, b in zip(mine, other, strict=True))
        note = f"{statistics.median(mine):.0f} ms to {statistics.median(other):.0f} ms"
        tell(f"browser, {name} of {CHUNKS:,} chunks / ipywidgets.HTML set a chunk", ratio, 1, note=note)


if __name__ == "__main__":
    asyncio.run(main())
