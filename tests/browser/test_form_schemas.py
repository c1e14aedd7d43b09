"""Real tools' schemas, drawn in Chromium: untouched nothing changes, and each control changes its own place only."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hitl_nb._schema import apply_edits, form_tree
from tests.browser.forms import form
from tests.conformance.schema_browser import Browser, Leaf
from tests.conformance.schemas import Case, cases, differences

STRESS = Path(__file__).parents[3] / "shared" / "schemas" / "stress_set.json"
PROBE = Path(__file__).with_name("form_probe.js").read_text(encoding="utf-8")
ALL = os.environ.get("HITL_ALL_SCHEMAS") == "1"
"""Draw the whole file, not a sample: some minutes."""

SAMPLE = 72


def sample() -> list[Case]:
    """Every n-th schema of the file, which is sorted by source: a share of each source."""
    if not STRESS.exists():
        return []
    everything = list(cases(STRESS))
    return everything if ALL else everything[:: len(everything) // SAMPLE]


@pytest.fixture(scope="session")
def stress_set() -> list[Case]:
    found = sample()
    if not found and os.environ.get("CI") == "true":
        pytest.fail(f"{STRESS} is missing.")
    if not found:
        pytest.skip("../shared/schemas/stress_set.json is not here")
    return found


def editable(leaves: list[Leaf]) -> set[tuple[str | int, ...]]:
    """The paths that have a control of their own."""
    fixed = [leaf.path for leaf in leaves if leaf.node["kind"] in ("constant", "choice")]
    return {
        leaf.path
        for leaf in leaves
        if not isinstance(leaf.wire, list)
        and leaf.node["kind"] != "constant"
        and not any(leaf.path[: len(path)] == path != leaf.path for path in fixed)
    }


async def problems(cards: Any, case: Case) -> Iterator[str]:
    tree = form_tree(case.schema)
    item = form(case.schema, case.value)
    await cards.mount()
    await cards.put(item)
    found = []
    if await cards.run("probed.send()") != {"edits": []}:
        found.append("untouched is sent as an edit")
    reached = set()
    for control in await cards.run("probed.each()"):
        if control["sent"] is None:
            found.append(f"{control} is not sent")
            continue
        (edit,) = control["sent"]["edits"]
        path = tuple(edit["path"])
        reached.add(path)
        changed = differences(case.value, apply_edits(case.value, [edit], form=tree))
        if not changed or any(each[: len(path)] != path for each in changed):
            found.append(f"{control} changes {changed}")
        if not control["reset"] or control["after"] != {"edits": []}:
            found.append(f"{control} is not undone by Reset")
    texts = {name: json.dumps(item["props"][name]) for name in ("form", "value", "layout")}
    missing = editable(list(Browser(**texts).leaves())) - reached
    if missing:
        found.append(f"no control for {missing}")
    await cards.unmount()
    return [f"{case.id}: {each}" for each in found]


@pytest.mark.timeout(600)
async def test_every_control_changes_its_own_place_only(cards, stress_set):
    await cards.page.evaluate(f"{PROBE}; window.probed = probed; 0")
    found = []
    for case in stress_set:
        try:
            found += await problems(cards, case)
        except Exception as e:
            found.append(f"{case.id}: {type(e)} {e}")
    await cards.mount()
    assert not found, "\n".join(found)
