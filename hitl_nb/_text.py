"""Text of a model, made safe to look at: one rule for all that is read, on cards, in records, errors and logs.

It is never HTML. What draws nothing, or changes how its neighbours are drawn, is written out by its code, and wherever
something was, there is a warning beside it. What goes by Unicode's own properties (`unicodedata`):

=====================================  ==============================================================================
written out                            but for
=====================================  ==============================================================================
controls, surrogates, line separators  a line feed and a tab
formats, also what ignores drawing     joiners and selectors inside an emoji; a (non-)joiner where its script draws a
(selectors, fillers, tags)             difference: after a virama, between joining Arabic letters; Mongolian selectors
                                       after Mongolian letters; the signs that Arabic and Syriac write around numbers
spaces that are no plain space         a no-break space inside a number, before its unit or French punctuation; the wide
                                       space beside Chinese, Japanese, Korean
blank glyphs (Braille, hieroglyphs, …)
private use, not assigned              what Unicode keeps for emoji to come
=====================================  ==============================================================================

Letters that only look like others cannot be written out without making good text unreadable: a word that mixes scripts
as no language does (paypal with a Cyrillic letter in it) is named in the warning, with what it is made of.
"""

import functools
import json
import logging
import re
import traceback
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, TypeVar

from hitl_nb._secrets import masked

HIDDEN: Final = "This text contains invisible or direction-changing characters; they are shown escaped."
"""The warning where something was written out."""

SIGN: Final = "⚠"
"""Begins a warning inside of other text."""

# -- what draws nothing ---------------------------------------------------------------------------------------------

_PLAIN: Final = re.compile("[ -~\n\t\u00a1-\u00ac\u00ae-\u024f]*")
"""Most texts: nothing to look for."""

_ALWAYS: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})

# Default_Ignorable_Code_Point outside of these categories, as of DerivedCoreProperties.txt; and glyphs that are blank.
_IGNORED: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff"
    "\u2800\u2d7f\ufffc\U0001107f\U00013441\U00013442\U00016fe4\U0001d159]"
)
# Prepended_Concatenation_Mark: formats that are drawn, around the digits that follow.
_DRAWN: Final = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
# Extended_Pictographic without a name yet: an emoji that is newer than this Python.
_EMOJI_TO_COME: Final = re.compile("[\U0001f000-\U0001faff\U0001fc00-\U0001fffd]")


@functools.lru_cache(maxsize=4096)
def _hides(sign: str) -> bool:
    """Whether a character draws nothing by itself, or changes its neighbours."""
    if _IGNORED.match(sign):
        return True
    kind = unicodedata.category(sign)
    if kind not in _ALWAYS or sign in " \n\t":
        return False
    return not (_DRAWN.match(sign) or (kind == "Cn" and _EMOJI_TO_COME.match(sign)))


_EMOJI: Final = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_ARABIC: Final = "\u0620-\u063f\u0641-\u064a\u066e-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0750-\u077f\u08a0-\u08c9"
_NEVER_JOIN: Final = (  # Joining_Type R and U: a non-joiner behind them changes nothing
    "\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2-\u06d5"
    "\u06ee\u06ef\u0759-\u075b\u076b\u076c\u0771\u0773\u0774\u0778\u0779\u08aa-\u08ac\u08ae\u08b1\u08b2\u08b9"
)
_WIDE: Final = (
    "\u2e80-\u2fdf\u3001-\u3003\u3005-\u302d\u3030-\u303d\u3041-\u3163\u3165-\u318e\u31a0-\u31ff\u3400-\u9fff"
    "\uac00-\ud7a3\uff01-\uff9f"
)
_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f" for name in ("gbeng", "gbsct", "gbwls")
)
_KEPT: Final = re.compile(
    "|".join(
        (
            f"(?<=[{_EMOJI}])[\ufe0e\ufe0f](?:\u20e3)?",
            "(?<=[0-9#*])\ufe0f(?=\u20e3)",
            f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])",
            f"(?<=\U0001f3f4)(?:{_FLAGS})",
            f"(?<=[{_ARABIC}])(?<![{_NEVER_JOIN}])\u200c(?=[{_ARABIC}])",
            "(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f](?![\u180b-\u180f])",
            "(?<=[0-9])[\u00a0\u202f](?=[0-9A-Za-z%\u00b0\u00b5\u03bc\u2030\u20a0-\u20c0\u00a3\u00a5$])",
            "(?<=[^\\W_])[\u00a0\u202f](?=[:;!?\u00bb](?!\\w))",
            "(?<=\u00ab)[\u00a0\u202f](?=\\w)",
            f"(?<=[{_WIDE}])\u3000(?=[^\\s\u3000])|\u3000(?=[{_WIDE}])",
        )
    )
)
"""Where such a character is a part of something that is seen."""


