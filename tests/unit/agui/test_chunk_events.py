import pytest

from hitl_nb.agui import ChunkExpander, expand_chunks
from hitl_nb.errors import ProtocolError
from tests.unit.agui.stream import event, finished, snapshot, started, wire


def chunk(**fields):
    return event("TEXT_MESSAGE_CHUNK", **fields)


def call_chunk(**fields):
    return event("TOOL_CALL_CHUNK", **fields)


def kinds(*events):
    return [it.type.value.removeprefix("TEXT_MESSAGE_") for it in expand_chunks(events)]


def test_chunks_of_one_message_become_start_content_and_end():
    events = [chunk(messageId="m1", delta="Hel"), chunk(delta="lo"), finished()]
    assert wire(expand_chunks(events))[:-1] == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hel"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "lo"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    ]


def test_a_tool_call_keeps_its_name_and_its_parent():
    events = [call_chunk(toolCallId="c1", toolCallName="ask", parentMessageId="m1", delta="{}"), finished()]
    assert wire(expand_chunks(events))[:-1] == [
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "ask", "parentMessageId": "m1"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    ]


def test_reasoning_chunks_become_a_reasoning_message():
    events = [event("REASONING_MESSAGE_CHUNK", messageId="r1", delta="hm"), finished()]
    assert wire(expand_chunks(events))[0] == {
        "type": "REASONING_MESSAGE_START",
        "messageId": "r1",
        "role": "reasoning",
    }


def test_another_id_or_another_kind_ends_what_is_open():
    assert kinds(
        chunk(messageId="m1", delta="a"),
        chunk(messageId="m2", delta="b"),
        call_chunk(toolCallId="c1", toolCallName="ask"),
        finished(),
    ) == ["START", "CONTENT", "END", "START", "CONTENT", "END", "TOOL_CALL_START", "TOOL_CALL_END", "RUN_FINISHED"]


@pytest.mark.parametrize("closing", [started(), finished(), snapshot(), event("STEP_STARTED", stepName="plan")])
def test_an_event_of_its_own_ends_what_is_open(closing):
    assert kinds(chunk(messageId="m1"), closing) == ["START", "END", closing.type.value]


def test_an_event_beside_the_message_leaves_it_open():
    raw = event("RAW", event={})
    assert kinds(chunk(messageId="m1"), raw, chunk(delta="x")) == ["START", "RAW", "CONTENT"]


def test_a_stream_that_breaks_off_ends_nothing():
    assert kinds(chunk(messageId="m1", delta="half")) == ["START", "CONTENT"]


def test_finish_ends_what_is_open():
    expander = ChunkExpander()
    expander.feed(chunk(messageId="m1", delta="all"))
    assert wire(expander.finish()) == [{"type": "TEXT_MESSAGE_END", "messageId": "m1"}]
    assert expander.finish() == []


def test_metadata_never_reaches_the_message_it_ends():
    events = [chunk(messageId="m1", metadata={"of": 1}), chunk(messageId="m2", metadata={"of": 2})]
    start, end, following = wire(expand_chunks(events))
    assert (start["metadata"], "metadata" in end, following["metadata"]) == ({"of": 1}, False, {"of": 2})


def test_a_last_chunk_with_nothing_but_metadata_still_says_it():
    *_, last = wire(expand_chunks([chunk(messageId="m1", delta="x"), chunk(metadata={"tokens": 3})]))
    assert last == {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "", "metadata": {"tokens": 3}}


@pytest.mark.parametrize(
    ("broken", "missing"),
    [
        (chunk(delta="x"), "messageId"),
        (call_chunk(delta="x"), "toolCallId"),
        (call_chunk(toolCallId="c1"), "toolCallName"),
    ],
)
def test_a_first_chunk_says_what_it_starts(broken, missing):
    with pytest.raises(ProtocolError, match=f"`{missing}`"):
        list(expand_chunks([broken]))


def test_a_later_chunk_does_not_contradict_the_first():
    expander = ChunkExpander()
    expander.feed(call_chunk(toolCallId="c1", toolCallName="ask"))
    with pytest.raises(ProtocolError, match="`toolCallName` `delete`; it was opened with `ask`"):
        expander.feed(call_chunk(toolCallId="c1", toolCallName="delete"))


def test_two_subagents_stream_side_by_side():
    one, two = {"subagentRunId": "s1"}, {"subagentRunId": "s2"}
    events = [
        chunk(messageId="m1", delta="a", **one),
        chunk(messageId="m2", delta="b", **two),
        chunk(delta="c", **one),
        event("SUBAGENT_FINISHED", subagentRunId="s2"),
    ]
    out = [(it["type"], it.get("messageId")) for it in wire(expand_chunks(events))]
    assert out[4:] == [
        ("TEXT_MESSAGE_CONTENT", "m1"),
        ("TEXT_MESSAGE_END", "m2"),
        ("SUBAGENT_FINISHED", None),
    ]


def test_a_chunk_that_could_be_anybodys_is_refused():
    expander = ChunkExpander()
    expander.feed(chunk(messageId="m1", subagentRunId="s1"))
    expander.feed(chunk(messageId="m2", subagentRunId="s2"))
    with pytest.raises(ProtocolError, match="subagentRunId"):
        expander.feed(chunk(delta="x"))
