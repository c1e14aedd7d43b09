"""The webhook is told of a question once, whoever is killed, however many runs there are; not what it is about."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hitl_nb import approve
from hitl_nb.inbox import Inbox, _person
from hitl_nb.journal import Journal
from tests.unit.inbox.jobs import ended

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def hook():
    """A webhook: what it was told, and what it does meanwhile."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            server.heard.set()
            server.goes_on.wait(30)
            self.send_response(server.status)
            self.end_headers()

        def log_message(self, *_):
            """Silence."""

    told: list = []
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.told, server.status = told, 200
    server.heard, server.goes_on = threading.Event(), threading.Event()
    server.goes_on.set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def asking(hook, wait=0, turn=30.0):
    address = f"http://127.0.0.1:{hook.server_port}/secret-hook"
    return f"""
from hitl_nb.inbox import _person
_person._TURN = {turn}
inbox = Inbox(wait={wait}, to="finance", notify="{address}", link="https://inbox.example/")
print(await approve("Pay?", {{"amount": 12, "iban": "DE02"}}, people=inbox))
"""


JOB = {"HITL_NB_JOB": "night"}
TEXT = {"text": "A question waits for finance: Pay? https://inbox.example/"}


def test_it_is_told_of_a_question_once_however_often_the_job_runs_and_not_what_it_is_about(place, job, hook):
    for _ in range(2):
        ended(job(asking(hook), **JOB), 75)
    assert hook.told == [TEXT]
    with Journal(place) as journal:
        assert "secret-hook" not in repr(list(journal))
        assert [json.loads(str(row["value"])) for row in journal if row["event"] == "telling"][-1] == "told"


def test_two_runs_at_once_tell_it_once(place, job, hook):
    runs = [job(asking(hook), **JOB) for _ in range(2)]
    for run in runs:
        ended(run, 75)
    assert hook.told == [TEXT]


def test_what_a_run_was_killed_at_is_told_by_the_next_and_by_that_only(place, job, hook):
    hook.goes_on.clear()
    first = job(asking(hook, turn=2), **JOB)
    assert hook.heard.wait(60)  # it is on its way
    first.kill()
    first.communicate()
    hook.goes_on.set()
    ended(job(asking(hook, turn=2), **JOB), 75)  # in whose time the turn of the first may not be over
    with Journal(place) as journal:
        while _person._now().isoformat() <= _end_of_the_turn(journal):
            time.sleep(0.05)
    for _ in range(2):
        ended(job(asking(hook, turn=2), **JOB), 75)
    # Once by the run that was killed before it had an answer, and once by the next: that one cannot know.
    assert hook.told == [TEXT, TEXT]


def _end_of_the_turn(journal):
    return next(json.loads(str(row["value"])) for row in journal if row["event"] == "telling")


def test_a_webhook_that_fails_is_told_again_by_the_next_run(place, job, hook):
    hook.status = 500
    ended(job(asking(hook, turn=0), **JOB), 75)
    hook.status = 200
    for _ in range(2):
        ended(job(asking(hook, turn=0), **JOB), 75)
    assert hook.told == [TEXT, TEXT]


async def test_a_run_that_waits_takes_over_from_one_that_was_killed(place, hook, monkeypatch):
    monkeypatch.setattr(_person, "_TURN", 0.5)
    with Journal(place) as journal:
        taken = []
        begin = journal.postings.begin_tell

        def begin_tell(call, seconds):
            if not taken:  # somebody else's, who is killed
                taken.append(begin(call, seconds).result())
            return begin(call, seconds)

        monkeypatch.setattr(journal.postings, "begin_tell", begin_tell)
        inbox = Inbox(journal, to="finance", notify=f"http://127.0.0.1:{hook.server_port}/")
        task = asyncio.ensure_future(approve("Pay?", people=inbox))
        await asyncio.to_thread(hook.heard.wait, 30)
        assert (taken, [each["text"] for each in hook.told]) == (["mine"], ["A question waits for finance: Pay?"])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
