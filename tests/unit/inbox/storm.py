"""Askers and answerers that are killed: run by the tests as python -m tests.unit.inbox.storm PLACE ROUNDS SEED RAN.

Everything is imported once; each asker and each answerer is a fork. A round is one job with one gate: an asker and an
answerer start, one of the two is killed with SIGKILL at a random moment, and then the job is run again, beside another
answerer, until it ends. What the gate has done is a line in the file RAN. Printed: one JSON line a round.
"""

import asyncio
import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

from hitl_nb import _process, gate, use
from hitl_nb.errors import HitlError, Parked
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal

PLACE, ROUNDS, RNG, RAN = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3])), Path(sys.argv[4])


@gate
def pay(number: int) -> str:
    with RAN.open("a") as file:
        file.write(f"{number}\n")
    return "paid"


def asker(number: int) -> int:
    """0: it ran here. 3: it parked. 4: an earlier run may have done it."""
    _process._started["HITL_NB_JOB"] = f"round {number}"

    async def main() -> int:
        with use(people=Inbox(PLACE, wait=5), journal=PLACE):
            try:
                await pay(number)
            except Parked:
                return 3
            except HitlError:
                return 4
        return 0

    return asyncio.run(main())


def answerer(number: int) -> int:
    async def main() -> int:
        with Journal(PLACE, name="ada") as journal:
            while True:
                for call in journal.inbox(job=f"round {number}"):
                    call.respond(call.proposal, by="ada")
                    await call._handle.settled()
                await asyncio.sleep(0.01)

    return asyncio.run(main())


def forked(act, *arguments) -> int:
    child = os.fork()
    if child == 0:
        code = 9
        try:
            code = act(*arguments)
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def play(number: int) -> dict[str, object]:
    ask, answer = forked(asker, number), forked(answerer, number)
    select.select([], [], [], RNG.uniform(0, 0.6))
    victim = RNG.choice(["asker", "answerer"])
    killed(ask if victim == "asker" else answer)
    if victim == "answerer":
        answer = forked(answerer, number)
    else:
        ask = forked(asker, number)
    codes, give_up = [ended(ask)], time.monotonic() + 60
    while codes[-1] not in (0, 4) and time.monotonic() < give_up:
        codes.append(ended(forked(asker, number)))
    killed(answer)
    return {"round": number, "victim": victim, "codes": codes}


if __name__ == "__main__":
    Journal(PLACE).close()
    for each in range(ROUNDS):
        print(json.dumps(play(each)), flush=True)
