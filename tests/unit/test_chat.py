"""What a chat is made of: attachments, suggestions, what is said again, and what the agent is sent."""

import asyncio
from functools import partial

import pandas as pd
import pytest
from ag_ui.core import ReasoningMessageContentEvent, ReasoningMessageEndEvent, ReasoningMessageStartEvent

from hitl_nb import Session
from hitl_nb.agui._messages import check
from hitl_nb.cards._record import bundle
from hitl_nb.errors import SessionBusyError, UsageError
from hitl_nb.session import Suggestion
from hitl_nb.session._attached import recalled
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

PNG = bytes.fromhex("89504e470d0a1a0a")


async def test_a_table_goes_with_a_message_as_a_summary_that_can_be_read(tmp_path):
    agent = ScriptedAgent([says("ok")])
    session = Session(agent)
    (tmp_path / "note.txt").write_text("remember the milk")
    await session.start("Look", attachments=[pd.DataFrame({"a": [1, 2]}), tmp_path / "note.txt"])
    content = agent.inputs[0].messages[0].content
    assert isinstance(content, str)
    assert content.startswith("Look\n\n[attached]\nA table of 2 rows and 1 columns.")
    assert "- a: int64, from 1 to 2" in content
    assert content.endswith("[file note.txt]\nremember the milk")


@pytest.mark.parametrize("takes", [True, False])
async def test_a_picture_goes_as_one_where_the_agent_takes_pictures_and_in_words_elsewhere(tmp_path, takes):
    agent = ScriptedAgent([says("ok"), says("ok")])
    agent.takes_images = takes  # type: ignore[attr-defined]  # what an agent may say of itself
    (tmp_path / "plot.png").write_bytes(PNG)
    session = Session(agent)
    await session.start("Look", attachments=[tmp_path / "plot.png"])
    content = agent.inputs[0].messages[0].content
    if takes:
        assert isinstance(content, list)
        assert [part.type for part in content] == ["text", "image"]
        assert content[1].source.mime_type == "image/png"
    else:
        assert content == "Look\n\n[picture plot.png: 8 bytes; you cannot see it]"
    await session.run("And?")
    check(session.messages)


async def test_a_person_sees_their_words_and_what_goes_with_them_by_name_and_says_it_again_with_all_of_it(tmp_path):
    agent = ScriptedAgent([says("ok"), says("ok")])
    agent.takes_images = True  # type: ignore[attr-defined]  # what an agent may say of itself
    (tmp_path / "plot.png").write_bytes(PNG)
    session = Session(agent)
    run = session.start("Look", attachments=[pd.DataFrame({"a": [1, 2]}), tmp_path / "plot.png"])
    await run
    shown = bundle([(entry, None) for entry in run.transcript])
    assert shown["text/plain"].split("\n")[:3] == [
        "You: Look",
        "│ \N{PAPERCLIP} table of 2 rows",
        "│ \N{PAPERCLIP} plot.png",
    ]
    assert '<img src="data:image/png;base64,' in shown["text/html"]
    assert session.last_said.words == "Look"
    runs = []
    session.on_run(runs.append)
    await session.chat()._act("foot", {"do": "edit", "text": "Look again"})
    await runs[-1]
    assert [part.type for part in agent.inputs[1].messages[0].content] == ["text", "text", "image"]
    assert agent.inputs[1].messages[0].content[0].text == "Look again"


@pytest.mark.parametrize("takes", [True, False])
async def test_a_chat_of_an_earlier_kernel_shows_what_went_with_a_message_and_the_agent_gets_what_it_got(
    tmp_path, takes
):
    (tmp_path / "plot.png").write_bytes(PNG)
    (tmp_path / "note.txt").write_text("remember\n\nthe milk")
    things = [pd.DataFrame({"a": [1, 2]}), tmp_path / "plot.png", tmp_path / "note.txt"]

    def kernel(agent):
        agent.takes_images = takes
        return Session(agent, thread_id="talk", journal=tmp_path / "j.sqlite")

    first = ScriptedAgent([says("ok"), says("fine")])
    before = kernel(first)
    await before.start("Look\n\nat this", attachments=things)
    await before.run("And?")
    again = ScriptedAgent([says("as before"), says("again")])
    after = kernel(again)
    shown = bundle([(entry, None) for entry in after.chat()._recalled()])
    assert shown["text/plain"].split("\n")[:6] == [
        "You: Look",
        "│",
        "│ at this",
        "│ \N{PAPERCLIP} table of 2 rows",
        "│ \N{PAPERCLIP} plot.png",
        "│ \N{PAPERCLIP} note.txt",
    ]
    assert ("<img" in shown["text/html"]) is takes
    assert "remember" not in shown["text/plain"]
    await after.run("Still there?")
    assert again.inputs[0].messages[:3] == first.inputs[1].messages[:3]
    after.take_back()
    assert after.take_back() == "And?"
    assert after.last_said == before.sent_in(first.inputs[0].messages[0]) or not takes
    assert after.last_said.words == "Look\n\nat this"
    assert [each.text for each in after.last_said.attachments][2] == "[file note.txt]\nremember\n\nthe milk"
    check(after.messages)


