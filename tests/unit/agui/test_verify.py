import pytest

from hitl_nb.agui import Verifier, verify
from hitl_nb.errors import ProtocolError
from tests.unit.agui.stream import event, finished, result, snapshot, started, text, tool_call


def accepts(*events):
    return list(verify(events)) == list(events)


def refuses(*events, match):
    """All but the last event pass, the last one does not."""
    verifier = Verifier()
    for before in events[:-1]:
        verifier.feed(before)
    with pytest.raises(ProtocolError, match=match):
        verifier.feed(events[-1])
    return True


STEP = {"stepName": "plan"}


def test_a_run_with_a_message_a_tool_call_and_a_result_is_legal():
    assert accepts(started(), *text("m1", "hi"), *tool_call("c1", "{}"), result("c1"), finished())


def test_what_came_before_the_first_illegal_event_still_comes_through():
    came = []
    with pytest.raises(ProtocolError):
        came.extend(verify([started(), started()]))
    assert came == [started()]


def test_nothing_comes_before_the_run():
    assert refuses(event("STEP_STARTED", **STEP), match="send `RUN_STARTED` first")


def test_an_error_may_be_all_there_is():
    assert accepts(event("RUN_ERROR", message="unreachable"))


def test_after_an_error_only_a_new_run_may_come():
    error = event("RUN_ERROR", message="boom")
    assert refuses(started(), error, finished(), match="after `RUN_ERROR`")
    assert accepts(started(), error, started(), finished())


def test_after_the_end_only_an_error_or_a_new_run_may_come():
    assert refuses(started(), finished(), event("CUSTOM", name="x", value=1), match="after `RUN_FINISHED`")
    assert accepts(started(), finished(), event("RUN_ERROR", message="late"))
    assert accepts(started(), finished(), started(), finished())


def test_a_run_does_not_start_inside_a_run():
    assert refuses(started(), started(), match="while a run is active")


@pytest.mark.parametrize(
    ("start", "end", "fields"),
    [
        ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END", {"messageId": "x"}),
        ("TOOL_CALL_START", "TOOL_CALL_END", {"toolCallId": "x", "toolCallName": "ask"}),
        ("REASONING_START", "REASONING_END", {"messageId": "x"}),
        ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END", {"messageId": "x", "role": "reasoning"}),
        ("STEP_STARTED", "STEP_FINISHED", STEP),
    ],
)
class TestWhatIsOpened:
    def test_is_not_opened_twice(self, start, end, fields):
        assert refuses(started(), event(start, **fields), event(start, **fields), match="open")

    def test_is_not_closed_before(self, start, end, fields):
        assert refuses(started(), event(end, **fields), match=f"`{start}`")

    def test_may_be_opened_again_after_its_end(self, start, end, fields):
        once = [event(start, **fields), event(end, **fields)]
        assert accepts(started(), *once, *once, finished())

    def test_is_closed_before_the_run_ends(self, start, end, fields):
        assert refuses(started(), event(start, **fields), finished(), match="open; end them first")


@pytest.mark.parametrize(
    "fragment",
    [
        event("TEXT_MESSAGE_CONTENT", messageId="x", delta="hi"),
        event("TOOL_CALL_ARGS", toolCallId="x", delta="{}"),
        event("REASONING_MESSAGE_CONTENT", messageId="x", delta="hm"),
    ],
    ids=lambda it: it.type.value,
)
def test_a_fragment_needs_something_open(fragment):
    assert refuses(started(), fragment, match="`x`, which is not open")


def test_messages_and_tool_calls_may_interleave():
    one, two, call = list(text("m1", "a", "b")), list(text("m2", "c", "d")), list(tool_call("c1", "{", "}"))
    mixed = [it for group in zip(one, two, call, strict=True) for it in group]
    assert accepts(started(), *mixed, finished())


def test_arguments_need_not_be_json():
    assert accepts(started(), *tool_call("c1", "{not json"), finished())


def test_a_span_and_the_message_in_it_may_share_an_id():
    span, role = {"messageId": "x"}, {"role": "reasoning"}
    assert accepts(
        started(),
        event("REASONING_START", **span),
        event("REASONING_MESSAGE_START", **span, **role),
        event("REASONING_MESSAGE_END", **span),
        event("REASONING_END", **span),
        finished(),
    )


def test_a_subagent_may_have_a_step_of_the_same_name_as_its_parent():
    tag = {"subagentRunId": "s1"}
    outer, inner = event("STEP_STARTED", **STEP), event("STEP_STARTED", **STEP, **tag)
    assert accepts(started(), outer, inner, event("STEP_FINISHED", **STEP, **tag), event("STEP_FINISHED", **STEP))
    assert refuses(started(), outer, event("STEP_FINISHED", **STEP, **tag), match="this agent did not start")


def test_a_subagent_ends_before_the_run():
    born = event("SUBAGENT_STARTED", subagentRunId="s1", name="researcher")
    assert refuses(started(), born, finished(), match="subagent `s1`")
    assert accepts(started(), born, event("SUBAGENT_FINISHED", subagentRunId="s1"), finished())


def test_a_subagents_id_is_used_once():
    born, gone = (
        event("SUBAGENT_STARTED", subagentRunId="s1", name="researcher"),
        event("SUBAGENT_FINISHED", subagentRunId="s1"),
    )
    assert refuses(started(), born, gone, born, match="again")


def test_nobody_continues_what_another_agent_opened():
    opened = event("TEXT_MESSAGE_START", messageId="m1")
    foreign = event("TEXT_MESSAGE_CONTENT", messageId="m1", delta="x", subagentRunId="s1")
    assert refuses(started(), opened, foreign, match="belongs to the parent agent")


def test_an_untagged_continuation_is_its_owners():
    opened = event("TOOL_CALL_START", toolCallId="c1", toolCallName="ask", subagentRunId="s1")
    assert accepts(started(), opened, event("TOOL_CALL_END", toolCallId="c1"), finished())


def test_a_tool_call_belongs_to_the_owner_of_its_message():
    foreign = event("TOOL_CALL_START", toolCallId="c1", toolCallName="ask", parentMessageId="m1", subagentRunId="s1")
    assert refuses(started(), *text("m1"), foreign, match="belongs to the parent agent")


def test_a_snapshot_says_whose_its_messages_are():
    theirs = {"id": "m1", "role": "assistant", "content": "x", "subagentRunId": "s1"}
    foreign = event("TEXT_MESSAGE_START", messageId="m1", subagentRunId="s2")
    assert refuses(started(), snapshot(theirs), foreign, match="belongs to subagent `s1`")


def test_a_null_tag_is_refused():
    assert refuses(started(), event("CUSTOM", name="x", value=1, subagentRunId=None), match="leave the field out")
