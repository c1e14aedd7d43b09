"""`record`: a session with the real model and the real person, written down so that it can be replayed without both."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from ag_ui.core import Event, ToolCallArgsEvent, ToolCallStartEvent
from pydantic_core import to_json

from hitl_nb._calls import Call, Handle, decisions_watched
from hitl_nb.agents import CallAssembler, Fragment, Heard, Listening, Reply, provider_of, taken_by
from hitl_nb.people import Person, declared, people_replaced
from hitl_nb.testing._case import (
    LEFT_OPEN,
    Answer,
    Case,
    DecisionCodec,
    Exchange,
    comparable,
    learn_calls,
    learn_keys,
    write,
)
from hitl_nb.testing._model import as_request, directly, every_model, has_litellm, the_litellm
from hitl_nb.testing._turns import Calls, Part, Says

_CREDENTIALS: Final = ("aws_", "azure_", "vertex_", "api_version", "client_id", "client_secret", "tenant_id")
_HANDED_ON: Final = (*_CREDENTIALS, "metadata", "litellm_", "ssl_verify", "base_model", "drop_params", "allowed_")
"""Begins of the names of litellm's own parameters that the real call needs, too."""
_NOT_HANDED_ON: Final = ("litellm_call_id", "litellm_logging_obj")


class ReplyCollector:
    """One reply, put together while it streams: the same words and calls that an agent makes of it.

    Args:
        tools: The names that the model was told.
    """

    def __init__(self, tools: list[str]) -> None:
        self.heard = Reply()
        """What there is beside words and calls."""
        self._calls = CallAssembler("", (), tools)
        self._order: list[Says | str] = []
        """Texts, and the ids of calls."""
        self._made: dict[str, Calls] = {}
        self._finished = False

    def add(self, heard: Heard) -> None:
        """Take what `heard` has found in one chunk of a stream, or in a whole reply."""
        if heard.words:
            self._say(heard.words)
        for piece, extra in heard.pieces:
            function = getattr(piece, "function", None)
            if function is not None:
                fragment = Fragment(
                    index=getattr(piece, "index", None),
                    id=piece.id or "",
                    name=function.name or "",
                    arguments=_as_json_text(function.arguments),
                    extra=extra,
                )
                self._take(self._calls.feed(fragment))

    def add_all(self, response: Any) -> None:
        """Take a reply that is not streamed."""
        choice = response.choices[0]
        self.heard.finish_reason = choice.finish_reason
        self.add(self.heard.hear(choice.message))

    def _say(self, text: str) -> None:
        last = self._order[-1] if self._order else None
        if isinstance(last, Says):
            self._order[-1] = Says(text=last.text + text)
        else:
            self._order.append(Says(text=text))

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, ToolCallStartEvent):
                self._order.append(event.tool_call_id)
                self._made[event.tool_call_id] = Calls(name=event.tool_call_name, arguments="", id=event.tool_call_id)
            elif isinstance(event, ToolCallArgsEvent):
                call = self._made[event.tool_call_id]
                self._made[call.id or ""] = Calls(name=call.name, arguments=call.arguments + event.delta, id=call.id)

    def parts(self) -> list[Part]:
        """Return what was said until now; no more can be added after that."""
        if not self._finished:
            self._finished = True
            self._take(self._calls.finish(self.heard.finish_reason))
        extras = self._calls.extras
        return [
            part if isinstance(part, Says) else replace(self._made[part], extra=extras.get(part, {}))
            for part in self._order
        ]

    @property
    def finish(self) -> str | None:
        """The finish reason, if it is not the usual one."""
        reason = self.heard.finish_reason
        return None if reason in (None, "tool_calls", "stop") else reason


def _as_json_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else to_json(arguments).decode() if arguments else ""


