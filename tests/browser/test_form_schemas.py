"""Real tools' schemas, drawn in Chromium: untouched nothing changes, and each control changes its own place only.

A sample of the file; with ``HITL_ALL_SCHEMAS=1`` in the environment all of it, which takes minutes.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hitl_nb._schema import apply_edits, form_tree
from tests.browser.access import tab_stops, unnamed
from tests.browser.forms import form
from tests.conformance.schema_browser import Browser, Leaf
from tests.conformance.schemas import Case, cases, differences
from tests.conftest import shared_file

PROBE = Path(__file__).with_name("form_probe.js").read_text(encoding="utf-8")
SAMPLE = 63
EMPTY_BRANCH = "Nothing is entered here."
"""What a union says that was switched to a form in which nothing is entered yet."""


def sample() -> list[Case]:
    """Every n-th schema of the file, which is sorted by source: a share of each source."""
    everything = list(cases(shared_file("schemas/stress_set.json")))
    return everything if os.environ.get("HITL_ALL_SCHEMAS") == "1" else everything[:: len(everything) // SAMPLE]


def editable(leaves: list[Leaf]) -> set[tuple[str | int, ...]]:
    """The paths that have a control of their own; the parts of a fixed value have none."""
    fixed = [leaf.path for leaf in leaves if leaf.node["kind"] in ("constant", "choice")]
    return {
        leaf.path
        for leaf in leaves
        if not isinstance(leaf.wire, list)
        and leaf.node["kind"] != "constant"
        and not any(leaf.path[: len(path)] == path != leaf.path for path in fixed)
    }


async def opened(cards: Any, case: Case) -> Any:
    item = form(case.schema, case.value)
    await cards.mount()
    await cards.put(item)
    return item


async def wrong_edits(cards: Any, case: Case) -> list[str]:
    """What is wrong with what the controls of one form send."""
    props = (await opened(cards, case))["props"]
    found = [] if await cards.run("probed.send()") == {"edits": []} else ["untouched is sent as an edit"]
    reached = set()
    for control in await cards.run("probed.each()"):
        if not control["reset"] or control["after"] != {"edits": []}:
            found.append(f"{control} is not undone by Reset")
        if control["sent"] is None:
            found += [] if control["said"] == EMPTY_BRANCH else [f"{control} is not sent"]
            continue
        (edit,) = control["sent"]["edits"]
        ticked = edit["op"] in ("add", "remove")  # a box to tick: what it changes is its list
        path = tuple(edit["path"][:-1] if ticked else edit["path"])
        reached.add(path)
        changed = differences(case.value, apply_edits(case.value, [edit], form=form_tree(case.schema)))
        if not changed or any(each[: len(path)] != path for each in changed):
            found.append(f"{control} changes {changed}")
    texts = {name: json.dumps(props[name]) for name in ("form", "value", "layout")}
    leaves = editable(list(Browser(**texts).leaves()))
    missing = {path for path in leaves if path not in reached and path[:-1] not in reached}
    return found + ([f"no control for {missing}"] if missing else [])


async def wrong_access(cards: Any, case: Case) -> list[str]:
    """What cannot be reached with the keyboard, or has no name."""
    await opened(cards, case)
    found = [f"without a name: {each}" for each in await unnamed(cards)]
    wanted, reached = await cards.run("probed.wanted()"), await tab_stops(cards)
    return found + [f"not reached by Tab: {each}" for each in wanted if each not in reached]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("wrong", [wrong_edits, wrong_access])
async def test_every_control_works_and_changes_its_own_place_only(cards, wrong):
    await cards.page.evaluate(f"{PROBE}; window.probed = probed; 0")
    await cards.unmount()
    found = []
    for case in sample():
        found += [f"{case.id}: {each}" for each in await wrong(cards, case)]
        await cards.unmount()
    await cards.mount()
    assert not found, "\n".join(found)
