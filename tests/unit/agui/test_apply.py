import logging

import pytest
from ag_ui.core import AssistantMessage, FunctionCall, ToolCall, UserMessage
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb.agui import Conversation, apply
from hitl_nb.errors import ProtocolError
from tests.unit.agui.stream import event, finished, result, snapshot, started, text, tool_call, wire

USER = UserMessage(id="u1", content="Plan a trip")


def asked(call="c1", arguments="{}", message="a1"):
    function = FunctionCall(name="ask", arguments=arguments)
    return AssistantMessage(id=message, tool_calls=[ToolCall(id=call, function=function)])


def ids(conversation):
    return [message.id for message in conversation.messages]


def test_fragments_add_up_to_a_message():
    conversation = apply([started(), *text("m1", "Hel", "lo"), finished()], [USER])
    assert wire(conversation.messages) == [
        {"id": "u1", "role": "user", "content": "Plan a trip"},
        {"id": "m1", "role": "assistant", "content": "Hello"},
    ]


@given(
    fragments=st.lists(st.tuples(st.sampled_from(["m1", "c1", "c2"]), st.text(min_size=1, max_size=4)), max_size=12),
    read_after=st.sets(st.integers(0, 12)),
)
def test_whoever_looks_and_whenever_sees_all_fragments_so_far(fragments, read_after):
    conversation = apply([*text("m1"), *tool_call("c1", parentMessageId="m1"), *tool_call("c2", parentMessageId="m1")])
    told = {"m1": "", "c1": "", "c2": ""}
    for number, (place, fragment) in enumerate(fragments):
        told[place] += fragment
        if place == "m1":
            conversation.apply(event("TEXT_MESSAGE_CONTENT", messageId=place, delta=fragment))
        else:
            conversation.apply(event("TOOL_CALL_ARGS", toolCallId=place, delta=fragment))
        if number in read_after:
            assert _told_by(conversation.messages) == told
    # Also in the next run, which goes on from the same messages.
    following = Conversation(conversation.messages, before=conversation)
    following.apply(event("TOOL_CALL_ARGS", toolCallId="c1", delta="!"))
    assert _told_by(conversation.messages) == told
    assert _told_by(following.messages) == told | {"c1": told["c1"] + "!"}


def _told_by(messages):
    (message,) = messages
    return {"m1": message.content or "", **{call.id: call.function.arguments for call in message.tool_calls}}


def test_text_goes_into_the_message_that_a_tool_call_made():
    conversation = apply([*tool_call("c1", "{}", parentMessageId="m1"), *text("m1", "Look")])
    assert (ids(conversation), conversation.messages[0].content) == (["m1"], "Look")


def test_text_never_overwrites_an_activity(caplog):
    plan = event("ACTIVITY_SNAPSHOT", messageId="m1", activityType="PLAN", content={"steps": 2})
    with caplog.at_level(logging.WARNING, "hitl_nb.agui"):
        conversation = apply([plan, *text("m1", "oops")])
    assert conversation.messages[0].content == {"steps": 2}
    assert "m1" in caplog.text


def test_metadata_is_merged_key_by_key_and_a_null_counts():
    conversation = apply(
        [
            event("TEXT_MESSAGE_START", messageId="m1", metadata={"model": "x", "reason": "stop"}),
            event("TEXT_MESSAGE_END", messageId="m1", metadata={"reason": None}),
        ]
    )
    assert conversation.messages[0].metadata == {"model": "x", "reason": None}


def test_a_tool_call_joins_its_parent_message():
    conversation = apply([*text("m1", "Look"), *tool_call("c1", '{"a"', ":1}", parentMessageId="m1")])
    (message,) = conversation.messages
    assert message.tool_calls[0].function.arguments == '{"a":1}'


@pytest.mark.parametrize(
    ("parent", "history", "made"),
    [
        ({}, [], "c1"),
        ({"parentMessageId": "p1"}, [], "p1"),
        ({"parentMessageId": "u1"}, [USER], "c1"),
    ],
    ids=["no parent", "an unknown parent", "a parent that is no assistant message"],
)
def test_a_tool_call_without_a_message_to_stand_in_makes_one(parent, history, made):
    conversation = apply(tool_call("c1", **parent), history)
    assert (conversation.messages[-1].id, conversation.messages[-1].role) == (made, "assistant")


