"""Recording and replaying people needs no model, and then no litellm."""

import subprocess
import sys

from tests.unit.testing.installed import environment

CODE = """
import asyncio, sys
sys.modules["litellm"] = None
from hitl_nb import approve
from hitl_nb.testing import ScriptedPerson, record, replay

async def main():
    with record("case.json"):
        await approve("Go?", people=ScriptedPerson([True]))
    with replay("case.json"):
        print(await approve("Go?"))

asyncio.run(main())
"""


def test_checkpoints_are_recorded_and_replayed_without_litellm(tmp_path):
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=60)
    assert done.stdout == "True\n", done.stderr
