"""One of several processes that want to run the same things; run by the tests: python -m tests.unit.journal.runner.

Arguments: FILE NAME ROUNDS. It says "ready", waits for a line on its stdin, and asks and approves the same calls as the
others. It prints those that it was granted, and stays until its stdin ends, its runs without an end.
"""

import asyncio
import json
import os
import socket
import sys

from hitl_nb.journal import Journal
from tests.unit.journal.asking import asked


async def main(path: str, name: str, rounds: int) -> None:
    journal = Journal(path)
    print("ready", flush=True)
    sys.stdin.readline()
    granted = []
    for number in range(rounds):
        call = asked(journal, id=f"call_{number}")
        call.respond("yes", by=name)
        journal.answered(call)
        if journal.start(call):
            granted.append(call.id)
    print(json.dumps(granted), flush=True)
    sys.stdin.readline()


if "PRETENDED_HOST" in os.environ:
    socket.gethostname = lambda: os.environ["PRETENDED_HOST"]
asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
