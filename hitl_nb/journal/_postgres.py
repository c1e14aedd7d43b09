"""The store that is a table in PostgreSQL: for people and jobs on many machines, with one chain all the same.

Whoever appends holds one advisory lock until the commit, so that each row follows the last one, whoever wrote that:
100 decisions a second at the very least, also through pgbouncer in transaction mode. What is not a person's decision
does not wait for the disk (``synchronous_commit``). A connection may be lost at any moment, even while a commit is on
its way: the row that was to be the last tells afterwards whether it arrived, since no other can have its hash.
"""

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from hitl_nb._library import library
from hitl_nb._secrets import MASK, is_address_of_something, shown_address
from hitl_nb._text import logger
from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._roles import KEEPS_PAYLOADS, KEEPS_WAITING, REFUSED, rules_sql, setup_sql
from hitl_nb.journal._store import (
    PATIENCE,
    Locked,
    Outcome,
    Query,
    Row,
    Transaction,
    Unusable,
    Value,
    Work,
    Writer,
)
from hitl_nb.journal._tables import (
    BESIDE_QUESTIONS,
    COLUMNS,
    FOUND_AGAIN,
    GUARDS,
    INDICES,
    LOGINS,
    PAYLOADS,
    QUESTION,
    VERSION,
    newer_tables,
)
from hitl_nb.journal._transaction import Guard, LinkedStore, LinkedTransaction, Trust, fill_waiting, is_in_a_loop

if TYPE_CHECKING:
    import psycopg

_log = logger()

_T = TypeVar("_T")

SCHEMES: Final = ("postgresql", "postgres")
"""What an address begins with."""

CHANNEL: Final = "hitl_nb"
"""Where each commit that somebody may be waiting for is announced: the event and the question's row, nothing else."""

_ANNOUNCED: Final = frozenset({"posted", "answered", "refused", "ended"})

LOCK: Final = 0x6869_746C
"""The advisory lock of whoever appends; one a database, so that two schemas wait for each other: milliseconds."""

_LONGEST_NAP: Final = 5.0
"""Seconds between two attempts to connect, at the most; the first comes after 0.1."""

_BEGIN: Final = f"BEGIN; SET LOCAL lock_timeout = '{{}}ms'; SELECT pg_advisory_xact_lock({LOCK})"
_RELAXED: Final = "; SET LOCAL synchronous_commit = off"

_BRIEFLY: Final = 50
"""Milliseconds to wait for whoever appends, until readers are told that this is held up."""

_IN_THE_QUEUE: Final = 5000
"""The same once they are: the place in the queue is not given up all the time."""

_IS_OURS: Final = "SELECT 1 FROM events WHERE id = ? AND sha256 = ?"


def _refuse_unreadable(address: str) -> None:
    """Look whether an address can be read at all: whatever the driver says of one that cannot quotes it.

    Raises:
        JournalError: It cannot.
    """
    try:
        _driver().conninfo.conninfo_to_dict(address)
    except _driver().ProgrammingError:
        pass
    else:
        return
    raise JournalError(
        f"The journal `{address_in_words(address)}` cannot be used: its address cannot be read. "
        "Write `Journal('postgresql://user@host/database')`; in a password `@`, `/` and `%` are `%40`, `%2F` and `%25`."
    )


def is_address(value: object) -> bool:
    """Whether a user means a database on a server, and no file."""
    return isinstance(value, str) and value.split("://", 1)[0].lower() in SCHEMES and "://" in value


def refuse_other_address(value: object) -> None:
    """Look whether what should be a path is the address of something else: a file would have its password for a name.

    Raises:
        UsageError: It is.
    """
    if isinstance(value, str) and not is_address(value) and is_address_of_something(value):
        raise UsageError(
            f"`{shown_address(value)}` is not the address of a database that can be a journal. Write "
            '`Journal("postgresql://user@host/database")`, or the path of a file.'
        )


def address_in_words(address: str) -> str:
    """Return an address without anything that is nobody's business: no password, no options."""
    shown = shown_address(f"postgresql://{address.partition('://')[2]}", user=True)
    return "postgresql://…" if MASK in shown else shown.partition("?")[0]


