import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb.agui import PartialArgs

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.builds(
    lambda value, escaped, indent: json.dumps(value, ensure_ascii=escaped, indent=indent),
    st.dictionaries(st.text(), VALUES, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1]),
)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def frozen():
    """A `PartialArgs` for which no time passes."""
    return PartialArgs(clock=Clock())


def preview(text):
    args = frozen()
    args.feed(text)
    return args.preview


def begins(part, whole):
    """Is `part` what a person may see while `whole` is on its way: nothing in it is ever taken back."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return list(part) == list(whole)[: len(part)] and begins(list(part.values()), list(whole.values()))
    if isinstance(part, list) and isinstance(whole, list):
        *done, last = part or [None]
        return not part or (len(part) <= len(whole) and done == whole[: len(done)] and begins(last, whole[len(done)]))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return type(part) is type(whole) and part == whole


@given(DOCUMENTS)
@settings(deadline=None, max_examples=100)
def test_no_prefix_ever_shows_what_is_not_so(text):
    whole, before = json.loads(text), {}
    for end in range(1, len(text) + 1):
        now = preview(text[:end])
        assert now is None or begins(now, whole)
        assert begins(before, now or {})
        before = now or {}
    assert before == whole


@given(DOCUMENTS, st.data())
@settings(deadline=None, max_examples=100)
def test_finish_shows_the_whole_however_it_was_cut(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    args = frozen()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        args.feed(text[start:end])
    assert args.finish() == json.loads(text)
    assert args.text == text


# The prefixes that tell parsers apart, and what a preview may show.
@pytest.mark.parametrize(
    ("prefix", "wanted"),
    [
        ("", None),
        ("  ", None),
        ("{", {}),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": "x', {"a": "x"}),
        (r'{"a": "x\u00e', {"a": "x"}),
        (r'{"a": "x\ud83d', {"a": "x"}),
        (r'{"a": "x\ud83d\ude00!', {"a": "x😀!"}),
        ('{"amount": 1', {}),
        ('{"amount": 12', {}),
        ('{"amount": 12}', {"amount": 12}),
        ('{"amount": -', {}),
        ('{"amount": 1.', {}),
        ('{"amount": 1e', {}),
        ('{"ok": tru', {}),
        ('{"ok": true', {}),
        ('{"ok": true,', {"ok": True}),
        ('{"a": [1, 2', {"a": [1]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": "x"} trailing', {"a": "x"}),
    ],
)
def test_a_preview_shows_what_the_text_surely_says(prefix, wanted):
    assert preview(prefix) == wanted


@pytest.mark.parametrize("text", ["[1, 2]", '"text"', "null", "12 "])
def test_what_is_no_object_has_no_preview(text):
    assert preview(text) is None


def test_text_that_is_no_json_keeps_the_last_good_preview():
    args = frozen()
    args.feed('{"city": "Paris", ')
    args.feed("or maybe Rome}")
    assert args.finish() == {"city": "Paris"}


def test_a_growth_of_less_than_five_percent_waits():
    args = frozen()
    args.feed('{"text": "' + "x" * 1000)
    parsed = args.characters_parsed
    args.feed("y" * 50)
    assert args.characters_parsed == parsed
    args.feed("z" * 10)
    assert args.characters_parsed > parsed
    assert args.preview == {"text": "x" * 1000 + "y" * 50 + "z" * 10}


def test_a_second_is_long_enough_for_any_growth():
    clock = Clock()
    args = PartialArgs(clock=clock)
    args.feed('{"text": "' + "x" * 1000)
    clock.now = 0.9
    args.feed("y")
    assert args.preview == {"text": "x" * 1000}
    clock.now = 1.0
    args.feed("z")
    assert args.preview == {"text": "x" * 1000 + "yz"}


def test_finishing_twice_parses_once():
    args = frozen()
    args.feed('{"text": "' + "x" * 1000)
    args.feed('"}')
    args.finish()
    parsed = args.characters_parsed
    args.finish()
    assert args.characters_parsed == parsed


@given(st.lists(st.integers(1, 40), min_size=1, max_size=400), st.integers(1, 50))
@settings(deadline=None, max_examples=50)
def test_all_parses_together_read_each_character_at_most_21_times(sizes, times):
    args = frozen()
    args.feed('{"text": "')
    for size in sizes * times:
        args.feed("x" * size)
    args.finish()
    assert args.characters_parsed <= (1 + 1 / 0.05) * len(args.text)


def test_that_bound_holds_for_single_characters_too():
    args = frozen()
    for character in '{"text": "' + "x" * 20_000 + '"}':
        args.feed(character)
    assert args.finish() == {"text": "x" * 20_000}
    assert args.characters_parsed <= (1 + 1 / 0.05) * len(args.text)
