r"""Regular expressions of other people's schemas, matched in linear time or not at all.

Python and JavaScript match by trying: `^(a+)+$` against thirty letters takes longer than anybody lives. pydantic has an
engine that cannot be blocked so. Its dialect is not JSON Schema's (ECMA-262), so a pattern is translated, where the two
differ in the stricter sense: `\d` is ten digits, `$` is the very end. What that engine cannot express (a look-behind, a
reference back to a group) cannot be checked, and a schema that has it is refused.

One kind of lookahead can be: those directly behind the `^` of a pattern, `^(?=.*[0-9])(?!.* ).{8,}$`, are further
patterns which have to match, or must not. Password rules are written so, and pydantic writes decimals so.

Who fills a form in reads a plain pattern in words: `^[A-Z]{2}-[0-9]{4}$` is 2 capital letters, “-”, 4 digits.
"""

import functools
import re
from dataclasses import dataclass
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from hitl_nb._limits import PATTERN, PATTERN_SIZE, PATTERN_STEPS

__all__ = ["Pattern", "UncheckablePattern", "pattern_in_words", "pattern_of"]


class UncheckablePattern(ValueError):  # noqa: N818 - the pattern is at fault, not the program
    """A regular expression that is none, or that cannot be matched in linear time; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A regular expression that is safe to match."""

    parts: tuple[tuple[SchemaValidator, bool], ...]
    """What has to be found in a text (True), and what must not be."""

    size: int
    """How many parts it has, repetitions counted."""

    def cost(self, text: str) -> int:
        """Return the steps that a match takes at the worst."""
        return self.size * (len(text) + 1)

    def matches(self, text: str) -> bool:
        """Whether it is found somewhere in `text`.

        Raises:
            ValueError: The text is too long for a pattern of this size.
        """
        if self.cost(text) > PATTERN_STEPS:
            raise ValueError(f"a text of {len(text):,} characters is too long for its pattern")
        if not text.isascii():
            # Half a surrogate pair is a character to JSON and none to the engine.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return all(_is_found(engine, text) is wanted for engine, wanted in self.parts)


def _is_found(engine: SchemaValidator, text: str) -> bool:
    try:
        engine.validate_python(text)
    except ValidationError:
        return False
    return True


@functools.lru_cache(maxsize=1024)
def pattern_of(text: str) -> Pattern:
    """Return the pattern that a regular expression of a schema stands for.

    Raises:
        UncheckablePattern: It cannot be checked.
    """
    if len(text) > PATTERN:
        raise UncheckablePattern(f"it has {len(text):,} characters; at most {PATTERN:,} are taken")
    try:
        reader = _Reader(text)
        whole, size = reader.read()
    except RecursionError:
        raise UncheckablePattern("it is nested too deeply") from None
    size += sum(each for _, _, each in reader.ahead)
    if size > PATTERN_SIZE:
        raise UncheckablePattern(f"it has {size:,} parts, repetitions counted; at most {PATTERN_SIZE:,} are taken")
    ahead = [(f"{reader.flags}\\A(?:{inner})", wanted) for inner, wanted, _ in reader.ahead]
    parts = [(reader.flags + whole, True), *ahead]
    return Pattern(parts=tuple((_compiled(part), wanted) for part, wanted in parts), size=size)


def _compiled(text: str) -> SchemaValidator:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
    except (SchemaError, UnicodeError) as error:
        reason = str(error).strip().splitlines()[-1].strip().removeprefix("SchemaError: ").removeprefix("error: ")
        raise UncheckablePattern(reason.rstrip(".")) from error


_META: Final = frozenset("\\.+*?()|[]{}^$#&-~ ")
_ANY_BUT_LINE_ENDS: Final = r"[^\n\r\u{2028}\u{2029}]"
_SETS: Final = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": r"\t\n\x0B\x0C\r\x20\u{A0}\u{FEFF}\u{2028}\u{2029}\p{Zs}",
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")