class PostgresTransaction(LinkedTransaction):
    """Appends rows in PostgreSQL."""

    def __init__(
        self, connection: "psycopg.Connection[Row]", login: str | None = None, *, personal: bool = False
    ) -> None:
        super().__init__(personal=personal)
        self._connection, self.login = connection, login

    def one(self, sql: str, parameters: tuple[Value, ...] = (), /) -> Row | None:
        """Return the first row that a query finds, or None."""
        return self._connection.execute(_placed(sql), parameters).fetchone()

    def rows(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        """Return all rows that a query finds."""
        return self._connection.execute(_placed(sql), parameters).fetchall()

    def execute(self, statement: str, parameters: tuple[Value, ...] = (), /) -> None:
        """Do something that finds nothing."""
        self._connection.execute(_placed(statement), parameters)

    def insert(self, event: str, row: Sequence[Value]) -> bool:
        """Insert a row; False if a question has such an event already. The transaction goes on either way."""
        if self._connection.execute(_INSERT, row).rowcount == 0:
            return False
        if event in _ANNOUNCED:
            self.announce(event, cast("int", row[QUESTION]))
        return True

    def announce(self, what: str, question: int) -> None:
        """Have the bell ring."""
        self._connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, f"{what} {question}"))

    def keep_waiting(self, event: str, row: Sequence[Value]) -> None:
        """Leave the table of what is open to the database, where nobody can hide a question from others."""

    @property
    def is_open(self) -> bool:
        """Whether it can go on."""
        status = _driver().pq.TransactionStatus
        return bool(self._connection.info.transaction_status in (status.INTRANS, status.INERROR))


_INSERT: Final = cast("Any", f"INSERT INTO events VALUES ({', '.join(['%s'] * len(COLUMNS))}) ON CONFLICT DO NOTHING")


@functools.lru_cache(maxsize=256)
def _placed(sql: str) -> Any:  # psycopg wants literals; each text is one of ours
    return sql.replace("%", "%%").replace("?", "%s")


