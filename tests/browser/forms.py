"""Forms as the kernel sends them: the tree, the value and the layout by the real Python half."""

from typing import Any

from playwright.async_api import Locator

from hitl_nb._schema import FormNode, form_tree, hide_secrets, layout_of, to_wire, validator_for
from tests.browser.items import Item, call


def tree(spec: Any) -> FormNode:
    """The form of a pydantic type or of a JSON Schema."""
    return form_tree(validator_for(spec).json_schema)


def form(spec: Any, value: Any, key: str = "c1", *, mode: str = "review", **changes: Any) -> Item:
    """A question with a form; what is no field of an item goes into its props."""
    node = tree(spec)
    props = {
        "form": node.to_wire(),
        "value": to_wire(hide_secrets(value, node)),
        "layout": layout_of(node, value),
        "rows": [],
        "mode": mode,
        "instead": False,
        "errors": [],
    }
    given = {name: changes.pop(name) for name in list(changes) if name in props}
    return call(key, card="form", props={**props, **given}, **changes)


def control(cards: Any, label: str) -> Locator:
    """The control that is called exactly `label`; not the buttons beside it, which bear its label, too."""
    return cards.page.get_by_label(label, exact=True).and_(
        cards.page.locator("input, textarea, select:not(.hitl-menu), output")
    )


def menu(cards: Any, label: str) -> Locator:
    """The small menu that says whether the place called exactly `label` is filled, null or left out."""
    return cards.page.get_by_role("combobox", name=f"What is here {label}", exact=True)


async def edits(cards: Any) -> Any:
    """Press Confirm and give the edits that were sent."""
    await cards.page.locator(".hitl-primary").click()
    return (await cards.answers())[-1]["value"]["edits"]


def set_to(value: Any, *path: str | int) -> dict[str, Any]:
    """The edit that sets what stands at `path`."""
    return {"path": list(path), "op": "set", "value": value}