def visible(text: str) -> str:
    """Return `text` with every character that is not seen written as its Unicode escape."""
    if _PLAIN.fullmatch(text):
        return text
    hiding = [sign for sign in set(text) if _hides(sign)]
    if not hiding:
        return text
    kept = {place for match in _KEPT.finditer(text) for place in range(*match.span())}
    return re.sub(
        f"[{''.join(map(re.escape, hiding))}]",
        lambda match: match[0] if match.start() in kept or _after_virama(text, match.start()) else _escape(match[0]),
        text,
    )


def _after_virama(text: str, place: int) -> bool:
    return text[place] in "\u200c\u200d" and place > 0 and unicodedata.combining(text[place - 1]) == 9


def _escape(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) <= 0xFFFF else f"\\U{ord(sign):08x}"


def visible_line(text: str) -> str:
    """Return `text` so in one line: where a second one could be taken for something else."""
    return visible(text).replace("\n", " ⏎ ")


_NAME: Final = re.compile(r"\w[\w .:/#-]*")


def visible_name(name: str) -> str:
    """Return a tool's name as it stands in a line of ours; in quotes if a model has made one up that is no name."""
    is_name = _NAME.fullmatch(name) and visible(name) == name
    return name if is_name else visible_line(json.dumps(name, ensure_ascii=False))


_ESCAPED: Final = re.compile(r"(\\\\)|\\(?:u00([01][0-9a-f])|([rbf]))")
_SHORT: Final = {"r": "\r", "b": "\b", "f": "\f"}


def json_line(value: object) -> str:
    """Return plain data as JSON text to read: what JSON would escape without a word is left to `visible`."""
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: match[1] or (chr(int(match[2], 16)) if match[2] else _SHORT[match[3]]), text)


def suspicious(text: str) -> bool:
    """Whether `visible` shows something that the plain text would hide."""
    return visible(text) != text


_Tree = TypeVar("_Tree")


def visible_tree(value: _Tree) -> tuple[_Tree, bool]:
    """Return plain JSON with every string made visible, keys too, and whether any of them hid something."""
    found = False

    def shown(part: object) -> object:
        nonlocal found
        if isinstance(part, str):
            text = visible(part)
            found = found or text != part
            return text
        if isinstance(part, dict):
            return {shown(key): shown(child) for key, child in part.items()}
        return [shown(child) for child in part] if isinstance(part, list) else part

    return shown(value), found  # type: ignore[return-value]  # the same shape


# -- letters that look like others ----------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[^\W\d_](?:[^\W_]|[\u0300-\u036f])*")

# What UTS 39 (confusables.txt) maps to one Latin letter, or draws like one.
_LOOKS_LATIN: Final = frozenset(
    "аɑеоорсухіјѕһԁԛԝӏүԍгпАВЕКМНОРСТУХЅІЈԌԚԜҮӀЗЬαγικνορτυχωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹոսհօցքգզյլԱՍՕԼՏᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᎾᏀᏂᏃᏎᏏᏒᏔᏙᏚᏞᏟᏢᏦᏧᏴ"
)
_FORMULA: Final = 3
"""Letters up to which a word of Latin and Greek is taken for a formula: a length, a difference."""

_TOGETHER: Final = (
    frozenset(("LATIN", "CJK", "HIRAGANA", "KATAKANA")),
    frozenset(("LATIN", "CJK", "HANGUL")),
    frozenset(("LATIN", "CJK", "BOPOMOFO")),
)
"""Scripts of one language (UTS 39, "highly restrictive")."""

_OF_NO_SCRIPT: Final = frozenset(
    "MICRO OHM KELVIN ANGSTROM FEMININE MASCULINE MODIFIER COMBINING SUPERSCRIPT SUBSCRIPT "
    "DOUBLE-STRUCK BLACK-LETTER "
    "SCRIPT EULER ROMAN VEDIC MASU ALEF BET GIMEL DALET INFORMATION "
    "PLANCK TURNED ROTATED IDEOGRAPHIC VERTICAL KATAKANA-HIRAGANA".split()
)


@functools.lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    """The script of a letter, as its name begins: ``LATIN``, ``CYRILLIC``; empty for those of every script."""
    if not unicodedata.category(letter).startswith("L"):
        return ""
    words = unicodedata.name(letter, "").split()
    first = words[0] if words else "unnamed"
    if first in ("FULLWIDTH", "HALFWIDTH") and words[1] in ("LATIN", "KATAKANA", "HANGUL"):
        return words[1]
    if first == "MATHEMATICAL":
        return "mathematical"
    return "" if first in _OF_NO_SCRIPT else first


def mixed_words(text: str) -> list[str]:
    """Return the words that mix scripts as no language does, in order and once each."""
    if text.isascii():
        return []
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if not word.isascii() and (_mixes(word) or _stands_in(text, match)):
            found[word] = None
    return list(found)


@functools.lru_cache(maxsize=4096)
def _mixes(word: str) -> bool:
    scripts = {script for letter in word if (script := _script(letter))}
    if len(scripts) < 2 or any(scripts <= language for language in _TOGETHER):
        return False
    if scripts == {"LATIN", "GREEK"}:
        looks = any(letter in _LOOKS_LATIN for letter in word)
        return looks and sum(letter.isalpha() for letter in word) > _FORMULA
    return True


