"""A page with a queue, without a browser: what it holds until the kernel has it, and what the network does to that."""

import asyncio
import json
from contextlib import asynccontextmanager

from hitl_nb import pending
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.cards._registry import card_of


class Somebody:
    """At the card."""

    via = "card"

    def __init__(self, name="ada"):
        self.name = name

    def declared(self):
        return ["somebody", self.name]

    async def __call__(self, call):
        await until_decided(call)


class Page:
    """One page of a browser, as ``widgets/label_queue.js``; `kept` is what the page before it left in the tab."""

    _pages = 0

    def __init__(self, call, kept=None):
        Page._pages += 1
        self.call, self.card, self.who = call, card_of(call), f"page {Page._pages}"
        self.log, self._serial, self._kept = [], 0, kept or {"who": "", "log": []}
        self.marks, self.notes, self.steps, self.version = [], {}, [], -1

    async def ask(self, open_to=True, **body):
        found = await self.card.reply(json.loads(json.dumps(body)), open_to=open_to)
        return json.loads(json.dumps(found, allow_nan=False))

    async def open(self):
        found = await self.ask(op="open", kept=self._kept["who"])
        self.head = found
        self.marks, self.steps, self.version = found["marks"], found["undo"], found["version"]
        self.notes = {int(at): note for at, note in found["notes"].items()}
        for entry in self._kept["log"]:
            if entry["n"] <= found["have"] or any(self.marks[at] != mark for at, mark in entry["was"]):
                continue
            if entry["op"] == "undo":
                self.steps.pop()
            self.push(entry["op"], entry["sets"], **{name: entry[name] for name in ("item", "note") if name in entry})
        return self

    def push(self, op, sets=(), **more):
        was = [[at, self.marks[at]] for at, _ in sets]
        if op not in ("undo", "note"):
            self.steps.append(was)
        self._serial += 1
        self.log.append({"n": self._serial, "op": op, "sets": [list(each) for each in sets], "was": was, **more})
        for at, mark in sets:
            self.marks[at] = mark
        if op == "note":
            self.notes[more["item"]] = more["note"]

    def label(self, at, *places):
        self.push("label", [(at, list(places))])

    def skip(self, at):
        self.push("skip", [(at, False)])

    def undo(self):
        if self.steps:
            self.push("undo", self.steps.pop())

    def note(self, at, note):
        self.push("note", item=at, note=note)

    async def send(self, log=None, heard=True):
        """Send what the kernel has not acknowledged, or what the network makes of it."""
        found = await self.ask(op="log", who=self.who, log=self.log if log is None else log)
        if heard:
            self.log = [entry for entry in self.log if entry["n"] > found["have"]]
            self.version = found["version"]
        return found

    @property
    def kept(self):
        """What stays in the tab when the page goes."""
        return {"who": self.who, "log": list(self.log)}

    async def confirm(self, log=None):
        value = {"version": self.version + len(self.log), "who": self.who, "log": self.log if log is None else log}
        with Handle.of(self.call).turns.clicked(self.call.turn.token):
            return self.card.decide(json.loads(json.dumps(value)))


@asynccontextmanager
async def asked(question):
    """Ask; gives the call and what its answer will be. At the end it is open no more, as after a restart."""
    task = asyncio.ensure_future(question)
    while not (pending() and pending()[0].turn):
        if task.done():
            await task
        await asyncio.sleep(0.001)  # not 0: a loop that spins takes the interpreter from the thread that it waits for
    call = pending()[0]
    try:
        yield call, task
    finally:
        if not task.done():
            task.cancel()
        await asyncio.wait([task])
