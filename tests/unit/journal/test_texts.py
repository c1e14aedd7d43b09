"""An array that is written again and again: what is as before is not looked at again, and all comes out right."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb.journal import _threads
from hitl_nb.journal._threads import ArrayText, same_end, same_start

values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 200) | st.text('ab,[]{}"\\ ', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.lists(st.lists(values, max_size=6), max_size=6), st.sampled_from([None, 1]), st.sampled_from([1, 3, 16_384]))
def test_the_elements_are_those_of_the_array(arrays, indent, chunk):
    array = ArrayText()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_threads, "_CHUNK", chunk)
        for elements in arrays:
            assert [json.loads(part) for part in array.parts(json.dumps(elements, indent=indent))] == elements


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), values), max_size=12), st.sampled_from([1, 3, 16_384])
)
def test_so_they_are_after_any_edits(edits, chunk):
    array, elements = ArrayText(), list(range(10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_threads, "_CHUNK", chunk)
        for start, end, value in edits:
            elements[start:end] = [value]
            assert [json.loads(part) for part in array.parts(json.dumps(elements))] == elements


def test_after_a_text_that_is_none_it_begins_anew():
    array = ArrayText()
    array.parts("[1,2,3]")
    with pytest.raises(ValueError, match="JSON|Expecting"):
        array.parts("[1,2,")
    assert array.parts("[1,2,3,4]") == ["1", "2", "3", "4"]


def test_an_element_that_goes_on_is_another_one():
    array = ArrayText()
    for text, parts in [("[12]", ["12"]), ("[123]", ["123"]), ("[3]", ["3"]), ("[1, 3]", ["1", "3"]), ("[]", [])]:
        assert array.parts(text) == parts


def test_an_end_that_only_looks_the_same_is_read_again():
    array = ArrayText()
    array.parts('[1,"a"]')
    assert array.parts('["1,\\"a"]') == ['"1,\\"a"']


def test_what_is_as_before_is_the_identical_object():
    array = ArrayText()
    first = array.parts('[{"a":1},{"b":2},{"c":3}]')
    second = array.parts('[{"a":1},{"new":0},{"b":2},{"c":3}]')
    # `{"b":2}` begins as what is new does; one such neighbour is looked at again.
    assert [second[0] is first[0], second[3] is first[2]] == [True, True]


@settings(deadline=None)
@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_what_two_texts_share_is_found(old, new):
    start = same_start(old, new)
    end = same_end(old, new, start)
    assert old[:start] == new[:start]
    assert old[len(old) - end :] == new[len(new) - end :]
    longest = next((n for n in range(min(len(old), len(new)), 0, -1) if old[:n] == new[:n]), 0)
    assert start == longest
    assert start + end <= min(len(old), len(new))