async def test_what_was_said_is_one_text_where_a_secret_has_been_taken_out_of_it():
    content = "Look\n\n[file key.txt]\nit is •••"
    kept = {"words": 4, "attached": [["key.txt", 30]]}
    assert recalled(content, kept) is None
    assert recalled(content, {**kept, "attached": [["key.txt", len(content) - 6]]}).words == "Look"


async def test_what_cannot_be_attached_is_told():
    session = Session(ScriptedAgent([]))
    with pytest.raises(UsageError, match="no file `nowhere.csv`"):
        session.start("Look", attachments=["nowhere.csv"])
    assert session.messages == []


async def test_suggestions_are_fixed_or_made_by_the_model_beside_the_conversation():
    made = calls("suggest_next_messages", suggestions=[{"title": "Go on", "message": "Go on, please"}, {"title": ""}])
    agent = ScriptedAgent([says("hello"), made, says("ok")])
    session = Session(agent)
    assert await session.suggest() == []
    session.suggestions("What can you do?", ("Plan", "Plan a trip"), instructions="next steps")
    await session.run("Hi")
    found = await session.suggest()
    assert found == [
        Suggestion(title="What can you do?", message="What can you do?"),
        Suggestion(title="Plan", message="Plan a trip"),
        Suggestion(title="Go on", message="Go on, please"),
    ]
    asked = agent.inputs[1]
    assert [tool.name for tool in asked.tools or ()] == ["suggest_next_messages"]
    assert asked.forwarded_props["toolChoice"]["function"]["name"] == "suggest_next_messages"
    await session.run("On")
    assert [message.content for message in agent.inputs[2].messages] == ["Hi", "hello", "On"]


async def test_a_model_that_cannot_suggest_takes_nothing_with_it():
    session = Session(ScriptedAgent([]))
    session.suggestions("Fixed", instructions="more")
    assert [each.title for each in await session.suggest()] == ["Fixed"]


async def test_what_was_said_is_taken_back_with_all_that_came_of_it():
    agent = ScriptedAgent([says("one"), says("two"), says("three")])
    session = Session(agent)
    await session.run("first")
    await session.run("second")
    assert session.take_back() == "second"
    await session.run("another")
    assert [message.content for message in agent.inputs[2].messages] == ["first", "one", "another"]
    assert session.take_back() == "another"
    assert session.take_back() == "first"
    assert session.take_back() is None


async def test_nothing_is_taken_back_while_a_run_is_under_way():
    session = Session(ScriptedAgent([says("one")], pace=0.05))
    run = session.start("first")
    await asyncio.sleep(0)
    with pytest.raises(SessionBusyError):
        session.take_back()
    await run


def thinks(_):
    yield ReasoningMessageStartEvent(message_id="t", role="reasoning")
    yield ReasoningMessageContentEvent(message_id="t", delta="Hm.")
    yield ReasoningMessageEndEvent(message_id="t")


def tell(run, *, wanted):
    run.transcript.tells_all = wanted


async def test_a_conversation_shows_thoughts_and_every_call_and_a_plain_run_does_not():
    for tells_all in (True, False):
        session = Session(ScriptedAgent([thinks, says("x")]))
        session.on_run(partial(tell, wanted=tells_all))
        run = session.start("go")
        await run
        roles = [getattr(entry, "role", None) for entry in run.transcript]
        assert ("reasoning" in roles) == tells_all


async def test_a_chat_without_a_front_end_is_its_record(capsys):
    session = Session(ScriptedAgent([says("Hello")]))
    await session.run("Hi")
    chat = session.chat()
    assert repr(chat) == "<Chat Chat: 2 messages>"
    with pytest.raises(UsageError, match="no file"):
        chat.attach("nowhere.csv")