def test_a_start_that_comes_twice_makes_one_tool_call():
    start = event("TOOL_CALL_START", toolCallId="c1", toolCallName="ask", parentMessageId="a1")
    conversation = apply([started(), start, result("c1")], [asked(arguments='{"city": "Paris"}')])
    assert [call.function.arguments for call in conversation.messages[0].tool_calls] == ['{"city": "Paris"}']
    assert ids(conversation) == ["a1", "r1"]


def test_a_result_goes_behind_its_call_and_not_behind_the_next_text():
    conversation = apply([*tool_call("c1"), *text("m1", "Meanwhile"), result("c1")])
    assert ids(conversation) == ["c1", "r1", "m1"]


def test_results_of_one_message_keep_the_order_they_came_in():
    events = [*tool_call("c1", parentMessageId="a1"), *tool_call("c2", parentMessageId="a1")]
    conversation = apply([*events, result("c1", message="r1"), *text("m1"), result("c2", message="r2")])
    assert ids(conversation) == ["a1", "r1", "r2", "m1"]


def test_a_result_without_a_call_goes_to_the_end():
    assert ids(apply([result("nobody's")], [USER])) == ["u1", "r1"]


def test_a_finished_run_leaves_the_calls_it_did_not_answer():
    events = [started(), *tool_call("c1"), *tool_call("c2"), result("c1"), finished()]
    assert apply(events).pending_tool_call_ids == ["c2"]
    named = finished(outcome={"type": "success", "pendingToolCallIds": ["c9"]})
    assert apply([*events[:-1], named]).pending_tool_call_ids == ["c9"]
    assert apply([*events[:-1], finished(outcome={"type": "cancelled"})]).pending_tool_call_ids == []


def test_an_interrupted_run_leaves_its_interrupts_until_the_next_end():
    interrupt = {"id": "i1", "reason": "input_required"}
    conversation = apply([started(), finished(outcome={"type": "interrupt", "interrupts": [interrupt]})])
    conversation.apply(started())
    assert [it.id for it in conversation.pending_interrupts] == ["i1"]
    conversation.apply(finished())
    assert conversation.pending_interrupts == []


def test_a_snapshot_replaces_by_id_drops_and_appends():
    history = [USER, AssistantMessage(id="old", content="x"), AssistantMessage(id="m1", content="draft")]
    conversation = apply(
        [
            snapshot(
                {"id": "m2", "role": "assistant", "content": "new"},
                {"id": "m1", "role": "assistant", "content": "final"},
                {"id": "u1", "role": "user", "content": "Plan a trip"},
            )
        ],
        history,  # type: ignore[arg-type]
    )
    assert [(it.id, it.content) for it in conversation.messages] == [
        ("u1", "Plan a trip"),
        ("m1", "final"),
        ("m2", "new"),
    ]


def local_history():
    conversation = apply(
        [
            event("ACTIVITY_SNAPSHOT", messageId="plan", activityType="PLAN", content={}),
            event("REASONING_MESSAGE_START", messageId="thought", role="reasoning"),
        ],
        [USER],
    )
    return conversation.messages


def test_activities_and_reasoning_survive_a_snapshot_that_has_none():
    conversation = apply([snapshot({"id": "u1", "role": "user", "content": "Plan a trip"})], local_history())
    assert ids(conversation) == ["u1", "plan", "thought"]


def test_a_snapshot_with_reasoning_of_its_own_replaces_the_streamed_one():
    conversation = apply([snapshot({"id": "rs-1", "role": "reasoning", "content": "hm"})], local_history())
    assert ids(conversation) == ["plan", "rs-1"]


def test_fragments_after_a_snapshot_go_into_the_snapshots_message_and_leave_the_event_alone():
    whole = snapshot({"id": "m1", "role": "assistant", "content": "Hello"})
    conversation = apply([*text("m1", "Hel"), whole, *text("m1", " world")])
    assert conversation.messages[0].content == "Hello world"
    assert whole.messages[0].content == "Hello"


def test_an_echoed_input_brings_only_messages_that_are_new():
    echoed = [{"id": "u1", "role": "user", "content": "changed"}, {"id": "u2", "role": "user", "content": "And back"}]
    conversation = apply([started(input={"threadId": "t", "runId": "r", "messages": echoed})], [USER])
    assert [it.content for it in conversation.messages] == ["Plan a trip", "And back"]


