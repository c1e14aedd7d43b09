"""What is wrong is said in the words of whoever fills the form in: no validator's phrase, no name of a class."""

import functools
import json
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import annotated_types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, Field, HttpUrl, PastDate, StringConstraints, field_validator
from pydantic_core._pydantic_core import list_all_errors

from hitl_nb import human_in_the_loop
from hitl_nb._schema import pattern_in_words, validator_for
from hitl_nb.cards import Form, Text
from hitl_nb.cards._faults import in_person
from hitl_nb.errors import InvalidValue
from tests.conformance.schemas import Case, cases
from tests.conftest import shared_file
from tests.unit.cards.desk import opened, set_to

PHRASES = re.compile(
    r"\b(?:[Ii]nput|[Ii]nstance|dictionary|valid (?:integer|string|list|dict)|pydantic|unable to|JsonOrPython|NoneType|"
    r"subclass|sentinel|[Aa]ttribute|hashable|unicode|timedelta|frozenset|traceback|Not a valid)\b"
)


def check_words(words: str) -> None:
    assert not PHRASES.search(words), words
    assert words
    assert words[0] == words[0].upper()


@pytest.mark.parametrize("template", list_all_errors(), ids=lambda each: each["type"])
def test_nothing_that_pydantic_can_say_reaches_a_person(template):
    examples = [template["example_message_python"], template.get("example_message_json")]
    for message in filter(None, examples):
        if not message.startswith(("Value error", "Assertion failed")):
            check_words(in_person(message))


def test_an_address_that_is_none_is_told_as_that():
    said = "value is not a valid email address: An email address must have an @-sign."
    assert in_person(said) == "An email address, please, such as ada@example.org."


class Colour(Enum):
    RED = "red"


class Stop(BaseModel):
    city: str
    nights: Annotated[int, Field(ge=1, le=14)]


class Trip(BaseModel):
    nights: Annotated[int, Field(le=14)]
    code: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}-\d{4}$")]
    who: Annotated[str, StringConstraints(min_length=2)]
    colour: Colour
    size: Literal["s", "m"]
    when: date
    at: AwareDatetime
    born: PastDate
    takes: timedelta
    price: Annotated[Decimal, Field(max_digits=5, decimal_places=2)]
    home: HttpUrl
    key: UUID
    stops: list[Stop] = Field(min_length=1)
    either: Stop | list[int]
    step: Annotated[float, annotated_types.MultipleOf(0.5)]
    plane: bool

    @field_validator("who")
    @classmethod
    def is_known(cls, who: str) -> str:
        if who == "Nobody":
            raise ValueError("Nobody may travel.")
        return who


TRIP = Trip(
    nights=2,
    code="AB-1234",
    who="Ada",
    colour=Colour.RED,
    size="s",
    when=date(2026, 3, 2),
    at=datetime.fromisoformat("2026-03-02T14:05+01:00"),
    born=date(2000, 1, 1),
    takes=timedelta(hours=1),
    price=Decimal("1.20"),
    home=HttpUrl("https://example.org"),
    key=UUID(int=0),
    stops=[Stop(city="Oslo", nights=1)],
    either=[1],
    step=0.5,
    plane=True,
)

SAID: list[tuple[str, Any, str]] = [
    ("nights", 15, "At most 14."),
    ("nights", "many", "A whole number, please."),
    ("nights", 1.5, "A whole number, please."),
    ("code", "x", "Of the form 2 capital letters, “-”, 4 digits, please."),
    ("who", "A", "At least 2 characters."),
    ("who", "Nobody", "Nobody may travel."),
    ("who", None, "A text, please."),
    ("colour", "blue", "One of these, please: red."),
    ("size", "xl", "One of these, please: s or m."),
    ("when", "soon", "A date, please, such as 2026-03-02."),
    ("at", "2026-03-02T14:05", "A date and a time, please, such as 2026-03-02 14:05+00:00."),
    ("born", "2999-01-01", "A day in the past, please."),
    ("takes", "long", "A duration, please, such as 1:30:00 or PT1H30M."),
    ("price", "1.234", "At most 2 digits behind the point."),
    ("price", "12345678", "At most 5 digits."),
    ("home", "ftp://example.org", "One of these, please: http or https."),
    ("home", "nowhere", "An address, please, such as https://example.org."),
    ("key", "7", "An identifier, please, such as 123e4567-e89b-12d3-a456-426614174000."),
    ("step", 0.7, "In steps of 0.5."),
    ("plane", "perhaps", "Yes or no, please."),
    ("stops", [], "At least 1 item."),
    ("stops", 5, "A list, please."),
]


