"""Jobs: scripts in processes of their own, as a scheduler starts them, and whoever answers them in this one."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hitl_nb.journal import Journal

REPO = Path(__file__).parents[3]
MAIN = """
import asyncio, datetime, decimal, enum, os
from typing import Literal
from pydantic import BaseModel, field_validator
from hitl_nb import approve, ask, choose, gate, interrupt, review
from hitl_nb.inbox import Inbox

class Order(BaseModel):
    item: str
    due: datetime.date
    price: decimal.Decimal
    size: Literal["s", "m"] = "m"

async def main():
{code}

asyncio.run(main())
"""


def ask(code: str, place: str, **environment: str) -> "subprocess.Popen[str]":
    """Start a job whose `main` is `code`."""
    lines = "\n".join(f"    {line}" for line in code.strip().splitlines())
    variables = {
        **os.environ,
        "HITL_NB_JOURNAL": place,
        "HITL_NB_PEOPLE": "inbox",
        "PYTHONPATH": os.environ.get("PYTHONPATH", str(REPO)),
    }
    return subprocess.Popen(
        [sys.executable, "-c", MAIN.replace("{code}", lines)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPO,
        env={**variables, **environment},
    )


def ended(process, code: int = 0, patience: float = 50) -> str:
    """What a job printed, once it has ended, with this exit code."""
    out, err = process.communicate(timeout=patience)
    assert process.returncode == code, (process.returncode, out, err)
    return out if code == 0 else err


async def waiting(journal: Journal, count: int = 1, **filters: Any):
    """The calls in the inbox, once there are so many."""
    while len(inbox := journal.inbox(**filters)) < count:
        await asyncio.sleep(0.05)
    return list(inbox)
