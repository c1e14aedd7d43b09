"""An un-awaited question: a coroutine for all that awaits, an error with the line to write for all else."""

import asyncio
import copy
import gc
import inspect
import logging
import math
import operator
import os
import pickle
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import anyio
import pytest

from hitl_nb import Session
from hitl_nb._awaiting import Question, Unasked, Words, current_question, in_background, line_of
from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.errors import (
    AlreadyAwaitedError,
    Declined,
    HitlError,
    NoHumanError,
    NotAwaitedError,
    RunStopped,
    UsageError,
)
from hitl_nb.testing import says
from tests.agents import ScriptedAgent
from tests.unasked import unasked

LINE = "Write `if await approve('Drop?'):`"
asked: list[str] = []
who: ContextVar[str] = ContextVar("who", default="nobody")


@unasked(write="if await {}:")
async def approve(message, payload=None, *, answer=True, wait=None):
    """Stands in for a checkpoint: it waits for an event, as others wait for a person."""
    asked.append(message)
    if wait is not None:
        await wait.wait()
    await asyncio.sleep(0)
    if isinstance(answer, Exception):
        raise answer
    return answer


@pytest.fixture(autouse=True)
def _nothing_asked():
    asked.clear()


@pytest.fixture
def question():
    made = approve("Drop?")
    yield made
    made.close()


async def until(state):
    async with asyncio.timeout(5):
        while not state():
            await asyncio.sleep(0)


async def failed(question):
    await until(lambda: question.status == "failed")
    await asyncio.sleep(0)


# -- a coroutine for all that awaits ----------------------------------------------------------------------


async def in_a_task_group(question):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(question)
    return task.result()


async def within_a_timeout(question):
    async with asyncio.timeout(5):
        return await question


async def in_an_anyio_group(question):
    answers = []

    async def waits():
        answers.append(await question)

    async with anyio.create_task_group() as group:
        group.start_soon(waits)
    return answers[0]


async def within_an_anyio_timeout(question):
    with anyio.fail_after(5):
        return await question


async def from_another_thread(question):
    loop = asyncio.get_running_loop()
    return await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(question, loop).result())


async def in_a_loop_of_its_own(question):
    return await asyncio.to_thread(lambda: asyncio.run(question))


async def as_completed(question):
    return await next(iter(asyncio.as_completed([question])))


async def awaited(question):
    return await question


async def started(question):
    return await question.start()


async def gathered(question):
    return (await asyncio.gather(question, asyncio.sleep(0)))[0]


WAYS = [
    awaited,
    gathered,
    partial(asyncio.wait_for, timeout=5),
    partial(asyncio.wait_for, timeout=None),
    lambda question: asyncio.create_task(question),
    lambda question: asyncio.ensure_future(question),
    lambda question: asyncio.shield(question),
    in_a_task_group,
    within_a_timeout,
    as_completed,
    in_an_anyio_group,
    within_an_anyio_timeout,
    from_another_thread,
    in_a_loop_of_its_own,
    started,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: getattr(way, "__name__", "wait_for"))
async def test_everything_that_takes_a_coroutine_takes_a_question(way, capfd):
    assert await way(approve("Drop?", answer="yes")) == "yes"
    with pytest.raises((ZeroDivisionError, ExceptionGroup)):
        await way(approve("Drop?", answer=ZeroDivisionError("at the end")))
    assert asked == ["Drop?", "Drop?"]
    gc.collect()
    assert capfd.readouterr().err == ""


async def test_a_function_that_asks_can_be_started_in_an_anyio_group():
    async with anyio.create_task_group() as group:
        group.start_soon(approve, "Drop?")
    assert asked == ["Drop?"]


def test_a_question_is_a_coroutine_to_all_that_ask(question):
    assert asyncio.iscoroutine(question)
    assert inspect.isawaitable(question)
    assert inspect.signature(approve).parameters["message"]
    assert approve.__doc__.startswith("Stands in")


async def test_gather_of_the_same_question_twice_asks_once():
    question = approve("Drop?")
    assert await asyncio.gather(question, question) == [True, True]
    assert asked == ["Drop?"]


async def test_nothing_is_asked_before_the_await():
    question = approve("Drop?")
    await asyncio.sleep(0)
    assert asked == []
    assert await question is True


