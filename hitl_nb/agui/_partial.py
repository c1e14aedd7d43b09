"""The value of a tool call's arguments while the model is still writing them.

For looking at only. A preview is what the text surely says so far; the decision is bound to a strict parse
and the validation of the whole text, and nothing can be confirmed before that.

Why a reparse with a back-off, not a push parser: one parse is a few microseconds of Rust, and when it runs
only after the text has grown by a share, all parses together read each character at most 21 times however
long the text gets; `tests/bench/partial_args.py` measures it.
"""

import time
from collections.abc import Callable

from pydantic_core import from_json

_GROWTH = 0.05
_PATIENCE = 1.0  # seconds

# The start of a number is a number, too: `1` for a moment, then `12`. So a trailing run of such characters is
# held back until something ends it. The same cut keeps the `e` of an open `true` and digits at the end of an
# open string; they come with the next character.
_MAY_GO_ON = "-+0123456789.eE"


class PartialArgs:
    """Collects the fragments of one tool call's arguments and says what they amount to.

    ```python
    args = PartialArgs()
    args.feed('{"city": "Par')
    args.preview  # {"city": "Par"}
    args.feed('is", "days": 1')
    args.finish()  # {"city": "Paris"}: the number may go on
    ```

    Display only: a strict parse of `text` gates the answer.

    Args:
        clock: Seconds that only go up; `time.monotonic` unless a test brings its own.
    """

    preview: dict[str, object] | None
    """What the text surely says; None as long as that is not an object. It may lag behind the text by 5 % or
    a second, whichever is less, until `finish`. Replaced by a new object, never changed."""

    characters_parsed: int
    """How many characters all parses together were given: the cost, as a number that is the same on every
    machine."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.preview = None
        self.characters_parsed = 0
        self._clock = clock
        self._text = ""
        self._fragments: list[str] = []
        self._length = 0
        self._parsed_length = 0
        self._parsed_at = clock()

    @property
    def text(self) -> str:
        """All fragments so far, joined."""
        if self._fragments:
            # Joined when somebody looks, not at each fragment: that would copy the whole text each time.
            self._text = "".join((self._text, *self._fragments))
            self._fragments.clear()
        return self._text

    def feed(self, delta: str) -> None:
        """Take the next fragment; parses when enough of the text is new, or a second has passed."""
        self._fragments.append(delta)
        self._length += len(delta)
        new = self._length - self._parsed_length
        if new and (new >= _GROWTH * self._length or self._clock() - self._parsed_at >= _PATIENCE):
            self._parse()

    def finish(self) -> dict[str, object] | None:
        """Bring the preview up to date with the whole text, and return it."""
        if self._parsed_length != self._length:
            self._parse()
        return self.preview

    def _parse(self) -> None:
        self._parsed_length, self._parsed_at = self._length, self._clock()
        known = self.text.rstrip(_MAY_GO_ON)
        self.characters_parsed += len(known)
        try:
            value = from_json(known, allow_partial="trailing-strings")
        except ValueError:
            # Nothing yet, or no JSON: what was shown stays; the strict parse at the end says what is wrong.
            return
        self.preview = value if isinstance(value, dict) else None
