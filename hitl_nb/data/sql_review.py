"""A statement before it runs: what it is, which tables it touches, whether it may write; and what it would give.

What a parser says of a statement is a hint, never a promise: where anything about it is not certain it "may write". The
promise of a preview comes from its connection, which we open ourselves, read-only, and close again: SQLite by
``mode=ro`` and an authorizer, DuckDB by a read-only file without access to any other, PostgreSQL by a READ ONLY
transaction that is rolled back. Each is given one statement and a few seconds.
"""

import logging
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from hitl_nb._calls import Call
from hitl_nb._library import library
from hitl_nb._limits import beside_the_loop
from hitl_nb._secrets import MASK, is_secret_name, masked
from hitl_nb.cards import Plain, Row, argument_rows, code, names_of, row_props, value_of
from hitl_nb.data._cells import cell_of, text_of
from hitl_nb.errors import MissingExtraError, ToolDefinitionError, UsageError


@dataclass(frozen=True, kw_only=True)
class Hint:
    """What can be told of a statement without running it."""

    why: str = ""
    """Why it may write; empty if it only reads."""

    tables: tuple[str, ...] = ()
    """The tables that it names."""

    @property
    def reads(self) -> bool:
        """Whether it only reads, as far as a parser can tell."""
        return not self.why

    def words(self) -> str:
        """Say it."""
        if self is _LOOKING:
            return self.why
        return "only reads, as far as its text tells" if self.reads else f"may write: {self.why}"


_LOOKING: Final = Hint(why="…")

_UNHEARD: Final = logging.NullHandler()
"""Keeps what the parser warns of out of the cell, where nobody has set up logging: the card says it."""


def hint_of(sql: str, dialect: str | None = None) -> Hint:
    """Return what can be told of a statement. Whatever is not certain may write."""
    try:
        glot = library("sqlglot", extra="sql", what="A look into SQL")
    except MissingExtraError:
        return Hint(why='its text was not looked into (`pip install "hitl-nb[sql]"`)')
    logging.getLogger("sqlglot").addHandler(_UNHEARD)
    try:
        found = [each for each in glot.parse(sql, dialect=dialect) if each is not None]
    except Exception:  # the parser's own errors, and what hostile texts make of it
        return Hint(why="its text cannot be read")
    exp = glot.exp
    ours = {cte.alias_or_name for each in found for cte in each.find_all(exp.CTE)}
    named = (_name(table) for each in found for table in each.find_all(exp.Table))
    tables = tuple(dict.fromkeys(name for name in named if name and name not in ours))
    return Hint(why=_why(sql, found, exp), tables=tables)


def _name(table: Any) -> str:
    return ".".join(part.name for part in table.parts if part.name)


def _why(sql: str, found: Sequence[Any], exp: Any) -> str:
    if "/*!" in sql:
        return "MySQL runs what stands in its comments"
    if len(found) != 1:
        return f"it is {len(found)} statements"
    statement = found[0]
    if not isinstance(statement, exp.Query):
        return f"it is {_kind(statement)}"
    for node in statement.walk():
        if isinstance(node, exp.DML | exp.DDL | exp.Command) and not isinstance(node, exp.Query):
            return f"it has {_kind(node)} in it"
        if isinstance(node, exp.Into | exp.Lock | exp.NextValueFor):
            return f"it has {_kind(node)} in it"
        if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
            return f"nobody knows what `{node.name}` does"
        if isinstance(node, exp.Table) and (not isinstance(node.this, exp.Identifier) or "/" in node.name):
            return "it reads what is no table"
    return ""


def _kind(node: Any) -> str:
    word = str(node.this) if type(node).__name__ == "Command" else type(node).__name__
    return f"{'an' if word[:1].upper() in 'AEIOU' else 'a'} {word.upper()}"


# -- a preview --------------------------------------------------------------------------------------------------------

SHOWN: Final = 20
"""Rows of a preview."""

PATIENCE: Final = 3.0
"""Seconds that a preview may take."""

