"""Payloads that can be erased, while the chain of the rows that they belong to still verifies.

What is large or personal does not stand in its row: it stands in `blobs`, under a digest that is the row's ``payload``.
Of such a row nothing else is in the chain that says what it was about; with it goes whatever is a hash of that. Once a
question is erased, a row of its own says when and by whom, and its payloads are gone: the chain proves that there was
one, and who has erased it, and nothing proves or tells what it was.

A digest is the SHA-256 of the JSON object of the parts, by name, as a row's is of its columns. One of the parts is a
salt that goes with them: nobody finds a name or an amount by trying which has this digest.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, cast

from pydantic_core import to_json

from hitl_nb.journal._store import Columns, Query, Row, Value

LARGE: Final = 32_768
"""Characters of a row; what is longer can be erased, whoever writes it."""

_PARTS: Final = tuple("message args arguments args_sha256 answer edited reason result value fingerprint".split())
"""The columns that say what a question is about, or are a hash of that."""

_STAYS: Final[Mapping[str, frozenset[str]]] = {
    "asked": frozenset(),
    "answered": frozenset(),
    "late": frozenset(),
    "ended": frozenset(),
    "refused": frozenset(),
    "labelled": frozenset(),
    "remembered": frozenset(),
    "thread_saved": frozenset(),
    "posted": frozenset({"value"}),  # whom it is for and until when, which the database itself reads
}
"""The events that have a payload, and which of their parts are none."""

APART: Final = "apart"
"""Stands in the place of what a question is found by, which is a part of its payload: that there is one, not which."""

_SALT: Final = "salt"

BLOBS: Final = (
    "CREATE TABLE blobs (digest TEXT NOT NULL, part TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (digest, part))",
    "CREATE INDEX found_apart ON blobs(body) WHERE part = 'fingerprint'",
    "CREATE INDEX payloads ON events(payload) WHERE payload IS NOT NULL",
    "CREATE INDEX payloads_of ON events(question) WHERE payload IS NOT NULL",
    "CREATE UNIQUE INDEX one_erasure ON events(question) WHERE event = 'erased'",
    "CREATE INDEX parkings ON events(question) WHERE event = 'parked'",
    # What is read of the chain by whoever may not read what the rows say.
    "CREATE VIEW chain AS SELECT id, prev_sha256, sha256 FROM events",
)
"""From version 6 to 7: payloads apart, in each database."""

_OF_ERASED: Final = """
    SELECT 1 FROM events AS held JOIN events AS gone ON gone.question = held.question AND gone.event = 'erased'
    WHERE held.payload = old.digest
"""
GUARDED_BLOBS: Final = (
    f"""
    CREATE TRIGGER no_loss BEFORE DELETE ON blobs WHEN NOT EXISTS ({_OF_ERASED})
    BEGIN SELECT RAISE(ABORT, 'a payload goes with an erasure only'); END
    """,
    "CREATE TRIGGER no_change BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    """
    CREATE TRIGGER no_exchange BEFORE INSERT ON blobs
    WHEN EXISTS (SELECT 1 FROM blobs WHERE digest = new.digest AND part = new.part)
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END
    """,
    """
    CREATE TRIGGER erases AFTER INSERT ON events WHEN new.event = 'erased' BEGIN
        DELETE FROM blobs WHERE digest IN (
            SELECT payload FROM events WHERE question = new.question AND payload IS NOT NULL
        );
    END
    """,
)
"""What keeps them in an SQLite file: they go when their question is erased, and only then."""


def column(alias: str, name: str) -> str:
    """Return the SQL of a column that may be part of a payload; NULL if that is gone."""
    apart = f"(SELECT body FROM blobs WHERE digest = {alias}.payload AND part = '{name}')"
    return f'CASE WHEN {alias}.payload IS NULL THEN {alias}."{name}" ELSE {apart} END'


def is_gone(alias: str) -> str:
    """Return the SQL of whether the payload of a row is not there: 0 or 1."""
    there = f"EXISTS (SELECT 1 FROM blobs WHERE digest = {alias}.payload)"
    return f"CASE WHEN {alias}.payload IS NULL OR {there} THEN 0 ELSE 1 END"


def erased_in_words(alias: str) -> str:
    """Return the SQL of the words that stand in the place of a payload: when it was erased, and by whom."""
    erased = (
        f"SELECT 'erased ' || substr(gone.ts, 1, 10) || ' by ' || coalesce(gone.\"by\", 'somebody') "
        f"FROM events AS gone WHERE gone.event = 'erased' AND gone.question = {alias}.question"
    )
    return f"coalesce(({erased}), 'missing: see `verify`')"


# -- while writing ----------------------------------------------------------------------------------------------------


def payload_of(event: str, columns: Columns) -> dict[str, str]:
    """Return what of a row may stand apart; empty if it has nothing of the kind."""
    stays = _STAYS.get(event)
    if stays is None:
        return {}
    return {name: str(columns[name]) for name in _PARTS if columns.get(name) is not None and name not in stays}


def has_words(event: str, columns: Columns) -> bool:
    """Whether a row says what a question is about, in its own columns."""
    return bool(payload_of(event, columns).keys() - {"fingerprint", "args_sha256", "edited"})


def is_large(parts: Mapping[str, str]) -> bool:
    """Whether parts are too much for a row."""
    return sum(map(len, parts.values())) > LARGE


def digest_of(parts: Mapping[str, str]) -> str:
    """Return what parts are known by."""
    return sha256(to_json(dict(sorted(parts.items())))).hexdigest()


def set_apart(columns: Columns, parts: Mapping[str, str]) -> tuple[dict[str, Value], dict[str, str]]:
    """Return the columns that are left in the row, and what stands apart."""
    salted = {**parts, _SALT: secrets.token_hex(32)}
    left: dict[str, Value] = {name: value for name, value in columns.items() if name not in parts}
    if "fingerprint" in parts:
        left["fingerprint"] = APART
    return {**left, "payload": digest_of(salted)}, salted


# -- while reading ----------------------------------------------------------------------------------------------------

_CHUNK: Final = 400


def bodies(query: Query, digests: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the payloads that are there, by digest: the parts, and the salt among them."""
    wanted, found = list(dict.fromkeys(digests)), dict[str, dict[str, str]]()
    for first in range(0, len(wanted), _CHUNK):
        some = wanted[first : first + _CHUNK]
        places = ", ".join("?" * len(some))
        for row in query(f"SELECT digest, part, body FROM blobs WHERE digest IN ({places})", tuple(some)):
            digest, part, body = cast("tuple[str, str, str]", row)
            found.setdefault(digest, {})[part] = body
    return found


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """What `Journal.erase` has done."""

    questions: int
    """How many questions were erased by this."""

    payloads: int
    """How many payloads are gone."""

    kept: tuple[str, ...] = ()
    """What could not be erased, in words: it stands in rows of the chain, as no payload that is personal or large."""

    withdrawn: int = 0
    """How many of these questions were open: they are cancelled, and nobody can answer them any more."""

    def __str__(self) -> str:
        counted = f"{self.questions} {'question' if self.questions == 1 else 'questions'}"
        words = [f"erased {self.payloads} {'payload' if self.payloads == 1 else 'payloads'} of {counted}"]
        words += [f"{self.withdrawn} of them open, and withdrawn"] if self.withdrawn else []
        return "\n".join([", ".join(words), *self.kept])


