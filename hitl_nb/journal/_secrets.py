"""Secrets never enter the journal: not as an argument, not in an answer, not inside a message that quotes one.

Three nets, because each has a hole that another closes. A `SecretStr` writes itself as stars. A schema says where a
secret stands as plain text (``format: password``, ``writeOnly``). And what these two found is remembered, in memory
only, and taken out of everything else that is written: the model's raw arguments, its quotes, the shared state.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any, Final

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from hitl_nb.journal._hiding import MASK, Hider

_SHORTEST: Final = 4
"""Characters from which on a secret is also found inside longer text; shorter ones would tear words apart."""

_UNREADABLE: Final = f'{{"redacted":"{MASK}"}}'
"""Stands for a tool call's whole arguments: they have to stay a JSON object, or a provider refuses the history."""


class KnownSecrets:
    """The secrets that passed by in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}
        self._needles: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    @property
    def count(self) -> int:
        """How many there are: with another one, what was clean may not be any more."""
        return len(self._texts)

    def add(self, value: Any) -> None:
        """Remember every text and number in `value`, which is plain data."""
        if isinstance(value, Mapping):
            for part in value.values():
                self.add(part)
        elif isinstance(value, list | tuple):
            for part in value:
                self.add(part)
        elif isinstance(value, bytes):
            self.add(value.decode("utf-8", "replace"))
        elif not isinstance(value, bool) and value not in (None, "", MASK):
            self._remember(str(value), MASK)

    def add_arguments(self, text: str) -> None:
        """Remember a tool call's whole arguments: they may hold a secret in a place that nobody can tell."""
        self._remember(text, _UNREADABLE)

    def learn_arguments(self, text: str, hider: Hider) -> None:
        """Remember the secrets in a tool call's arguments, of which nobody has said yet that they are valid."""
        try:
            value = json.loads(text)
        except ValueError:
            self.add_arguments(text)
            return
        found: list[Any] = []
        hider.hide(value, found)
        self.add(found)

    def add_typed(self, value: Any) -> None:
        """Remember what every `SecretStr` and the like in `value` hides."""
        for secret in _typed(value):
            self.add(secret)

    def _remember(self, text: str, mask: str) -> None:
        if text in self._texts:
            return
        escaped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        with self._lock:
            needles = [*self._needles, *((form, mask) for form in {text, *escaped} if len(form) >= _SHORTEST)]
            # The longest first: a secret may be the begin of another. A new list: threads may be reading the old.
            self._needles = sorted(needles, key=lambda needle: -len(needle[0]))
            self._texts[text] = mask

    def scrub(self, value: Any) -> Any:
        """Give plain data without any secret that is known."""
        if not self._texts:
            return value
        if isinstance(value, dict):
            return {self._text(key): self.scrub(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.scrub(part) for part in value]
        if isinstance(value, str):
            return self._text(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and str(value) in self._texts else value

    def scrub_json(self, text: str) -> str:
        """Give JSON text without any secret that is known."""
        return json.dumps(self.scrub(json.loads(text)), separators=(",", ":")) if self._texts else text

    def scrub_text(self, text: str | None) -> str | None:
        """Give words without any secret that is known."""
        return self._text(text) if text and self._texts else text

    def _text(self, text: str) -> str:
        if text in self._texts:
            return self._texts[text]
        if text.startswith(("{", "[")):
            # The arguments of a tool call are JSON inside of JSON.
            try:
                inner = json.loads(text)
            except ValueError:
                pass
            else:
                clean = self.scrub(inner)
                text = text if clean == inner else json.dumps(clean, ensure_ascii=False)
        for secret, mask in self._needles:
            text = text.replace(secret, mask)
        return text


def _typed(value: Any) -> Iterator[Any]:
    if isinstance(value, SecretStr | SecretBytes | Secret):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for _, part in value:
            yield from _typed(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _typed(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _typed(part)
    elif isinstance(value, Sequence | Set) and not isinstance(value, str | bytes | bytearray | memoryview):
        for part in value:
            yield from _typed(part)