class PostgresStore(LinkedStore):
    """A database on a server.

    Args:
        address: ``postgresql://user:password@host/database?options``; what libpq takes. A password is better kept in
            ``~/.pgpass``.
        personal: Whether every payload is to be set apart, so that it can be erased.

    Raises:
        JournalError: It cannot be reached, or was written by a newer version.
        MissingExtraError: psycopg is not installed.
    """

    def __init__(self, address: str, *, personal: bool = False) -> None:
        scheme, _, rest = address.partition("://")  # which the driver takes in small letters only
        self._address, self._personal = f"{scheme.lower()}://{rest}", personal
        super().__init__(self._address, address_in_words(address), _driver().Error)
        self._reading = threading.RLock()
        """Held while the reading connection is used."""
        self._head: tuple[int, str] = (0, "")
        self._patience = _BRIEFLY
        _refuse_unreadable(self._address)
        with self._explaining(), ExitStack() as unless_all_is_well:
            self._connection = unless_all_is_well.enter_context(closing(self._connected()))
            _set_up(self._connection)
            self._reader = unless_all_is_well.enter_context(closing(self._connected()))
            self._head = PostgresTransaction(self._reader).last()
            self.login = str(self._found_in_a_moment("SELECT session_user::text")[0][0])
            self._found_good = Trust(PostgresTransaction(self._reader).rows, _guard)
            unless_all_is_well.pop_all()
        self._ready(Writer(self._commit, self._commit_one, self._explained, self._end, in_place=False))

    @property
    def head(self) -> str:
        """The hash of the last row that this process knows of."""
        return max(self._head, self._trust.head)[1]

    @property
    def generation(self) -> int:
        """Return 0: a database is not swapped for another one while it is open."""
        return 0

    @property
    def _trust(self) -> Trust:
        return self._found_good

    # -- writing ------------------------------------------------------------------------------------------

    def _commit(self, some: Sequence[Work[Any]]) -> list[Outcome]:
        works, durable = [work.append for work in some], any(work.durable for work in some)
        with self._lock:
            return self._committed(works, durable=durable)

    def _commit_one(self, append: Callable[[Transaction], object], durable: bool) -> Outcome | None:
        try:
            with self._lock:
                return self._committed([append], durable=durable)[0]
        except Locked:
            return None
        except BaseException as error:  # it belongs to whoever waits for this
            return None, error

    def _committed(self, works: Sequence[Callable[[Transaction], object]], *, durable: bool) -> list[Outcome]:
        """Run pieces of work in one transaction; after a lost connection once more, unless they arrived."""
        if not self._is_open:
            raise Unusable("it is closed")
        give_up, in_doubt = time.monotonic() + PATIENCE, None
        while True:
            try:
                if in_doubt is None or not self._has_arrived(in_doubt[0]):
                    in_doubt = None
                    in_doubt = self._attempt(works, durable=durable)
                    if in_doubt[0].is_open:
                        self._connection.execute("COMMIT")
                break
            except BaseException as error:
                if not self._is_lost(error, self._connection):
                    self._roll_back()
                    raise self._or_locked(error) from error
                self._connection = self._connected_again(give_up)
        transaction, outcomes = in_doubt
        self._patience = _BRIEFLY
        self._note(transaction)
        transaction.committed()
        return outcomes

    def _attempt(
        self, works: Sequence[Callable[[Transaction], object]], *, durable: bool
    ) -> tuple[PostgresTransaction, list[Outcome]]:
        """Run pieces of work, all but the commit."""
        transaction = PostgresTransaction(self._connection, self.login, personal=self._personal)
        self._connection.execute(cast("Any", _BEGIN.format(self._patience) + ("" if durable else _RELAXED)))
        run = transaction.run if len(works) > 1 else transaction.run_alone
        outcomes = [run(work) for work in works]
        for _, error in outcomes:
            if error is not None and self._is_lost(error, self._connection):
                raise error
        return transaction, outcomes

    def _or_locked(self, error: BaseException) -> BaseException:
        """The error itself; or `Locked`, if that is what it says."""
        if isinstance(error, _driver().errors.LockNotAvailable):
            self._patience = _IN_THE_QUEUE
            return Locked(error)
        return error

    def _has_arrived(self, transaction: PostgresTransaction) -> bool:
        """Whether what was committed while the connection broke is there."""
        if transaction.before is None:
            return True  # nothing was appended
        return PostgresTransaction(self._connection).one(_IS_OURS, transaction.last()) is not None

    def _note(self, transaction: PostgresTransaction) -> None:
        if transaction.before is not None and transaction.head is not None:
            (before, before_hash), (last, last_hash) = transaction.before, transaction.head
            self._head = transaction.head
            self._trust.note(before + 1, before_hash, last, last_hash)

    def _roll_back(self) -> None:
        with suppress(_driver().Error):
            self._connection.execute("ROLLBACK")

    # -- reading ------------------------------------------------------------------------------------------

    def rows(self, sql: str, parameters: tuple[Value, ...] = ()) -> list[Row]:
        """Return what a query finds, also of what this process has begun to write before."""
        with self._query() as query:
            return query(sql, parameters)

    def read(self, work: Callable[[Query], _T]) -> _T:
        """Return what `work` makes of queries that all see the same moment; anew, if the connection is lost."""
        give_up = time.monotonic() + PATIENCE
        with self._query():
            while True:
                try:
                    return self._read_once(work)
                except _driver().Error as error:
                    if not self._is_lost(error, self._reader):
                        raise
                    self._reader = self._connected_again(give_up)

    def _read_once(self, work: Callable[[Query], _T]) -> _T:
        self._reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            return work(self._found_in_a_moment)
        finally:
            with suppress(_driver().Error):
                self._reader.execute("COMMIT")

    @contextmanager
    def _query(self) -> Iterator[Query]:
        self._wait_for_all(whatever_it_takes=not is_in_a_loop())
        with self._explaining(), self._reading:
            if not self._is_open:
                raise Unusable("it is closed")
            yield self._found

    def _found(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        """Return what a query finds; on a new connection, if the old one was lost since the last query."""
        try:
            return self._found_in_a_moment(sql, parameters)
        except _driver().Error as error:
            if not self._is_lost(error, self._reader):
                raise
            self._reader = self._connected_again(time.monotonic() + PATIENCE)
            return self._found_in_a_moment(sql, parameters)

    def _found_in_a_moment(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        cursor = self._reader.execute(_placed(sql), parameters)
        return cursor.fetchall() if cursor.description else []

    # -- the connection -----------------------------------------------------------------------------------

    def _connected(self) -> "psycopg.Connection[Row]":
        # No prepared statements: pgbouncer gives each transaction another backend.
        made: psycopg.Connection[Row] = _driver().connect(
            self._address, autocommit=True, prepare_threshold=None, application_name="hitl_nb"
        )
        return made

    def _connected_again(self, give_up: float) -> "psycopg.Connection[Row]":
        nap = 0.1
        while True:
            try:
                return self._connected()
            except _driver().OperationalError:
                if time.monotonic() + nap > give_up:
                    raise
                time.sleep(nap)
                nap = min(2 * nap, _LONGEST_NAP)

    @staticmethod
    def _is_lost(error: BaseException, connection: "psycopg.Connection[Row]") -> bool:
        return isinstance(error, _driver().Error) and bool(connection.closed)

    @property
    def knows_people(self) -> bool:
        """Whether the database itself says who may answer, and in whose name."""
        return bool(self.rows(_IS_CHECKED))

    def set_up_people(self) -> None:
        """Make roles and rules, or bring them up to date; for whoever owns the tables.

        Raises:
            JournalError: This login may not do that.
        """
        with self._explaining(), self._lock:
            self._connection.execute(cast("Any", setup_sql()))

    def wipe(self) -> None:
        """Leave it to the server: no query finds it any more, and the next VACUUM takes it from the disk."""

    def bell(self) -> "Announcements":
        """Return what rings when anybody has appended something."""
        return Announcements(self._connected)

    def _end(self) -> None:
        # Not under whoever reads in another thread: they would take it for lost, and connect anew.
        with self._reading, self._lock:
            if self._is_open:
                self._is_open = False
                for connection in (self._connection, self._reader):
                    connection.close()

    def _explained(self, error: BaseException) -> BaseException:
        if isinstance(error, Exception) and not isinstance(error, self._ours):
            return error
        # libpq's words name host and user, never the password; of several lines the first says it.
        why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if getattr(error, "sqlstate", None) == REFUSED:
            return JournalError(f"{why}.")
        explained = JournalError(
            f"The journal `{self._words}` cannot be used: {why}. Write `Journal('postgresql://user@host/database')` "
            "with a database that can be reached, or `Session(..., journal=None)` to do without one."
        )
        explained.__cause__ = None  # it quotes the address
        return explained

    # -- a fork -------------------------------------------------------------------------------------------

    def inherit(self) -> None:
        """Go on in the new process: with connections of its own. psycopg leaves those of the parent open."""
        self._lock, self._reading = threading.RLock(), threading.RLock()
        self._writer.forget()
        if self._is_open:
            with suppress(_driver().Error):
                self._connection, self._reader = self._connected(), self._connected()


class Announcements:
    """LISTEN as the bell: what it announces is looked up by whoever hears it, and so is what it fails to.

    A pooler in transaction mode takes LISTEN and never delivers, so the bell is tried at the start.
    """

    def __init__(self, connect: "Callable[[], psycopg.Connection[Row]]") -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Row] | None = None
        self.is_heard = False
        """Whether it rings here."""

    def wait(self, seconds: float) -> None:
        """Return when something was announced, after `seconds` at the latest, or when the connection was lost.

        Raises:
            psycopg.Error: It cannot be connected, or was lost; the next call connects anew.
        """
        try:
            connection = self._connection or self._listening()
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                self.is_heard = True
            # A job that asks a thousand things rings a thousand times, and one look is enough.
            for _ in connection.notifies(timeout=0):
                pass
        except _driver().Error:
            self.close()
            raise

    def _listening(self) -> "psycopg.Connection[Row]":
        self._connection = connection = self._connect()
        connection.execute(f"LISTEN {CHANNEL}")
        connection.execute("SELECT pg_notify(%s, '')", (CHANNEL,))
        return connection

    def close(self) -> None:
        """Hear nothing more."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


# -- tables -----------------------------------------------------------------------------------------------------------

_KINDS: Final = {"id": "bigint PRIMARY KEY", "question": "bigint", "latency_ms": "bigint"}
_REQUIRED: Final = frozenset({"ts", "event", "thread", "prev_sha256", "sha256"})

# Texts compare by bytes, as SQLite's do: times as texts sort as the times do.
_TABLE: Final = ", ".join(
    f'"{name}" {_KINDS.get(name, "text COLLATE " + chr(34) + "C" + chr(34))}{" NOT NULL" if name in _REQUIRED else ""}'
    for name in COLUMNS
)

_CREATE: Final = (
    f"CREATE TABLE events ({_TABLE})",
    "CREATE TABLE schema_version (version integer NOT NULL, since text NOT NULL)",
    *INDICES,
    """
    CREATE FUNCTION hitl_nb_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$
    """,
    *(
        f"CREATE TRIGGER {name} BEFORE {act} ON events FOR EACH STATEMENT EXECUTE FUNCTION hitl_nb_append_only()"
        for name, act in {"no_update": "UPDATE", "no_delete": "DELETE", "no_replace": "TRUNCATE"}.items()
    ),
    # Also for whoever pretends to be a replica.
    *(f"ALTER TABLE events ENABLE ALWAYS TRIGGER {name}" for name in ("no_update", "no_delete", "no_replace")),
    *KEEPS_WAITING,
    *KEEPS_PAYLOADS,
)

_GUARD: Final = f"""
    SELECT coalesce(string_agg(tgname::text || xmin::text, ' ' ORDER BY tgname), ''), count(*)
    FROM pg_trigger WHERE tgrelid = 'events'::regclass AND tgenabled = 'A' AND tgname IN ({GUARDS})
"""


def _guard(query: Query) -> Guard:
    """Whether the table is as we made it: whoever works around the triggers changes their rows in the catalogue."""
    [(version, guards)] = query(_GUARD)
    return Guard(version=version, stands=guards == GUARDS.count(",") + 1)


def _set_up(connection: "psycopg.Connection[Row]") -> None:
    """Make the tables of a new database.

    Raises:
        JournalError: They were made by a newer version.
    """
    transaction = PostgresTransaction(connection)
    if _version_of(transaction) == VERSION:
        return
    connection.execute(cast("Any", _BEGIN.format(int(1000 * PATIENCE))))
    try:
        version = _version_of(transaction)
        if version is None:
            for statement in _CREATE:
                transaction.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (%s, now()::text)", (VERSION,))
        elif version > VERSION:
            raise newer_tables(version)
        elif version < VERSION:
            _bring_up_to_date(transaction, version)
            connection.execute("INSERT INTO schema_version VALUES (%s, now()::text)", (VERSION,))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


_IS_CHECKED: Final = """
    SELECT 1 FROM pg_trigger WHERE tgrelid = 'events'::regclass AND tgname = 'checked' AND tgenabled = 'A'
"""


def _bring_up_to_date(transaction: PostgresTransaction, version: int) -> None:
    if version < 3:
        for statement in FOUND_AGAIN:
            transaction.execute(statement)
    if version < 4:
        fill_waiting(transaction)
    for statement in (
        *(LOGINS if version < 5 else ()),
        *(BESIDE_QUESTIONS if version < 6 else ()),
        *(PAYLOADS if version < 7 else ()),
        *KEEPS_WAITING,
        *KEEPS_PAYLOADS,
    ):
        transaction.execute(statement)
    if transaction.one(_IS_CHECKED) is not None:  # it knows people: by the rules of this version from now on
        transaction.execute(rules_sql())


# Not `to_regclass`: it remembers what was not there before another process made it.
_IS_MADE: Final = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_version'"


def _version_of(transaction: PostgresTransaction) -> int | None:
    if transaction.one(_IS_MADE) is None:
        return None
    found = transaction.one("SELECT max(version) FROM schema_version")
    return None if found is None else cast("int | None", found[0])


# -- the driver -------------------------------------------------------------------------------------------------------


@functools.cache
def _driver() -> Any:
    return library("psycopg", extra="postgres", what="A journal in PostgreSQL")
