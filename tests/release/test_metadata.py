"""What a release says of itself is the same everywhere: version, changelog, citation, licences, Python."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

import hitl_nb
from hitl_nb._process import keep_offline
from tests.release.extras import extras, installed_here, pip_line, written
from tests.release.licences import DECLARE_NONE, FINE, licences

REPO = Path(__file__).parents[2]
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
ORDER = ["Breaking", "Added", "Changed", "Fixed"]

keep_offline()


def test_version_is_that_of_what_is_installed():
    assert hitl_nb.__version__ == version("hitl-nb")


def test_the_newest_entry_of_the_changelog_is_this_version():
    newest = re.search(r"^## (\S+)", CHANGELOG, flags=re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["version"]


def test_the_changelog_keeps_its_order():
    for entry in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        found = re.findall(r"^### (.+)$", entry, flags=re.MULTILINE)
        assert found == [kind for kind in ORDER if kind in found], entry.splitlines()[0]


def test_the_citation_names_this_version_and_licence():
    citation = yaml.safe_load((REPO / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # what the schema requires
    assert (str(citation["version"]), citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_each_python_that_is_named_is_allowed():
    named = [line.rpartition(":: ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert named == ["3.11", "3.12", "3.13"]
    assert all(f"{each}.0" in SpecifierSet(PROJECT["requires-python"]) for each in named)


@pytest.mark.parametrize("extra", extras())
def test_each_dependency_declares_a_licence_that_is_fine(extra):
    found = licences(extra)
    assert len(found) > 10
    assert {name: said for name, said in found.items() if not said and name not in DECLARE_NONE} == {}
    assert {name: said for name, said in found.items() if said and not FINE.search(said)} == {}


def test_the_core_is_permissive_throughout():
    assert not [name for name, said in licences("").items() if re.search("GPL|MPL", said)]


def test_the_readme_says_of_each_extra_what_it_costs():
    assert [row.line for row in written()] == [pip_line(extra) for extra in extras()]
    assert all(row.seconds > 0 for row in written())


@pytest.mark.parametrize(("extra", "row"), [*zip(extras(), written(), strict=False)])
def test_what_an_extra_costs_is_still_what_the_readme_says(extra, row):
    # Versions differ from day to day; what is wrong by more than that has to be measured again:
    # `python -m tests.release.extras --write`.
    packages, megabytes = installed_here(extra)
    assert row.packages == pytest.approx(packages, rel=0.15)
    assert row.megabytes == pytest.approx(megabytes, rel=0.25)