async def test_the_question_sees_the_context_of_whoever_awaits_it():
    @unasked()
    async def asks():
        return who.get()

    question = asks()
    who.set("the awaiter")
    assert await question == "the awaiter"
    task = asyncio.create_task(asks())
    who.set("somebody later")
    assert await task == "the awaiter"


async def test_a_cancelled_task_cancels_what_it_asked():
    task = asyncio.create_task(approve("Drop?", wait=asyncio.Event()))
    await until(lambda: asked)
    assert "coro=<approve()" in repr(task)
    assert task.get_stack()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_that_is_cancelled_before_its_first_step_has_asked_nothing(capfd):
    task = asyncio.create_task(approve("Drop?"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    gc.collect()
    assert asked == []
    assert capfd.readouterr().err == ""


async def test_anyio_cancels_a_question_that_waits():
    with anyio.move_on_after(0.01) as scope:
        await approve("Drop?", wait=asyncio.Event())
    assert scope.cancelled_caught

    @unasked()
    async def asks():
        with anyio.move_on_after(0.01) as inner:
            await anyio.sleep_forever()
        return inner.cancelled_caught

    assert await asyncio.create_task(asks())


# -- never twice ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [awaited, started, asyncio.create_task, in_a_loop_of_its_own])
@pytest.mark.parametrize("first", [awaited, started, asyncio.create_task])
async def test_a_second_await_raises_and_asks_nobody(first, again):
    question = approve("Drop?")
    assert await first(question) is True
    with pytest.raises(AlreadyAwaitedError, match=r"write `if await approve\('Drop\?'\):`"):
        await again(question)
    assert issubclass(AlreadyAwaitedError, RuntimeError)
    assert asked == ["Drop?"]


async def test_a_second_task_does_not_break_into_the_wait_of_the_first():
    click = asyncio.Event()
    question = approve("Drop?", wait=click)
    first, second = asyncio.create_task(question), asyncio.create_task(question)
    with pytest.raises(AlreadyAwaitedError):
        await second
    with pytest.raises(AlreadyAwaitedError):
        await question
    click.set()
    assert await first is True
    assert asked == ["Drop?"]


async def test_a_closed_question_cannot_be_awaited():
    question = approve("Drop?")
    question.close()
    with pytest.raises(AlreadyAwaitedError):
        await question
    assert asked == []


# -- an error for all else --------------------------------------------------------------------------------


def used_with(how):
    with how:
        pass


def looped_over(how):
    for _ in how:
        pass


ANOTHER = approve("Keep?")
ANOTHER.close()
SLIPS = {
    "if": lambda q: 1 if q else 0,
    "not": lambda q: not q,
    "and": lambda q: q and 1,
    "== True": lambda q: q == True,  # noqa: E712
    "== None": lambda q: q == None,  # noqa: E711
    "1 ==": lambda q: 1 == q,  # noqa: SIM300
    "!=": lambda q: q != "yes",
    "== another": lambda q: q == ANOTHER,
    **{f"{op.__name__} after": partial(lambda op, q: op(q, 1), op) for op in (operator.lt, operator.le, operator.gt)},
    **{f"{op.__name__} before": partial(lambda op, q: op(1, q), op) for op in (operator.ge, operator.le, operator.gt)},
    **{
        f"{op.__name__} {side}": partial(turned, op)
        for op in (
            operator.add,
            operator.sub,
            operator.mul,
            operator.matmul,
            operator.truediv,
            operator.floordiv,
            operator.mod,
            divmod,
            operator.pow,
            operator.lshift,
            operator.rshift,
            operator.and_,
            operator.or_,
            operator.xor,
        )
        for side, turned in {"left": lambda op, q: op(q, 2), "right": lambda op, q: op(2, q)}.items()
    },
    **{
        op.__name__: op
        for op in (
            operator.pos,
            operator.neg,
            operator.invert,
            operator.index,
            operator.length_hint,
            abs,
            round,
            math.trunc,
            math.floor,
            math.ceil,
            int,
            float,
            complex,
            bool,
            bytes,
            len,
            iter,
            list,
            reversed,
            sum,
            range,
            format,
            dict,
            os.fspath,
            aiter,
            copy.copy,
            copy.deepcopy,
            pickle.dumps,
            used_with,
            looped_over,
        )
    },
    "+=": lambda q: operator.iadd(q, 1),
    "text +": lambda q: "DELETE " + q,
    "pow of three": lambda q: pow(q, 2, 3),
    "f-string": lambda q: f"DELETE {q}",
    "str.format": "{}".format,
    "[0]": lambda q: q[0],
    "[:]": lambda q: q[:],
    "[0] =": lambda q: operator.setitem(q, 0, 1),
    "del [0]": lambda q: operator.delitem(q, 0),
    "in": lambda q: "yes" in q,
    "in a list": lambda q: q in [True, False],
    "*": lambda q: print(*q),
    "unpacked": lambda q: operator.setitem({}, *q),
    "()": lambda q: q(),
    ".text": lambda q: q.text,
    ".get()": lambda q: q.get("yes"),
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_a_slip_raises_with_the_line_to_write(slip, question):
    with pytest.raises(NotAwaitedError) as caught:
        slip(question)
    assert str(caught.value).endswith("without `await`: nothing was asked yet. " + LINE + ".")
    assert asked == []


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
async def test_a_started_question_is_no_answer_either(slip):
    question = approve("Drop?").start()
    with pytest.raises(NotAwaitedError, match=r"Write `if await question:`\."):
        slip(question)
    assert await question is True


async def test_async_slips_raise_as_well(question):
    with pytest.raises(NotAwaitedError):
        async with question:
            pass
    with pytest.raises(NotAwaitedError):
        async for _ in question:
            pass


async def test_what_was_awaited_is_still_not_its_answer():
    question = approve("Drop?", answer=False)
    assert await question is False
    with pytest.raises(NotAwaitedError, match=r"its answer is what its `await` gives\. Write `if await"):
        bool(question)
    assert "nothing was asked" not in repr(question)


def test_a_question_is_itself_and_can_be_kept_in_sets(question):
    other = approve("Drop?")
    assert question is question
    assert question == question
    assert not question != question  # noqa: SIM202
    assert {question: 1, other: 2}[question] == 1
    assert question in {question, other}
    assert [question].index(question) == 0
    other.close()


def test_unknown_attributes_are_not_there_for_those_who_probe(question):
    assert not hasattr(question, "text")
    assert not hasattr(question, "_repr_html_")
    assert getattr(question, "_ipython_display_", None) is None
    with pytest.raises(AttributeError, match="if await approve"):
        question.text  # noqa: B018
    with pytest.raises(HitlError, match=r"`\.shape` on `approve"):
        question.shape  # noqa: B018


def test_its_repr_says_that_nothing_was_asked(question, caplog):
    words = "<approve('Drop?') without await: nothing was asked yet. " + LINE + ">"
    assert repr(question) == str(question) == words
    logging.getLogger("user").warning("asking %s", question)
    assert caplog.messages == [f"asking {words}"]


def test_the_last_line_of_a_cell_shows_the_same(question):
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(question)
    assert data == {"text/plain": repr(question)}


def test_the_line_is_short_and_one_line():
    assert line_of("approve", "Drop?") == "approve('Drop?')"
    assert line_of("approve", "Drop\nall?", more=True) == "approve('Drop\\nall?', ...)"
    assert line_of("review", {"secret": 1}) == "review(...)"
    assert len(line_of("approve", "word " * 1000)) < 80
    told = [approve("Drop?", {"rows": 3}), approve(message="Drop?"), approve()]  # type: ignore[call-arg]
    assert [repr(q)[1:].split(" w")[0] for q in told] == ["approve('Drop?', ...)", "approve('Drop?')", "approve(...)"]
    for each in told:
        each.close()


def test_a_pickled_or_copied_question_would_be_asked_twice(question):
    with pytest.raises(NotAwaitedError, match=r"`copy or pickle` on `approve\('Drop\?'\)`"):
        copy.copy(question)


# -- dropped ----------------------------------------------------------------------------------------------


def test_dropped_in_mid_cell_it_says_so_in_one_line(capfd):
    approve("Drop?")
    gc.collect()
    said = capfd.readouterr().err
    assert said == "hitl_nb: `approve('Drop?')` was never awaited: nothing was asked. " + LINE + ".\n"
    assert asked == []


def test_one_word_is_enough(capfd):
    for slip in (bool, lambda q: q.text):
        with pytest.raises(NotAwaitedError):
            slip(approve("Drop?"))
    with pytest.raises(UsageError, match="running event loop"):
        approve("Drop?").start()
    approve("Drop?").close()
    gc.collect()
    assert capfd.readouterr().err == ""


def test_a_probe_of_ipython_is_no_word_to_the_user(capfd):
    hasattr(approve("Drop?"), "_repr_html_")
    gc.collect()
    assert capfd.readouterr().err.count("never awaited") == 1


def test_a_question_half_made_is_dropped_quietly(capfd):
    bare = Unasked.__new__(Unasked)
    with pytest.raises(AttributeError):
        bare.text  # type: ignore[attr-defined]  # noqa: B018
    del bare
    gc.collect()
    assert capfd.readouterr().err == ""


def script(code, *options):
    head = """
        import asyncio, sys
        from tests.unasked import unasked

        @unasked(write="if await {}:")
        async def approve(message):
            print("asked", message)
            return True
    """
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(head) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize("options", [(), ("-W", "error", "-X", "dev")])
def test_a_script_that_forgets_the_await_says_so_once_and_asks_nobody(options):
    out, err, code = script("async def main():\n    approve('Drop?')\n    print('over')\nasyncio.run(main())", *options)
    assert (out, code) == ("over\n", 0)
    assert err == "hitl_nb: `approve('Drop?')` was never awaited: nothing was asked. " + LINE + ".\n"


def test_a_script_that_takes_the_question_for_its_answer_stops_there():
    out, err, code = script("if approve('Drop?'):\n    print('dropped')")
    assert (out, code) == ("", 1)
    assert err.splitlines()[-1].endswith(
        "`bool()` on `approve('Drop?')` without `await`: nothing was asked yet. " + LINE + "."
    )
    assert err.count(LINE) == 1


def test_a_script_runs_a_question(capfd):
    assert script("print(asyncio.run(approve('Drop?')))", "-W", "error") == ("asked Drop?\nTrue\n", "", 0)


def test_at_the_end_of_a_script_nothing_is_said():
    assert script("kept = approve('Drop?')\nloop = [kept]\nloop.append(loop)") == ("", "", 0)


async def test_a_run_that_is_started_without_await_is_a_run(capfd):
    session = Session(ScriptedAgent([says("Hello."), says("Again.")]), journal=None)
    run = session.run("go").start()
    assert not run.transcript.foreground
    assert (await run).text == "Hello."
    pending = session.run("go")
    assert (await pending).text == "Again."
    with pytest.raises(AlreadyAwaitedError):
        pending.start()
    with pytest.raises(NotAwaitedError, match=r"nothing has run yet\. Write `reply = await session\.run\('go'\)`"):
        bool(session.run("go"))
    session.connect([]).close()
    gc.collect()
    assert capfd.readouterr().err == ""
    session.resume()
    assert "`session.resume()` was never awaited: nothing has run. Write `reply = await" in capfd.readouterr().err


# -- started ----------------------------------------------------------------------------------------------


async def test_a_started_question_is_awaited_in_later_tasks_as_often_as_one_likes():
    click = asyncio.Event()
    question = approve("Drop?", answer=("the", "answer"), wait=click).start()
    assert isinstance(question, Question)
    assert question.status == "running"
    later = [asyncio.create_task(awaited(question)) for _ in range(2)]
    await until(lambda: asked)
    click.set()
    first, second = await asyncio.gather(*later)
    assert first is second is await question
    assert question.status == "done"
    assert asked == ["Drop?"]


async def test_who_stops_waiting_does_not_stop_the_question():
    click = asyncio.Event()
    question = approve("Drop?", wait=click).start()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(question, 0.01)
    with anyio.move_on_after(0.01):
        await question
    assert question.status == "running"
    click.set()
    assert await question is True


async def test_a_stopped_question_gives_no_answer():
    question = approve("Drop?", wait=asyncio.Event()).start()
    waiting = asyncio.create_task(awaited(question))
    await until(lambda: asked)
    question.stop()
    assert question.status == "stopped"
    for each in (waiting, question):
        with pytest.raises(RunStopped, match="approve"):
            await each
    question.stop()
    assert question.status == "stopped"


async def test_a_question_that_is_stopped_at_once_is_never_asked(capfd):
    question = approve("Drop?").start()
    question.stop()
    with pytest.raises(RunStopped):
        await question
    gc.collect()
    assert asked == []
    assert capfd.readouterr().err == ""


async def test_a_failure_is_raised_each_time_and_said_once_if_nobody_awaits(capfd):
    question = approve("Drop?", answer=NoHumanError("nobody\nis here")).start()
    await failed(question)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "`approve('Drop?', ...)`" in said
    assert "NoHumanError: nobody is here" in said
    for _ in range(2):
        with pytest.raises(NoHumanError):
            await question
    del question
    gc.collect()
    assert capfd.readouterr().err == ""


async def test_a_no_is_said_only_if_nobody_ever_wants_to_know(capfd):
    awaited_later = approve("Drop?", answer=Declined("a no")).start()
    dropped = approve("Drop?", answer=Declined("another no")).start()
    await failed(awaited_later)
    await failed(dropped)
    assert capfd.readouterr().err == ""
    with pytest.raises(Declined):
        await awaited_later
    del awaited_later, dropped
    gc.collect()
    assert capfd.readouterr().err.count("\n") == 1


async def test_a_failure_that_somebody_awaits_is_not_said(capfd):
    with pytest.raises(NoHumanError):
        await approve("Drop?", answer=NoHumanError("nobody")).start()
    gc.collect()
    assert capfd.readouterr().err == ""


async def test_a_dropped_question_is_still_asked():
    click, answers = asyncio.Event(), []

    @unasked()
    async def asks():
        await click.wait()
        answers.append(True)

    asks().start()
    await asyncio.sleep(0)
    gc.collect()
    click.set()
    await until(lambda: answers)


def test_without_a_loop_start_says_how_to_write_a_script():
    with pytest.raises(UsageError, match=r"`if await approve\('Drop\?'\):` inside `async def main"):
        approve("Drop?").start()
    assert asked == []


async def test_a_question_is_awaited_where_it_was_started():
    click = asyncio.Event()
    question = approve("Drop?", wait=click).start()
    with pytest.raises(UsageError, match="another event loop"):
        await asyncio.to_thread(lambda: asyncio.run(awaited(question)))
    click.set()
    assert await question is True
    assert await asyncio.to_thread(lambda: asyncio.run(awaited(question))) is True


async def test_code_knows_that_it_runs_in_the_background():
    @unasked()
    async def asks():
        return in_background(), current_question(), await asyncio.create_task(nested())

    async def nested():
        return in_background()

    question = asks().start()
    assert await question == (True, question, True)
    assert await asks() == (False, None, False)
    assert not in_background()


async def test_a_question_lists_the_calls_of_the_transcripts_it_opened():
    call = Call(id="1", name="approve", kind="interrupt", message="Drop?")
    click = asyncio.Event()

    @unasked()
    async def asks(message):
        transcript = Transcript()
        current_question().opened(transcript)
        transcript.add(CallEntry(key=call.id, call=call))
        await click.wait()

    question = asks("Drop?").start()
    assert question.pending == []
    await asyncio.sleep(0)
    assert question.pending == [each for each in [call] if each.status == "executing"]
    click.set()
    await question


async def test_the_stage_is_set_in_the_cell_that_starts_and_struck_at_the_end():
    seen: list[object] = []

    @contextmanager
    def stage(message, **_):
        seen.append((message, in_background()))
        try:
            yield Transcript()
        finally:
            seen.append("over")

    @unasked(stage=stage)
    async def asks(message):
        staged = current_question().take_staged()
        assert isinstance(staged, Transcript)
        assert current_question().take_staged() is None
        return message

    question = asks("Drop?").start()
    assert seen == [("Drop?", True)]
    assert await question == "Drop?"
    assert seen == [("Drop?", True), "over"]
    stopped = asks("Keep?").start()
    stopped.stop()
    with pytest.raises(RunStopped):
        await stopped
    assert seen[2:] == [("Keep?", True), "over"]


async def test_the_repr_of_a_started_question_says_how_far_it_is():
    question = approve("Drop?").start()
    assert repr(question) == str(question)
    assert repr(question) == "<Question approve('Drop?'): running. Its answer: `if await question:`>"
    await question
    assert ": done." in repr(question)


def test_words_of_its_own_can_be_given(capfd):
    async def pays():
        raise AssertionError

    Unasked(pays, Words("pay(...)", "paid = await {}", "nothing was asked, and nothing has run"))
    gc.collect()
    assert "nothing was asked, and nothing has run. Write `paid = await pay(...)`." in capfd.readouterr().err