@pytest.mark.parametrize(("name", "value", "words"), SAID)
def test_a_field_says_what_it_wants(name, value, words):
    with opened(TRIP, name="trip", answer_type=validator_for(Trip), offer=TRIP, offers_arguments=False) as call:
        card = Form(call)
        with pytest.raises(InvalidValue) as caught:
            card.decide({"edits": [set_to(value, name)]})
        assert [(error["path"], error["message"]) for error in card.props()["errors"]] == [([name], words)]
        assert str(caught.value) == f"{name.capitalize()}: {words[0].lower()}{words[1:-1]}"


def test_another_card_says_it_too():
    type_ = human_in_the_loop(
        name="t", parameters={"properties": {}}, answer=Annotated[str, StringConstraints(min_length=5)]
    ).answer
    with opened({}, answer_type=type_, render=Text) as call:
        with pytest.raises(InvalidValue, match="^At least 5 characters.$"):
            Text(call).decide({"text": "ab"})
        assert call.error == "At least 5 characters."


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("^[A-Z]{3}$", "3 capital letters"),
        (r"^\d{4}-\d{2}$", "4 digits, “-”, 2 digits"),
        ("^[a-z0-9]{3,8}$", "3 to 8 small letters or digits"),
        (r"^v\d+\.\d+$", "“v”, one or more digits, “.”, one or more digits"),
        ("^[A-Za-z]?$", "perhaps one letter"),
        ("^x{3}$", "^x{3}$"),
        ("^(a|b)$", "^(a|b)$"),
        ("[A-Z]", "[A-Z]"),
        ("^[^@]+@[^@]+$", "^[^@]+@[^@]+$"),
        ("", ""),
    ],
)
def test_a_pattern_in_words(pattern, words):
    assert pattern_in_words(pattern) == words


@given(st.text(alphabet="^$[]{}()AZaz09-,+*?.\\dws@ ", max_size=20))
def test_words_for_a_pattern_are_never_nothing(pattern):
    assert pattern_in_words(pattern) or not pattern or pattern == "^$"


json_values: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@functools.cache
def stress_set() -> list[Case]:
    return list(cases(shared_file("schemas/stress_set.json")))


def refused(card: Form, edits: list[Any]) -> str:
    """What is said below the form; "" where the answer is taken."""
    try:
        card.decide({"edits": edits})
    except InvalidValue as error:
        return str(error)
    return ""


@pytest.mark.parametrize("third", range(3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_is_entered_into_real_tools_forms_no_phrase_of_a_validator_is_said(third, data):
    case = data.draw(st.sampled_from(stress_set()[third::3]))
    tool = human_in_the_loop(name="tool", parameters=case.schema)
    names = list(case.value) if isinstance(case.value, dict) else []
    with opened(json.loads(json.dumps(case.value)), name="tool", args_type=tool.parameters) as call:
        card = Form(call)
        edits = [set_to(data.draw(json_values), name) for name in [*names[:3], "unknown"]]
        said = [refused(card, [edit]) for edit in edits]
        faults = card.props()["errors"]
    for fault in faults:
        check_words(fault["message"])
    for words in said:
        for name in sorted(names, key=len):
            words = words.replace(name, "").replace(name.replace("_", " ").title(), "")  # the field's own name
        assert not PHRASES.search(words), words
