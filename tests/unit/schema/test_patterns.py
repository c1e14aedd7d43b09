"""Patterns of other people's schemas: what is found, what is refused, and that none can block the kernel."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb._limits import PATTERN, PATTERN_STEPS
from hitl_nb._schema import validator_for
from hitl_nb._schema._patterns import UncheckablePattern, pattern_of
from hitl_nb.errors import InvalidValue, ToolDefinitionError

DECIMAL = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"  # as pydantic writes it
PASSWORD = r"^(?=.*[A-Z])(?=.*\d)(?!.*\s).{8,}$"
FOREVER = ["^(a+)+$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", r"(.*)*=(.*)*", "^(a|a?)+$", r"^(\w+\s?)*$"]


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        (r"^\d{5}$", ["12345"], ["1234", "12345\n", "١٢٣٤٥"]),
        (r"^[A-Z]{2}-\d{2}$", ["AB-12"], ["ab-12"]),
        (DECIMAL, ["1.50", "-3", "+.5"], ["", "-", "1,5"]),
        (PASSWORD, ["Passw0rd"], ["password", "Pass w0rd", "P0"]),
        (r"^[\w-.]+@[\w-]+\.[a-z]{2,}$", ["a.b-c@d.org"], ["a b@c.org", "ä@b.org"]),
        (r"^\p{L}+$", ["Äß", "abc"], ["a1"]),
        (r"^\p{Script=Greek}$", ["\u03b1"], ["a"]),
        (r"\bfoo\b", ["a foo b"], ["afoo"]),
        (r"^.$", ["a", "\U0001f600", "\ud83d"], ["\n", "\r", "\u2028", "ab"]),
        (r"^[\s\S]$", ["\n"], ["ab"]),
        (r"^\ud83d\ude00$", ["\U0001f600"], ["a"]),
        (r"^\cJ\x41\u0042\/\-$", ["\nAB/-"], ["AB/-"]),
        (r"(?i)^abc$", ["ABC"], ["abd"]),
        (r"^(?<year>\d{4})-(?P<month>\d\d)$", ["2026-11"], ["2026"]),
        (r"^[a-z&&b~~[]$", ["&", "[", "c"], ["A"]),
        (r"^x{}{,}$", ["x{}{,}"], ["x"]),
        ("", ["", "a"], []),
        (r"a|", ["", "b"], []),
    ],
)
def test_what_a_pattern_says_is_what_is_checked(pattern, found, not_found):
    assert [text for text in found if not pattern_of(pattern).matches(text)] == []
    assert [text for text in not_found if pattern_of(pattern).matches(text)] == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(?<=a)b", "look-behind"),
        (r"a(?=b)", "lookahead"),
        (r"^(?=a)b|c", "lookahead"),
        (r"(a)\1", "reference back"),
        (r"\k<a>", "reference back"),
        ("(", "not closed"),
        ("a)", "closes nothing"),
        ("[a", "ends too early"),
        ("[]a]", "one thing here and another there"),
        ("a{,3}", "write `{0,3}`"),
        ("a**", "repeated twice"),
        ("*", "repeats nothing"),
        ("[z-a]", "in order"),
        (r"\y", "means nothing"),
        (r"\p{Nope}", "property"),
        ("(?x)a", "cannot be checked"),
        ("x" * (PATTERN + 1), "characters"),
        ("(a{1000}){1000}", "parts, repetitions counted"),
        (r"\p{L}{1000}", "size limit"),
        ("a{9999999}", "too often"),
    ],
)
def test_what_cannot_be_checked_is_refused_with_the_reason(pattern, why):
    with pytest.raises(UncheckablePattern, match=re.escape(why)):
        pattern_of(pattern)
    with pytest.raises(ToolDefinitionError, match="could not be checked against the pattern"):
        validator_for({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}})
    with pytest.raises(ToolDefinitionError, match="could not be checked against the pattern"):
        validator_for({"type": "object", "patternProperties": {pattern: {}}})


@pytest.mark.parametrize("pattern", FOREVER)
def test_no_pattern_blocks_the_kernel(pattern):
    """Each of these would keep Python busy for longer than anybody lives."""
    text = "a" * 5_000 + "!"
    assert not pattern_of(pattern).matches(text) or not pattern.startswith("^")
    validator = validator_for({"type": "object", "patternProperties": {pattern: {}}, "additionalProperties": False})
    inside = validator_for(
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": pattern}}}
    )
    for checked, value in ((validator, {text: 1}), (inside, {"a": text})):
        with contextlib.suppress(InvalidValue):
            checked.validate(value)


def test_a_text_too_long_for_its_pattern_is_refused():
    validator = validator_for({"type": "string", "pattern": "^.{0,2000}$"})
    assert validator.validate("a" * 1_000)
    with pytest.raises(InvalidValue, match="too long for its pattern"):
        validator.validate("a" * (PATTERN_STEPS // 2_000 + 1))


def test_a_pattern_in_data_is_no_pattern():
    schema = {"properties": {"pattern": {"type": "string"}}, "default": {"pattern": "("}, "enum": [{"pattern": "("}]}
    assert validator_for(schema).validate({"pattern": "("}) == {"pattern": "("}


def test_a_pattern_that_nobody_has_looked_at_refuses_the_value():
    validator = validator_for({"$ref": "#/x/y", "x": {"y": {"pattern": r"^(a)\1$"}}})
    with pytest.raises(InvalidValue, match="reference back to a group"):
        validator.validate("aa")


ATOMS = st.sampled_from(["a", "b", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", "[a-c]", "1", r"\.", "é", "-"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)


@given(pattern=PATTERNS, anchored=st.booleans(), text=st.text(alphabet="ab1. -", max_size=8))
def test_it_finds_what_python_finds(pattern, anchored, text):
    """Over an alphabet where the two dialects mean the same."""
    pattern = f"^(?:{pattern})$" if anchored else pattern
    assert pattern_of(pattern).matches(text) is bool(re.search(pattern, text))
