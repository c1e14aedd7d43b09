"""Forms on schemas that nobody wrote for us, without a browser: `python -m tests.conformance.schemas FILE`.

For every schema a tree is built. Where the file gives a value, it goes through the wire and a simulated
browser: untouched it must come back as the identical object; an edit of one control must change exactly that
place; the validator must take it. Prints the ids that fail and, last, `schemas: N/M exact`.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitl_nb._schema import (
    FormNode,
    apply_edits,
    form_tree,
    from_wire,
    hide_secrets,
    layout_of,
    to_wire,
    validator_for,
)
from hitl_nb.errors import InvalidValue
from tests.conformance.schema_browser import Browser, Leaf, box_text, typed

ABSENT = object()


@dataclass(frozen=True, kw_only=True)
class Case:
    """One schema, with a value if the file has one."""

    id: str
    schema: Any
    value: Any = ABSENT
    valid: bool | None = True
    """Whether the file says that the schema allows the value; None if we promise no verdict."""


def cases(file: Path) -> Iterator[Case]:
    """The cases of a file of any of the kinds in ../shared/schemas."""
    content = json.loads(file.read_text())
    for item in content.get("items", []):
        yield Case(id=item["name"], schema=item["schema"], value=item["value"])
    for place, function in enumerate(content.get("functions", [])):
        yield Case(id=f"{place}:{function['name']}", schema=function["parameters"])
    for server, listing in content.get("servers", {}).items():
        yield from _tool_cases(server, listing["tools"])
    yield from _tool_cases("tool", content.get("tools", []))
    for group in content.get("groups", []):
        name = f"{group['source']}:{group['description']}"
        yield Case(id=name, schema=_in_its_dialect(group))
        for test in group["tests"]:
            yield Case(
                id=f"{name}:{test['description']}",
                schema=_in_its_dialect(group),
                value=test["data"],
                valid=None if any(part in name for part in _WITHOUT_VERDICT) else test["valid"],
            )


_WITHOUT_VERDICT = (
    "/optional/",  # formats as rules, JavaScript's regular expressions: not asked of a validator
    "refRemote.json",  # documents at other addresses: nothing is ever fetched
    *("dynamicRef.json", "vocabulary.json"),  # some of them, likewise
)


def _tool_cases(owner: str, tools: Iterable[dict[str, Any]]) -> Iterator[Case]:
    for tool in tools:
        for key in ("inputSchema", "outputSchema", "run_params_schema", "init_params_schema"):
            if tool.get(key):
                yield Case(id=f"{owner}/{tool['name']}/{key}", schema=tool[key])


def _in_its_dialect(group: dict[str, Any]) -> Any:
    """The suite keeps drafts apart by folder; a schema on its own has to say it."""
    schema = group["schema"]
    if not isinstance(schema, dict) or "draft7" not in group["source"]:
        return schema
    return {"$schema": "http://json-schema.org/draft-07/schema#", **schema}


def problems(case: Case) -> list[str]:
    """What is wrong with one case; nothing if it is exact."""
    form = form_tree(case.schema)
    json.dumps(form.to_wire(), allow_nan=False)
    if case.value is ABSENT:
        return []
    found = list(_transport_problems(form, case.value))
    if not found:
        found = list(_edit_problems(form, case.value))
    return found + list(_validation_problems(case))


def _browser(form: FormNode, value: Any) -> Browser:
    return Browser(
        form=json.dumps(form.to_wire(), allow_nan=False),
        value=json.dumps(to_wire(hide_secrets(value, form)), allow_nan=False),
        layout=json.dumps(layout_of(form, value)),
    )


def _transport_problems(form: FormNode, value: Any) -> Iterator[str]:
    if apply_edits(value, [], form=form) is not value:
        yield "untouched is not the identical object"
    shown = _browser(form, value).value
    if differences(from_wire(to_wire(value)), value):
        yield "the wire is not exact"
    if "secret" not in box_text(shown) and differences(_as_javascript(value), from_wire(shown)):
        yield "the browser shows another value"
    if apply_edits(value, [_edit("set", (), {"$": "json", "text": box_text(shown)})], form=form) is not value:
        yield "the untouched text of a JSON box changes the value"


def _as_javascript(value: Any) -> Any:
    """`value` with the one loss that is none: JavaScript has no 1.0, only 1."""
    if isinstance(value, dict):
        return {key: _as_javascript(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_javascript(part) for part in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


def _edit_problems(form: FormNode, value: Any) -> Iterator[str]:
    seen: set[str] = set()
    for leaf in _browser(form, value).leaves():
        if leaf.node["kind"] in seen:
            continue
        seen.add(leaf.node["kind"])
        yield from (
            _list_problems(form, value, leaf) if isinstance(leaf.wire, list) else _leaf_problems(form, value, leaf)
        )


def _leaf_problems(form: FormNode, value: Any, leaf: Leaf) -> Iterator[str]:
    new = typed(leaf)
    if new is None:
        return
    edited = apply_edits(value, [_edit("set", leaf.path, new)], form=form)
    changed = differences(value, edited)
    if [path[: len(leaf.path)] for path in changed] != [leaf.path] * max(len(changed), 1):
        yield f"an edit of the {leaf.node['kind']} at {leaf.path} changes {changed}"
    back = apply_edits(edited, [_edit("set", leaf.path, leaf.wire)], form=form)
    if leaf.node["kind"] != "secret" and differences(_as_javascript(value), _as_javascript(back)):
        yield f"the edit of the {leaf.node['kind']} at {leaf.path} cannot be taken back"


def _list_problems(form: FormNode, value: Any, leaf: Leaf) -> Iterator[str]:
    end = (*leaf.path, len(leaf.wire))
    longer = apply_edits(value, [_edit("add", end, "new")], form=form)
    if differences(value, longer) != [end]:
        yield f"a new item at {end} changes {differences(value, longer)}"
    if differences(value, apply_edits(longer, [_edit("remove", end)], form=form)):
        yield f"removing the new item at {end} leaves a trace"
    there, back = _edit("move", end, 0), _edit("move", (*leaf.path, 0), len(leaf.wire))
    if differences(longer, apply_edits(longer, [there, back], form=form)):
        yield f"moving {end} to the front and back leaves a trace"


def _validation_problems(case: Case) -> Iterator[str]:
    if case.valid is None:
        return
    try:
        accepted = validator_for(case.schema).validate(case.value) is case.value
    except InvalidValue as error:
        if case.valid:
            yield f"refused: {error}"
        return
    if not case.valid:
        yield "accepted, though the schema forbids it"
    elif not accepted:
        yield "the validator gives another object back"


def _edit(op: str, path: tuple[str | int, ...], value: Any = None) -> dict[str, Any]:
    # Through JSON text, as from the browser.
    return dict(json.loads(json.dumps({"op": op, "path": path, "value": value}, allow_nan=False)))


def differences(first: Any, second: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths at which two values are not the same to the last digit: type, value, order of keys."""
    if type(first) is not type(second):
        return [path]
    if isinstance(first, dict):
        if [key for key in first if key in second] != [key for key in second if key in first]:
            return [path]
        keys = dict.fromkeys([*first, *second])
        return [
            found
            for key in keys
            for found in differences(first.get(key, ABSENT), second.get(key, ABSENT), (*path, key))
        ]
    if isinstance(first, list):
        places = range(max(len(first), len(second)))
        return [found for at in places for found in differences(_item(first, at), _item(second, at), (*path, at))]
    return [] if repr(first) == repr(second) else [path]


def _item(items: list[Any], place: int) -> Any:
    return items[place] if place < len(items) else ABSENT


def run(file: Path) -> tuple[list[str], int]:
    """The failures of a file (`id: reason`), and how many cases it has."""
    failures: list[str] = []
    count = 0
    for case in cases(file):
        count += 1
        try:
            found = problems(case)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            failures.append(f"{case.id}: {'; '.join(found)}")
    return failures, count


def main() -> int:
    """Check the files named on the command line."""
    failures, count = [], 0
    for name in sys.argv[1:]:
        failed, checked = run(Path(name))
        failures += failed
        count += checked
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"schemas: {count - len(failures)}/{count} exact")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
