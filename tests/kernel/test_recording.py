"""A person at a card is recorded like any other, and replayed without a browser."""

import json

from .client import Kernel
from .test_sessions import ask, card, ready  # noqa: F401 - `ready` is a fixture


def test_a_click_is_recorded_and_replayed_without_anybody(ready: Kernel, tmp_path):  # noqa: F811
    path = str(tmp_path / "case.json")
    ready.run(
        "from hitl_nb.testing import record, replay\n"
        "def fresh():\n"
        "    agent = ScriptedAgent([calls('generate_task_steps', steps=STEPS), says('Off we go.')])\n"
        "    return Session(agent, tools=[generate_task_steps])"
    )
    cell = ready.execute(f"with record({path!r}):\n    reply = await fresh().run('Go')\nprint(reply.text)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    widget.respond(question, {"checked": [True, False, True]})
    assert ready.output(cell) == "Off we go."
    [answer] = json.loads((tmp_path / "case.json").read_text())["answers"]
    assert [step["status"] for step in answer["answer"]] == ["enabled", "disabled", "enabled"]
    said = ready.run(
        f"with replay({path!r}):\n    again = await fresh().run('Go')\n"
        "print(again.text, again.calls[0].answer == reply.calls[0].answer, again.calls[0].via)"
    )
    assert said == "Off we go. True replay"
