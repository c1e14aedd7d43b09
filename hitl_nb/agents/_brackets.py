"""Where a growing JSON text has closed what it opened, found while looking at each character once.

Parsing the text again for every fragment would be quadratic in the length of the arguments.
"""

import re

_MARK = re.compile(r'\\.|["\\{}\[\]]', re.DOTALL)


class Brackets:
    """JSON text that comes in fragments.

    Attributes:
        text: All of it so far.
        closed_at: The position behind the first complete object or array, or None. It says that the brackets
            match, not that the text between them is valid.
    """

    def __init__(self) -> None:
        self.text = ""
        self.closed_at: int | None = None
        self._seen = 0
        self._depth = 0
        self._quoted = False

    @property
    def head(self) -> str:
        """The text up to the end of the first complete object."""
        return self.text[: self.closed_at]

    @property
    def extra(self) -> str:
        """What came after that."""
        return self.text[len(self.head) :]

    @property
    def unclosed(self) -> bool:
        """Whether something is open still: the rest of it is missing, or somewhere else."""
        return self.closed_at is None and bool(self.text.strip())

    def feed(self, fragment: str) -> None:
        """Add a fragment."""
        self.text += fragment
        if self.closed_at is None:
            self._look()

    def _look(self) -> None:
        for match in _MARK.finditer(self.text, self._seen):
            mark = match.group()
            if mark == "\\" and self._quoted:
                # What it escapes comes with the next fragment.
                self._seen = match.start()
                return
            if mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and mark in "{[":
                self._depth += 1
            elif not self._quoted and mark in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self.closed_at = match.end()
                    return
        self._seen = len(self.text)


def unclosed(text: str) -> bool:
    """Whether a whole text opens something that it does not close."""
    brackets = Brackets()
    brackets.feed(text)
    return brackets.unclosed