class SessionRecording:
    """What `record` has noted so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._codec = DecisionCodec()
        self._asked: dict[str, str] = {}
        """The questions that people were asked, in this order: the id of each by its occurrence."""
        self._turns: list[tuple[dict[str, Any], ReplyCollector]] = []
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
            self._answers.append((self._codec.answer(call, decision), call.occurrence))

    @contextmanager
    def _requested(self, call: dict[str, Any]) -> Iterator[ReplyCollector]:
        """Note a request at once, so that requests stand in their order; without a reply if it fails."""
        learn_keys(self._codec.secrets, call.get("api_key"))
        request = comparable(as_request(call["messages"], call["optional_params"]))
        collector = ReplyCollector([tool.get("function", {}).get("name", "") for tool in request["tools"]])
        noted = (request, collector)
        self._turns.append(noted)
        try:
            yield collector
        except Exception:
            self._turns.remove(noted)
            raise

    def _case(self) -> Case:
        numbers = _Numbers()
        turns = [
            Exchange(
                request=request,
                parts=[numbers.part(part) for part in reply.parts()],
                finish=reply.finish,
                thoughts=reply.heard.fields,
            )
            for request, reply in self._turns
        ]
        for turn in turns:
            learn_calls(self._codec.secrets, turn.request, turn.parts)
        for occurrence, call_id in self._asked.items():
            numbers.question(call_id, occurrence)
        answers = [
            replace(answer, call=numbers.question(answer.call, occurrence)) for answer, occurrence in self._answers
        ]
        return Case(turns=turns, answers=answers)

    def _write(self) -> None:
        plain = self._case().plain()  # finds secrets, too
        write(self._path, self._codec.secrets.scrub(plain))


@contextmanager
def record(path: str | PathLike[str]) -> Iterator[SessionRecording]:
    """Write down what the model is asked and says, and what people are asked and decide, for `replay`.

    ::

        with record("case.json"):
            await Session(PlanFlow, tools=[generate_task_steps]).run("Plan a trip to Mars")

    Models are heard wherever litellm is called, whatever their names; people in every session and checkpoint that is
    made inside. The same dialogue gives the same bytes. No key, header or secret is written: a value that is declared
    secret (``SecretStr``, ``format: password``), or has the name of one (``api_key``), is stars, here and wherever a
    message quotes it.

    Args:
        path: The file, JSON. It is written at the end; an exception that leaves the block leaves it as it was.

    Raises:
        UsageError: Something is being recorded or replayed here already.
        OSError: The file cannot be written.
    """
    recording = SessionRecording(Path(os.path.abspath(path)))
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

    def _denial(self, call: Call) -> object:
        denied = self._person.denial(call)
        if denied is not None:
            self._is_asked(call)
        return denied

    def declared(self) -> object:
        """Say who this is, for decisions that are recalled: whoever is looked at."""
        return declared(self._person)

    def __getattr__(self, name: str) -> object:
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


# -- the models -----------------------------------------------------------------------------------------------------


def _real_models(recording: SessionRecording) -> object:
    """Return the handler that asks the real model and notes what passes by."""
    litellm = the_litellm("`record`")
    custom: Any = litellm.CustomLLM

    class Handler(custom):  # type: ignore[misc]  # litellm is untyped
        async def astreaming(self, **call: Any) -> AsyncIterator[object]:
            with recording._requested(call) as collector:
                with directly():
                    stream = Listening(await litellm.acompletion(**_handed_on(litellm, call)), collector.heard)
                try:
                    async for chunk in stream:
                        collector.add(stream.heard)
                        if stream.details and chunk.choices:
                            # The agent's own litellm is to find them, too: this one has left them out.
                            chunk.choices[0].delta.reasoning_details, stream.details = stream.details, []
                        yield chunk
                finally:
                    # An agent that has heard enough stops reading.
                    await stream.aclose()

        def streaming(self, **call: Any) -> Iterator[object]:
            with recording._requested(call) as collector:
                with directly():
                    stream = litellm.completion(**_handed_on(litellm, call))
                for chunk in stream:
                    collector.add(collector.heard.feed(chunk))
                    yield chunk

        async def acompletion(self, **call: Any) -> object:
            with recording._requested(call) as collector:
                with directly():
                    response = await litellm.acompletion(**_handed_on(litellm, call))
                collector.add_all(response)
                return response

        def completion(self, **call: Any) -> object:
            with recording._requested(call) as collector:
                with directly():
                    response = litellm.completion(**_handed_on(litellm, call))
                collector.add_all(response)
                return response

    return Handler()


def _handed_on(litellm: Any, call: dict[str, Any]) -> dict[str, object]:
    """Return the call as the user made it, as far as litellm tells a custom provider."""
    # The agent was told that a recorder is asked, and could not know what the real provider refuses.
    provider = provider_of(litellm, call["model"], api_base=call.get("api_base"))
    messages = [taken_by(provider, it) if isinstance(it, dict) else it for it in call["messages"]]
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
    return {"model": call["model"], "messages": messages, **given, **call["optional_params"]}
