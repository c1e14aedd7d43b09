"""What is wrong with an answer, in the words of whoever gives it.

Validators speak to programmers: of inputs, instances, dictionaries and the names of classes. Who fills a form in reads
what the place wants instead: "Nights: at most 14".
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from hitl_nb._schema import FormNode, pattern_in_words
from hitl_nb.errors import InvalidValue

_WANTED: Final = {
    "text": "A text, please.",
    "long_text": "A text, please.",
    "number": "A number, please.",
    "integer": "A whole number, please.",
    "boolean": "Yes or no, please.",
    "choice": "One of the choices, please.",
    "constant": "Only the value that is given fits here.",
    "date": "A date, please, such as 2026-03-02.",
    "time": "A time, please, such as 14:05.",
    "datetime": "A date and a time, please, such as 2026-03-02 14:05.",
    "duration": "A duration, please, such as 1:30:00 or PT1H30M.",
    "list": "A list, please.",
    "table": "A list, please.",
    "tuple": "A list, please.",
    "object": "Names and values, please.",
    "dict": "Names and values, please.",
    "union": "This fits none of the forms that are allowed here.",
}
"""By the kind of control, what is wanted there."""

_KINDS: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "array": "a list",
    "object": "names and values",
    "null": "nothing",
}


def _either(match: "re.Match[str]") -> str:
    kinds = re.findall(r"\w+", match[1].replace(" or ", " "))
    words = " or ".join(_KINDS.get(kind, "something else") for kind in kinds)
    return f"{words[:1].upper()}{words[1:]}, please."


_QUOTED: Final = re.compile(r"""(['"])(.*?)\1""")


def _one_of(match: "re.Match[str]") -> str:
    choices = _QUOTED.sub(r"\2", match[1])
    return f"One of these, please: {choices}."


def _shape(match: "re.Match[str]") -> str:
    found = match[1]
    pattern = found[1:-1] if len(found) > 1 and found[0] == found[-1] == "'" else found
    return f"Of the form {pattern_in_words(pattern)}, please."


def _count(side: str) -> Callable[["re.Match[str]"], str]:
    return lambda match: f"At {side} {match[1]} {match[2]}{'' if match[1] == '1' else 's'}."


_SAID: Final[tuple[tuple["re.Pattern[str]", "str | Callable[[re.Match[str]], str]"], ...]] = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"Input should be less than or equal to (.+)", "At most {}."),
        (r"Input should be greater than or equal to (.+)", "At least {}."),
        (r"Input should be greater than (.+)", "More than {}."),
        (r"Input should be less than (.+)", "Less than {}."),
        (r"Input should be a multiple of (.+)", "In steps of {}."),
        (r"Input should be of type (.+)", _either),
        (r"\S.* should have at least (\d+) (character|item|byte)s?\b.*", _count("least")),
        (r"\S.* should have at most (\d+) (character|item|byte)s?\b.*", _count("most")),
        (r"(?:String should match pattern|Input should match the pattern) (.+)", _shape),
        (r"Decimal input should have no more than (\d+) digits? in total", "At most {} digits."),
        (r"Decimal input should have no more than (\d+) decimal places?", "At most {} digits behind the point."),
        (
            r"Decimal input should have no more than (\d+) digits? before the decimal point",
            "At most {} digits before the point.",
        ),
        (r"Input should be a finite number", "A number that is not infinite, please."),
        (r"Input should be a valid integer, got a number with a fractional part", "A whole number, please."),
        (
            r"(?:Input should be a valid integer|Unable to parse input string as an integer).*",
            "A whole number, please.",
        ),
        (
            r"(?:Input should be a valid (?:number|decimal|python complex|complex)|Decimal input should be).*",
            "A number, please.",
        ),
        (r"Input should be a valid boolean.*", "Yes or no, please."),
        (r"Date should be in the (past|future)", "A day in the {}, please."),
        (r"Input should be in the (past|future)", "A time in the {}, please."),
        (r"Datetimes provided to dates.*", "A day without a time, please."),
        (
            r"Input should (?:be a valid datetime|have timezone).*",
            "A date and a time, please, such as 2026-03-02 14:05+00:00.",
        ),
        (r"Input should not have timezone info", "Without a time zone, please, such as 2026-03-02 14:05."),
        (r"Timezone offset of .*", "In another time zone, please."),
        (r"Input should be a valid date\b.*", "A date, please, such as 2026-03-02."),
        (r"Input should be (?:a valid time\b|in a valid time).*", "A time, please, such as 14:05."),
        (r"Input should be a valid (?:timedelta|duration).*", "A duration, please, such as 1:30:00 or PT1H30M."),
        (
            r"(?:Input should be (?:a valid (?:list|array|tuple|set|frozenset)|iterable)|Arguments must be).*",
            "A list, please.",
        ),
        (
            r"Input should be (?:a valid (?:dictionary|mapping)|a dictionary or|an object).*",
            "Names and values, please.",
        ),
        (r"Input should be (?:a valid string|a string,).*", "A text, please."),
        (r"URL scheme should be (.+)", _one_of),
        (
            r"(?:Input should be a valid URL|URL input should be|Input violated strict URL).*",
            "An address, please, such as https://example.org.",
        ),
        (
            r"(?:Input should be a valid UUID|UUID ).*",
            "An identifier, please, such as 123e4567-e89b-12d3-a456-426614174000.",
        ),
        (r"value is not a valid email address.*", "An email address, please, such as ada@example.org."),
        (r"Input should be (?:None|null)", "Nothing may stand here."),
        (r"(?:Field required|Missing required.*)", "Needed."),
        (
            r"(?:Extra inputs are not permitted|Key not allowed|Unexpected .*argument|Object has no attribute.*)",
            "There is no such field.",
        ),
        (r"Input should not repeat an item", "Each only once."),
        (r"Input fits none of the allowed forms", "This fits none of the forms that are allowed here."),
        (
            r"Input fits more than one of the allowed forms",
            "This fits more than one of the forms that are allowed here.",
        ),
        (r"Input breaks the rule `(.+)`", "This is not allowed by the rule “{}” of the form."),
        (r"Input tag .*|Unable to extract tag .*", "Choose one of the forms."),
        (r"Field is frozen|Instance is frozen", "This cannot be changed."),
        (r"Keys should be strings", "Names have to be texts."),
        (r"Set items should be hashable", "These cannot be counted once each."),
        (r"it cannot be checked \(\w+: (.*)\)", "This cannot be checked: {}."),
        (r"The schema cannot be followed: (.*)", "This cannot be checked, since the rules of the form lead nowhere."),
        (r"Invalid JSON: .*|JSON input should be .*", "This is not JSON."),
        (r"Input should be ('.*'|\".*\"|.+ or .+|-?[\d.]+|True|False)", _one_of),
    )
)
"""What validators say, and what a person is told."""

