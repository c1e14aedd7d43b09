"""Who answers without being there, where a person wants that: rules, and scripts for tests, tutorials and CI.

A policy is a person like any other: put it before the one who is asked otherwise,
``people=[Policy(allow("read_file"), deny("delete_*")), NotebookPerson()]``. It fails closed where anything is unclear,
and every automatic answer is in the record, with its rule.
"""

import fnmatch
import inspect
import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from hitl_nb._calls import Call, Kind, confirmed, frozen, print_of
from hitl_nb._limits import contained
from hitl_nb._schema import NAMES, facts_of, hide_secrets, opened, secret_form_of
from hitl_nb._text import logger
from hitl_nb.errors import ScriptError, UsageError
from hitl_nb.people._person import declared, declared_kind

_log = logger()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of a `Policy`; made by `allow` and `deny`."""

    effect: Literal["allow", "deny"]
    """What it does."""

    tool: str
    """Which tools: a name, or a pattern as for file names (``delete_*``)."""

    when: Callable[[Any], Any] | None
    """Gets the validated arguments; the rule holds where it gives True."""

    answer: Callable[[Any], Any] | None
    """Gives the answer from the arguments; None answers with the proposal itself."""

    kind: Kind | None
    """Which questions: ``tool``, ``interrupt``, ``feedback``; None: all of them."""

    name: str
    """What the record calls it."""

    def holds(self, call: Call) -> bool:
        """Whether the rule is about this call.

        Raises:
            Exception: Whatever `when` raised.
        """
        if self.kind is not None and call.kind != self.kind:
            return False
        if not fnmatch.fnmatchcase(call.name, self.tool):
            return False
        if self.when is None:
            return True
        with contained(f"`when` of {self.name}"):
            verdict = self.when(frozen(call.args))  # a copy: a rule looks, and changes nothing
        # An `async def` gives a coroutine, which is true; only a plain yes is a yes.
        if verdict is not True and verdict is not False:
            raise TypeError(f"`when` of {self.name} gave `{verdict!r}`, neither True nor False")
        return verdict


def allow(
    tool: str,
    *,
    when: Callable[[Any], Any] | None = None,
    answer: Callable[[Any], Any] | None = None,
    kind: Kind = "tool",
    name: str | None = None,
) -> Rule:
    """Make a rule that answers calls of `tool` for a person.

    Args:
        tool: The tool's name, or a pattern (``read_*``).
        when: Gets the typed arguments: ``when=lambda args: args.amount <= 100``. What raises, or gives anything but
            True or False, allows nothing: the next person is asked.
        answer: Gives the answer from the arguments; default: the proposal itself, as an untouched Confirm.
        kind: Which questions: an agent may call its *interrupt* like a tool of yours, so a rule about tools is about
            tools. Write ``kind="interrupt"`` for checkpoints of code or agents, ``"feedback"`` for CrewAI's.
        name: What the record calls the rule.
    """
    return _rule("allow", tool, when, answer, kind, name)


def deny(
    tool: str, *, when: Callable[[Any], Any] | None = None, kind: Kind | None = None, name: str | None = None
) -> Rule:
    """Make a rule that declines calls of `tool`; it beats every `allow`, and every memory, wherever it stands.

    A `when` that raises denies nothing, and lets no `allow` through either: a person is asked.

    Args:
        tool: The tool's name, or a pattern (``*_prod``).
        when: As for `allow`.
        kind: Which questions; default: all that are called so.
        name: What the record calls the rule, and the reason that the model is given.
    """
    return _rule("deny", tool, when, None, kind, name)


def _rule(
    effect: Literal["allow", "deny"], tool: Any, when: Any, answer: Any, kind: Kind | None, name: str | None
) -> Rule:
    if not isinstance(tool, str) or not tool:
        raise UsageError(f'A rule is about a tool\'s name, not `{tool!r}`. Write `{effect}("read_file")`.')
    for word, function in (("when", when), ("answer", answer)):
        if function is not None and not callable(function):
            raise UsageError(
                f"`{word}` of the rule about `{tool}` is `{function!r}`, not a function. "
                f"Write `{effect}({tool!r}, {word}=lambda args: ...)`."
            )
    condition = f" when {getattr(when, '__name__', 'a condition holds')}" if when is not None else ""
    condition = condition.replace("<lambda>", "its condition holds")
    if kind not in (None, *get_args(Kind)):
        raise UsageError(f'There is no kind `{kind!r}`. Write `{effect}({tool!r}, kind="tool")`.')
    return Rule(
        effect=effect, tool=tool, when=when, answer=answer, kind=kind, name=name or f"{effect} {tool}{condition}"
    )


class Policy:
    """Answers by rules: a `deny` that holds declines, else an `allow` that holds answers, else somebody is asked.

    Args:
        rules: What `allow` and `deny` made, in any order.
    """

    via = "policy"

    def __init__(self, *rules: Rule) -> None:
        for rule in rules:
            if not isinstance(rule, Rule):
                raise UsageError(
                    f'`Policy` takes rules, not `{rule!r}`. Write `Policy(allow("read_file"), deny("rm"))`.'
                )
        self._rules = rules

    def denial(self, call: Call) -> str | None:
        """Return the name of a rule that forbids this call, or None. Asked before anybody else, and before any memory.

        Raises:
            Exception: Whatever a `when` raised: then nothing is forbidden, and nothing allowed.
        """
        return next((rule.name for rule in self._rules if rule.effect == "deny" and rule.holds(call)), None)

    async def __call__(self, call: Call) -> None:
        """Answer the call if a rule holds; return without an answer otherwise."""
        try:
            denied = self.denial(call)
            allowed = [rule for rule in self._rules if rule.effect == "allow" and rule.holds(call)]
            if denied is not None:
                call.decline(denied, by=f"policy: {denied}", via="policy")
            elif allowed:
                rule = allowed[0]
                with contained(f"`answer` of {rule.name}"):
                    answer = confirmed(call) if rule.answer is None else rule.answer(frozen(call.args))
                call.respond(answer, by=f"policy: {rule.name}", via="policy")
        except Exception:
            # Fail closed: a rule that cannot tell has not allowed anything. The person behind it is asked.
            _log.exception("A rule failed on `%s` (%s); the next person is asked", call.name, call.id)

    def declared(self) -> Any:
        """Return the rules, structurally; None if one of them has a condition that nobody can name."""
        rules = [_declared(rule) for rule in self._rules]
        return None if None in rules else ["Policy", *rules]

    def __repr__(self) -> str:
        return f"Policy({', '.join(rule.name for rule in self._rules)})"


def _declared(rule: Rule) -> Any:
    functions = [None if each is None else declared(each) for each in (rule.when, rule.answer)]
    unknown = [
        each is not None and name is None for each, name in zip((rule.when, rule.answer), functions, strict=True)
    ]
    return None if any(unknown) else [rule.effect, rule.tool, rule.kind, rule.name, *functions]


# -- answers that were written down before ----------------------------------------------------------------------------

_FORM = 'HITL_NB_PEOPLE=script:answers.py, a file with `answers = [...]` or `answers = {"tool": [...]}`'


def _shown(value: object, checks: object = None) -> str:
    """Give a value to read, without its secrets: declared ones, and what has the name of one."""
    form = secret_form_of(checks)
    plain = opened(value) if form is None else hide_secrets(value, form)
    return repr((facts_of(checks).hider or NAMES).hide(plain, []))  # type: ignore[arg-type]  # what is no JSON stays


class ScriptedPerson:
    """Answers from a script, in order or by tool name; a question that the script does not expect is an error.

    Args:
        answers: A list of answers in the order of the questions, or a dict from tool name to such a list. An answer
            is a value for ``call.respond``, or a function (plain or async) that gets the `Call` and returns the
            value, or decides itself: ``lambda call: call.decline("too expensive")``.
        name: Who answers, in the record.

    Raises:
        ScriptError: The script has another form.

    As a context manager it also checks, on leaving, that every answer was used::

        with ScriptedPerson([lambda call: call.args.steps[:2]]) as person:
            await Session(PlanFlow, tools=[generate_task_steps], people=[person]).run("Plan a trip")
    """

    via = "script"

    def __init__(self, answers: Sequence[Any] | Mapping[str, Sequence[Any]], *, name: str = "scripted person") -> None:
        self.name = name
        self.asked: list[Call] = []
        self._by_tool = isinstance(answers, Mapping)
        script: Mapping[str, Sequence[Any]] = answers if isinstance(answers, Mapping) else {"": answers}
        for tool, queue in script.items():
            if isinstance(queue, (str, bytes)) or not isinstance(queue, Sequence):
                where = f"`{tool}`" if tool else "The script"
                raise ScriptError(
                    f"{where} holds `{_shown(queue)}`, not a list of answers. Write `ScriptedPerson([answer, ...])` "
                    'or `ScriptedPerson({"tool": [answer, ...]})`.'
                )
        self._answers = {tool: list(queue) for tool, queue in script.items()}
        self._given = {tool: list(queue) for tool, queue in script.items()}
        self._file_sha256: str | None = None

    @classmethod
    def from_variable(cls, value: str, *, folder: str | PathLike[str] = "") -> "ScriptedPerson":
        """Return the person that ``HITL_NB_PEOPLE=script:<file>`` names.

        Args:
            value: ``script:`` and the file, as for `from_file`.
            folder: Where it is, unless the file says so; default: the working directory.

        Raises:
            ScriptError: No such file, no `answers` in it, or another word than ``script:``.
        """
        kind, _, file = value.partition(":")
        path = Path(folder) / file
        if kind != "script" or not path.is_file():
            raise ScriptError(f"`HITL_NB_PEOPLE={value}` names no script ({path.resolve()}). Write {_FORM}.")
        return cls.from_file(path)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "ScriptedPerson":
        """Return the person whose answers are in a file: ``.json``, or ``.py`` with a variable `answers`.

        Raises:
            ScriptError: No such file, or no `answers` in it.
        """
        file = Path(path)
        if not file.is_file():
            raise ScriptError(f"`{path}` is no script: there is no such file. Write {_FORM}.")
        content = file.read_bytes()
        if file.suffix == ".json":
            person = cls(json.loads(content))
        else:
            variables = runpy.run_path(str(file))
            if "answers" not in variables:
                raise ScriptError(f"`{path}` has no variable `answers`. Write {_FORM}.")
            person = cls(variables["answers"])
        person._file_sha256 = sha256(content).hexdigest()
        return person

    def declared(self) -> list[str] | None:
        """Say who this is, for decisions that are recalled; see `hitl_nb.people.declared`.

        The same file, or the same name and answers; None for answers that are functions, secrets or other objects
        without content of their own.
        """
        kind = declared_kind(self)
        if kind is None:
            return None
        if self._file_sha256 is not None:
            return [kind, self.name, self._file_sha256]
        answers = print_of([self._by_tool, self._given])
        return [kind, self.name, answers.digest] if answers.durable else None

    async def __call__(self, call: Call) -> None:
        """Answer the call with what the script says next.

        Raises:
            ScriptError: The script expects no (further) question of this tool.
            InvalidValue: The scripted answer does not fit the answer type.
        """
        self.asked.append(call)
        queue = self._answers.get(call.name if self._by_tool else "")
        if not queue:
            raise ScriptError(
                f"Unexpected question {len(self.asked)}: `{call.name}` ({call.id}) with "
                f"{_shown(call.args, call.args_type)}. The script has no answer left for it; {self._left()}."
            )
        answer = queue.pop(0)
        if callable(answer):
            answer = answer(call)
            if inspect.isawaitable(answer):
                answer = await answer
        if not call.decided:
            call.respond(answer, by=self.name, via="script")

    def check_all_used(self) -> None:
        """Raise `ScriptError` naming the answers that nobody asked for."""
        if any(self._answers.values()):
            raise ScriptError(f"{self._left().capitalize()} after {len(self.asked)} questions.")

    def _left(self) -> str:
        left = {tool: queue for tool, queue in self._answers.items() if queue}
        return f"unused answers: {_shown(left if self._by_tool else left[''])}" if left else "no answer is left"

    def __enter__(self) -> "ScriptedPerson":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # An exception on its way out tells more than the answers it left over.
        if kind is None:
            self.check_all_used()

    def __repr__(self) -> str:
        return f"<ScriptedPerson: {sum(map(len, self._answers.values()))} answers left>"
