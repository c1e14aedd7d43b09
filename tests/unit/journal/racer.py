"""One of several processes on one journal; run by the tests: python -m tests.unit.journal.racer FILE NAME ROUNDS.

Each process says "ready" when it has opened the file, waits for a line on its stdin, and then answers the same calls as
the others, as fast as it can. It prints the calls that it won, and what it was told about the others.
"""

import asyncio
import json
import sys

from hitl_nb.journal import Journal
from tests.unit.journal.asking import asked


async def main(path: str, name: str, rounds: int) -> None:
    with Journal(path) as journal:
        print("ready", flush=True)
        sys.stdin.readline()
        won, told = [], {}
        for number in range(rounds):
            call = asked(journal, id=f"call_{number}")
            call.respond(name, by=name)
            if journal.answered(call):
                won.append(call.id)
            else:
                told[call.id] = journal.winner(call).answer
        print(json.dumps({"won": won, "told": told}))


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
