"""SQL before it runs: only what certainly reads is called so, and only that is previewed, on a read-only connection."""

import sqlite3
import subprocess
import sys
from functools import partial

import duckdb
import psycopg
import pytest

from hitl_nb import gate
from hitl_nb._calls import Call, Handle
from hitl_nb.cards._registry import card_of
from hitl_nb.data import SqlReview
from hitl_nb.data.sql_review import Database, hint_of
from hitl_nb.errors import ToolDefinitionError, UsageError
from hitl_nb.people import ScriptedPerson
from tests.unit.cards.desk import Desk, ask, everything_kept, opened, record

READS = [
    ("SELECT 1", ()),
    ("select a, count(*) from orders group by a", ("orders",)),
    (
        "WITH big AS (SELECT * FROM orders WHERE n > 3) SELECT * FROM big JOIN shop.people p ON p.id = big.id",
        ("orders", "shop.people"),
    ),
    ("SELECT a FROM t UNION ALL SELECT b FROM u", ("t", "u")),
    ("SELECT 'DROP TABLE t; --' AS text;", ()),
]
WRITES = [
    ("DELETE FROM t", None),
    ("SELECT 1; DROP TABLE t", None),
    ("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "postgres"),
    ("SELECT * INTO copy FROM t", "tsql"),
    ("SELECT 1 /*! ; DROP TABLE t */", "mysql"),
    ("/*!50000 DELETE FROM t */", "mysql"),
    ("SELECT nextval('ids')", "postgres"),
    ("SELECT pg_terminate_backend(1)", "postgres"),
    ("SELECT * FROM t FOR UPDATE", "postgres"),
    ("SELECT * FROM read_csv('/etc/passwd')", "duckdb"),
    ("SELECT * FROM '/data/x.parquet'", "duckdb"),
    ("CALL refresh()", None),
    ("VACUUM", None),
    ("PRAGMA writable_schema=1", "sqlite"),
    ("ATTACH 'x' AS y", "sqlite"),
    ("EXPLAIN ANALYZE DELETE FROM t", "postgres"),
    ("MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE", None),
    ("GRANT ALL ON t TO ada", None),
    ("COPY t TO '/tmp/x'", "postgres"),
    ("SELECT * FROM t INTO OUTFILE '/tmp/x'", "mysql"),
    ("", None),
    ("((((", None),
]


def test_what_the_parser_warns_of_is_said_by_the_card_and_not_below_the_cell():
    code = "from hitl_nb.data.sql_review import hint_of; print(hint_of('CALL refresh()').words())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("may write: it is a CALL\n", "")


@pytest.mark.parametrize(("sql", "tables"), READS)
def test_what_only_reads_is_called_so_with_its_tables(sql, tables):
    hint = hint_of(sql)
    assert (hint.reads, set(hint.tables)) == (True, set(tables))


@pytest.mark.parametrize(("sql", "dialect"), WRITES)
def test_whatever_is_not_certain_may_write(sql, dialect):
    assert hint_of(sql, dialect).words().startswith("may write: ")


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, who TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"<b>{n}</b>") for n in range(50)])
    connection.close()
    return path


async def shown(sql, shop, **args):
    """The rows of the card, by label, once it has looked."""
    with opened({"sql": sql, **args}, render=partial(SqlReview, preview=shop)) as call:
        await card_of(call).prepare()
        return {row["label"]: row.get("text", row.get("tree")) for row in Desk(call).props["rows"]}


async def test_the_first_rows_are_shown_of_what_only_reads(shop):
    rows = await shown("SELECT id, who FROM orders WHERE id < :most", shop, params={"most": 2})
    assert rows["this statement"] == "only reads, as far as its text tells"
    assert rows["tables"] == "orders"
    ((_, _, head, body),) = rows["first rows (2 rows × 2 columns)"]
    assert head[2][2:] == [["th", {}, "id"], ["th", {}, "who"]]
    assert body[2][2:] == [["td", {}, "0"], ["td", {}, "<b>0</b>"]]


