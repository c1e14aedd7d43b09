"""A process that is killed: run by the tests as python -m tests.unit.journal.writer FILE RUNS SEED.

It imports everything once and then forks a child a run. The child asks and answers without end and writes the id of
each call to a pipe when the journal has acknowledged it; the parent kills it at a random moment, with SIGKILL. Printed:
one line a run, the ids that were acknowledged.
"""

import asyncio
import json
import os
import random
import select
import signal
import sys

from hitl_nb.journal import Journal
from tests.unit.journal.asking import answered


async def work(path: str, run: int, pipe: int) -> None:
    journal = Journal(path)
    for number in range(10**9):
        call = answered(journal, id=f"call_{run}_{number}", value=number)
        journal.delivered([call.id])
        messages = json.dumps([{"id": str(each)} for each in range(number % 50)])
        journal.save_thread("t", messages, json.dumps({"n": number}))
        os.write(pipe, f"{call.id}\n".encode())


def run(path: str, number: int, rng: random.Random) -> list[str]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(work(path, number, writer))
        finally:
            os._exit(1)
    os.close(writer)
    received = b""
    while received.count(b"\n") < rng.randint(1, 8):
        received += os.read(reader, 4096)
    select.select([], [], [], rng.uniform(0, 0.01))
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    while chunk := os.read(reader, 4096):
        received += chunk
    os.close(reader)
    return received.decode().split()


path, runs, rng = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
for number in range(runs):
    print(json.dumps(run(path, number, rng)), flush=True)
