"""SECURITY.md names every limit with the number that it has."""

from pathlib import Path

import pytest

from hitl_nb import _limits

TEXT = (Path(__file__).parents[2] / "SECURITY.md").read_text()
LIMITS = {name: value for name, value in vars(_limits).items() if name.isupper() and isinstance(value, int)}


@pytest.mark.parametrize("name", [name for name in LIMITS if not name.startswith("_")])
def test_every_limit_stands_in_the_promise_with_its_number(name):
    [line] = [line for line in TEXT.splitlines() if line.startswith("|") and f"`{name}`" in line]
    assert f"{LIMITS[name]:,}" in line