_OF_A_VALIDATOR: Final = re.compile(
    r"(?:Input|Error (?:extracting|iterating)|Cannot check|Recursion error|The default factory|Invalid datetime|"
    r"Data should|Got multiple|Unable to|URL|UUID) .*",
    re.DOTALL,
)
"""How the rest of what they say begins; what a check of somebody's own says is in their words."""


def in_person(message: str, node: FormNode | None = None) -> str:
    """Return what a validator says in words for whoever gives an answer; words of a check of their own as they are.

    Args:
        message: What it says.
        node: What is known about the place.
    """
    for pattern, words in _SAID:
        if found := pattern.fullmatch(message):
            return words.format(*found.groups()) if isinstance(words, str) else words(found)
    if _OF_A_VALIDATOR.fullmatch(message):
        return _WANTED.get(node.kind, "") if node is not None and node.kind in _WANTED else "This does not fit here."
    return message


def one_a_place(
    errors: Sequence[dict[str, Any]], node_of: Callable[[Sequence[Any]], FormNode | None]
) -> list[dict[str, Any]]:
    """Return the first fault of each place, in words.

    Args:
        errors: As `InvalidValue` has them.
        node_of: Gives what is known about a place.
    """
    first: dict[str, dict[str, Any]] = {}
    for error in errors:
        place = json.dumps(error["path"])
        if place not in first:
            first[place] = {**error, "message": in_person(error["message"], node_of(error["path"]))}
    return list(first.values())


def refusal_of(error: InvalidValue) -> str:
    """Return why an answer was refused, for the card: in words where a validator has said it."""
    said = dict.fromkeys(in_person(each["message"]) for each in error.errors)
    return " ".join(said) or str(error)
