"""A job asks, somebody answers in another process, the job goes on; or has ended, and takes the answer later."""

import os
import subprocess
import sys
import threading

import pytest

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb.errors import InvalidValue
from hitl_nb.journal import Journal
from tests.unit.inbox.jobs import REPO, ended, waiting

pytestmark = pytest.mark.timeout(300)
ORDER = """
order = await interrupt("Fill the order", {"item": "cup"}, answer=Order)
print(repr(order))
"""
PAY = """
if await approve("Pay?", {"to": "ada", "amount": 12}):
    print("paid")
"""
GATE = """
@gate
def pay(to: str, amount: int) -> str:
    print("pays", to, amount)
    return "paid"
print(await pay("ada", 12))
"""
TWO = """
for _ in range(2):
    print(await ask("How many?", answer=int))
"""
PARK = {"HITL_NB_PEOPLE": "inbox:0", "HITL_NB_JOB": "night"}


def rows(place, *names):
    with Journal(place) as journal:
        assert journal.verify().ok
        return [row for row in journal if row["event"] in names]


# -- the run waits ----------------------------------------------------------------------------------------------------


async def test_a_waiting_run_goes_on_with_what_somebody_elsewhere_answered(place, job):
    run = job(ORDER)
    with Journal(place, name="ada") as journal:
        [call] = await waiting(journal)
        assert (call.message, call.args) == ("Fill the order", {"item": "cup"})
        call.respond({"item": "cup", "due": "2026-12-24", "price": "3.10"}, by="ada")
        await call._handle.written()
    assert ended(run) == ("Order(item='cup', due=datetime.date(2026, 12, 24), price=Decimal('3.10'), size='m')\n")
    assert [row["by"] for row in rows(place, "answered")] == ["ada"]


async def test_who_begins_to_wait_looks_for_their_own_answer_and_for_no_other(place, monkeypatch):
    with Journal(place) as journal:
        find, here, looked = journal.postings.decisions, threading.get_ident(), []

        def decisions(questions):
            if threading.get_ident() == here:  # not the one thread that looks for all of them
                looked.append(len(questions))
            return find(questions)

        monkeypatch.setattr(journal.postings, "decisions", decisions)
        for number in range(5):
            call = Call(id=f"c{number}", name="ask", kind="interrupt")
            Handle.of(call).open_now({})
            journal.asked(call, arguments="{}")
            journal.watch(call, lambda: None)
    assert looked == [1] * 5


async def test_a_no_is_a_no(place, job):
    run = job(PAY)
    with Journal(place) as journal:
        [call] = await waiting(journal)
        call.decline("too much", by="ada")
        await call._handle.written()
    assert ended(run) == ""


async def test_an_answer_that_does_not_fit_the_schema_is_refused_where_it_is_given(place, job):
    job(ORDER)
    with Journal(place) as journal:
        [call] = await waiting(journal)
        with pytest.raises(InvalidValue, match="size"):
            call.respond({"item": "cup", "due": "2026-12-24", "price": "3.10", "size": "xl"}, by="ada")
        assert not call.decided


async def test_an_answer_that_only_the_asker_can_refuse_is_told_and_the_question_is_open_again(place, job):
    run = job("""
class Even(BaseModel):
    n: int
    @field_validator("n")
    def even(cls, n):
        if n % 2: raise ValueError("must be even")
        return n
print(await interrupt("How many?", answer=Even))
""")
    with Journal(place) as journal:
        [call] = await waiting(journal)
        call.respond({"n": 3}, by="ada")
        while (again := (await waiting(journal))[0]) is call or again.error is None:
            pass
        assert "must be even" in again.error
        again.respond({"n": 4}, by="ada")
        await again._handle.written()
    assert ended(run) == "n=4\n"
    assert len(rows(place, "refused")) == 1
    assert len(rows(place, "delivered")) == 1


# -- the run parks ----------------------------------------------------------------------------------------------------


async def test_a_run_that_cannot_wait_parks_and_a_later_one_takes_the_answer_once(place, job):
    for _ in range(2):
        assert "`Pay?` is parked" in ended(job(PAY, **PARK), 75)
    with Journal(place) as journal:
        [call] = await waiting(journal)
        call.respond(True, by="ada")
        await call._handle.written()
    assert ended(job(PAY, **PARK)) == "paid\n"
    assert "is parked" in ended(job(PAY, **PARK), 75)
    assert [row["event"] for row in rows(place, "asked", "answered", "delivered", "parked")] == [
        *("asked", "parked", "parked", "answered", "delivered", "asked", "parked")
    ]


async def test_another_job_asks_for_itself(place, job):
    ended(job(PAY, **PARK), 75)
    with Journal(place) as journal:
        (await waiting(journal))[0].respond(True, by="ada")
    ended(job(PAY, **{**PARK, "HITL_NB_JOB": "tomorrow"}), 75)
    with Journal(place) as journal:
        assert [each["job"] for each in journal.inbox().to_dicts()] == ["tomorrow"]
        assert len(journal.inbox(job="night")) == 0


@pytest.mark.parametrize("change", ['{"to": "eve", "amount": 12}', '{"to": "ada", "amount": 1200}'])
async def test_a_yes_about_something_else_is_not_taken(place, job, change):
    ended(job(PAY, **PARK), 75)
    with Journal(place) as journal:
        (await waiting(journal))[0].respond(True, by="ada")
    assert "is parked" in ended(job(PAY.replace('{"to": "ada", "amount": 12}', change), **PARK), 75)


