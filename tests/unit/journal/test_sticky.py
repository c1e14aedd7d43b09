"""A cell that is run again takes the recorded decision, if the input is the same; else it asks."""

from pydantic import BaseModel, SecretStr

from hitl_nb.journal import Journal, fingerprint
from tests.unit.journal.asking import answered, asked


async def test_the_same_question_with_the_same_input_has_the_recorded_decision(journal, path):
    call = answered(journal, value="keep", by="ada")
    journal.remember("clean-up", fingerprint([1, 2]), call)
    with Journal(path) as restarted:
        decision = restarted.recall("clean-up", fingerprint([1, 2]))
    assert (decision.answer, decision.by, decision.outcome, decision.at) == (
        "keep",
        "ada",
        "answered",
        call.answered_at,
    )


async def test_other_input_or_another_key_has_none(journal):
    journal.remember("clean-up", fingerprint([1, 2]), answered(journal))
    assert journal.recall("clean-up", fingerprint([1, 2, 3])) is None
    assert journal.recall("clean-down", fingerprint([1, 2])) is None


async def test_asking_again_replaces_the_decision_and_other_inputs_keep_theirs(journal):
    for number, (value, data) in enumerate([("a", 1), ("b", 2), ("c", 1)]):
        journal.remember("key", fingerprint(data), answered(journal, value=value, id=f"call_{number}"))
    assert (journal.recall("key", fingerprint(1)).answer, journal.recall("key", fingerprint(2)).answer) == ("c", "b")


async def test_a_refusal_is_remembered_as_a_refusal(journal):
    call = asked(journal)
    call.decline("too dear")
    journal.answered(call)
    journal.remember("key", fingerprint(1), call)
    assert journal.recall("key", fingerprint(1)).outcome == "declined"


async def test_a_call_that_is_still_open_is_no_decision(journal):
    journal.remember("key", fingerprint(1), asked(journal))
    assert journal.recall("key", fingerprint(1)) is None


async def test_an_answer_with_a_secret_has_to_be_given_again(journal):
    class Login(BaseModel):
        password: SecretStr

    call = answered(journal, {"q": "?"}, Login(password="hunter2"), answer=Login)  # type: ignore[arg-type]
    journal.remember("login", fingerprint(1), call)
    assert journal.recall("login", fingerprint(1)) is None