def _stands_in(text: str, match: re.Match[str]) -> bool:
    """Whether a word is all of letters that look Latin, in an address or a path with Latin beside it."""
    if len(match[0]) < 2 or not all(letter in _LOOKS_LATIN for letter in match[0]):
        return False
    start, end = match.span()
    before, after = text[max(0, start - 3) : start], text[end : end + 2]
    return bool(re.search(r"[A-Za-z0-9][.@/_-]$|://$|//$", before) or re.match(r"[.@/_-][A-Za-z]", after))


def _described(word: str) -> str:
    scripts = list(dict.fromkeys(script.capitalize() for letter in word if (script := _script(letter))))
    spelled = "".join(letter if letter.isascii() else _escape(letter) for letter in word)
    mixes = f"mixes {' and '.join(scripts)} letters" if len(scripts) > 1 else f"looks Latin and is {scripts[0]}"
    return f"“{visible_line(word)}” {mixes}: {spelled}"


_NAMED: Final = 5
"""Words that a warning names; it says how many more there are."""


def warning_about(*texts: str | None) -> str | None:
    """Return what a reader of `texts` has to be told, in lines; None if they are what they look like."""
    given = [text for text in texts if text and not _PLAIN.fullmatch(text)]
    lines = [HIDDEN] if any(map(suspicious, given)) else []
    return "\n".join([*lines, *_about_words(given)]) or None


def warning_about_words(text: str) -> str:
    """Return what a reader has to be told of words that look like others, in lines; empty if there are none."""
    return "" if _PLAIN.fullmatch(text) else "\n".join(_about_words([text]))


def _about_words(texts: list[str]) -> list[str]:
    words = list(dict.fromkeys(word for text in texts for word in mixed_words(text)))
    more = [f"… and {len(words) - _NAMED} more such words."] if len(words) > _NAMED else []
    return [*(f"{_described(word)}." for word in words[:_NAMED]), *more]


_BY_JSON: Final = re.compile(r"\\[ubfr]")


def warning_in(value: object) -> str | None:
    """Return the same for all texts in plain data, keys too; most data are told by one look."""
    text = json.dumps(value, ensure_ascii=False)
    if _PLAIN.fullmatch(text) and not _BY_JSON.search(text):
        return None
    return warning_about(*_texts_in(value))


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts_in(key)
            yield from _texts_in(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts_in(part)


def warned(text: str) -> str:
    """Return `text` visible, with the warning below it, if there has to be one."""
    warning = warning_about(text)
    return visible(text) if warning is None else f"{visible(text)}\n{SIGN} " + warning.replace("\n", f"\n{SIGN} ")


def warned_line(text: str) -> str:
    """Return the same in one line: for a `repr`."""
    warning = warning_about(text)
    return visible_line(text) if warning is None else f"{visible_line(text)} {SIGN} {visible_line(warning)}"


def said(text: str) -> str:
    """Return words that leave the process or stay in a notebook: no known secret in them, nothing unseen."""
    return warned(masked(text))


def said_line(text: str) -> str:
    """Return the same in one line: for a `repr`."""
    return warned_line(masked(text))


# -- text that streams ------------------------------------------------------------------------------------------------


class Pieces:
    """A text that comes in pieces: joined when somebody reads it, since each joining copies all of it.

    Whoever wants a part of it only takes it as of a text, ``said[-100:]``, and nothing else is copied.
    """

    def __init__(self, text: str = "") -> None:
        self._pieces, self._ends = [text], [len(text)]

    def add(self, piece: str) -> None:
        """Put a piece at the end."""
        self._pieces.append(piece)
        self._ends.append(self._ends[-1] + len(piece))

    def read(self) -> str:
        """Return the text so far."""
        if (count := len(self._pieces)) > 1:
            self._pieces[:count] = ["".join(self._pieces[:count])]
            self._ends[:count] = [len(self._pieces[0])]
        return self._pieces[0]

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, part: slice) -> str:
        start, stop, _ = part.indices(len(self))
        first = bisect_right(self._ends, start)
        last = bisect_left(self._ends, stop) + 1
        begins = self._ends[first] - len(self._pieces[first]) if first < len(self._ends) else start
        return "".join(self._pieces[first:last])[start - begins : stop - begins]


# -- logs -------------------------------------------------------------------------------------------------------------


class _Said(logging.Filter):
    """Has what is logged be as everything else that is read, its traceback too."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = said(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            with suppress(BaseException):  # its words may raise anything; whoever formats it, deals with that
                # The text that a formatter would make itself, and keep here.
                record.exc_text = said("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
        return True


def logger(name: str = "hitl_nb") -> logging.Logger:
    """Return the logger of this name; what it logs is `said`."""
    found = logging.getLogger(name)
    if not any(isinstance(each, _Said) for each in found.filters):
        found.addFilter(_Said())
    return found
