"""The journal's tests run on both databases, but for those about the file (`@only_sqlite`, or a module)."""

import pytest

from hitl_nb.journal import Journal

ABOUT_THE_FILE = {"test_migrations", "test_the_file", "test_secrets"}


def pytest_generate_tests(metafunc):
    module = metafunc.module.__name__.rpartition(".")[2]
    on_both = module not in ABOUT_THE_FILE and not any(metafunc.definition.iter_markers("only_sqlite"))
    if "path" in metafunc.fixturenames and on_both:
        metafunc.parametrize("path", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def path(request, tmp_path):
    """Where a journal may be: a file that is not there yet, or an empty schema."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return tmp_path / "journal.sqlite"
    return request.getfixturevalue("postgres").schema()


@pytest.fixture
def journal(path):
    with Journal(path, name="ada") as journal:
        yield journal
