"""Secrets: which names say that a value is one, and what passed by in this process, so that every way out can mask it.

A secret is told by its type (`SecretStr`), by its schema (``format: password``, ``writeOnly``; see `hitl_nb._schema`),
or by its name: an argument called ``api_key`` is one whether or not the tool says so, unless it says
``writeOnly: false``. What was found is remembered, in memory only, and taken out of everything else that quotes it.
"""

import functools
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

MASK: Final = "**********"
"""pydantic's own sign for a secret."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# -- names that say so ------------------------------------------------------------------------------------------------

_ENDS: Final = (
    "password passwd passphrase passcode secret apikey apisecret apitoken accesstoken refreshtoken authtoken "
    "bearertoken sessiontoken secretkey privatekey accesskey signingkey encryptionkey masterkey authorization "
    "credentials"
).split()
"""As a whole name, or at its end: ``db_password``, ``OPENAI_API_KEY``, ``x-api-key``."""

_WHOLE: Final = frozenset("pwd credential bearer jwt otp cvv cvc setcookie clientsecret githubtoken".split())
_AMBIGUOUS: Final = frozenset(("token", "pin", "cookie"))
"""A secret as an argument; in the rows of a table a word of a text, a place on a map."""

_STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)(?:"(\s*+:)?+|\\?\Z)', re.DOTALL)
"""A string of JSON text from its begin, which may be torn; with a colon behind it is a key. Each is passed once."""
_VALUE: Final = re.compile(r'\s*+(?:"((?:[^"\\]++|\\.)*+)|([-+.\w]++))', re.DOTALL)


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: object, *, in_rows: bool = False) -> bool:
    """Return whether a value of this name is a secret: the whole name is such a word; ``max_tokens`` is none.

    Args:
        name: The name of an argument, a key or a header.
        in_rows: Whether it stands in a list of records, where ``token`` is a column like others.
    """
    if not isinstance(name, str) or not name.isascii():
        return False
    bare = re.sub("[^a-z]", "", name.lower())
    if bare in _AMBIGUOUS:
        return not in_rows
    return bare in _WHOLE or any(bare.endswith(end) for end in _ENDS)


def names_a_secret(text: str) -> bool:
    """Return whether JSON text may hold a value whose name says that it is a secret; a quick look."""
    return any(map(is_secret_name, {unescaped(key) for key, colon in _STRING.findall(text) if colon}))


def entries_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each key of JSON text with the text or number that follows, as far as it goes: it may be torn."""
    for match in _STRING.finditer(text):
        if match[2] and (value := _VALUE.match(text, match.end())):
            yield unescaped(match[1]), unescaped(value[1]) if value[1] is not None else value[2]


def unescaped(word: str) -> str:
    """Return what stands between the quotes of a JSON string, which need not be a good one."""
    if "\\" not in word:
        return word
    try:
        return str(json.loads(f'"{word}"'))
    except ValueError:
        return word


def is_content(value: object) -> bool:
    """Return whether a value can be a secret at all: a flag or nothing is none."""
    return value is not None and not isinstance(value, bool) and not (isinstance(value, str) and value == "")


# -- what passed by in this process -----------------------------------------------------------------------------------

_SHORTEST: Final = 4
"""Characters from which on a secret is also found inside longer text; shorter ones would tear words apart."""

UNREADABLE: Final = f'{{"redacted":"{MASK}"}}'
"""Stands for a tool call's whole arguments: they have to stay a JSON object, or a provider refuses the history."""


class KnownSecrets:
    """The secrets that passed by, and what is written in their place.

    Args:
        whole_words_below: Characters below which a secret inside a longer text is found as a word of its own only.
        at_most: How many are kept, the latest; None: all.
    """

    def __init__(self, *, whole_words_below: int = 0, at_most: int | None = None) -> None:
        self._lock = threading.Lock()
        self._whole_words_below, self._at_most = whole_words_below, at_most
        self._texts: dict[str, str] = {}
        self._needles: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    @property
    def count(self) -> int:
        """How many there are: with another one, what was clean may not be any more."""
        return len(self._texts)

    def add(self, value: object) -> None:
        """Remember every text and number in `value`, which is plain data."""
        for text in _leaves(value):
            self._remember(text, MASK)

    def add_arguments(self, text: str) -> None:
        """Remember a tool call's whole arguments: they may hold a secret in a place that nobody can tell."""
        self._remember(text, UNREADABLE)

    def add_typed(self, value: object) -> None:
        """Remember what every `SecretStr` and the like in `value` hides."""
        for secret in secrets_in(value)[0]:
            self.add(secret)

    def forget(self) -> None:
        """Know nothing any more."""
        with self._lock:
            self._texts, self._needles = {}, []

    def _remember(self, text: str, mask: str) -> None:
        if text in self._texts:
            return
        forms = {form: mask for form in _forms(text) if len(form) >= _SHORTEST}
        with self._lock:
            needles = [*self._needles, *forms.items()]
            if self._at_most is not None and len(self._texts) >= self._at_most:
                oldest = next(iter(self._texts))
                dropped = _forms(oldest)
                del self._texts[oldest]
                needles = [needle for needle in needles if needle[0] not in dropped]
            # The longest first: a secret may be the begin of another. A new list: threads may be reading the old.
            self._needles = sorted(needles, key=lambda needle: -len(needle[0]))
            self._texts[text] = mask

    def scrub(self, value: Json) -> Json:
        """Return plain data without any secret that is known."""
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
        """Return JSON text without any secret that is known."""
        return json.dumps(self.scrub(json.loads(text)), separators=(",", ":")) if self._texts else text

    def scrub_text(self, text: str | None) -> str | None:
        """Return words without any secret that is known."""
        return self._text(text) if text and self._texts else text

    def _text(self, text: str) -> str:
        if text in self._texts:
            return self._texts[text]
        if text.startswith(("{", "[")):
            # The arguments of a tool call are JSON inside of JSON.
            try:
                inner = json.loads(text)
                clean = self.scrub(inner)
            except (ValueError, RecursionError):
                pass
            else:
                text = text if clean == inner else json.dumps(clean, ensure_ascii=False)
        for secret, mask in self._needles:
            if secret in text:
                text = self._replaced(text, secret, mask)
        return text

    def _replaced(self, text: str, secret: str, mask: str) -> str:
        if len(secret) >= self._whole_words_below:
            return text.replace(secret, mask)
        return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: mask, text)


