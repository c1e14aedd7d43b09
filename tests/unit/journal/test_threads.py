"""A restarted kernel finds the conversation as it was: messages, state, open calls, answers nobody has heard."""

import json
import sqlite3
from contextlib import closing

import pytest

from hitl_nb.journal import Journal, JournalError
from tests.unit.journal.asking import a_call, answered, asked, events


def messages(*contents):
    return [{"id": str(number), "content": content} for number, content in enumerate(contents)]


def save(journal, contents, state=None, thread="t"):
    journal.save_thread(thread, json.dumps(messages(*contents)), json.dumps(state))


def test_nothing_is_known_of_a_thread_that_never_was(journal):
    assert journal.load_thread("t") is None


def test_the_latest_messages_and_state_come_back_in_another_process(journal, path):
    save(journal, ["a"], {"n": 1})
    save(journal, ["a", "b"], {"n": 2})
    with Journal(path) as other:
        record = other.load_thread("t")
    assert (record.messages, record.state) == (messages("a", "b"), {"n": 2})
    assert (record.open, record.undelivered) == ([], [])


@pytest.mark.parametrize(
    "history",
    [
        [["a"], ["a", "b"], ["a", "b", "c"]],
        [["a", "b"], ["a"], ["a", "c"]],
        [["a", "b"], ["x", "a", "b"]],
        [["a"], [], ["a"]],
        [[], []],
        [["a", "b", "c"], ["a", "x", "c"], ["a", "x", "c"]],
    ],
)
def test_any_change_of_a_history_comes_back(journal, path, history):
    for contents in history:
        save(journal, contents)
        assert journal.load_thread("t").messages == messages(*contents)
        with Journal(path) as other:
            assert other.load_thread("t").messages == messages(*contents)


def test_a_save_writes_only_what_is_new(journal):
    long = ["x" * 1000] * 100
    save(journal, long, {"n": 1})
    save(journal, [*long, "new"], {"n": 1})
    save(journal, [*long, "new"], {"n": 1})
    first, second = events(journal, "thread_saved")
    assert len(first["value"]) > 100_000
    assert json.loads(second["value"]) == {"keep": 100, "messages": [{"id": "100", "content": "new"}]}


def test_two_processes_that_save_one_thread_in_turns_do_not_mix_it_up(journal, path):
    with Journal(path) as other:
        for number in range(1, 6):
            writer = (journal, other)[number % 2]
            save(writer, ["a"] * number, {"n": number})
            for reader in (journal, other):
                assert reader.load_thread("t").messages == messages(*["a"] * number)
        save(journal, ["b"])
        save(other, ["a"] * 5)
        assert journal.load_thread("t").messages == messages(*["a"] * 5)


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False), ({"x": 1}, {"x": True}), (1, 1.0)])
def test_a_state_that_python_calls_equal_is_still_a_change(journal, old, new):
    save(journal, [], old)
    save(journal, [], new)
    assert json.dumps(journal.load_thread("t").state) == json.dumps(new)


def test_threads_do_not_see_each_other(journal):
    save(journal, ["a"], 1, thread="one")
    save(journal, ["b"], 2, thread="two")
    assert (journal.load_thread("one").state, journal.load_thread("two").state) == (1, 2)


async def test_open_and_undelivered_calls_are_listed_in_order(journal):
    for number in range(4):
        asked(journal, {"n": number}, id=f"open_{number}")
    answered(journal, id="told")
    journal.delivered(["told"])
    answered(journal, id="untold", value="yes")
    declined = asked(journal, id="refused")
    declined.decline("no")
    journal.answered(declined)
    record = journal.load_thread("t")
    assert [call.id for call in record.open] == ["open_0", "open_1", "open_2", "open_3"]
    assert [(decision.call, decision.outcome) for decision in record.undelivered] == [
        ("untold", "answered"),
        ("refused", "declined"),
    ]
    call = record.open[1]
    assert (call.tool, call.kind, call.message, call.run) == ("generate_steps", "tool", "Do it?", "run_1")
    assert (call.args, json.loads(call.arguments)) == ({"n": 1}, {"n": 1})
    assert (record.messages, record.state) == ([], None)


async def test_an_open_call_has_the_arguments_as_the_model_wrote_them(journal):
    journal.asked(a_call(), arguments='{"steps":[{"description":"pack"}]}')
    [call] = journal.load_thread("t").open
    assert call.arguments == '{"steps":[{"description":"pack"}]}'
    assert call.args["steps"][0] == {"description": "pack", "status": "enabled"}


async def test_a_save_that_fails_does_not_count_as_saved(journal, path):
    save(journal, ["a"])
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        with pytest.raises(JournalError, match="disk full"):
            save(journal, ["a", "b"])
        other.execute("DROP TRIGGER full")
    assert journal.load_thread("t").messages == messages("a")
    save(journal, ["a", "b"])
    assert journal.load_thread("t").messages == messages("a", "b")