ERASED: Final = """
    SELECT question, ts, "by" FROM events WHERE event = 'erased' ORDER BY id
"""


IS_ERASED: Final = "SELECT 1 FROM events WHERE event = 'erased' AND question = ?"
"""Whether a question was erased."""


def erasures(query: Query) -> dict[int, str]:
    """Return the questions that were erased, and when and by whom in words."""
    found = cast("list[tuple[int, str, str | None]]", query(ERASED))
    return {question: erased_when(ts, by) for question, ts, by in found}


def erased_when(ts: str, by: str | None) -> str:
    """Return in words when something was erased, and by whom."""
    return f"erased {ts[:16].replace('T', ' ')} UTC by {by or 'somebody'}"


def whole(rows: Iterable[Row], names: Sequence[str], query: Query) -> Iterator[Row]:
    """Iterate over rows with their payloads in their columns; words in the place of those that are gone.

    Args:
        rows: All columns, as `names` orders them.
        names: Their names.
        query: Finds the payloads.
    """
    place = {name: names.index(name) for name in (*_PARTS, "payload", "question")}
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _CHUNK:
            yield from _filled(chunk, place, query)
            chunk = []
    yield from _filled(chunk, place, query)


def _filled(rows: Sequence[Row], place: Mapping[str, int], query: Query) -> Iterator[Row]:
    digests = [str(row[place["payload"]]) for row in rows if row[place["payload"]] is not None]
    found = bodies(query, digests) if digests else {}
    gone = erasures(query) if len(found) < len(set(digests)) else {}
    for row in rows:
        digest = row[place["payload"]]
        if digest is None:
            yield row
            continue
        cells, parts = list(row), found.get(str(digest))
        if parts is None:
            cells[place["message"]] = gone.get(cast("int", row[place["question"]]), "missing: see `verify`")
        else:
            for name in parts.keys() - {_SALT}:
                cells[place[name]] = parts[name]
        yield tuple(cells)


class Payloads:
    """Checks the payloads of a whole chain, beside its rows.

    Args:
        query: Finds them.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._wrong: dict[int, str] = {}
        self._absent: dict[int, int] = {}
        self._present: dict[int, tuple[int, str]] = {}
        self.erased: dict[int, str] = {}
        """The questions that were erased, and when and by whom; after `end`."""

    def look(self, rows: Sequence[tuple[int, int, str]]) -> None:
        """Look at the payloads of some rows.

        Args:
            rows: Id, question and digest of each.
        """
        found = bodies(self._query, [digest for _, _, digest in rows])
        for id_, question, digest in rows:
            parts = found.get(digest)
            if parts is None:
                self._absent[id_] = question
            elif digest_of(parts) != digest:
                self._wrong[id_] = "its payload is not what was written"
            else:
                self._present[id_] = question, digest

    def end(self) -> tuple[int | None, str]:
        """Return the first row whose payload should be there and is not, or the other way round, and what is wrong."""
        erased = self.erased = erasures(self._query)
        wrong = dict(self._wrong)
        for id_, question in self._absent.items():
            if question not in erased:
                wrong[id_] = "its payload is gone, and nobody has erased it"
        # Erased a moment ago, as a rule: after it was looked at.
        doubtful = {id_: digest for id_, (of, digest) in self._present.items() if of in erased}
        again = bodies(self._query, doubtful.values())
        wrong |= {id_: "its payload was erased, and is there again" for id_, each in doubtful.items() if each in again}
        if wrong:
            return min(wrong.items())
        strange = self._query(
            "SELECT digest FROM blobs WHERE NOT EXISTS (SELECT 1 FROM events WHERE payload = blobs.digest) LIMIT 1"
        )
        return (None, f"the payload {str(strange[0][0])[:12]}… belongs to no row") if strange else (None, "")
