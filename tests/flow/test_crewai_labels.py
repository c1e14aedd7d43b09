"""Which words are one of the outcomes of ``emit=``: generated, since whoever types has many ways to write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb.crewai._surfaces import label_of

LABELS = ["approved", "rejected", "needs_changes", "Ship it", "No", "+1", "-1", "v1.5", "Straße"]
PLAIN = [label for label in LABELS if label not in ("+1", "-1")]

around = st.sampled_from(["", " ", "'", '"', "`", "*", "**", "(", "[", "“", "«", "\n", "\t "])
after = st.text(st.sampled_from(".,;:!… "), max_size=4)
case = st.sampled_from([str, str.upper, str.lower, str.title, str.swapcase, str.casefold])
joined = st.sampled_from([" ", "_", "-", "  ", "–"])


@given(st.sampled_from(LABELS))
def test_a_label_is_itself(label):
    assert label_of(label, LABELS) == label


@given(st.sampled_from(PLAIN), case, around, around, after)
def test_case_punctuation_and_quotes_make_no_other_label(label, case, before, behind, after):
    assert label_of(f"{before}{case(label)}{after}{behind}", LABELS) == label


@given(st.sampled_from(["needs_changes", "Ship it"]), joined, case, after)
def test_nor_does_what_joins_its_words(label, join, case, after):
    words = label.replace("_", " ").split()
    assert label_of(case(join.join(words)) + after, LABELS) == label


@given(st.sampled_from(LABELS), st.sampled_from(LABELS), st.sampled_from(LABELS))
def test_words_that_name_more_than_one_are_none(one, two, three):
    assert label_of(f"{one}, {two}", LABELS) is None
    assert label_of(f"{one} {two} {three}!", LABELS) is None


@given(
    st.sampled_from(LABELS),
    st.sampled_from(
        [
            "not {}",
            "{} not",
            "un{}",
            "un-{}",
            "{}?",
            "{}?!",
            "{} ?",
            "!{}",
            "~{}",
            "¬{}",
            "❌ {}",
            "dis{}",
            "no: {}",
            "{} - no",
        ]
    ),
)
def test_what_denies_or_doubts_a_label_is_not_the_label(label, form):
    assert label_of(form.format(label), LABELS) is None


@given(st.text(max_size=12))
def test_whatever_is_taken_differs_in_nothing_but_case_punctuation_and_space(words):
    label = label_of(words, LABELS)
    if label is not None:
        assert _letters(words) == _letters(label)


def _letters(text):
    return [character for character in text.casefold() if character.isalnum()]


@pytest.mark.parametrize("words", ["no!", "No.", "NO", "nope!", "", " ", "!", "...", "yes", "ok", "👍", "👎"])
def test_a_no_is_never_an_approval(words):
    assert label_of(words, ["approved", "rejected"]) is None


@pytest.mark.parametrize(
    ("words", "labels"),
    [("go!", ["Go", "GO"]), ("1", ["+1", "-1"]), ("15", ["1.5", "1-5"]), ("a b", ["a-b", "a_b"])],
)
def test_what_could_be_two_labels_or_another_is_none(words, labels):
    assert label_of(words, labels) is None
