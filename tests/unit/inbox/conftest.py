import pytest

from tests.unit.inbox.jobs import ask


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A journal that is not there yet, in each of the two databases."""
    if request.param == "sqlite":
        return str(tmp_path / "journal.sqlite")
    return request.getfixturevalue("postgres").schema()


@pytest.fixture
def job(place):
    """Start one more run of a job on this journal."""
    running = []

    def start(code: str, **environment: str):
        running.append(ask(code, place, **environment))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()