async def test_nothing_is_run_of_what_may_write(shop):
    rows = await shown("DELETE FROM orders", shop)
    assert rows["preview"].startswith("not run, since it may write")
    with sqlite3.connect(shop) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (50,)
    connection.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1) ; DELETE FROM orders; --",
        "DELETE FROM orders RETURNING id",
        "SELECT load_extension('x')",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    ],
)
def test_the_connection_keeps_the_promise_whatever_a_parser_says(shop, sql, monkeypatch):
    monkeypatch.setattr("hitl_nb.data.sql_review.PATIENCE", 0.2)
    before = shop.read_bytes()
    with pytest.raises((sqlite3.Error, sqlite3.Warning)):
        Database.at(str(shop)).preview(sql, None)
    assert shop.read_bytes() == before


# -- DuckDB -------------------------------------------------------------------------------------------------------


@pytest.fixture
def lake(tmp_path):
    path = tmp_path / "lake.db"  # a file says itself whose it is
    connection = duckdb.connect(path)
    connection.execute("CREATE TABLE orders AS SELECT range AS id, '<b>' || range AS who FROM range(50)")
    connection.execute("CREATE SEQUENCE ids")
    connection.close()
    return path


async def test_the_first_rows_of_a_duckdb_file_are_shown(lake):
    rows = await shown("SELECT id, who FROM orders WHERE id < $most;", lake, params={"most": 2**60})
    ((_, _, head, body),) = rows["first rows (more than 20 rows × 2 columns)"]
    assert head[2][2:] == [["th", {}, "id"], ["th", {}, "who"]]
    assert (body[2][2:], len(body[2:])) == ([["td", {}, "0"], ["td", {}, "<b>0"]], 20)
    rows = await shown("SELECT count(*) FROM orders WHERE id < ?", lake, params=[2])
    assert "first rows (1 row × 1 column)" in rows


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT 1) AS x; DELETE FROM orders; --", "Parser"),
        ("SELECT 1; DELETE FROM orders", "SELECT and DELETE"),
        ("DELETE FROM orders RETURNING id", "it is DELETE"),
        ("SELECT nextval('ids')", "read-only"),
        ("SELECT * FROM read_csv('/etc/passwd')", "Permission"),
        ("SELECT * FROM '/etc/passwd'", "(Permission|does not exist)"),
        ("COPY orders TO '{there}'", "it is COPY"),
        ("ATTACH '{there}'", "it is ATTACH"),
        ("SET enable_external_access = true", "it is SET"),
        ("SELECT * FROM secret_of_ours", "does not exist"),
        ("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7", "INTERRUPT"),
    ],
)
def test_duckdb_itself_keeps_the_promise_whatever_a_parser_says(lake, sql, why, monkeypatch):
    secret_of_ours = [1]
    monkeypatch.setattr("hitl_nb.data.sql_review.PATIENCE", 0.3)
    before, there = lake.read_bytes(), lake.with_name("there")
    with pytest.raises((duckdb.Error, ValueError), match=why):
        Database.at(str(lake)).preview(sql.format(there=there), None)
    assert lake.read_bytes() == before
    assert [each.name for each in lake.parent.iterdir()] == [lake.name]
    assert secret_of_ours == [1]


async def test_a_duckdb_file_that_is_open_for_writing_here_says_so(lake):
    ours = duckdb.connect(lake)
    rows = await shown("SELECT * FROM orders", lake)
    ours.close()
    assert rows["preview"].startswith("not possible: Connection Error: Can't open a connection to same database file")


# -- PostgreSQL ---------------------------------------------------------------------------------------------------


@pytest.fixture
def bank(postgres):
    address = postgres.schema()
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE orders (id bigint, who text, price numeric)")
        connection.execute("INSERT INTO orders SELECT n, '<b>' || n, 1.50 FROM generate_series(0, 49) n")
        connection.execute("CREATE SEQUENCE ids")
        connection.execute("CREATE FUNCTION drain() RETURNS int LANGUAGE sql AS 'DELETE FROM orders; SELECT 1'")
    return address


