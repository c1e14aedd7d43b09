"""What all tests share: one event loop library, no network, the seeds where they are."""

import asyncio
import functools
import gc
import inspect
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import is_hypothesis_test, settings

REPO = Path(__file__).parent.parent
SHARED = REPO.parent / "shared"
UNIT = REPO / "tests" / "unit"

# What a crash of the machine does is not tested here, so a test's files may be in memory, as the tests' PostgreSQL
# syncs nothing: a journal commits to the disk, and on a slow one a property of fifty journals takes minutes.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

# Before anything imports litellm or crewai: no test leaves the machine.
from hitl_nb._process import keep_offline  # noqa: E402

keep_offline()
os.environ["OPENAI_API_KEY"] = ""

# Not the file beside the notebook: here in code, and in the environment for the processes that tests start.
from hitl_nb import use  # noqa: E402

os.environ["HITL_NB_JOURNAL"] = "memory"
use(journal="memory")

# A generated case is right or wrong, never slow: what a busy machine does to it says nothing.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


from hitl_nb import pending  # noqa: E402
from hitl_nb._secrets import known  # noqa: E402


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests() -> Iterator[None]:
    """What is a secret in one test is a word in the next."""
    yield
    known.forget()


@pytest.fixture(autouse=True)
def no_questions_of_other_tests() -> Iterator[None]:
    """What an inbox lists is in `pending()` until it is collected, by chance, and the next test is in this process."""
    before = len(pending())
    yield
    if len(pending()) > before:
        gc.collect()


PROPERTY_SECONDS = 900
"""A property is many tests in one, and has their time."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have an async test that hangs end by itself.

    A signal in the middle of the loop ends the test for pytest, and not the task in which fixtures are taken down: the
    whole run would wait for that one.
    """
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(PROPERTY_SECONDS))
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            marker = item.get_closest_marker("timeout")
            seconds = float(marker.args[0] if marker and marker.args else config.getini("timeout"))
            item.obj = _within(0.9 * seconds, item.obj, alone=UNIT in item.path.parents)


def _within(seconds: float, test: Any, *, alone: bool) -> Any:
    @functools.wraps(test)
    async def within(*args: Any, **fixtures: Any) -> None:
        before = asyncio.all_tasks()
        try:
            async with asyncio.timeout(seconds):
                await test(*args, **fixtures)
        finally:
            if alone:
                await _cleared(asyncio.all_tasks() - before)

    return within


async def _cleared(left: "set[asyncio.Task[Any]]") -> None:
    """End what a test has left running.

    The loop may be the one of a browser that all tests share: a question left open there would be the first of
    `pending()` in the next test.
    """
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=5)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def shared_file(path: str) -> Path:
    """A file that others gave us; absent it skips, but never in CI."""
    found = sorted(SHARED.glob(path))
    if found:
        return found[0]
    missing(f"../shared/{path}")


def missing(what: str) -> NoReturn:
    """Skip what cannot be tested here; but never in CI."""
    reason = f"{what} is not on this machine"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL server of these tests' own."""
    from tests.postgres import running

    with running() as cluster:
        yield cluster