@pytest.mark.parametrize(
    "rule", ["deny('approve', kind='interrupt')", "deny('approve', kind='interrupt', when=lambda a: 1 / 0)"]
)
async def test_a_parked_yes_is_not_taken_where_a_rule_forbids_it_now_or_cannot_tell(place, job, rule):
    ended(job(PAY, **PARK), 75)
    with Journal(place) as journal:
        (await waiting(journal))[0].respond(True, by="ada")
    ruled = f"""
from hitl_nb.people import Policy, deny
if await approve("Pay?", {{"to": "ada", "amount": 12}}, people=[Policy({rule}), Inbox(wait=0)]):
    print("paid")
"""
    process = job(ruled, **PARK)
    out, err = process.communicate(timeout=50)
    assert "paid" not in out
    assert process.returncode in (0, 75), err
    assert 1 not in {row["question"] for row in rows(place, "delivered")}  # that yes is left where it is


async def test_a_parked_yes_runs_its_gate_once(place, job):
    ended(job(GATE, **PARK), 75)
    with Journal(place) as journal:
        [call] = await waiting(journal)
        assert call.args == {"to": "ada", "amount": 12}
        call.respond(call.proposal, by="ada")
    assert ended(job(GATE, **PARK)) == "pays ada 12\npaid\n"
    ended(job(GATE, **PARK), 75)
    assert len(rows(place, "started")) == 1


@pytest.mark.parametrize("key", ["", ", key='many'"])
async def test_a_job_that_asks_several_things_comes_on_run_by_run_if_each_has_a_key(place, job, key):
    code = "\n".join(f"print(await ask('How many {what}?', answer=int{key}))" for what in ("cups", "pots"))
    for answer in (1, 2):
        ended(job(code, **PARK), 75)
        with Journal(place) as journal:
            [call] = await waiting(journal)
            call.respond(answer, by="ada")
            await call._handle.written()
    if key:
        assert ended(job(code, **PARK)) == "1\n2\n"
    else:  # what was taken was taken: without a key it is asked anew
        assert "cups?` is parked" in ended(job(code, **PARK), 75)


async def test_a_run_takes_what_was_answered_up_to_where_it_waits_and_goes_on_from_there(place, job):
    run = job(TWO, HITL_NB_JOB="night")
    with Journal(place) as journal:
        for answer in (1, 2):
            [call] = await waiting(journal)
            call.respond(answer, by="ada")
            await call._handle.written()
    assert ended(run) == "1\n2\n"


async def test_of_two_runs_at_once_one_takes_the_answer_and_the_other_parks(place, job):
    ended(job(PAY, **PARK), 75)
    runs = [job(PAY, **{**PARK, "HITL_NB_PEOPLE": "inbox:40"}) for _ in range(2)]
    with Journal(place) as journal:
        while len([row for row in journal if row["event"] == "posted"]) < 3:
            pass
        [call] = await waiting(journal)
        call.respond(True, by="ada")
        await call._handle.written()
    codes = sorted((run.communicate(), run.returncode)[1] for run in runs)
    assert codes == [0, 75]
    assert len(rows(place, "delivered")) == 1


async def test_a_run_that_is_killed_while_it_waits_leaves_its_question_open(place, job):
    run = job(PAY, HITL_NB_JOB="night")
    with Journal(place) as journal:
        await waiting(journal)
        run.kill()
        run.communicate()
        [call] = await waiting(journal)
        call.respond(True, by="ada")
        await call._handle.written()
    assert ended(job(PAY, **PARK)) == "paid\n"


async def test_a_question_that_has_expired_is_no_yes_whoever_notices(place, job):
    late = """
from hitl_nb.errors import Expired
try:
    print(await ask("How many?", answer=int, people=Inbox(wait=0.3, expires=0.2)))
except Expired as error:
    print("expired")
"""
    assert ended(job(late)) == "expired\n"
    with Journal(place) as journal:
        assert len(journal.inbox()) == 0
        assert [row["outcome"] for row in journal if row["event"] == "answered"] == ["expired"]


async def test_a_secret_cannot_go_through_the_inbox(place, job):
    code = """
from pydantic import SecretStr
print(await ask("The key?", answer=SecretStr))
"""
    assert "a secret cannot go through the inbox" in ended(job(code), 1)
    assert rows(place, "posted") == []


# -- from a shell -----------------------------------------------------------------------------------------------------


def hitl_nb(*arguments):
    done = subprocess.run([sys.executable, "-m", "hitl_nb.cli", *arguments], cwd=REPO, capture_output=True, text=True)
    return done.returncode, done.stdout


async def test_a_scheduler_waits_for_the_answers_of_a_job(place, job):
    where = ("--journal", place)
    assert hitl_nb("inbox", "wait", "--job", "night", *where) == (0, "0 of 0 questions are answered\n")
    ended(job(PAY, **PARK), 75)
    assert hitl_nb("inbox", "wait", "--job", "night", *where) == (75, "0 of 1 questions are answered\n")
    assert "  Pay?\n" in hitl_nb("inbox", "list", *where)[1]
    with Journal(place) as journal:
        (await waiting(journal))[0].respond(True, by="ada")
    assert hitl_nb("inbox", "wait", "--job", "night", *where) == (0, "1 of 1 questions are answered\n")
    assert ended(job(PAY, **PARK)) == "paid\n"


@pytest.mark.parametrize("command", [["list"], ["wait", "--job", "night"], ["setup"], ["serve"]])
def test_a_command_without_a_journal_says_so_and_does_not_look_as_if_it_had_worked(command):
    done = subprocess.run(
        [sys.executable, "-m", "hitl_nb.cli", "inbox", *command],
        cwd=REPO,
        capture_output=True,
        text=True,
        env={**os.environ, "HITL_NB_JOURNAL": "off"},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Write `--journal postgresql://host/database`" in done.stderr
