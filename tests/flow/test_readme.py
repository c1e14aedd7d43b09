"""Every block of Python in the README runs, in its order, as a reader would paste it."""

import ast
import re
from contextlib import nullcontext

import pytest
from mcp.shared.memory import create_client_server_memory_streams

from hitl_nb import Session, human_in_the_loop, use
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import ScriptedModel
from tests.conftest import REPO

README = (REPO / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)

ADDRESSES: dict[str, str] = {}
"""What the README calls a database, and where it is here."""

pytestmark = pytest.mark.timeout(300)


async def run(code, names):
    for written, real in ADDRESSES.items():
        code = code.replace(written, real)
    compiled = compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    coroutine = eval(compiled, names)
    if coroutine is not None:
        await coroutine


async def test_the_blocks_run_in_order_and_the_first_two_are_short(monkeypatch, tmp_path, postgres):
    monkeypatch.setitem(ADDRESSES, "postgresql://db/hitl", postgres.schema())
    answers = tmp_path / "answers.py"
    answers.write_text("answers = {'approve': [True], 'generate_task_steps': [lambda call: call.args.steps[:2]]}")
    installed = []
    monkeypatch.setattr(ScriptedModel, "install", _noting(ScriptedModel.install, installed))
    assert [len([line for line in block.splitlines() if line.strip()]) for block in BLOCKS[:2]] == [3, 8]
    try:
        async with create_client_server_memory_streams() as ((read, write), _):
            await run_all(f"script:{answers}", {"read": read, "write": write})
    finally:
        for model in reversed(installed):
            model.uninstall()


async def run_all(people, names):
    with use(people=people):
        await run(BLOCKS[0], names)
        await run(BLOCKS[1], names)
    assert [step.description for step in names["reply"].calls[0].answer] == [
        "Pack the rover",
        "Wait for the launch window",
    ]
    proven = []
    for block in BLOCKS[2:]:
        with use(people=people) if "mcp" in block else nullcontext():
            await run(block, names)
        for line, prove in PROOFS.items():
            if line in block:
                await prove(names["session"], names)
                proven.append(line)
    assert proven == list(PROOFS)


async def state_goes_both_ways(session, _):
    told = []
    session.state.observe(told.append, "budget")
    session.state["budget"] = 800
    session.people.insert(0, ScriptedPerson([lambda call: call.args.steps[:2]]))
    await session.run("Plan a trip to Mars")
    assert [change.new for change in told] == [800]
    assert session.state == {"budget": 800, "steps": [{"id": 1, "title": "Pack", "status": "completed"}]}


async def what_was_attached_goes_with_the_next_message(session, names):
    session.people.insert(0, ScriptedPerson([lambda call: call.args.steps[:2]]))
    await names["chat"].send("Plan a trip to Mars")
    assert session.messages[0].content == 'Plan a trip to Mars\n\n[what we have]\n{"budget": 900}'
    assert [each.title for each in await session.suggest()] == ["What can you do?", "Mars"]


PROOFS = {
    "session.state.edit()": state_goes_both_ways,
    "session.chat()": what_was_attached_goes_with_the_next_message,
}
"""By a line of a block, what is to hold once it has run."""


def _noting(install, installed):
    def noting(self):
        installed.append(self)
        return install(self)

    return noting


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda call: call.args.steps[:2], "I go on with exactly this: Pack the rover, Wait for the launch window."),
        (lambda call: [], "Then nothing is left to do."),
        (lambda call: call.decline("too far away"), "Then I do none of it (too far away)."),
        (lambda call: call.decline(), "Then I do none of it."),
    ],
)
async def test_the_model_of_the_demo_takes_a_no_for_a_no_and_says_nothing_in_json(answer, words):
    from hitl_nb.demo import PlanFlow, Step, offline_model

    @human_in_the_loop
    def generate_task_steps(steps: list[Step]) -> list[Step]:
        """Propose the steps of a task for the user to approve."""

    with offline_model(pace=0):
        session = Session(PlanFlow, tools=[generate_task_steps], people=[ScriptedPerson([answer])], journal=None)
        reply = await session.run("Plan a trip to Mars")
    assert reply.text.endswith(words)
    assert "{" not in reply.text


def test_every_picture_and_link_of_the_readme_is_in_the_repository():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (REPO / target).exists(), target