def kept(bank):
    """What there is in the bank."""
    with psycopg.connect(bank) as connection:
        return connection.execute("SELECT count(*), (SELECT last_value FROM ids) FROM orders").fetchone()


async def test_the_first_rows_of_a_postgresql_are_shown(bank):
    rows = await shown("SELECT * FROM orders WHERE id < %(most)s", bank, params={"most": 2})
    ((_, _, _, body),) = rows["first rows (2 rows × 3 columns)"]
    assert body[2][2:] == [["td", {}, "0"], ["td", {}, "<b>0"], ["td", {}, "1.50"]]
    rows = await shown(
        "SELECT who FROM orders WHERE who LIKE '%1%'; ", bank.replace("postgresql", "postgresql+psycopg")
    )
    assert "first rows (14 rows × 1 column)" in rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1) AS x; COMMIT; DELETE FROM orders; --",
        "SELECT 1) AS x; SET TRANSACTION READ WRITE; DELETE FROM orders; SELECT (1",
        "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
        "SELECT drain()",
        "SELECT nextval('ids')",
        "SELECT pg_sleep(30)",
        "SELECT * FROM orders FOR UPDATE",
    ],
)
def test_postgresql_itself_keeps_the_promise_whatever_a_parser_says(bank, sql, monkeypatch):
    monkeypatch.setattr("hitl_nb.data.sql_review.PATIENCE", 1)
    before = kept(bank)
    with pytest.raises(psycopg.Error):
        Database.at(bank).preview(sql, None)
    assert kept(bank) == before


async def test_a_password_of_an_address_is_nowhere_on_the_card():
    with opened({"sql": "SELECT 1"}, render=partial(SqlReview, preview=NOBODY), id="x") as call:
        await card_of(call).prepare()
        assert "not possible: " in str(Desk(call).item)
        with Handle.of(call).turns.put_to(ScriptedPerson([])):
            call.decline()
        assert "sesame" not in everything_kept(call)
        assert "sesame" not in str(Desk(call).item)


NOBODY = "postgresql://ada:sesame@127.0.0.1:1/shop"


async def test_a_preview_that_fails_says_why_and_the_statement_can_be_approved(shop):
    rows = await shown("SELECT * FROM nowhere", shop)
    assert rows["preview"] == "not possible: no such table: nowhere"


async def test_a_gate_runs_the_statement_that_was_approved():
    ran = []

    @gate(render=SqlReview)
    def run_sql(sql: str, params: dict[str, int]) -> str:
        """Run it."""
        ran.append((sql, params))
        return "done"

    sql = "DELETE FROM t WHERE id = :id"
    call, _ = await ask(run_sql, lambda desk: desk.send({}), sql=sql, params={"id": 2**60 + 1})
    await ask(run_sql, lambda desk: desk.call.decline(), sql="DROP TABLE t", params={})
    assert ran == [(sql, {"id": 2**60 + 1})]
    lines = record(call).splitlines()
    assert lines[0] == "✓ Approved, may write"
    assert lines[-4:-1] == [
        "    • params: id: 1152921504606846977",
        "    • this statement: may write: it is a DELETE",
        "    • tables: t",
    ]
    assert any("DELETE FROM t WHERE id = :id" in line for line in lines)


async def test_hidden_characters_and_markup_are_written_out(shop):
    with opened({"sql": "SELECT '\u202e<img src=x>'"}, render=SqlReview, id="x") as call:
        assert "\u202e" not in str(Desk(call).item)
        assert "invisible" in Desk(call).item["warning"]
        with Handle.of(call).turns.put_to(ScriptedPerson([])):
            call.decline()
        assert "\u202e" not in everything_kept(call)


def test_slips_are_told():
    with pytest.raises(UsageError, match="an address of `mysql`; .*a PostgreSQL"):
        SqlReview(Call(id="c", name="q"), preview="mysql://x")
    with opened({"n": 1}, render=SqlReview) as call:
        assert card_of(call).risk == "high"
        with pytest.raises(ToolDefinitionError, match="finds no statement"):
            card_of(call).props()
