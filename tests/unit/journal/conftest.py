import pytest

from hitl_nb.journal import Journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path):
    with Journal(path, name="ada") as journal:
        yield journal
