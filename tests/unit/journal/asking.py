"""Questions for these tests: opened and recorded as a session does it."""

import json
import sqlite3
from contextlib import closing, contextmanager
from typing import Any, Literal

import psycopg
from pydantic import BaseModel

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._schema import MISSING, validator_for
from hitl_nb.journal import Journal, _postgres
from hitl_nb.journal._postgres import is_address


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"] = "enabled"


class Steps(BaseModel):
    steps: list[Step]


STEPS = Steps(steps=[Step(description="pack"), Step(description="fly")])


def a_call(
    args=STEPS,
    *,
    id="call_1",  # noqa: A002
    answer=None,
    parameters=None,
    thread="t",
    message="Do it?",
    kind="tool",
    offer=MISSING,
):
    """An opened call; needs a running loop, as every kernel has."""
    call = Call(
        id=id,
        name="generate_steps",
        kind=kind,
        message=message,
        answer_type=None if answer is None else validator_for(answer),
        args_type=None if parameters is None else validator_for(parameters),
        thread_id=thread,
        run_id="run_1",
        offer=offer,
    )
    Handle.of(call).open_now(args)
    return call


def asked(journal: Journal, args=STEPS, **options):
    """A call that the journal knows."""
    call = a_call(args, **options)
    arguments = args.model_dump_json() if isinstance(args, BaseModel) else json.dumps(args, default=str)
    journal.asked(call, arguments=arguments)
    return call


def answered(journal: Journal, args=STEPS, value="yes", *, by="ada", via="card", **options):
    """A call that the journal knows and that was answered."""
    call = asked(journal, args, **options)
    call.respond(value, by=by, via=via)
    assert journal.answered(call)
    return call


def events(journal: Journal, *names: str):
    """The events of these names, as dicts."""
    return [event for event in journal if not names or event["event"] in names]


# -- what somebody with a database tool does ---------------------------------------------------------------------------

NO_GUARDS = {
    "sqlite": ("DROP TRIGGER no_update", "DROP TRIGGER no_delete"),
    "postgres": ("ALTER TABLE events DISABLE TRIGGER USER",),
}


def kind_of(place):
    """Which database a place is in."""
    return "postgres" if is_address(place) else "sqlite"


def stored_text(place):
    """Everything that a journal keeps, as text."""
    if kind_of(place) == "sqlite":
        return "".join(file.read_bytes().decode("latin-1") for file in place.parent.iterdir())
    with by_hand(place) as connection:
        return "".join(text for (text,) in connection.execute("SELECT events::text FROM events").fetchall())


@contextmanager
def by_hand(place):
    """A connection that knows nothing of us; each statement counts at once."""
    connection: Any = None
    if kind_of(place) == "sqlite":
        connection = sqlite3.connect(place, isolation_level=None)
    else:
        connection = psycopg.connect(place, autocommit=True)
    with closing(connection):
        yield connection


def tamper(place, *statements: str):
    """Work around what guards a closed journal."""
    with by_hand(place) as connection:
        for statement in (*NO_GUARDS[kind_of(place)], *statements):
            connection.execute(statement)


@contextmanager
def locked(place):
    """Another process that is writing, and takes its time."""
    with by_hand(place) as connection:
        connection.execute("BEGIN IMMEDIATE" if kind_of(place) == "sqlite" else "BEGIN")
        if kind_of(place) == "postgres":
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_postgres.LOCK,))
        yield
        connection.execute("ROLLBACK")