_STEPS: Final = 1_000
"""Instructions of SQLite between two looks at the clock."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The first rows of what a statement gives."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def words(self) -> str:
        """Say how much it is."""
        more = len(self.rows) > SHOWN
        count = f"more than {SHOWN}" if more else str(len(self.rows))
        wide = len(self.columns)
        return f"{count} {'row' if count == '1' else 'rows'} × {wide} {'column' if wide == 1 else 'columns'}"

    def nodes(self) -> list[Any]:
        """Return it as a table to draw."""
        head = ["tr", {}, *(["th", {}, name] for name in self.columns)]
        body = [["tr", {}, *(["td", {}, _shown(value)] for value in row)] for row in self.rows[:SHOWN]]
        return [["table", {}, ["thead", {}, head], ["tbody", {}, *body]]]


def _shown(value: object) -> str:
    cell = cell_of(value)
    return cell if isinstance(cell, str) else cell[1]


class Database(ABC):
    """A database that can be looked into."""

    dialect: ClassVar[str]
    """sqlglot's word for it."""

    def __init__(self, place: str) -> None:
        self.place = place

    @staticmethod
    def at(place: str) -> "Database":
        """Return what is at a path or an address.

        Raises:
            UsageError: It is none that can be opened read-only here.
        """
        scheme, is_address, rest = place.partition("://")
        if not is_address:
            return DuckDb(place) if _is_duckdb(Path(place)) else SqliteFile(place)
        if scheme.split("+")[0] in ("postgres", "postgresql"):
            return Postgres(f"postgresql://{rest}")
        raise UsageError(
            f"`preview=` is an address of `{scheme}`; what can be looked into read-only is a file of SQLite or DuckDB, "
            "or a PostgreSQL. Write `render=partial(SqlReview, preview='shop.sqlite')`, or leave it out."
        )

    @abstractmethod
    def preview(self, sql: str, parameters: object) -> Preview:
        """Return the first rows of what a query gives.

        Raises:
            Exception: The driver's own: it cannot be run so, or takes too long.
        """


