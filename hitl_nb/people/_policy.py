"""Rules that answer instead of a person, where a person wants that; fail closed where anything is unclear.

A policy is a person like any other: put it before the one who is asked otherwise,
``people=[Policy(allow("read_file"), deny("delete_*")), NotebookPerson()]``. Every automatic answer is in the record,
with its rule.
"""

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hitl_nb._calls import Call, Kind, confirmed, frozen
from hitl_nb._limits import contained
from hitl_nb._text import logger
from hitl_nb.errors import UsageError
from hitl_nb.people._person import declared

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
