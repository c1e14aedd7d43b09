"""Any afternoon of labelling: whatever is pressed, lost, doubled, reordered, reloaded, restarted, what was seen holds.

A plain model does what was pressed, at once and once. A page does the same over a network that loses, doubles and holds
back; now and then it is reloaded, or the kernel is.
"""

import asyncio
import os
import tempfile
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitl_nb import Journal, label, use
from hitl_nb.data import Labels
from tests.unit.data.label_page import Page, Somebody, asked

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "properties"
ITEMS = [f"text {at}" for at in range(7)]
LABELS = ["a", "b", "c"]

AT, PLACE = st.integers(0, len(ITEMS) - 1), st.integers(0, len(LABELS) - 1)
PRESSED = st.one_of(
    st.tuples(st.just("label"), AT, PLACE),
    st.tuples(st.just("label"), AT, PLACE),
    st.tuples(st.just("skip"), AT),
    st.tuples(st.just("undo")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("note"), AT, st.sampled_from(["", "hm", "sure?", "a\u202eb", "\x00", "\ud800"])),
    st.tuples(st.just("all"), st.lists(AT, min_size=1, unique=True), PLACE),
)
HAPPENS = st.one_of(
    st.tuples(st.just("sent")),
    st.tuples(st.just("unheard")),
    st.tuples(st.just("doubled")),
    st.tuples(st.just("reordered"), st.randoms(use_true_random=False)),
    st.tuples(st.just("holed"), st.randoms(use_true_random=False)),
    st.tuples(st.just("reloaded")),
    st.tuples(st.just("restarted")),
)
AFTERNOONS = st.lists(st.one_of(PRESSED, PRESSED, HAPPENS), max_size=30)


class Model:
    """What was pressed, done at once."""

    def __init__(self):
        self.marks = [None] * len(ITEMS)
        self.notes = {}
        self.steps = []

    def set(self, at, mark):
        self.steps.append([[each, self.marks[each]] for each in at])
        for each in at:
            self.marks[each] = mark

    def press(self, kind, *what):
        match kind:
            case "label":
                self.set([what[0]], [what[1]])
            case "skip":
                self.set([what[0]], False)
            case "all":
                self.set(what[0], [what[1]])
            case "note":
                self.notes[what[0]] = what[1]
            case "undo" if self.steps:
                for at, mark in self.steps.pop():
                    self.marks[at] = mark

    @property
    def labels(self):
        return [LABELS[mark[0]] if mark else None for mark in self.marks]


class Afternoon:
    """A person at a page, on a journal."""

    def __init__(self, place):
        self.place, self.model = place, Model()
        self.page = None

    async def begin(self, kept=None):
        """Ask, in a kernel that knows nothing but its journal."""
        self.stack, self.with_journal = AsyncExitStack(), ExitStack()
        journal = self.with_journal.enter_context(Journal(self.place))
        self.with_journal.enter_context(use(journal=journal))
        question = label(ITEMS, LABELS, key="k", people=Somebody())
        self.call, self.answer = await self.stack.enter_async_context(asked(question))
        self.page = await Page(self.call, kept).open()

    async def end(self):
        await self.stack.aclose()
        self.with_journal.close()

    def press(self, kind, *what):
        self.model.press(kind, *what)
        match kind:
            case "label":
                self.page.label(*what)
            case "skip":
                self.page.skip(*what)
            case "undo":
                self.page.undo()
            case "note":
                self.page.note(*what)
            case "all":
                self.page.push("all", [(at, [what[1]]) for at in what[0]])

    async def happen(self, kind, *what):
        page = self.page
        match kind:
            case "sent":
                await page.send()
            case "unheard":
                await page.send(heard=False)
            case "doubled":
                log = list(page.log)
                await page.send(log)
                await page.send(log, heard=False)
            case "reordered":
                log = list(page.log)
                what[0].shuffle(log)
                await page.send(log)
            case "holed":
                await page.send([entry for entry in page.log if what[0].random() < 0.7])
            case "reloaded":
                self.page = await Page(self.call, page.kept).open()
            case "restarted":
                await self.end()
                await self.begin(page.kept)

    def check(self):
        assert self.page.marks == self.model.marks
        assert {at: note for at, note in self.page.notes.items() if note} == {
            at: note for at, note in self.model.notes.items() if note
        }
        assert self.page.steps[-10:] == self.model.steps[-10:]


async def spend(place, afternoon):
    one = Afternoon(place)
    await one.begin()
    try:
        for kind, *what in afternoon:
            await (one.happen(kind, *what) if kind in HAPPENING else asyncio.sleep(0))
            if kind not in HAPPENING:
                one.press(kind, *what)
            one.check()
        await one.page.confirm()
        labels = await one.answer
    finally:
        await one.end()
    assert isinstance(labels, Labels)
    assert list(labels) == one.model.labels
    assert labels.skipped == [at for at, mark in enumerate(one.model.marks) if mark is False]
    assert labels.notes == [one.model.notes.get(at, "") for at in range(len(ITEMS))]
    # Whoever comes later finds the same.
    with Journal(place) as journal, use(journal=journal):
        again = await label(ITEMS, LABELS, key="k", people=Somebody())
        assert again == labels
        numbers = [(entry["page"], entry["n"]) for each in journal.labelling.passes("k") for entry in each.entries]
    assert len(numbers) == len(set(numbers))  # nothing was done twice


HAPPENING = frozenset({"sent", "unheard", "doubled", "reordered", "holed", "reloaded", "restarted"})


@settings(max_examples=2_000 if LONG else 50, deadline=None, suppress_health_check=list(HealthCheck))
@given(AFTERNOONS)
def test_on_any_afternoon_each_item_has_what_was_seen(afternoon):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(spend(Path(folder) / "journal.sqlite", afternoon))


@pytest.fixture
def schema(postgres):
    return postgres.schema


@settings(max_examples=100 if LONG else 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(AFTERNOONS)
def test_also_with_postgresql(schema, afternoon):
    asyncio.run(spend(schema(), afternoon))