class _Reader:
    """Reads one regular expression, and writes it for the engine: each part gives its text and its size."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.flags = ""
        self.ahead: list[tuple[str, bool, int]] = []
        """The lookaheads at the start: text, whether it has to match, size."""

    def read(self) -> tuple[str, int]:
        if self._take("(?"):
            end = self._text.find(")", self._at)
            flags = self._text[self._at : end]
            if end > 0 and flags and set(flags) <= set("ims"):
                self._at, self.flags = end + 1, f"(?{flags})"
            else:
                self._at = 0
        anchored = self._take("^")
        while anchored and (self._sees("(?=") or self._sees("(?!")):
            if "m" in self.flags:
                raise UncheckablePattern("a lookahead cannot be checked")
            wanted = self._text[self._at + 2] == "="
            self._at += 3
            inner, size = self._alternatives()
            self._close()
            self.ahead.append((inner, wanted, size))
        if anchored and not self.ahead:
            self._at -= 1
        whole, size = self._alternatives(alone=bool(self.ahead))
        if self._at < len(self._text):
            raise UncheckablePattern(f"a `)` at {self._at} closes nothing")
        return ("^" + whole if self.ahead else whole), size

    # -- what is there ------------------------------------------------------------------------------------

    def _sees(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if self._sees(text):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise UncheckablePattern("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _close(self) -> None:
        if not self._take(")"):
            raise UncheckablePattern("a `(` is not closed")

    # -- parts --------------------------------------------------------------------------------------------

    def _alternatives(self, *, alone: bool = False) -> tuple[str, int]:
        text, size = self._sequence()
        while self._take("|"):
            if alone:
                raise UncheckablePattern("a lookahead beside alternatives cannot be checked")
            other, more = self._sequence()
            text, size = f"{text}|{other}", size + more + 1
        return text, size

    def _sequence(self) -> tuple[str, int]:
        parts, size = [], 0
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            text, one = self._quantified()
            parts.append(text)
            size += one
        return "".join(parts), max(size, 1)

    def _quantified(self) -> tuple[str, int]:
        text, size = self._atom()
        found = self._quantifier()
        if found is None:
            return text, size
        if text in ("^", "$") or text.startswith(r"(?-u:\b"):
            raise UncheckablePattern(f"`{text}` cannot be repeated")
        sign, times = found
        lazy = "?" if self._take("?") else ""
        if self._sees("+") or self._sees("*") or self._sees("?") or self._quantifier() is not None:
            raise UncheckablePattern(f"something is repeated twice at {self._at}")
        return f"(?:{text}){sign}{lazy}", size * times

    def _quantifier(self) -> tuple[str, int] | None:
        for sign in "*+?":
            if self._take(sign):
                return sign, 1
        if not self._sees("{"):
            return None
        inner, closed, _ = self._text[self._at + 1 :].partition("}")
        low, comma, high = inner.partition(",")
        if (
            not closed
            or not low.isdecimal()
            or not low.isascii()
            or not (high == "" or (high.isdecimal() and high.isascii()))
        ):
            if closed and comma and low == "" and high.isdecimal():
                raise UncheckablePattern(f"`{{{inner}}}` means one thing here and another there; write `{{0,{high}}}`")
            return None
        self._at += len(inner) + 2
        if len(low) > 6 or len(high) > 6:
            raise UncheckablePattern(f"`{{{inner}}}` repeats too often")
        return f"{{{inner}}}", max(int(low) + (comma != "" and high == ""), int(high or 0), 1)

    def _atom(self) -> tuple[str, int]:
        sign = self._next()
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._set(), 1
            case ".":
                return "." if "s" in self.flags else _ANY_BUT_LINE_ENDS, 1
            case "\\":
                return self._escape(), 1
            case "^" | "$":
                return sign, 1
            case "*" | "+" | "?":
                raise UncheckablePattern(f"`{sign}` at {self._at - 1} repeats nothing")
        return _literal(sign), 1

    def _group(self) -> tuple[str, int]:
        opening = "("
        if self._take("?"):
            opening = self._opening()
        text, size = self._alternatives()
        self._close()
        return f"{opening}{text})", size

    def _opening(self) -> str:
        if self._take(":"):
            return "(?:"
        if self._sees("<=") or self._sees("<!"):
            raise UncheckablePattern("a look-behind cannot be checked")
        if self._sees("=") or self._sees("!"):
            raise UncheckablePattern("a lookahead anywhere but behind the first `^` cannot be checked")
        if self._take("P<") or self._take("<"):
            name, closed, _ = self._text[self._at :].partition(">")
            if closed and name.isidentifier():
                self._at += len(name) + 1
                return "(?:"  # nothing can refer to it
        raise UncheckablePattern(f"`(?{self._text[self._at : self._at + 1]}` cannot be checked")

    # -- characters ---------------------------------------------------------------------------------------

    def _escape(self) -> str:
        sign = self._next()
        if sign in "dwsDWS":
            return f"[{'^' if sign.isupper() else ''}{_SETS[sign.lower()]}]"
        if sign in "bB":
            return rf"(?-u:\{sign})"
        if sign in "AZz":
            return r"\A" if sign == "A" else r"\z"
        if sign in "pP":
            return self._property(sign)
        if sign == "k" or (sign in "123456789"):
            raise UncheckablePattern("a reference back to a group cannot be checked")
        return _literal(self._character(sign))

    def _property(self, sign: str) -> str:
        if self._take("{"):
            name, closed, _ = self._text[self._at :].partition("}")
            if closed and name and all(each.isascii() and (each.isalnum() or each in "_=") for each in name):
                self._at += len(name) + 1
                return f"\\{sign}{{{name}}}"
        raise UncheckablePattern(f"`\\{sign}` has no `{{name}}`")

    def _character(self, sign: str) -> str:
        """Return the character that an escape stands for; its first letter is taken."""
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "x":
            return chr(self._hex(2))
        if sign == "u":
            return self._unicode()
        if sign == "0" and not (self._at < len(self._text) and self._text[self._at].isdecimal()):
            return "\0"
        if (
            sign == "c"
            and self._at < len(self._text)
            and self._text[self._at].isascii()
            and self._text[self._at].isalpha()
        ):
            return chr(ord(self._next()) % 32)
        if sign.isalnum():
            raise UncheckablePattern(f"`\\{sign}` means nothing")
        return sign

    def _hex(self, digits: int) -> int:
        found = self._text[self._at : self._at + digits]
        if len(found) < digits or not set(found) <= _HEX:
            raise UncheckablePattern(f"an escape at {self._at} lacks its digits")
        self._at += digits
        return int(found, 16)

    def _unicode(self) -> str:
        if self._take("{"):
            found, closed, _ = self._text[self._at :].partition("}")
            if not closed or not found or len(found) > 6 or not set(found) <= _HEX or int(found, 16) > 0x10FFFF:
                raise UncheckablePattern(f"an escape at {self._at} lacks its digits")
            self._at += len(found) + 1
            return chr(int(found, 16))
        code = self._hex(4)
        if 0xD800 <= code < 0xDC00 and self._take("\\u"):
            low = self._hex(4)
            if not 0xDC00 <= low < 0xE000:
                raise UncheckablePattern("half a character cannot be checked")
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return chr(code)

    def _set(self) -> str:
        parts = ["[^" if self._take("^") else "["]
        if self._sees("]"):
            raise UncheckablePattern(
                f"`{parts[0]}]` means one thing here and another there; write `[\\]]` or `[\\s\\S]`"
            )
        while not self._take("]"):
            first = self._member()
            # `[\w-.]` is written a lot, and means the sign itself.
            if len(first) != 1 or not self._sees("-") or self._sees("-]"):
                parts.append(_literal(first) if len(first) == 1 else first)
                continue
            self._at += 1
            last = self._member()
            if len(last) != 1:
                parts += [_literal(first), _literal("-"), last]
            elif first <= last:
                parts.append(f"{_literal(first)}-{_literal(last)}")
            else:
                raise UncheckablePattern(f"a range before {self._at} has no two ends in order")
        return "".join(parts) + "]"

    def _member(self) -> str:
        """Return one member of a set: a character, or (longer) what the engine calls several."""
        sign = self._next()
        if sign != "\\":
            return sign
        sign = self._next()
        if sign in "dws":
            return _SETS[sign]
        if sign in "DWS":
            return f"[^{_SETS[sign.lower()]}]"
        if sign in "pP":
            return self._property(sign)
        return "\b" if sign == "b" else self._character(sign)


def _literal(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        raise UncheckablePattern("half a character cannot be checked")
    if character in _META:
        return f"\\x{ord(character):02X}"
    return character if character.isprintable() else f"\\u{{{ord(character):X}}}"


# -- a pattern in words -----------------------------------------------------------------------------------------------

_ONE: Final = {
    **dict.fromkeys(("[A-Z]",), ("capital letter", "capital letters")),
    **dict.fromkeys(("[a-z]",), ("small letter", "small letters")),
    **dict.fromkeys(("[A-Za-z]", "[a-zA-Z]"), ("letter", "letters")),
    **dict.fromkeys(("[0-9]", r"\d"), ("digit", "digits")),
    **dict.fromkeys(("[a-z0-9]", "[0-9a-z]"), ("small letter or digit", "small letters or digits")),
    **dict.fromkeys(("[A-Z0-9]", "[0-9A-Z]"), ("capital letter or digit", "capital letters or digits")),
    **dict.fromkeys(("[A-Za-z0-9]", "[a-zA-Z0-9]", "[0-9A-Za-z]"), ("letter or digit", "letters or digits")),
    **dict.fromkeys((r"\w", "[A-Za-z0-9_]", "[a-zA-Z0-9_]"), ("letter, digit or _", "letters, digits or _")),
    **dict.fromkeys((".",), ("character", "characters")),
    **dict.fromkeys((r"\S",), ("character that is no space", "characters without a space")),
    **dict.fromkeys(("[0-9a-f]", "[a-f0-9]"), ("digit or a to f", "digits or a to f")),
}
_PART: Final = re.compile(
    r"(?P<one>\[(?:[A-Za-z0-9_]-[A-Za-z0-9_]|_)+\]|\\[dwS]|\.)(?:(?P<sign>[+*?])|\{(?P<least>\d+)(?P<to>,(?P<most>\d*))?\})?"
    r"|(?P<text>(?:[A-Za-z0-9 _@:/#%&=~,;!'\"<>-]|\\[.+*?()\[\]{}^$|/\\-])+)(?![+*?{])"
)


def pattern_in_words(pattern: str) -> str:
    """Return what a text has to look like, in words where there are short ones; else the pattern itself."""
    if not (pattern.startswith("^") and pattern.endswith("$")) or pattern.endswith(r"\$"):
        return pattern
    rest, said = pattern[1:-1], []
    while rest:
        found = _PART.match(rest)
        if found is None or not (words := _words(found)):
            return pattern
        said.append(words)
        rest = rest[found.end() :]
    return ", ".join(said) if 0 < len(said) <= 6 else pattern


def _words(part: "re.Match[str]") -> str:
    if part["text"] is not None:
        text = re.sub(r"\\(.)", r"\1", part["text"])
        return f"“{text}”"
    if part["one"] not in _ONE:
        return ""
    one, many = _ONE[part["one"]]
    if part["sign"] is not None:
        return {"+": f"one or more {many}", "*": f"any number of {many}", "?": f"perhaps one {one}"}[part["sign"]]
    if part["least"] is None:
        return f"1 {one}"
    least = int(part["least"])
    if part["to"] is None:
        return f"{least} {one if least == 1 else many}"
    return f"{least} to {part['most']} {many}" if part["most"] else f"{least} or more {many}"