def _is_duckdb(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == b"DUCK"
    except OSError:
        return path.suffix in (".duckdb", ".ddb")


def _limited(sql: str) -> str:
    return f"SELECT * FROM (\n{sql.strip().rstrip(';')}\n) AS shown LIMIT {SHOWN + 1}"


def _given(parameters: object) -> Any:
    return parameters if isinstance(parameters, Mapping | list | tuple) and parameters else ()


def _first(cursor: Any) -> Preview:
    columns = tuple(str(each[0]) for each in cursor.description)
    return Preview(columns=columns, rows=tuple(map(tuple, cursor.fetchmany(SHOWN + 1))))


class SqliteFile(Database):
    """A file of SQLite."""

    dialect: ClassVar[str] = "sqlite"

    def preview(self, sql: str, parameters: object) -> Preview:
        """Look, where nothing can be written, attached or loaded."""
        end = time.monotonic() + PATIENCE
        connection = sqlite3.connect(f"{Path(self.place).absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("PRAGMA query_only=ON")
            connection.set_authorizer(_may)
            connection.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
            return _first(connection.execute(_limited(sql), _given(parameters)))
        finally:
            connection.close()


_ALLOWED: Final = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def _may(action: int, _first: str | None, name: str | None, *_: object) -> int:
    allowed = action in _ALLOWED and name not in ("load_extension", "readfile", "writefile", "edit")
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class DuckDb(Database):
    """A file of DuckDB."""

    dialect: ClassVar[str] = "duckdb"

    _SETTINGS: ClassVar[Mapping[str, str]] = {
        "enable_external_access": "false",  # no other file, no network, no extension
        "python_enable_replacements": "false",  # the variables of whoever asks are no tables
        "temp_directory": "",  # not even beside the file
        "lock_configuration": "true",
    }

    def preview(self, sql: str, parameters: object) -> Preview:
        """Look; a file that this process has open for writing cannot be opened a second time."""
        duckdb = library("duckdb", extra="duckdb", what="A look into a file of DuckDB")
        connection = duckdb.connect(self.place, read_only=True, config=dict(self._SETTINGS))
        try:
            kinds = [str(each.type.name) for each in connection.extract_statements(sql)]
            if kinds != ["SELECT"]:
                raise ValueError(f"it is {' and '.join(kinds) or 'nothing'}, and not one SELECT")
            with _stopped_by(connection.interrupt):
                return _first(connection.execute(_limited(sql), _given(parameters) or None))
        finally:
            connection.close()


@contextmanager
def _stopped_by(interrupt: Any) -> Iterator[None]:
    """Have the work in here interrupted when its time is up."""
    timer = threading.Timer(PATIENCE, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Postgres(Database):
    """A PostgreSQL."""

    dialect: ClassVar[str] = "postgres"

    def preview(self, sql: str, parameters: object) -> Preview:
        """Look, in a READ ONLY transaction with a timeout, which is rolled back."""
        psycopg = library("psycopg", extra="postgres", what="A look into PostgreSQL")
        connection = psycopg.connect(self.place, connect_timeout=int(PATIENCE), application_name="hitl-nb preview")
        try:
            connection.read_only = True
            milliseconds = int(PATIENCE * 1_000)
            for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
                connection.execute(f"SET LOCAL {setting} = {milliseconds}")
            # Prepared: the server takes one statement then, so that nothing can stand behind a closing bracket.
            return _first(connection.execute(_limited(sql), _given(parameters) or None, prepare=True))
        finally:
            connection.rollback()
            connection.close()


# -- the card ----------------------------------------------------------------------------------------------------


class SqlReview(Plain):
    """A statement with its parameters, the tables that it touches, and whether it may write. Confirm lets it run.

    Args:
        call: The call; its arguments hold the statement.
        sql: The name of that argument; default: ``sql``, ``query`` or ``statement``, else the first text.
        params: The name of the argument with its parameters.
        dialect: sqlglot's word for the database: ``postgres``, ``mysql``, ``duckdb``, …
        preview: A file of SQLite or DuckDB, or the address of a PostgreSQL (``"postgresql://…"``). What only reads is
            run there, read-only and for a few seconds at most, and its first rows are shown.

    Raises:
        UsageError: `preview` is no database of these.
    """

    decline: ClassVar[str | None] = "Decline"

    def __init__(
        self,
        call: Call,
        *,
        sql: str | None = None,
        params: str = "params",
        dialect: str | None = None,
        preview: str | Path | None = None,
    ) -> None:
        super().__init__(call)
        self._field, self._params = sql, params
        self._database = None if preview is None else Database.at(str(preview))
        self._dialect = dialect or (None if self._database is None else self._database.dialect)
        self._hinted: Hint | None = None
        self._preview: Preview | None = None
        self._without = "" if self._database is None else "…"

    def _name(self) -> str:
        names = names_of(self.call.args)
        if self._field is not None:
            return self._field
        known = [name for name in ("sql", "query", "statement") if name in names]
        others = [name for name in names if isinstance(value_of(self.call.args, name), str)]
        if not known and not others:
            raise ToolDefinitionError(
                f"`SqlReview` finds no statement among the arguments of `{self.call.name}` "
                f"({', '.join(names) or 'none'}). Write a function with `sql: str`, or "
                "`render=partial(SqlReview, sql='text')`."
            )
        return (known or others)[0]

    def _statement(self) -> str:
        return str(value_of(self.call.args, self._name(), ""))

    def _hint(self) -> Hint:
        if self._hinted is None:
            self._hinted = hint_of(self._statement(), self._dialect)
        return self._hinted

    @property
    def risk(self) -> str | None:  # type: ignore[override]
        """High where it may write: then it is not approved together with others, but one by one."""
        try:
            return None if self._hint().reads else "high"
        except ToolDefinitionError:  # the card says it; a table of many questions is not to fall with one of them
            return "high"

    async def prepare(self) -> None:
        """Look into the statement, and run what only reads, read-only, for its first rows."""
        hint = await beside_the_loop(self._hint)  # the first look loads the parser
        if self._database is None:
            return
        if not hint.reads:
            self._without = f"not run, since it {hint.words()}"
            return
        try:
            parameters = value_of(self.call.args, self._params)
            self._preview = await beside_the_loop(self._database.preview, self._statement(), parameters)
        except Exception as error:  # whatever a driver raises: the statement can be read, and decided on, all the same
            self._without = f"not possible: {_first_line(error)}"

    def props(self) -> dict[str, Any]:
        """Give the statement, its parameters, what a parser says of it, and its first rows."""
        if self.call.status == "inProgress":
            text = value_of(self.call.args or {}, self._field or "sql", "")
            return {"rows": row_props([Row.of("sql", [code(str(text), "sql")])])}
        preview = self._preview
        shown = [Row.of(f"first rows ({preview.words()})", preview.nodes())] if preview is not None else []
        return {"rows": row_props([*self._told(), *shown])}

    def _told(self) -> list[Row]:
        hint = self._hint() if self._hinted is not None or self.call.decided else _LOOKING
        name = self._name()
        parameters = value_of(self.call.args, self._params)
        others = [row for row in argument_rows(self.call) if row.label not in (name, self._params)]
        rows = [Row.of(name, [code(self._statement(), "sql")], self._statement())]
        if parameters:
            rows.append(Row(label=self._params, text=_written(parameters, hides=self.call.decided)))
        rows.append(Row(label="this statement", text=hint.words()))
        if hint.tables:
            rows.append(Row(label="tables", text=", ".join(hint.tables)))
        if self._without and self._preview is None and not (self.call.decided and self._without == "…"):
            rows.append(Row(label="preview", text=self._without))
        return [*rows, *others]

    def headline(self) -> str:
        """Give that it was approved, and what it may do."""
        return "Approved, only reads" if self._hint().reads else "Approved, may write"

    def rows(self) -> Sequence[Row]:
        """Give the statement as it was approved, and how much its preview had."""
        preview = self._preview
        return [*self._told(), *([Row(label="preview", text=preview.words())] if preview is not None else [])]


def _first_line(error: Exception) -> str:
    """An error in one line, without a password that a driver may quote."""
    return masked(next(iter(str(error).splitlines()), "") or type(error).__name__)


def _written(parameters: object, *, hides: bool) -> str:
    if isinstance(parameters, Mapping):
        return ", ".join(
            f"{key}: {MASK if hides and is_secret_name(key) else text_of(value)}" for key, value in parameters.items()
        )
    return ", ".join(map(text_of, parameters)) if isinstance(parameters, list | tuple) else text_of(parameters)
