"""However a well-meaning provider cuts and orders the fragments of its calls, the calls come out as they went in."""

import json
from typing import Any

from ag_ui.core import ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb.agents import CallAssembler, Fragment
from hitl_nb.agents._call_assembler import Brackets, unclosed

NAMES = ["book", "ask", "book_trip"]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=3)
calls = st.lists(st.tuples(st.sampled_from(NAMES), objects), min_size=1, max_size=4)


def assembled(fragments: list[Fragment], finish: str | None = "tool_calls") -> list[tuple[str, str, str]]:
    """Give (id, name, arguments) of every call, from a stream that is checked on the way."""
    assembler = CallAssembler("message", used=["old"], tools=NAMES)
    events: list[Any] = [event for fragment in fragments for event in assembler.feed(fragment)]
    events += assembler.finish(finish)
    names: dict[str, str] = {}
    texts: dict[str, str] = {}
    ended: list[str] = []
    for event in events:
        match event:
            case ToolCallStartEvent():
                assert event.tool_call_id not in names
                assert event.parent_message_id == "message"
                names[event.tool_call_id], texts[event.tool_call_id] = event.tool_call_name, ""
            case ToolCallArgsEvent():
                assert event.delta
                assert event.tool_call_id not in ended
                texts[event.tool_call_id] += event.delta
            case ToolCallEndEvent():
                ended.append(event.tool_call_id)
    assert sorted(ended) == sorted(names) == sorted(assembler.ids)
    return [(call_id, names[call_id], texts[call_id]) for call_id in assembler.ids]


def pieces(data: st.DataObject, text: str) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(calls, st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.data())
@settings(max_examples=200, deadline=None)
def test_calls_with_an_index_each_survive_any_interleaving(made, with_ids, repeat_ids, repeat_names, ascii_only, data):
    texts = [json.dumps(arguments, ensure_ascii=ascii_only) for _, arguments in made]
    queues = []
    for index, ((name, _), text) in enumerate(zip(made, texts, strict=True)):
        call_id = f"id-{index}" if with_ids else ""
        queues.append(
            [
                Fragment(
                    index=index,
                    id=call_id if position == 0 or repeat_ids else "",
                    name=name if position == 0 or (repeat_names and repeat_ids and with_ids) else "",
                    arguments=piece,
                )
                for position, piece in enumerate(pieces(data, text))
            ]
        )
    fragments = []
    while any(queues):
        fragments.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    result = {(name, text) for _, name, text in assembled(fragments)}
    assert result == {(name, text) for (name, _), text in zip(made, texts, strict=True)}


@given(calls, st.booleans(), st.data())
@settings(max_examples=200, deadline=None)
def test_calls_one_after_the_other_need_no_index(made, with_index, data):
    fragments, expected = [], []
    for number, (name, arguments) in enumerate(made):
        text = json.dumps(arguments)
        expected.append((f"id-{number}", name, text))
        for position, piece in enumerate(pieces(data, text)):
            first = position == 0
            fragments.append(
                Fragment(
                    index=0 if with_index else None,
                    id=f"id-{number}" if first else "",
                    name=name if first else "",
                    arguments=piece,
                )
            )
    assert assembled(fragments) == expected


@given(calls, st.data())
@settings(max_examples=300, deadline=None)
def test_what_cannot_be_told_apart_is_never_a_whole_call_that_nobody_made(made, data):
    """All at index 0, ids only on the first fragments, in any order, cut anywhere."""
    queues = []
    for number, (name, arguments) in enumerate(made):
        first, *rest = pieces(data, json.dumps(arguments))
        queues.append([Fragment(index=0, id=f"id-{number}", name=name, arguments=first)])
        queues[-1] += [Fragment(index=0, arguments=piece) for piece in rest]
    fragments = []
    while any(queues):
        fragments.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    fragments = fragments[: data.draw(st.integers(1, len(fragments)))]
    for call_id, name, text in assembled(fragments, "length"):
        try:
            arguments = json.loads(text)
        except ValueError:
            continue
        assert (name, arguments) == made[int(call_id.removeprefix("id-"))]


@given(objects, st.booleans(), st.data())
@settings(deadline=None)
def test_brackets_close_where_the_object_ends(value, ascii_only, data):
    text = json.dumps(value, ensure_ascii=ascii_only)
    brackets = Brackets()
    for piece in pieces(data, text + "  {}"):
        brackets.feed(piece)
    assert brackets.closed_at == len(text)
    assert all(unclosed(text[:end]) for end in range(1, len(text)))
    assert not unclosed("")


def test_long_arguments_are_read_once():
    """Not quadratic: 20,000 fragments of one call, id and name on each of them, in well under a second."""
    text = json.dumps({"steps": [{"n": n} for n in range(20_000)]})
    fragments = [
        Fragment(index=0, id="a", name="book", arguments=text[start : start + 12]) for start in range(0, len(text), 12)
    ]
    assert assembled(fragments) == [("a", "book", text)]
