"""What all tests share: one event loop library, no network, the seeds where they are."""

import os
from pathlib import Path

import pytest

REPO = Path(__file__).parent.parent
SHARED = REPO.parent / "shared"

# Before anything imports litellm or crewai: no test leaves the machine.
from hitl_nb._process import keep_offline  # noqa: E402

keep_offline()
os.environ["OPENAI_API_KEY"] = ""

# Not the file beside the notebook: here in code, and in the environment for the processes that tests start.
from hitl_nb import use  # noqa: E402

os.environ["HITL_NB_JOURNAL"] = "memory"
use(journal="memory")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def shared_file(path: str) -> Path:
    """A file that others gave us; absent it skips, but never in CI."""
    found = sorted(SHARED.glob(path))
    if found:
        return found[0]
    reason = f"../shared/{path} is not beside this checkout"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
