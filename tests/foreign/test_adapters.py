"""What a person can do with what an agent has stopped at, for every adapter: python -m tests.conformance.adapters."""

import pytest

from tests.conformance.adapters.bench import COLUMNS, expected, played, table
from tests.conformance.adapters.every import BENCHES
from tests.conftest import REPO

pytestmark = [
    pytest.mark.timeout(300),
    # The adapters' own calls of their frameworks.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CELLS = [(bench, column) for bench in BENCHES for column in COLUMNS if column not in {*bench.cannot, *bench.no_matter}]


@pytest.mark.parametrize(("bench", "column"), CELLS, ids=lambda it: getattr(it, "__name__", it))
async def test_a_cell_of_the_table_holds(bench, column, tmp_path):
    outcome = await played(bench, column, tmp_path / "journal.sqlite")
    assert outcome.problem == ""


def test_approve_decline_and_the_next_message_hold_for_every_adapter():
    assert [bench.name for bench in BENCHES if {"approve", "decline", "next message"} & bench.cannot.keys()] == []


def test_the_table_stands_in_the_readme_as_a_run_prints_it():
    printed = table([expected(bench, column) for bench in BENCHES for column in COLUMNS])
    assert printed in (REPO / "README.md").read_text(encoding="utf-8")
