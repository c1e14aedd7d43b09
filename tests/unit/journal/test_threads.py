"""A restarted kernel finds the conversation as it was: messages, state, open calls, answers nobody has heard."""

import bisect
import json
import random
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb._schema import validator_for
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


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdé"), max_size=8), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_any_history_comes_back_in_either_form(history, as_texts, indent):
    with Journal("memory") as journal:
        for contents in history:
            texts = [json.dumps(message, indent=indent, ensure_ascii=False) for message in messages(*contents)]
            journal.save_thread("t", texts if as_texts else f"[{', '.join(texts)}]", "null")
            assert journal.load_thread("t").messages == messages(*contents)


def test_what_stands_in_the_middle_takes_no_more_space_than_it_needs(journal):
    save(journal, ["x" * 1000] * 100)
    save(journal, [*["x" * 1000] * 50, "new", *["x" * 1000] * 50])
    first, second = events(journal, "thread_saved")
    assert len(first["value"]) > 100_000
    assert len(second["value"]) < 54_000  # the ids behind it are new; with ids of their own it would be a line

    history = [{"id": f"m{number}", "content": "x" * 1000} for number in range(100)]
    journal.save_thread("u", json.dumps(history), "null")
    history.insert(50, {"id": "new", "content": "new"})
    journal.save_thread("u", json.dumps(history), "null")
    *_, last = events(journal, "thread_saved")
    assert json.loads(last["value"]) == {"keep": 50, "messages": [history[50]], "tail": 50}
    assert journal.load_thread("u").messages == history


@pytest.mark.parametrize("as_texts", [True, False])
def test_parallel_answers_are_written_once_each_in_whatever_order_they_come(journal, as_texts):
    """What was written twice over is what made 1,000 parallel answers cost 69 MB."""
    calls = [{"id": f"call_{number}"} for number in range(300)]
    history = [{"id": "1", "role": "assistant", "toolCalls": calls}]
    results = [{"id": f"result-{number}", "role": "tool", "content": f"answer {number}"} for number in range(300)]
    given = []
    for number in random.Random(1).sample(range(300), 300):
        bisect.insort(given, number)
        texts = [json.dumps(message) for message in [*history, *(results[each] for each in given)]]
        journal.begin_save_thread("t", texts if as_texts else f"[{','.join(texts)}]", "{}")
    written = sum(len(row["value"]) for row in journal)
    assert written < 2 * len(json.dumps([*history, *results]))
    assert journal.load_thread("t").messages == [*history, *results]


def test_a_history_that_is_no_json_is_refused(journal):
    for text in ("", "{}", "[1 2]", "[1,", "[1,]"):
        with pytest.raises(ValueError, match="JSON|Expecting"):
            journal.save_thread("t", text, "null")
    assert journal.load_thread("t") is None


def test_a_secret_that_was_learned_late_is_taken_out_of_what_was_looked_at_before(journal):
    schema = {"type": "object", "properties": {"password": {"type": "string", "format": "password"}}}
    said = {"id": "1", "content": "it is hunter2-long"}
    journal.save_thread("t", json.dumps([said]), "null")
    arguments = json.dumps({"password": "hunter2-long"})
    call = {"id": "2", "toolCalls": [{"function": {"name": "login", "arguments": arguments}}]}
    journal.save_thread("t", json.dumps([said, call]), "null", parameters={"login": validator_for(schema)})
    assert journal.load_thread("t").messages[0]["content"] == "it is **********"


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


@pytest.mark.only_sqlite
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
