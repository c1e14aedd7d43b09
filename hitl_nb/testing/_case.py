"""The file of a recorded session: what the model was asked and said, what people were asked and answered.

It is made to be read in a diff: in the order in which things happened, nothing that changes by itself, and nothing
twice. Of each request it holds what is new since the one before: ``{"same": 3}`` stands for its first three messages;
``tools`` and ``options`` that are not there are the same.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final

from hitl_nb._calls import Outcome
from hitl_nb.errors import ScriptError
from hitl_nb.testing._turns import Calls, Part, Says

VERSION: Final = 1


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One request, and what the model said to it."""

    request: dict[str, Any]
    """Plain JSON; see `hitl_nb.testing._requests.comparable`."""

    parts: list[Part]
    """The reply."""

    finish: str | None = None
    """The finish reason, if it is not the usual one."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One question, and what became of it."""

    call: str
    """``call_1`` of the model, ``question_1`` of anybody else, …: counted, since ids change from run to run."""

    tool: str
    """The tool's name."""

    question: str
    """What is asked, in words."""

    args: Any
    """The arguments, plain JSON."""

    outcome: Outcome
    """``answered``, ``declined``, …; ``aborted`` and ``superseded`` were never decided by anybody."""

    answer: Any = None
    """The answer, plain JSON."""

    edits: list[dict[str, Any]] = field(default_factory=list)
    """As `Call.edits`."""

    reason: str | None = None
    """The words that came with it."""

    by: str | None = None
    """Who."""

    instead: bool = False
    """Whether a declined call was answered with words in place of an approval."""

    answer_type: str | None = None
    """The type of an answer that plain JSON cannot give back; None for all others."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A recorded session."""

    turns: list[Turn]
    """What the model was asked and said, in the order of the requests."""

    answers: list[Answer]
    """What people decided, in the order of the decisions."""

    def plain(self) -> dict[str, Any]:
        """Give it as it is written."""
        return {
            "hitl_nb_case": VERSION,
            "turns": list(_written_turns(self.turns)),
            "answers": [_written_answer(answer) for answer in self.answers],
        }


def write(path: Path, plain: dict[str, Any]) -> None:
    """Write a case, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def read(path: str | PathLike[str]) -> Case:
    """Read a case.

    Raises:
        ScriptError: There is no such file, or it is no case.
    """
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ScriptError(f"`{path}` is not there. Record it: `with record({str(path)!r}): ...`.") from error
    except ValueError as error:
        raise ScriptError(f"`{path}` is no JSON: {error}. {_again(path)}") from error
    version = plain.get("hitl_nb_case") if isinstance(plain, dict) else None
    if version != VERSION:
        raise ScriptError(f"`{path}` is no recorded case of version {VERSION} but {version!r}. {_again(path)}")
    try:
        return Case(turns=list(_read_turns(plain["turns"])), answers=[Answer(**answer) for answer in plain["answers"]])
    except (KeyError, TypeError, IndexError) as error:
        raise ScriptError(
            f"`{path}` was changed by hand, and does not read any more: {error!r}. {_again(path)}"
        ) from error


def _again(path: str | PathLike[str]) -> str:
    return f"Record it again: `with record({str(path)!r}): ...`."


def _written_turns(turns: list[Turn]) -> Iterator[dict[str, Any]]:
    before: dict[str, Any] = {"messages": []}
    for turn in turns:
        request = {name: part for name, part in turn.request.items() if name not in before or before[name] != part}
        same = _same(before["messages"], turn.request["messages"])
        request["messages"] = [{"same": same}] * bool(same) + turn.request["messages"][same:]
        finish = {"finish": turn.finish} if turn.finish else {}
        yield {"request": request, "reply": [_written_part(part) for part in turn.parts], **finish}
        before = turn.request


def _read_turns(plain: list[dict[str, Any]]) -> Iterator[Turn]:
    before: dict[str, Any] = {"messages": []}
    for turn in plain:
        request = {**before, **turn["request"]}
        first, *rest = request["messages"] or [{}]
        if "same" in first:
            request["messages"] = before["messages"][: first["same"]] + rest
        yield Turn(request=request, parts=[_read_part(part) for part in turn["reply"]], finish=turn.get("finish"))
        before = request


def _same(before: list[Any], now: list[Any]) -> int:
    pairs = zip(before, now, strict=False)
    return next((place for place, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))


def _written_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Says):
        return {"says": part.text}
    return {"calls": part.name, "id": part.id, **_written_arguments(part.arguments)}


def _written_arguments(text: str) -> dict[str, Any]:
    """As an object that gives exactly this text again, else as the text."""
    try:
        args = json.loads(text)
    except ValueError:
        return {"raw": text}
    if text == _loose(args):
        return {"args": args}
    return {"args": args, "compact": True} if text == _compact(args) else {"raw": text}


def _read_part(part: dict[str, Any]) -> Part:
    if "says" in part:
        return Says(text=part["says"])
    if "raw" in part:
        return Calls(name=part["calls"], id=part["id"], arguments=part["raw"])
    arguments = (_compact if part.get("compact") else _loose)(part["args"])
    return Calls(name=part["calls"], id=part["id"], arguments=arguments)


def _loose(args: Any) -> str:
    return json.dumps(args, ensure_ascii=False)


def _compact(args: Any) -> str:
    return json.dumps(args, ensure_ascii=False, separators=(",", ":"))


def _written_answer(answer: Answer) -> dict[str, Any]:
    always = ("call", "tool", "question", "args", "outcome")
    given = {"answer"} if answer.outcome in ("answered", "edited") else set()
    return {name: part for name, part in vars(answer).items() if part or name in always or name in given}
