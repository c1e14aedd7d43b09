"""A person whose answers are written down before: for tests, tutorials and CI."""

import inspect
import json
import runpy
from collections.abc import Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from hitl_nb._calls import Call, print_of
from hitl_nb._schema import NAMES, facts_of, hide_secrets, opened, secret_form_of
from hitl_nb.errors import ScriptError
from hitl_nb.people._person import declared_kind

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
