"""The messages from the kernel to the page. One of them can get lost, as the notebook server may do.

It drops widget messages above a rate limit.
"""

import itertools
import json
import re
from typing import Any

from playwright.async_api import Page, WebSocketRoute

_CHANNELS = re.compile(r"/api/kernels/.+/channels")


class Wire:
    """Passes everything on, unless told to lose one widget message.

    Attributes:
        seen: How many widget messages (`comm_msg`) came since the last `lose`.
        lost: The content of the one that was not passed on.
    """

    def __init__(self) -> None:
        self.seen = 0
        self.lost: dict[str, Any] | None = None
        self._which = 0

    def lose(self, which: int) -> None:
        """Lose the n-th widget message from now on, counted from 1."""
        self.seen, self.lost, self._which = 0, None, which

    async def attach(self, page: Page) -> None:
        """Stand between this page and its kernels."""
        await page.route_web_socket(_CHANNELS, self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        kernel = browser.connect_to_server()

        def pass_on(frame: str | bytes) -> None:
            kind, content = _message(frame)
            if kind == "comm_msg":
                self.seen += 1
                if self.seen == self._which:
                    self.lost = content
                    return
            browser.send(frame)

        kernel.on_message(pass_on)


def _message(frame: str | bytes) -> tuple[str, dict[str, Any]]:
    """The type and the content of a message, in either of the two forms that Lab speaks."""
    if isinstance(frame, str):
        message = json.loads(frame)
        return message["header"]["msg_type"], message["content"]
    # v1.kernel.websocket.jupyter.org: a count, the offsets, then channel, header, parent, metadata, content, buffers.
    count = int.from_bytes(frame[:8], "little")
    offsets = [int.from_bytes(frame[8 * n : 8 * n + 8], "little") for n in range(1, count + 1)]
    parts = [frame[start:end] for start, end in itertools.pairwise(offsets)]
    return json.loads(parts[1])["msg_type"], json.loads(parts[4])
