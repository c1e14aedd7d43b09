"""The form and the validators on every schema of ../shared/schemas, none of which was written for us."""

import pytest

from tests.conformance.schemas import cases, problems, run
from tests.conftest import shared_file

FILES = ["stress_set", "bfcl_functions", "mcp_tools", "crewai_tools_specs", "json_schema_test_suite"]


@pytest.mark.parametrize("name", FILES)
def test_every_schema_gives_a_form_and_every_value_survives_it(name):
    failures, count = run(shared_file(f"schemas/{name}.json"))

    assert failures == []
    assert count > 0


def test_the_stress_set_is_checked_with_its_values():
    values = [case for case in cases(shared_file("schemas/stress_set.json")) if isinstance(case.value, dict)]

    assert len(values) > 600


def test_a_form_that_changes_a_value_would_be_noticed(monkeypatch):
    from tests.conformance import schemas

    case = next(cases(shared_file("schemas/stress_set.json")))
    monkeypatch.setattr(schemas, "apply_edits", lambda value, edits, form: dict(value))

    assert "untouched is not the identical object" in problems(case)
