"""Who may answer, and in whose name: PostgreSQL itself refuses the others, also whoever writes rows by hand."""

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager

import psycopg
import pytest

from hitl_nb import approve
from hitl_nb.cards import display_record  # noqa: F401 - the record's room is loaded
from hitl_nb.cards._record import record_of_call
from hitl_nb.errors import UsageError
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal, JournalError
from hitl_nb.journal._tables import COLUMNS, digest, now
from tests.unit.inbox.jobs import REPO, waiting

pytestmark = pytest.mark.timeout(300)
LOGINS = {
    "nightly": "hitl_nb_job",
    "ada": "hitl_nb_people",
    "bob": "hitl_nb_people",
    "web": "hitl_nb_gateway",
    "eve": None,
}


class Place:
    """A schema that knows people, and the addresses of their logins."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.owner = cluster.schema()
        self.schema = self.owner.rsplit("%3D", 1)[1]

    def set_up(self):
        with Journal(self.owner) as journal:
            journal.set_up_people()
        for login, role in LOGINS.items():
            self._cluster.psql(
                f"DO $$ BEGIN CREATE ROLE {login} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
            )
            if role:
                self._cluster.psql(f"GRANT {role} TO {login}")
        self._cluster.psql(
            "DO $$ BEGIN CREATE ROLE finance; EXCEPTION WHEN duplicate_object THEN NULL; END $$; GRANT finance TO ada"
        )
        return self

    def of(self, login):
        return self._cluster.address(login, options=f"-c search_path={self.schema}")


@pytest.fixture
def known(postgres):
    return Place(postgres).set_up()


@asynccontextmanager
async def asked(known, **options):
    """A question of the nightly job, and its row."""
    with Journal(known.of("nightly")) as journal:
        people, before = Inbox(journal, **{"four_eyes": True, **options}), _last(journal)
        task = asyncio.ensure_future(approve("Pay?", {"amount": 12}, people=people))
        while _last(journal) == before or not journal._store.rows(_POSTED, (_last(journal),)):
            assert not task.done(), await task
            await asyncio.sleep(0.05)
        try:
            yield task, _last(journal)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


_POSTED = "SELECT 1 FROM events WHERE event = 'posted' AND question = ?"


def _last(journal):
    return journal._store.rows("SELECT max(id) FROM events WHERE event = 'asked'")[0][0]


async def test_a_login_answers_in_its_own_name_and_the_record_says_so(known):
    async with asked(known) as (task, _):
        with Journal(known.of("ada")) as journal:
            [call] = await waiting(journal)
            assert call.respond(True, by="ada")
            await call._handle.written()
            assert "by ada (own login)" in record_of_call(call).footer
        assert await task
    with Journal(known.owner) as journal:
        assert [row["login"] for row in journal if row["event"] in ("asked", "answered")][-2:] == ["nightly", "ada"]
        assert journal.verify().ok


async def test_a_gateway_answers_in_the_names_of_others_and_is_named(known):
    async with asked(known) as (task, _):
        with Journal(known.of("web")) as journal:
            [call] = await waiting(journal)
            call.respond(True, by="ada")
            await call._handle.written()
            assert "by ada (vouched for by web)" in record_of_call(call).footer
        assert await task
    with Journal(known.of("bob")) as journal:
        assert [(row["by"], row["login"]) for row in journal if row["event"] == "answered"][-1] == ("ada", "web")


@pytest.mark.parametrize(
    ("login", "name", "words"),
    [
        ("ada", "bob", "`ada` cannot answer as `bob`"),
        ("nightly", "nightly", "may not answer"),
        ("nightly", "ada", "may not answer"),
        ("web", "nightly", "four eyes"),
    ],
)
async def test_nobody_answers_in_another_name_or_for_themselves(known, login, name, words):
    async with asked(known) as (task, question):
        with Journal(known.of(login)) as journal:
            [call] = await waiting(journal)
            call.respond(True, by=name)
            with pytest.raises(JournalError, match=words):
                await call._handle.written()
            assert words in call.error  # and it is open again
            assert not call.decided
        assert not task.done()
    with Journal(known.owner) as journal:
        rows = [row for row in journal if row["question"] == question and row["event"] == "answered"]
        assert all(row["outcome"] == "cancelled" for row in rows)  # by the end of the test
        assert journal.verify().ok


_LAST = "SELECT id, sha256 FROM chain ORDER BY id DESC LIMIT 1"
_CHANGES = (
    "UPDATE events SET tool = 'x'",
    "DELETE FROM events",
    "DELETE FROM waiting",
    "TRUNCATE events",
    "DELETE FROM blobs",
    "UPDATE blobs SET body = 'x'",
    "UPDATE chain SET sha256 = 'x'",
)


class Liar:
    """A client that writes rows by hand, each with a good hash."""

    def __init__(self, address):
        self._address = address

    def __enter__(self):
        self.connection = psycopg.connect(self._address, autocommit=True)
        return self

    def __exit__(self, *_):
        self.connection.close()

    def write(self, **columns):
        [(last, sha256)] = self.connection.execute(_LAST).fetchall()
        told = {"ts": now(), "thread": "t", "outcome": "answered", "answer": "true", "result": "true", "via": "card"}
        row = {name: {**told, "id": last + 1, "prev_sha256": sha256, **columns}.get(name) for name in COLUMNS}
        row["sha256"] = digest(list(row.values()))
        places = ", ".join(["%s"] * len(COLUMNS))
        self.connection.execute(f"INSERT INTO events VALUES ({places})", list(row.values()))


@pytest.mark.parametrize(
    ("login", "row", "words"),
    [
        ("ada", {"by": "bob", "login": "ada"}, "cannot answer as `bob`"),
        ("ada", {"by": "bob", "login": "bob"}, "cannot write as `bob`"),
        ("ada", {"by": "ada"}, "cannot write as"),
        ("nightly", {"by": "nightly", "login": "nightly"}, "may not answer"),
        ("nightly", {"by": "ada", "login": "ada"}, "cannot write as `ada`"),
        ("ada", {"by": "ada", "login": "ada", "id": 10_000}, "does not follow"),
        ("ada", {"by": "ada", "login": "ada", "prev_sha256": "0" * 64}, "does not follow"),
        ("ada", {"event": "delivered", "login": "ada"}, "has no say"),
        ("ada", {"event": "posted", "login": "ada", "value": '{"to": "", "four_eyes": false}'}, "has no say"),
        ("ada", {"event": "asked", "login": "ada"}, "may not ask"),
        ("ada", {"event": "erased", "by": "ada", "login": "ada"}, "may not erase"),
        ("ada", {"event": "erased", "by": "nightly", "login": "nightly"}, "cannot write as"),
        ("nightly", {"event": "erased", "by": "ada", "login": "nightly"}, "cannot erase as"),
        ("eve", {"by": "eve", "login": "eve"}, "permission denied|does not exist"),
    ],
)
async def test_a_client_that_lies_is_refused_by_the_database(known, login, row, words):
    async with asked(known) as (task, question):
        with Liar(known.of(login)) as liar:
            with pytest.raises(psycopg.Error, match=words):
                liar.write(**{"event": "answered", "question": question, **row})
            for statement in _CHANGES:
                with pytest.raises(psycopg.Error, match="permission denied|append-only|does not exist"):
                    liar.connection.execute(statement)
        assert not task.done()


async def test_a_table_of_its_own_deceives_nobody(known):
    """What a definer's function reads it reads in our schema, and not in the client's temporary one."""
    async with asked(known) as (_, question):
        with Liar(known.of("ada")) as liar:
            _deceive(liar, known.schema, question)


def _deceive(liar, schema, question):
    liar.connection.execute(f"CREATE TEMP TABLE copied AS SELECT * FROM {schema}.events")
    [(last, sha256)] = liar.connection.execute(_LAST).fetchall()
    liar.connection.execute("UPDATE copied SET login = 'ada' WHERE event = 'asked'")
    liar.connection.execute("ALTER TABLE copied RENAME TO events")
    row = dict.fromkeys(COLUMNS)
    row |= {"id": last + 1, "prev_sha256": sha256, "ts": now(), "thread": "t", "event": "delivered", "login": "ada"}
    row["question"] = question
    row["sha256"] = digest(list(row.values()))
    places = ", ".join(["%s"] * len(COLUMNS))
    with pytest.raises(psycopg.Error, match="has no say"):
        liar.connection.execute(f"INSERT INTO {schema}.events VALUES ({places})", list(row.values()))


async def test_a_list_shows_each_team_its_own(known):
    async with asked(known, to="finance", four_eyes=False):
        for login, count in (("ada", 1), ("bob", 0), ("web", 1)):
            with Journal(known.of(login)) as journal:
                assert len(journal.inbox()) == len(journal.inbox(to="finance")) == count, login


async def test_a_login_reads_what_is_put_to_it_and_of_all_else_the_links(known):
    with Journal(known.of("nightly"), personal=True) as job:
        kept = Inbox(job, to="finance")
        tasks = [
            asyncio.ensure_future(approve("Pay Grace Hopper?", {"amount": 12}, people=kept)),
            asyncio.ensure_future(approve("Pay Ada?", {"amount": 13}, people=Inbox(job, to="bob"))),
        ]
        while len(job._store.rows("SELECT 1 FROM events WHERE event = 'posted'")) < 2:
            await asyncio.sleep(0.05)
        found = {}
        for login in ("ada", "bob", "web", "nightly"):
            with Liar(known.of(login)) as liar:
                rows = [tuple(map(str, row)) for row in liar.connection.execute("SELECT * FROM events").fetchall()]
                rows += [tuple(map(str, row)) for row in liar.connection.execute("SELECT * FROM blobs").fetchall()]
                found[login] = ["Grace Hopper" in str(rows), "Pay Ada?" in str(rows)]
            with Journal(known.of(login)) as journal:
                verified = journal.verify()
                assert verified.ok, verified
                assert (verified.hidden > 0) == (login in ("ada", "bob")), login
        assert found == {"ada": [True, False], "bob": [False, True], "web": [True, True], "nightly": [True, True]}
        with Journal(known.of("bob")) as journal:
            assert "not shown to this login" in str(journal.verify())
            [call] = await waiting(journal)
            assert call.respond(True, by="bob")
            await call._handle.written()
            assert journal.winner(call).approved  # what it may read, it believes
        assert await tasks[1]
        with Journal(known.of("ada")) as journal:
            assert [row.get("by") for row in journal if row["event"] == "answered"] == []
            assert journal.verify().ok
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("event", ["answered", "late", "shown"])
async def test_what_is_not_put_to_a_login_it_cannot_answer_by_hand_either(known, event):
    async with asked(known, to="finance", four_eyes=False) as (task, question):
        with Liar(known.of("bob")) as liar, pytest.raises(psycopg.Error, match="is not put to `bob`"):
            liar.write(event=event, question=question, by="bob", login="bob")
        with Liar(known.of("bob")) as liar, pytest.raises(psycopg.Error, match="row-level security"):
            liar.connection.execute("INSERT INTO blobs VALUES ('x', 'args', '1')")
        assert not task.done()


async def test_a_question_that_was_given_to_somebody_is_read_and_answered_by_them(known):
    async with asked(known, to="finance", four_eyes=False) as (task, question):
        with Journal(known.of("ada")) as journal:
            journal.postings.assign(question, "bob")
        with Journal(known.of("bob")) as journal:
            [call] = await waiting(journal)
            assert call.respond(True, by="bob")
            await call._handle.written()
        assert await task


async def test_its_asker_and_who_owns_the_tables_erase_a_question_and_nobody_else(known):
    with Journal(known.of("nightly"), personal=True) as job:
        for who in ("nightly", "postgres"):
            task = asyncio.ensure_future(approve("Pay?", {"amount": 12}, people=Inbox(job)))
            with Journal(known.of("ada")) as journal:
                [call] = await waiting(journal)
                thread = call.thread_id
                with pytest.raises(JournalError, match=r"has no say|may not answer|may not erase"):
                    journal.erase(thread=thread)
                assert journal.winner(call) is None
            with Journal(known.of(who) if who == "nightly" else known.owner) as journal:
                with pytest.raises(JournalError, match="cannot"):
                    journal.erase(call.id, by="eve")
                assert journal.erase(call.id).withdrawn == 1
                assert journal.verify().ok
            assert not await task


async def test_four_eyes_are_refused_where_nobody_could_see_to_it(postgres, tmp_path):
    with pytest.raises(UsageError, match=r"anybody's name.*hitl-nb inbox setup"):
        Inbox(str(tmp_path / "j.sqlite"), four_eyes=True)
    with pytest.raises(UsageError, match="does not know people yet"):
        Inbox(postgres.schema(), four_eyes=True)
    with pytest.raises(JournalError, match="is a file"), Journal(tmp_path / "j.sqlite") as journal:
        journal.set_up_people()


_OF_VERSION_6 = (
    "DROP TABLE blobs CASCADE",
    "DROP VIEW chain",
    "DROP POLICY theirs ON events",
    "DROP POLICY checked ON events",
    "ALTER TABLE events DISABLE ROW LEVEL SECURITY",
    "DROP INDEX one_erasure, parkings",
    "ALTER TABLE events DROP COLUMN payload",
    "UPDATE schema_version SET version = 6",
)


async def test_tables_that_knew_people_before_know_them_by_the_rules_of_this_version(known):
    with psycopg.connect(known.owner, autocommit=True) as connection:
        for statement in _OF_VERSION_6:
            connection.execute(statement)
    Journal(known.owner).close()  # whoever owns the tables brings them up to date
    async with asked(known, to="finance", four_eyes=False) as (_, question):
        with Liar(known.of("bob")) as liar:
            assert liar.connection.execute("SELECT count(*) FROM events").fetchone() == (0,)
            with pytest.raises(psycopg.Error, match="is not put to `bob`"):
                liar.write(event="answered", question=question, by="bob", login="bob")


def test_it_is_set_up_from_a_shell_once_or_again(postgres):
    command = [sys.executable, "-m", "hitl_nb.cli", "inbox", "setup", "--journal", postgres.schema()]
    for _ in range(2):
        done = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "GRANT hitl_nb_people TO" in done.stdout


def test_the_sql_can_be_read_before_it_is_run():
    command = [sys.executable, "-m", "hitl_nb.cli", "inbox", "setup", "--print"]
    printed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("BEGIN;")
    assert "CREATE POLICY theirs ON waiting" in printed
    assert "{" not in printed
