"""What a card says of a turn, and of what has no content to compare."""

import sqlite3
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._process import user_name
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.cards import Approval
from hitl_nb.cards._protocol import headline_of, item_of
from hitl_nb.cards._record import metadata_of
from tests.unit.cards import desk
from tests.unit.cards.desk import record


def person(via="card", name=None):
    return SimpleNamespace(via=via, name=name)


@pytest.fixture
def opened():
    """Gives open calls, and closes them."""
    with ExitStack() as stack:
        yield lambda args=None, **options: stack.enter_context(desk.opened(args or {"amount": 5}, **options))


def item(call, **options):
    return item_of(CallEntry(key=call.occurrence, call=call), {}, **options)


@pytest.mark.parametrize(
    ("who", "words", "is_open"),
    [
        (person(name="Ada"), "Waiting for Ada", True),
        (person(name=user_name()), "Waiting for you", True),
        (person(), "Waiting for you", True),
        (person("policy"), "A rule decides first", False),
        (person("policy", "budget"), "The rule budget decides first", False),
        (person("script", "Bob"), "Bob answers first", False),
        (person("replay"), "A recording answers first", False),
        (person("callback", "Bob"), "Bob is asked first", False),
        (person("callback"), "Somebody else is asked first", False),
        (person("callback", "B\u202eob\n✓ Confirmed"), "B\\u202eob ⏎ ✓ Confirmed is asked first", False),
    ],
)
def test_a_card_says_whose_turn_it_is(opened, who, words, is_open):
    call = opened()
    with Handle.of(call).turns.put_to(who):
        turn = item(call)["turn"]
    assert (turn["words"], turn["open"], turn["several"]) == (words, is_open, False)


def test_whoever_was_asked_here_reads_that_it_was_passed_on(opened):
    call = opened()
    with Handle.of(call).turns.put_to(person("callback", "Bob")):
        assert item(call, passed=True)["turn"]["words"] == "Passed on to Bob"


def test_several_have_a_card_each_and_the_question_itself_shows_nothing_to_answer(opened):
    call = opened()
    with Handle.of(call).turns.put_to_several("Ada and Bob"):
        drawn = item(call)
    assert (drawn["turn"]["several"], drawn["turn"]["open"], drawn["props"]) == (True, False, {})
    assert drawn["turn"]["words"] == "Asked of Ada and Bob, one card each"


def test_nobody_can_click_between_two_turns_before_the_first_or_after_the_end():
    call = Call(id="c", name="pay")
    assert item(call)["turn"] == {"token": "", "open": False, "several": False, "words": ""}
    Handle.of(call).open_now({})
    assert item(call)["turn"]["open"] is False
    with Handle.of(call).turns.put_to(person()):
        token = item(call)["turn"]["token"]
    with Handle.of(call).turns.put_to(person()):
        assert item(call)["turn"]["token"] != token
        call.decline()
        assert item(call)["turn"]["open"] is False


def test_two_calls_with_one_id_are_two_items(opened):
    first, second = opened(), opened()
    assert item(first)["key"] == item(first)["id"] == first.occurrence
    assert item(first)["key"] != item(second)["key"]


def test_a_question_with_a_widget_of_its_own_says_whose_turn_it_is_and_what_went_wrong(opened):
    call = opened(message="Now?")
    with Handle.of(call).turns.put_to(person("policy")):
        assert headline_of(call)["text"] == "Pay (pay): Now?\nA rule decides first"
    with Handle.of(call).turns.put_to(person()):
        assert headline_of(call)["text"] == "Pay (pay): Now?"
        Handle.of(call).problem("the disk is full")
        assert (headline_of(call)["text"], headline_of(call)["level"]) == (
            "Pay (pay): Now?\nthe disk is full",
            "warning",
        )


# -- what has no content ----------------------------------------------------------------------------------------------


def test_what_has_no_content_is_compared_by_identity_and_card_and_record_say_so(opened):
    words = "Compared by identity, not by content: sqlite3.Connection, builtins.function"
    call = opened({"db": sqlite3.connect(":memory:"), "then": lambda: None}, words=repr)
    assert item(call)["about"] == words
    call.respond(call.proposal)
    assert f"    • {words}" in record(call).splitlines()


def test_what_has_content_says_nothing_of_the_kind_and_nor_does_a_no(opened):
    call = opened()
    assert item(call)["about"] is None
    call.respond(call.proposal)
    assert "identity" not in record(call)
    refused = opened({"db": sqlite3.connect(":memory:")}, render=Approval)
    refused.decline()
    assert "identity" not in record(refused)


# -- the head of the journal ------------------------------------------------------------------------------------------


def test_the_head_of_the_journal_stands_beside_the_record():
    assert metadata_of(lambda: "abc") == {"hitl_nb": {"journal_head": "abc"}}
    assert metadata_of(lambda: None) == {}
    assert metadata_of(None) == {}


def test_a_journal_that_cannot_be_read_keeps_no_record_from_being_shown(caplog):
    def head():
        raise OSError("gone")

    assert metadata_of(head) == {}
    assert "could not be read" in caplog.text


def test_a_transcript_without_a_journal_has_no_head():
    assert metadata_of(getattr(Transcript(), "head", None)) == {}
