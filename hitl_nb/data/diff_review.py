"""A change to a text, hunk by hunk: what goes, what comes, and which of it a person takes.

The answer is put together from ranges of lines of the two texts, never from a patch that is parsed back: so all taken
is the one text, none taken is the other, to the last character.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import BaseModel

from hitl_nb._calls import NOT_ACCEPTED, Call, accepted_as, confirmed
from hitl_nb._schema import shared_start
from hitl_nb.cards import Card, Row, argument_rows, code, names_of, suspicious, value_of
from hitl_nb.errors import InvalidValue, ToolDefinitionError

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WORK: Final = 200_000
"""Pairs of equal lines up to which all of them are compared (some 0.3 s); beyond, frequent lines are passed over."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A stretch of lines that both texts have, or that one has in the place of the other's."""

    before: tuple[str, ...]
    """The lines as they were, with their ends."""

    after: tuple[str, ...]
    """The lines as they are proposed."""

    @property
    def same(self) -> bool:
        """Whether nothing changes here."""
        return self.before == self.after


def blocks_of(before: str, after: str) -> list[Block]:
    """Return two texts as stretches of lines, in order; a line ends at a line feed and nowhere else."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    head = shared_start(old, new)
    tail = shared_start(old[head:][::-1], new[head:][::-1])
    inner = old[head : len(old) - tail], new[head : len(new) - tail]
    found = [Block(before=tuple(old[:head]), after=tuple(new[:head])), *_middle(*inner)]
    ends = tuple(old[len(old) - tail :])
    return [block for block in [*found, Block(before=ends, after=ends)] if block.before or block.after]


def _middle(old: list[str], new: list[str]) -> list[Block]:
    counts = Counter(old)
    work = sum(counts[line] for line in new)
    found = SequenceMatcher(None, old, new, autojunk=work > _WORK).get_opcodes()
    return [Block(before=tuple(old[i:j]), after=tuple(new[k:m])) for _, i, j, k, m in found]


class DiffReview(Card):
    """A change to code or another text; each hunk is taken, left or edited. The answer is the text that comes of it.

    Args:
        call: The call; its arguments hold the text as it is proposed, and as it was.
        after: The name of the argument that is proposed; default: ``after``, else the first text of several lines.
        before: The name of the argument that it was; without such an argument all of it is new.
        language: What colours it: ``python``, ``sql``, …; default: the argument called ``language``.
    """

    module: ClassVar[str | Path] = "diff"
    style: ClassVar[str | Path | None] = "diff"

    def __init__(
        self, call: Call, *, after: str | None = None, before: str = "before", language: str | None = None
    ) -> None:
        super().__init__(call)
        self._after, self._before, self._language = after, before, language
        self._made: list[Block] | None = None

    def _name(self) -> str:
        names = names_of(self.call.args)
        if self._after is not None or "after" in names:
            return self._after or "after"
        others = [name for name in names if name != self._before and isinstance(value_of(self.call.args, name), str)]
        if not others:
            raise ToolDefinitionError(
                f"`DiffReview` finds no text among the arguments of `{self.call.name}` ({', '.join(names) or 'none'}). "
                "Write a tool with `before: str, after: str`, or `render=partial(DiffReview, after='code')`."
            )
        return next((name for name in others if "\n" in value_of(self.call.args, name)), others[-1])

    def _texts(self) -> tuple[str, str]:
        args = self.call.args
        before, after = value_of(args, self._before, ""), value_of(args, self._name(), "")
        return before if isinstance(before, str) else "", after if isinstance(after, str) else ""

    def _blocks(self) -> list[Block]:
        if self._made is None:
            self._made = blocks_of(*self._texts())
        return self._made

    def props(self) -> dict[str, Any]:
        """Give the lines with their numbers and colours."""
        if self.call.status == "inProgress":
            return {"rows": [], "blocks": []}
        language = self._language or value_of(self.call.args, "language", "") or ""
        before, after = (_lines(text, language) for text in self._texts())
        blocks, old, new = [], 0, 0
        for block in self._blocks():
            gone, came = before[old : old + len(block.before)], after[new : new + len(block.after)]
            text = "".join(block.after)
            blocks.append(
                {
                    "same": block.same,
                    "first": [old + 1, new + 1],
                    "gone": [] if block.same else gone,
                    "new": came,
                    "text": text if not block.same and not suspicious(text) else None,
                }
            )
            old, new = old + len(block.before), new + len(block.after)
        return {"rows": self._others(), "blocks": blocks}

    def _others(self) -> list[dict[str, Any]]:
        texts = {self._before, self._name(), "language"}
        return [row for row in self.context() if row["label"] not in texts]

    def answer(self, value: Any) -> Any:
        """Give the text that the choices make.

        Raises:
            InvalidValue: They are not one for each change.
        """
        blocks = [block for block in self._blocks() if not block.same]
        choices = value.get("choices") if isinstance(value, Mapping) else None
        if not isinstance(choices, list) or len(choices) != len(blocks):
            raise InvalidValue(f"The card sent no choice for each of the {len(blocks)} changes.")
        chosen = iter(choices)
        text = "".join(_taken(block, None if block.same else next(chosen)) for block in self._blocks())
        return confirmed(self.call) if text == self._texts()[1] else self._with(text)

    def _with(self, text: str) -> Any:
        args, kind = self.call.args, self.call.answer_type
        if kind is None and isinstance(self.call.offer, str):
            return text
        if kind is not None and accepted_as(kind, text) is not NOT_ACCEPTED:
            return text
        name = self._name()
        return args.model_copy(update={name: text}) if isinstance(args, BaseModel) else {**args, name: text}

    def _final(self) -> str | None:
        answer = self.call.answer if self.call.approved else None
        found = answer if isinstance(answer, str) else value_of(answer, self._name()) if answer is not None else None
        return found if isinstance(found, str) else None

    def headline(self) -> str:
        """Give how much of the change was taken."""
        before, after = self._texts()
        final = self._final()
        words = {after: "Approved as proposed", before: "Left as it was"}
        return words.get(final, "Approved with changes") if final is not None else "Answered"

    def rows(self) -> Sequence[Row]:
        """Give what was changed, as a diff; before an answer, what was proposed."""
        before, after = self._texts()
        final = self._final()
        texts = {self._before, self._name(), "language"}
        others = [row for row in argument_rows(self.call) if row.label not in texts]
        change = _unified(before, after if final is None else final)
        return [
            *others,
            Row.of("change" if final is not None else "proposed", [code(change, "diff")], change or "nothing"),
        ]


def _taken(block: Block, choice: object) -> str:
    if block.same or choice is False:
        return "".join(block.before)
    if choice is True:
        return "".join(block.after)
    if not isinstance(choice, str):
        raise InvalidValue(f"A change is taken, left or edited; the card sent {choice!r}.")
    # A last line stays one: what follows begins on its own.
    return choice + "\n" if choice and not choice.endswith("\n") and "".join(block.after).endswith("\n") else choice


def _lines(text: str, language: str) -> list[list[list[str]]]:
    """Return the lines of a text, each as parts ``[look, text]``; an end that is missing is a part of its own."""
    _, _, *nodes = code(text, language)
    lines: list[list[list[str]]] = [[]]
    for node in nodes:
        look, part = ("", node) if isinstance(node, str) else (node[1]["look"], node[2])
        for at, piece in enumerate(part.split("\n")):
            if at:
                lines.append([])
            if piece:
                lines[-1].append([look, piece])
    if text.endswith("\n") or not text:
        return lines[:-1]
    lines[-1].append(["end", ""])
    return lines


def _unified(before: str, after: str) -> str:
    lines = unified_diff(_LINE.findall(before), _LINE.findall(after), n=3)
    return "\n".join(line.removesuffix("\n") for line in list(lines)[2:])
