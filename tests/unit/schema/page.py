"""A form on a simulated page, for tests: the value goes out, edits come in, as JSON text each way."""

import json
from typing import Any

from hitl_nb._schema import apply_edits, form_tree, hide_secrets, layout_of, to_wire, validator_for
from tests.conformance.schema_browser import Browser, box_text


class Page:
    """The form of a type or schema, showing one value."""

    def __init__(self, spec: Any, value: Any) -> None:
        self.validator = validator_for(spec)
        self.form = form_tree(self.validator.json_schema)
        self.value = value
        self.sent = json.dumps(to_wire(hide_secrets(value, self.form)), allow_nan=False)
        self.browser = Browser(
            form=json.dumps(self.form.to_wire(), allow_nan=False),
            value=self.sent,
            layout=json.dumps(layout_of(self.form, value)),
        )

    def edit(self, op: str, path: list[str | int], value: Any = None) -> Any:
        """The value after one edit."""
        edit = json.loads(json.dumps({"op": op, "path": path, "value": value}))
        return apply_edits(self.value, [edit], form=self.form)

    def resend(self) -> Any:
        """The value after the browser set the whole of it to what it shows."""
        return self.edit("set", [], self.browser.value)

    def resend_as_text(self) -> Any:
        """The same by the untouched text of one big JSON box."""
        return self.edit("set", [], {"$": "json", "text": box_text(self.browser.value)})

    def child(self, name: str) -> Any:
        """The node of a field of the root."""
        return dict(self.form.children)[name]
