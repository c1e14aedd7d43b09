"""Every block of Python in the README runs, in its order, as a reader would paste it."""

import ast
import re

import pytest

from hitl_nb import use
from hitl_nb.testing import ScriptedModel
from tests.conftest import REPO

README = (REPO / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.timeout(180)


async def run(code, names):
    compiled = compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    coroutine = eval(compiled, names)
    if coroutine is not None:
        await coroutine


async def test_the_blocks_run_in_order_and_the_first_is_ten_lines(monkeypatch, tmp_path):
    answers = tmp_path / "answers.py"
    answers.write_text("answers = [lambda call: call.args.steps[:2]]")
    installed = []
    monkeypatch.setattr(ScriptedModel, "install", _noting(ScriptedModel.install, installed))
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 10
    names: dict = {}
    try:
        with use(people=f"script:{answers}"):
            await run(BLOCKS[0], names)
        assert [step.description for step in names["reply"].calls[0].answer] == [
            "Pack the rover",
            "Wait for the launch window",
        ]
        for block in BLOCKS[1:]:
            await run(block, names)
    finally:
        for model in reversed(installed):
            model.uninstall()


def _noting(install, installed):
    def noting(self):
        installed.append(self)
        return install(self)

    return noting


def test_every_picture_and_link_of_the_readme_is_in_the_repository():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (REPO / target).exists(), target