def test_a_state_snapshot_replaces_everything():
    assert apply([event("STATE_SNAPSHOT", snapshot=[1, None])], state={"a": 1}).state == [1, None]


def test_a_state_delta_patches_a_copy():
    before = {"steps": ["a"]}
    delta = event("STATE_DELTA", delta=[{"op": "add", "path": "/steps/-", "value": None}])
    assert apply([delta], state=before).state == {"steps": ["a", None]}
    assert before == {"steps": ["a"]}


def test_a_patch_that_does_not_fit_changes_nothing_at_all(caplog):
    delta = event(
        "STATE_DELTA",
        delta=[{"op": "replace", "path": "/a", "value": 2}, {"op": "replace", "path": "/missing", "value": 1}],
    )
    with caplog.at_level(logging.WARNING, "hitl_nb.agui"):
        assert apply([delta], state={"a": 1}).state == {"a": 1}
    assert "the shared state" in caplog.text


def test_an_activity_is_patched_and_a_failing_patch_still_brings_its_metadata():
    plan = {"messageId": "p1", "activityType": "PLAN"}
    conversation = apply(
        [
            event("ACTIVITY_SNAPSHOT", content={"done": 0}, **plan),
            event("ACTIVITY_DELTA", patch=[{"op": "replace", "path": "/done", "value": 1}], **plan),
            event("ACTIVITY_DELTA", patch=[{"op": "remove", "path": "/x/y"}], metadata={"n": 2}, **plan),
        ]
    )
    (activity,) = conversation.messages
    assert (activity.content, activity.metadata) == ({"done": 1}, {"n": 2})


def test_an_activity_that_must_not_be_replaced_is_not():
    plan = {"messageId": "p1", "activityType": "PLAN"}
    events = [
        event("ACTIVITY_SNAPSHOT", content={"v": 1}, **plan),
        event("ACTIVITY_SNAPSHOT", content={"v": 2}, replace=False, **plan),
    ]
    assert apply(events).messages[0].content == {"v": 1}
    assert apply([*events, event("ACTIVITY_SNAPSHOT", content={"v": 3}, **plan)]).messages[0].content == {"v": 3}


def test_sealed_reasoning_is_kept_with_its_tool_call():
    sealed = event("REASONING_ENCRYPTED_VALUE", subtype="tool-call", entityId="c1", encryptedValue="…")
    assert apply([sealed], [asked()]).messages[0].tool_calls[0].encrypted_value == "…"


def test_what_was_handed_in_is_never_changed():
    history = [asked(arguments="")]
    apply([started(), *tool_call("c1", "{}"), *text("a1", "x"), result("c1")], history)
    assert history == [asked(arguments="")]


def test_messages_kept_from_an_earlier_run_do_not_change_in_the_next():
    conversation = Conversation()
    for it in [started(), *text("m1", "one"), finished()]:
        conversation.apply(it)
    kept = conversation.messages[0]
    for it in [started(), *text("m1", " two"), finished()]:
        conversation.apply(it)
    assert (kept.content, conversation.messages[0].content) == ("one", "one two")


def test_between_runs_the_list_is_the_callers():
    conversation = apply([started(), *tool_call("c1", "{}"), finished()])
    conversation.messages.append(USER)
    for it in [started(), result("c1"), finished()]:
        conversation.apply(it)
    assert ids(conversation) == ["c1", "r1", "u1"]
    conversation.messages = [USER]
    conversation.apply(result("c1", message="r2"))
    assert ids(conversation) == ["u1", "r2"]


def test_a_fragment_does_not_look_through_the_history():
    looks = []

    class Watched(UserMessage):
        def __getattribute__(self, name):
            if name in {"id", "role"}:
                looks.append(name)
            return super().__getattribute__(name)

    conversation = Conversation([Watched(id=f"u{n}", content="x") for n in range(1000)])
    start_call, *rest_of_call = tool_call("c1", *"x" * 100)
    start_text, *rest_of_text = text("m1", *"x" * 100)
    for it in [started(), start_call, start_text]:
        conversation.apply(it)
    looks.clear()
    for it in [*rest_of_call, *rest_of_text]:
        conversation.apply(it)
    assert looks == []


def test_a_chunk_has_to_be_expanded_first():
    with pytest.raises(ProtocolError, match="expand_chunks"):
        apply([event("TOOL_CALL_CHUNK", toolCallId="c1", toolCallName="ask", delta="{}")])
