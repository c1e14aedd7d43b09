"""What mypy and pyright make of the public names: of right lines the type, of wrong ones the error behind them.

`make check` runs this; both checkers read the two programs once.
"""

import ast
import functools
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import hitl_nb
import hitl_nb.errors
import hitl_nb.gates

REPO = Path(__file__).parents[2]
EVERYTHING, SLIPS = (Path(__file__).with_name(name) for name in ("everything.py", "slips.py"))


@dataclass(frozen=True, order=True)
class Said:
    """One line of what a checker says."""

    file: str
    line: int
    code: str
    """The error's code; ``type`` for what `reveal_type` gives."""

    text: str


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=REPO, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@functools.cache
def mypy() -> list[Said]:
    lines = run("mypy", "--output=json", str(EVERYTHING), str(SLIPS)).splitlines()
    found: list[Said] = []
    for entry in map(json.loads, (line for line in lines if line.startswith("{"))):
        revealed = re.fullmatch(r'Revealed type is "(.*)"', entry["message"])
        if revealed or entry["severity"] == "error":
            found.append(said(entry["file"], entry["line"], entry["code"], entry["message"], revealed))
    return found


@functools.cache
def pyright() -> list[Said]:
    told = json.loads(run("basedpyright", "--outputjson", "--pythonpath", sys.executable))
    found: list[Said] = []
    for entry in told["generalDiagnostics"]:
        revealed = re.fullmatch(r'Type of ".*" is "(.*)"', entry["message"], re.DOTALL)
        line = entry["range"]["start"]["line"] + 1
        found.append(said(entry["file"], line, entry.get("rule", ""), entry["message"], revealed))
    return found


def said(file: str, line: int, code: str | None, text: str, revealed: re.Match[str] | None) -> Said:
    if revealed is None:
        return Said(Path(file).name, line, code or "", text)
    return Said(Path(file).name, line, "type", re.sub(r"\b(?:\w+\.)+(?=\w)", "", revealed[1]))


def expected(file: Path) -> dict[int, str]:
    """What stands behind each line."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
    return {number: line.split("  # ", 1)[1] for number, line in lines if "  # " in line and "noqa" not in line}


CHECKERS = pytest.mark.parametrize("checker", [mypy, pyright])


@CHECKERS
def test_each_public_name_has_the_type_that_stands_behind_its_line(checker: Callable[[], list[Said]]) -> None:
    told = {each.line: each.text for each in checker() if each.file == EVERYTHING.name and each.code == "type"}
    assert told == expected(EVERYTHING)


@CHECKERS
def test_nothing_of_what_is_right_is_an_error(checker: Callable[[], list[Said]]) -> None:
    assert [each for each in checker() if each.file == EVERYTHING.name and each.code != "type"] == []


@CHECKERS
def test_each_slip_is_found_and_nothing_else(checker: Callable[[], list[Said]]) -> None:
    which = 0 if checker is mypy else 1
    wrong = {(line, codes.split(", ")[which]) for line, codes in expected(SLIPS).items()}
    assert {(each.line, each.code) for each in checker() if each.file == SLIPS.name} == wrong


def test_the_program_uses_every_public_name() -> None:
    doors = [found.name for found in pkgutil.iter_modules(hitl_nb.__path__, "hitl_nb.") if found.ispkg]
    modules = [importlib.import_module(door) for door in doors if "._" not in door]
    names = {name for module in [hitl_nb, hitl_nb.errors, hitl_nb.gates, *modules] for name in module.__all__}
    words = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(ast.parse(EVERYTHING.read_text()))}
    assert sorted(names - words) == [], "Add a line for each of them to `tests/typing/everything.py`."