def _forms(text: str) -> set[str]:
    """A text, and as it stands inside of JSON and of a `repr`."""
    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, bytes):
        yield from _leaves(value.decode("utf-8", "replace"))
    elif is_content(value) and value != MASK:
        yield str(value)


_PLAIN: Final = frozenset((str, int, float, bool, type(None), bytes, bytearray, memoryview))
_TYPED: Final = (SecretStr, SecretBytes, Secret)

Part: TypeAlias = tuple[object, object]
"""What a value is called (None: nothing), and the value."""


def secrets_in(value: object) -> tuple[list[object], list[object]]:
    """Return what every `SecretStr` and the like in a value hides, and what in it is a secret by its name.

    Not recursive, and each object once: this sees every part of all that is asked about, which may contain itself.
    """
    typed: list[object] = []
    named: list[object] = []
    todo: list[tuple[object, bool]] = []
    seen: set[int] = set()

    def look(name: object, part: object, in_rows: bool) -> None:
        if isinstance(part, _TYPED):
            typed.append(part.get_secret_value())
            return
        if isinstance(name, str) and is_secret_name(name, in_rows=in_rows) and is_content(part):
            named.append(part)
        if type(part) not in _PLAIN and id(part) not in seen:
            seen.add(id(part))
            todo.append((part, in_rows))

    look(None, value, False)
    while todo:
        held, in_rows = todo.pop()
        in_rows = in_rows or not (isinstance(held, BaseModel | Mapping) or is_dataclass(held))
        for name, part in _parts(held):
            look(name, part, in_rows)
    return typed, named


def _parts(value: object) -> Iterable[Part]:
    if isinstance(value, BaseModel):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return value.items()
    # What is plain in a list has no name, and is not looked at one by one.
    return [(None, part) for part in value if type(part) not in _PLAIN] if isinstance(value, Sequence | Set) else ()


# -- what every way out passes --------------------------------------------------------------------------------------

WHOLE_WORDS_BELOW: Final = 8
"""Where people read, "token" inside of "tokenizer" is no secret, whatever a token was."""

known: Final = KnownSecrets(whole_words_below=WHOLE_WORDS_BELOW, at_most=1000)
"""The secrets of this process, for whatever people read. A file has its own, which tears no words apart."""

_SHORTEST_UNDECLARED: Final = 6
"""Characters from which on a value that is a secret by its name only is masked wherever it is quoted."""


def learn(declared: object, undeclared: object = ()) -> None:
    """Have secrets masked in whatever this process says from now on.

    Args:
        declared: Texts and numbers that a type or schema calls secret, in any nesting.
        undeclared: Those that are secrets by their name only: a short one may be any word.
    """
    known.add([text for text in _leaves(declared) if len(text) >= _SHORTEST])
    known.add([text for text in _leaves(undeclared) if len(text) >= _SHORTEST_UNDECLARED])


def masked(text: str) -> str:
    """Return words without any secret that passed by in this process."""
    return known.scrub_text(text) or ""


def shown_address(url: str, *, user: bool = False, path: bool = True) -> str:
    """Return an address to read, whoever says it: what is nobody's business in it is left out, and is learned.

    That is its password, query and fragment, and all of what has no host.

    Args:
        url: The address.
        user: Whether its user may be read: of a database, which has people.
        path: Whether its path may: that of a webhook is its secret.
    """
    try:
        parts = urlsplit(url)
        name = unquote(parts.username or "")
        hidden = [unquote(parts.password or ""), *([] if user else [name])]
        learn([each for each in hidden if each], [value for _, value in parse_qsl(parts.query)])
    except ValueError:
        return MASK
    host = parts.netloc.rpartition("@")[2]
    if not host and not (user and parts.netloc):  # a database at a socket has a user and no host
        return f"{parts.scheme}:{MASK}" if parts.scheme else MASK
    who = f"{parts.username}@" if user and parts.username else ""
    query = "?…" if parts.query else ""
    if not path:
        learn([], [parts.path.strip("/")])
        return f"{parts.scheme}://{host}{'/…' if parts.path.strip('/') else ''}"
    return f"{parts.scheme}://{who}{host}{parts.path}{query}"


def is_address_of_something(text: str) -> bool:
    """Return whether a text means something on a server, and not a file or a name."""
    return "://" in text or text.lower().startswith(("http:", "https:"))
