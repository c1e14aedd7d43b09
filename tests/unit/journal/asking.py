"""Questions for these tests: opened and recorded as a session does it."""

import json
import sqlite3
from contextlib import closing
from typing import Literal

from pydantic import BaseModel

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._schema import MISSING, validator_for
from hitl_nb.journal import Journal


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


def tamper(path, *statements: str):
    """What somebody with a database tool does to a closed journal."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER no_update")
        connection.execute("DROP TRIGGER no_delete")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
