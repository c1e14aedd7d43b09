"""Planted faults: each takes one mask away, and the scene beside it has to tell the secret (`test_secrets.py`).

======================  ============================================================================================
a mask                  where the secret is told without it
======================  ============================================================================================
learning                no value that is asked about or answered is known to be one, so that whatever quotes it tells it
learning_of_invalid     nothing of a call that never was valid is known
words_of_errors         ``str(error)``, and so every traceback
reprs_of_errors         ``repr(error)``
reprs                   what a reply quotes
logs                    what is logged, with its traceback
texts_of_records        what people, models and tools said, in the saved notebook
rows_of_records         arguments and answers in the saved notebook, by their name
edits_of_records        what was changed, by its name
messages_of_records     what the model says, in the saved notebook
decided_messages        the question on a card that is decided
scripts                 the arguments of a question that a script does not expect
addresses               user, password and query of an agent's address
journal_of_names        arguments and answers in the journal, by their name
journal_of_schemas      those that a schema declares
journal_of_types        those that are a `SecretStr`
journal_of_invalid      arguments of a call that never was valid
journal_of_texts        reasons, results, messages
journal_of_threads      arguments in the history
recordings              arguments of the model's calls
recordings_of_texts     whatever quotes a secret in a recording
replays                 what a replay differs in
fingerprints            which of two secrets it was, by their name
fingerprints_declared   which of two it was, by a schema of JSON
fingerprints_of_models  which of two it was, by a model
cards                   a declared secret on the card
questions_of_inboxes    what has the name of a secret, in a question that people elsewhere would be asked
postings                a declared secret in what is posted for them
webhooks                the question in a webhook's line
tables                  cells of a column with the name of a secret, in the journal and the record
parameters              parameters of a statement, in the record
reports                 whatever the doctor finds
======================  ============================================================================================
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hitl_nb import _doctor, _text, errors
from hitl_nb._calls import _call, _fingerprint, _handle
from hitl_nb._schema import Hider, _hiding
from hitl_nb._secrets import KnownSecrets
from hitl_nb.agents import http
from hitl_nb.cards import _card, _protocol, _record, form
from hitl_nb.data import _answer, sql_review
from hitl_nb.inbox import _person, _posting
from hitl_nb.journal import _postings, _rows, _threads
from hitl_nb.people import _stand_ins
from hitl_nb.session import _dispatch, _run
from hitl_nb.testing import _record as _recording
from hitl_nb.testing import _replay
from tests.unit.hostile.secret_ways import LONG, SHORT

Mutant = Callable[[pytest.MonkeyPatch], None]


class Blind(Hider):
    """Hides what is declared only."""

    def hide(self, value: Any, found: Any, named: Any = None) -> Any:
        return super().hide(value, found, named) if self.roots else value

    def hide_text(self, text: str, found: Any, named: Any = None) -> str:
        return super().hide_text(text, found, named) if self.roots else text


def nothing(*_: Any, **__: Any) -> None:
    return None


def same(value: Any, *_: Any, **__: Any) -> Any:
    return value


def learning(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_handle, "learn_from", nothing)


def learning_of_invalid(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_dispatch, "learn_from_text", nothing)


def words_of_errors(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(errors, "said", same)


def reprs_of_errors(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(errors, "masked", same)


def reprs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_run, "said_line", same)


def logs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_text._Said, "filter", lambda self, record: True)


def texts_of_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_record, "masked", same)
    patch.setattr(_record, "secrets_of", lambda *_: _hiding.Secrets(declared=[], named=[]))


def rows_of_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_card, "NAMES", Blind())
    patch.setattr(_record, "secrets_of", lambda *_: _hiding.Secrets(declared=[], named=[]))


def edits_of_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_card, "_kept", lambda value, name, hider: value)
    patch.setattr(_record, "secrets_of", lambda *_: _hiding.Secrets(declared=[], named=[]))


def messages_of_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_record, "said", same)


def decided_messages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_protocol, "masked", same)


def scripts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_stand_ins, "_shown", lambda value, *_: repr(value))


def addresses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http, "shown_address", same)


def journal_of_names(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_rows, "NAMES", Blind())


def journal_of_schemas(patch: pytest.MonkeyPatch) -> None:
    for name in ("facts_of", "facts_of_type"):
        patch.setattr(_rows, name, lambda *_: _hiding.NO_FACTS)


def journal_of_types(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KnownSecrets, "add_typed", nothing)


def journal_of_invalid(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_rows, "learn_from_text", nothing)
    patch.setattr(_threads, "learn_from_text", nothing)


def journal_of_texts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KnownSecrets, "scrub_text", lambda self, text: text)


def journal_of_threads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_threads.Threads, "_learn", nothing)


def recordings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_recording, "learn_calls", nothing)


def recordings_of_texts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KnownSecrets, "scrub", lambda self, value: value)


def replays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_replay, "NAMES", Blind())


def fingerprints(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_fingerprint, "is_secret_name", lambda *_, **__: False)


def fingerprints_declared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_call, "secret_form_of", nothing)


def fingerprints_of_models(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_fingerprint, "_secret_fields", lambda _: {})


def cards(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(form, "hide_secrets", lambda value, form: value)


def questions_of_inboxes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_posting, "secrets_of", lambda *_: _hiding.Secrets(declared=[], named=[]))
    patch.setattr(_postings, "_PLAIN", frozenset(("offer", "card")))


def postings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_postings, "_PLAIN", frozenset(("offer", "card")))


def webhooks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_person, "said_line", same)


def tables(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_answer, "_is_secret", lambda _: False)


def parameters(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sql_review, "is_secret_name", lambda _: False)


def reports(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_doctor, "said", same)


MUTANTS: dict[Mutant, tuple[str, str]] = {
    learning: ("api_key", LONG),
    learning_of_invalid: ("an invalid call", LONG),
    words_of_errors: ("words", LONG),
    reprs_of_errors: ("words", LONG),
    reprs: ("api_key", LONG),
    logs: ("a rule that fails", LONG),
    texts_of_records: ("a reason", LONG),
    rows_of_records: ("api_key", SHORT),
    edits_of_records: ("an edit", SHORT),
    messages_of_records: ("api_key", LONG),
    decided_messages: ("a payload", LONG),
    scripts: ("an unexpected question", SHORT),
    addresses: ("an address", SHORT),
    journal_of_names: ("a payload", SHORT),
    journal_of_schemas: ("a declared review", SHORT),
    journal_of_types: ("an answer", LONG),
    journal_of_invalid: ("an invalid call", SHORT),
    journal_of_texts: ("a declared reason", LONG),
    journal_of_threads: ("an invalid call, undeclared", SHORT),
    recordings: ("an invalid call", SHORT),
    recordings_of_texts: ("api_key", LONG),
    replays: ("a replay", SHORT),
    fingerprints: ("token", LONG),
    fingerprints_declared: ("a JSON Schema", LONG),
    fingerprints_of_models: ("a declared review", LONG),
    cards: ("writeOnly", LONG),
    questions_of_inboxes: ("the inbox", LONG),
    postings: ("the inbox, declared", SHORT),
    webhooks: ("the inbox, declared", LONG),
    tables: ("a table", LONG),
    parameters: ("SQL", SHORT),
    reports: ("a doctor's report", LONG),
}
"""Each with the scene that has to tell it."""


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Live without this mask for a while."""
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        yield
