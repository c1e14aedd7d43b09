"""`record`: a session with the real model and the real person, written down so that it can be replayed without both."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from hitl_nb._calls import Call, Handle, decisions_watched
from hitl_nb.people import Person, declared, people_replaced
from hitl_nb.testing._answers import LEFT_OPEN, Clerk
from hitl_nb.testing._case import Answer, Case, Turn, write
from hitl_nb.testing._heard import Heard
from hitl_nb.testing._model import request_of
from hitl_nb.testing._provider import has_litellm, the_litellm
from hitl_nb.testing._requests import comparable, learn_keys
from hitl_nb.testing._seam import directly, every_model
from hitl_nb.testing._turns import Calls, Part

_CREDENTIALS: Final = ("aws_", "azure_", "vertex_", "api_version", "client_id", "client_secret", "tenant_id")
_HANDED_ON: Final = (*_CREDENTIALS, "metadata", "litellm_", "ssl_verify", "base_model", "drop_params", "allowed_")
"""Begins of the names of litellm's own parameters that the real call needs, too."""
_NOT_HANDED_ON: Final = ("litellm_call_id", "litellm_logging_obj")


class Recording:
    """What `record` has noted so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._clerk = Clerk()
        self._asked: dict[str, str] = {}
        """The questions that people were asked, in this order: the id of each by its occurrence."""
        self._turns: list[tuple[dict[str, Any], Heard]] = []
        self._answers: list[tuple[Answer, str]] = []
        """Each with the occurrence of its question."""

    def __repr__(self) -> str:
        return f"<Recording {self._path.name}: requests: {len(self._turns)}, answers: {len(self._answers)}>"

    def _witnesses(self, people: Sequence[Person]) -> list[Person]:
        return [_Witness(person, self._is_asked) for person in people]

    def _is_asked(self, call: Call) -> None:
        self._asked.setdefault(call.occurrence, call.id)

    def _decided(self, call: Call) -> None:
        """Note a decision of a person, also one that the journal remembers; code decides in a replay, too."""
        decision = Handle.of(call).decision
        if decision is None:
            return
        # A run may be stopped after a question was opened and before anybody was asked.
        unasked = decision.outcome in LEFT_OPEN and call.asked_at is not None
        if call.occurrence in self._asked or unasked or decision.via == "replay":
            self._answers.append((self._clerk.answer(call, decision), call.occurrence))

    @contextmanager
    def _requested(self, call: dict[str, Any]) -> Iterator[Heard]:
        """Note a request at once, so that requests stand in their order; without a reply if it fails."""
        learn_keys(self._clerk.secrets, call.get("api_key"))
        request = comparable(request_of(call["messages"], call["optional_params"]))
        heard = Heard([tool.get("function", {}).get("name", "") for tool in request["tools"]])
        noted = (request, heard)
        self._turns.append(noted)
        try:
            yield heard
        except Exception:
            self._turns.remove(noted)
            raise

    def _case(self) -> Case:
        numbers = _Numbers()
        turns = [
            Turn(request=request, parts=[numbers.part(part) for part in heard.parts()], finish=heard.finish)
            for request, heard in self._turns
        ]
        for occurrence, call_id in self._asked.items():
            numbers.question(call_id, occurrence)
        answers = [
            replace(answer, call=numbers.question(answer.call, occurrence)) for answer, occurrence in self._answers
        ]
        return Case(turns=turns, answers=answers)

    def _write(self) -> None:
        write(self._path, self._clerk.secrets.scrub(self._case().plain()))


@contextmanager
def record(path: str | PathLike[str]) -> Iterator[Recording]:
    """Write down what the model is asked and says, and what people are asked and decide, for `replay`.

    ::

        with record("case.json"):
            await Session(PlanFlow, tools=[generate_task_steps]).run("Plan a trip to Mars")

    Models are heard wherever litellm is called, whatever their names; people in every session and checkpoint that is
    made inside. The same dialogue gives the same bytes. No key, header or secret is written: a value that is declared
    secret (``SecretStr``, ``format: password``) is stars, here and wherever a message quotes it.

    Args:
        path: The file, JSON. It is written at the end; an exception that leaves the block leaves it as it was.

    Raises:
        UsageError: Something is being recorded or replayed here already.
        OSError: The file cannot be written.
    """
    recording = Recording(Path(os.path.abspath(path)))
    with ExitStack() as stack:
        if has_litellm():  # else there is no model that could be heard
            stack.enter_context(every_model(_real_models(recording), alias=str))
        stack.enter_context(people_replaced(recording._witnesses))
        stack.enter_context(decisions_watched(recording._decided))
        yield recording
    recording._write()


class _Witness:
    """A person who is asked while we look on."""

    def __init__(self, person: Person, is_asked: Callable[[Call], None]) -> None:
        self._person: Any = person
        self._is_asked = is_asked
        # A rule forbids before it is asked, wherever among people it stands.
        for name in ("members", "later_members"):
            if hasattr(person, name):
                setattr(self, name, tuple(_Witness(member, is_asked) for member in getattr(person, name)))
        if hasattr(person, "denial"):
            self.denial = self._denial

    async def __call__(self, call: Call) -> None:
        self._is_asked(call)
        await self._person(call)

    def _denial(self, call: Call) -> Any:
        denied = self._person.denial(call)
        if denied is not None:
            self._is_asked(call)
        return denied

    def declared(self) -> Any:
        """Say who this is, for decisions that are recalled: whoever is looked at."""
        return declared(self._person)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._person, name)


class _Numbers:
    """Gives the calls of a case their numbers, whatever ids a provider or a process gave them."""

    def __init__(self) -> None:
        self._made = 0
        self._of_calls: dict[str, str] = {}
        self._of_questions: dict[str, str] = {}

    def part(self, part: Part) -> Part:
        if not isinstance(part, Calls):
            return part
        self._made += 1
        number = f"call_{self._made}"
        # The first of an id is the one that keeps it; agents give later ones another.
        self._of_calls.setdefault(part.id or "", number)
        return replace(part, id=number)

    def question(self, call_id: str, occurrence: str) -> str:
        if call_id in self._of_calls:
            return self._of_calls[call_id]
        # By occurrence: an agent may give two questions of its own the same id.
        return self._of_questions.setdefault(occurrence, f"question_{len(self._of_questions) + 1}")


def _real_models(recording: Recording) -> Any:
    """Give the handler that asks the real model and notes what passes by."""
    litellm = the_litellm("record")
    from litellm import CustomLLM

    class Handler(CustomLLM):  # type: ignore[misc]  # litellm is untyped
        async def astreaming(self, **call: Any) -> AsyncIterator[Any]:
            with recording._requested(call) as heard:
                with directly():
                    stream = await litellm.acompletion(**_handed_on(call))
                try:
                    async for chunk in stream:
                        heard.hear(chunk)
                        yield chunk
                finally:
                    # An agent that has heard enough stops reading.
                    await stream.aclose()

        def streaming(self, **call: Any) -> Iterator[Any]:
            with recording._requested(call) as heard:
                with directly():
                    stream = litellm.completion(**_handed_on(call))
                for chunk in stream:
                    heard.hear(chunk)
                    yield chunk

        async def acompletion(self, **call: Any) -> Any:
            with recording._requested(call) as heard:
                with directly():
                    response = await litellm.acompletion(**_handed_on(call))
                heard.hear_all(response)
                return response

        def completion(self, **call: Any) -> Any:
            with recording._requested(call) as heard:
                with directly():
                    response = litellm.completion(**_handed_on(call))
                heard.hear_all(response)
                return response

    return Handler()


def _handed_on(call: dict[str, Any]) -> dict[str, Any]:
    """Give the call as the user made it, as far as litellm tells a custom provider."""
    own = {
        name: value
        for name, value in (call.get("litellm_params") or {}).items()
        if name.startswith(_HANDED_ON) and name not in _NOT_HANDED_ON
    }
    named = {
        "api_key": call.get("api_key"),
        "api_base": call.get("api_base"),
        "extra_headers": call.get("headers"),
        "timeout": call.get("timeout"),
        "client": call.get("client"),
    }
    given = {name: value for name, value in (own | named).items() if value is not None and value is not False}
    return {"model": call["model"], "messages": call["messages"], **given, **call["optional_params"]}
