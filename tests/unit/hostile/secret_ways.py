"""Ways in for a secret, and ways out: each scene plants one, and `World` keeps whatever is said, shown or written."""

import asyncio
import csv
import json
import logging
import traceback
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import pandas
import pytest
from pydantic import BaseModel, Field, SecretStr

from hitl_nb import (
    Call,
    Session,
    approve,
    ask,
    frontend_tool,
    gate,
    human_in_the_loop,
    interrupt,
    review,
    review_table,
)
from hitl_nb._calls import Handle
from hitl_nb._doctor import Finding, Report
from hitl_nb._secrets import known
from hitl_nb._text import logger
from hitl_nb._transcript import CallEntry
from hitl_nb.agents import ChatAgent
from hitl_nb.cards import Approval, Plain
from hitl_nb.cards._protocol import item_of
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.cards._transport import CardList
from hitl_nb.data import SqlReview, TableAnswer
from hitl_nb.inbox import Inbox, _person
from hitl_nb.journal import Journal
from hitl_nb.people import Policy, ScriptedPerson, allow
from hitl_nb.testing import ScriptedModel, calls, record, replay, says

LONG = "hunter2-κλειδί"
SHORT = "Zq7"
"""Too short to be looked for in texts: hidden by its place only."""


class Ada:
    """Decides as a scene says, and looks at what a browser would get."""

    name, via = "ada", "card"

    def __init__(self, world: "World", act: Any) -> None:
        self._world, self._act = world, act

    @contextmanager
    def watch(self, transcript: Any) -> Any:
        self._world.transcripts.append(transcript)
        yield True

    async def __call__(self, call: Any) -> None:
        self._world.look(call)
        self._act(call)


class Heard(logging.Handler):
    """What is logged, as a handler of the user's would write it."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, log: logging.LogRecord) -> None:
        self._lines.append(logging.Formatter().format(log))


class World:
    """One afternoon with one secret."""

    def __init__(self, folder: Any, secret: str) -> None:
        self.folder, self.secret = folder, secret
        self.quoted = secret if secret == LONG else "it"
        """In the words around it; a short one could not be told from others there."""
        self.journal = Journal(folder / "journal.sqlite")
        self.transcripts: list[Any] = []
        self.calls: list[Any] = []
        self.is_declared = False
        """Whether even whoever decides must not see it."""
        self.live: list[str] = []
        """What is drawn for whoever decides."""
        self.ran: list[Any] = []
        """What tools were run with."""
        self.requests: list[Any] = []
        """What the model was sent."""
        self.out: dict[str, list[str]] = defaultdict(list)
        self._handler = Heard(self.out["log"])

    def look(self, call: Any) -> None:
        self.calls.append(call)
        item = item_of(CallEntry(key=call.occurrence, call=call), {})
        self.live.append(json.dumps(item, ensure_ascii=False))
        if self.is_declared:
            self.out["card"].append(self.live[-1])
        widget = CardList(lambda _: None, lambda: None)
        widget.updates.show(item, soon=False)
        state = widget.get_state()
        self.out["widget state"].append(json.dumps({name: str(state[name]) for name in state if name[:2] != "_c"}))
        widget.close()

    async def talk(self, turns: Any, tools: Any, act: Any = lambda call: call.respond(call.proposal)) -> None:
        """Let a model say its turns to a session, all of it recorded."""
        with ScriptedModel(turns) as model, record(self.folder / "case.json"):
            session = Session(
                ChatAgent("openai/gpt-4o"), tools=tools, people=[Ada(self, act)], thread_id="t", journal=self.journal
            )
            async with self.caught():
                reply = await session.run("go")
                self.out["repr"] += [repr(reply), repr(reply.calls), repr(session)]
        self.requests += model.requests

    def caught(self) -> "_Caught":
        return _Caught(self)

    def __enter__(self) -> "World":
        known.forget()
        logger().addHandler(self._handler)
        logger().setLevel(logging.DEBUG)
        return self

    def __exit__(self, *_: object) -> None:
        logger().removeHandler(self._handler)
        logger().setLevel(logging.NOTSET)
        self.journal.close()

    def collected(self) -> dict[str, str]:
        """Everything that was said, shown or written, by the way it took."""
        for transcript in self.transcripts:
            pairs = [
                (entry, record_of_call(entry.call) if isinstance(entry, CallEntry) else None) for entry in transcript
            ]
            for mime, text in bundle(pairs).items():
                self.out[f"record {mime}"].append(text)
        for call in self.calls:
            for mime, text in bundle([(CallEntry(key="c", call=call), record_of_call(call))]).items():
                self.out[f"record {mime}"].append(text)
            item = item_of(CallEntry(key=call.occurrence, call=call), {}) if call.outcome is not None else {}
            self.out["card, decided"].append(json.dumps(item, ensure_ascii=False))
            self.out["repr"] += [repr(call), repr(Handle.of(call).call)]
            self.out["fingerprint"].append(f"{call.args_sha256} is {fingerprint_of_guess(call, self.secret)}")
        self.out["journal html"].append(self.journal._repr_html_())
        self.out["export jsonl"].append(self.journal.to_jsonl(self.folder / "x.jsonl").read_text())
        self.out["export csv"].append(self.journal.to_csv(self.folder / "x.csv").read_text())
        self.out["frame"] += [self.journal.to_frame(expand=True).to_csv(quoting=csv.QUOTE_ALL)]
        self.out["events"] += [str(event) for event in self.journal]
        for file in self.folder.iterdir():
            name = "recording" if file.suffix == ".json" else "journal file"
            self.out[name].append(file.read_bytes().decode("utf-8", "surrogateescape"))
        return {name: "\n".join(texts) for name, texts in self.out.items()}

    def leaks(self) -> list[str]:
        """The ways out that tell the secret."""
        forms = {self.secret, json.dumps(self.secret)[1:-1], json.dumps(json.dumps(self.secret)[1:-1])[1:-1]}
        raw = [form.encode().decode("utf-8", "surrogateescape") for form in forms]
        found = self.collected()
        return [name for name, text in found.items() if any(form in text for form in raw)]


def fingerprint_of_guess(call: Any, secret: str) -> str:
    """The secret itself where whoever guesses it can tell from the fingerprint that it is the one."""
    args = call.args
    plain = args.model_dump() if isinstance(args, BaseModel) else args
    if not isinstance(plain, dict) or secret not in map(_opened, plain.values()):
        return "nothing to guess"
    another = {name: "another" if _opened(part) == secret else part for name, part in plain.items()}
    here = args.model_copy(update=_typed_alike(args, another)) if isinstance(args, BaseModel) else another
    other = Call(id="other", name=call.name, args_type=call.args_type)
    Handle.of(other).open_now(here)
    Handle.of(other).close("superseded")
    return "nothing to guess" if other.args_sha256 == call.args_sha256 else secret


def _opened(part: Any) -> Any:
    return part.get_secret_value() if isinstance(part, SecretStr) else part


def _typed_alike(args: Any, plain: dict[str, Any]) -> dict[str, Any]:
    return {
        name: SecretStr("another") if isinstance(getattr(args, name), SecretStr) else part
        for name, part in plain.items()
    }


class _Caught:
    """Keeps what an error says, in all its ways."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is not None:
            self._world.out["error"] += [str(error), *getattr(error, "__notes__", ()), str(getattr(error, "diff", ""))]
            self._world.out["repr"].append(repr(error))
            self._world.out["traceback"].append("".join(traceback.format_exception(error)))
        return isinstance(error, Exception)


# -- ways in ----------------------------------------------------------------------------------------------------------

Password = Annotated[str, Field(json_schema_extra={"format": "password"})]
Written = Annotated[str, Field(json_schema_extra={"writeOnly": True})]


class Login(BaseModel):
    user: str
    password: SecretStr


def _tool(of: Any, **options: Any) -> Any:
    def log_in(user: str, key: of, api_key: str = "", token: str = ""):
        """Log in."""

    return human_in_the_loop(log_in, **options)


def _declared(of: Any, **options: Any) -> Any:
    async def scene(world: World) -> None:
        world.is_declared = True
        turns = [calls("log_in", user="ada", key=world.secret), says(f"I know {world.quoted} now.")]
        await world.talk(turns, [_tool(of, **options)])

    return scene


def _undeclared(name: str, **options: Any) -> Any:
    async def scene(world: World) -> None:
        turns = [calls("log_in", user="ada", key="x", **{name: world.secret}), says(f"I know “{world.quoted}” now.")]
        await world.talk(turns, [_tool(str, **options)])

    return scene


async def in_json_schema(world: World) -> None:
    parameters = {"type": "object", "properties": {"headers": {"type": "object"}, "rows": {"type": "array"}}}
    tool = human_in_the_loop(name="fetch", description="Fetch.", parameters=parameters)
    args: Any = {"headers": {"Authorization": world.secret}, "rows": [{"db_password": world.secret}]}
    await world.talk([calls("fetch", **args), says("ok")], [tool])


async def in_a_declaring_json_schema(world: World) -> None:
    world.is_declared = True
    parameters = {"type": "object", "properties": {"user": {}, "key": {"type": "string", "format": "password"}}}
    tool = human_in_the_loop(name="log_in", description="Log in.", parameters=parameters)
    await world.talk([calls("log_in", user="ada", key=world.secret), says("ok")], [tool])


async def in_an_answer(world: World) -> None:
    @human_in_the_loop
    def who(question: str) -> Login:
        """Ask for a login."""
        raise NotImplementedError

    answer = {"user": "ada", "password": world.secret}
    turns = [calls("who", question="?"), says(f"It is {world.quoted}.")]
    await world.talk(turns, [who], lambda call: call.respond(answer, reason=f"it is {world.quoted}"))


async def in_an_undeclared_answer(world: World) -> None:
    @human_in_the_loop
    def who(question: str) -> dict[str, str]:
        """Ask for a login."""
        raise NotImplementedError

    turns = [calls("who", question="?"), says("ok")]
    await world.talk(turns, [who], lambda call: call.respond({"user": "ada", "api_key": world.secret}))


async def in_an_edit(world: World) -> None:
    turns = [calls("log_in", user="ada", key="before", api_key="the-one-before"), says("ok")]
    edited = {"user": "ada", "key": "before", "api_key": world.secret}
    await world.talk(turns, [_tool(str)], lambda call: call.respond(edited))


async def in_a_reason(world: World) -> None:
    turns = [calls("log_in", user="ada", key="x", api_key=world.secret), says("ok")]
    await world.talk(turns, [_tool(str)], lambda call: call.decline(f"not with {world.secret}, please"))


async def in_a_declared_reason(world: World) -> None:
    turns = [calls("log_in", user="ada", key=world.secret), says("ok")]
    await world.talk(turns, [_tool(Password)], lambda call: call.decline(f"not with {world.secret}", by=world.secret))


async def in_a_late_answer(world: World) -> None:
    @human_in_the_loop
    def who(question: str) -> Login:
        """Ask for a login."""
        raise NotImplementedError

    def act(call: Any) -> None:
        call.respond({"user": "ada", "password": "first"})
        call.respond({"user": "bob", "password": world.secret}, by="bob")

    await world.talk([calls("who", question="?"), says("ok")], [who], act)


async def in_a_tools_error(world: World) -> None:
    @gate
    def deploy(api_key: str) -> str:
        """Deploy."""
        world.ran.append(api_key)
        raise ValueError(f"{api_key} is expired")

    await world.talk([calls("deploy", api_key=world.secret), says("ok")], [deploy])


async def in_what_a_tool_returns(world: World) -> None:
    @gate
    def rotate(password: SecretStr) -> str:
        """Rotate."""
        return f"was {password.get_secret_value()}"

    await world.talk([calls("rotate", password=world.secret), says("ok")], [rotate])


def _invalid(arguments: Any, of: Any = Password, name: str = "log_in") -> Any:
    async def scene(world: World) -> None:
        text = arguments(world.secret)
        await world.talk([calls(name, raw=text), says(f"It was {world.quoted}.")], [_tool(of)])

    return scene


async def in_an_address(world: World) -> None:
    from hitl_nb.agents import HttpAgent

    header = {"X-Api-Key": world.secret.encode("ascii", "ignore").decode()}
    agent = HttpAgent(f"http://ada:{world.secret}@127.0.0.1:9/agent?key={world.secret}", headers=header)
    session = Session(agent, people=[Ada(world, print)], journal=world.journal)
    world.out["repr"] += [repr(agent), repr(session)]
    async with world.caught():
        await session.run("go")
    async with world.caught():
        HttpAgent(f"ftp://ada:{world.secret}@host/?key={world.secret}")


async def in_an_unexpected_question(world: World) -> None:
    person = ScriptedPerson([])
    async with world.caught():
        await approve("Go?", {"api_key": world.secret, "deep": {"password": world.secret}}, people=person)
    login: Any = {"user": "a", "password": world.secret}
    async with world.caught():
        with ScriptedPerson([{"api_key": world.secret}, Login(**login)]):
            pass


async def with_nobody_to_ask(world: World) -> None:
    async def passes(call: Any) -> None:
        world.calls.append(call)

    async with world.caught():
        await approve("Go?", {"api_key": world.secret}, people=passes, render=Plain)


async def in_a_payload(world: World) -> None:
    def act(call: Any) -> None:
        call.respond(True, reason=f"{world.quoted} is fine")

    for _ in range(2):
        await approve(
            f"Deploy with {world.quoted}?",
            {"api_key": world.secret},
            key="deploy",
            people=Ada(world, act),
            render=Approval,
        )
    assert len(world.calls) == 2, "a secret is not compared with what left the process"


async def in_a_review(world: World) -> None:
    edited = {"url": "b", "access_token": world.secret}
    await review(
        {"url": "a", "access_token": "the-old-one"}, people=Ada(world, lambda call: call.respond(edited)), key="review"
    )


class Host(BaseModel):
    url: str
    key: Password


async def in_a_declared_review(world: World) -> None:
    world.is_declared = True
    shown = Host(url="a", key=world.secret)
    await review(shown, people=Ada(world, lambda call: call.respond(Host(url="b", key=world.secret))))


async def in_the_inbox(world: World) -> None:
    """Whoever approves would have to see it, and a journal holds stars: it is refused before anybody is asked."""
    question = {"api_key": world.secret, "deep": {"password": world.secret}}
    for ask_for_it in (partial(interrupt, "Go?", question), partial(approve, "Go?", question)):
        async with world.caught():
            await ask_for_it(people=Inbox(world.journal, wait=0))
    assert world.journal.inbox().to_dicts() == []


async def in_the_inbox_declared(world: World) -> None:
    world.is_declared = True
    known.add([world.secret])
    sent: list[str] = world.out["webhook"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_person, "_send", lambda address, body: sent.append(body.decode()))
        person = Inbox(world.journal, notify="https://example.org")
        asking = asyncio.ensure_future(
            interrupt(f"Is {world.quoted} fine?", Host(url="a", key=world.secret), people=person)
        )
        while not asking.done() and not world.journal.inbox():
            await asyncio.sleep(0)
        view = world.journal.inbox()
        world.out["inbox"] += [repr(view), view._repr_html_(), str(view.to_dicts())]
        [call] = view
        world.look(call)
        call.respond(call.proposal)
        assert (await asking).key == world.secret, "confirmed is what was proposed, and no stars"


async def in_a_table(world: World) -> None:
    frame = pandas.DataFrame({"user": ["ada"], "password": ["before"]})

    def act(call: Any) -> None:
        call.respond(TableAnswer.of(frame, changes=[(0, "password", world.secret)]))

    answer = await review_table(frame, edit=["password"], people=Ada(world, act))
    assert answer.data.password.tolist() == [world.secret]


async def in_sql(world: World) -> None:
    @gate(render=SqlReview)
    def query(sql: str, params: dict[str, str]) -> str:
        """Query."""
        return "done"

    await world.talk([calls("query", sql="select :password", params={"password": world.secret}), says("ok")], [query])


async def in_a_doctors_report(world: World) -> None:
    known.add([world.secret])
    report = Report([Finding(about="name", level="ok", found=f"is {world.secret}", write=f"write {world.secret}")])
    world.out["doctor"] += [str(report), report._repr_html_(), report.to_json(), repr(report.findings)]


async def in_words(world: World) -> None:
    async with world.caught():
        await ask("The key?", {"secret": world.secret}, people=Ada(world, lambda call: call.decline(world.secret)))


async def in_a_rule_that_fails(world: World) -> None:
    def fails(args: Any) -> bool:
        raise ValueError(f"cannot judge {args['api_key']}")

    people: Any = [Policy(allow("approve", when=fails, kind="interrupt")), Ada(world, lambda call: call.respond(True))]
    await approve("Go?", {"api_key": world.secret}, people=people, render=Plain)


async def in_a_replay(world: World) -> None:
    def turns(secret: str) -> Any:
        return [calls("log_in", user="ada", key="x", api_key=secret), says("ok")]

    await world.talk(turns("another-secret"), [_tool(str)])

    @frontend_tool
    def log_in(user: str, key: str, api_key: str) -> str:
        """Log in."""
        return "other"

    async with world.caught():
        with replay(world.folder / "case.json"):
            agent = ChatAgent("openai/gpt-4o")
            from ag_ui.core import AssistantMessage, FunctionCall, RunAgentInput, ToolCall, ToolMessage, UserMessage

            arguments = json.dumps({"api_key": world.secret})
            call = ToolCall(id="c", function=FunctionCall(name="log_in", arguments=arguments))
            messages: Any = [
                UserMessage(id="1", content="else"),
                AssistantMessage(id="2", tool_calls=[call]),
                ToolMessage(id="3", tool_call_id="c", content=f"with {world.quoted}"),
            ]
            asked = RunAgentInput(
                thread_id="t", run_id="r", state={}, messages=messages, tools=[], context=[], forwarded_props={}
            )
            async for _ in agent.run(asked):
                pass


SCENES = {
    "SecretStr": _declared(SecretStr),
    "format: password": _declared(Password),
    "writeOnly": _declared(Written),
    "SecretStr, plain card": _declared(SecretStr, render=Plain),
    "format: password, approval": _declared(Password, render=Approval),
    "api_key": _undeclared("api_key"),
    "token": _undeclared("token"),
    "api_key, plain card": _undeclared("api_key", render=Plain),
    "token, approval": _undeclared("token", render=Approval),
    "headers and rows": in_json_schema,
    "a JSON Schema": in_a_declaring_json_schema,
    "an answer": in_an_answer,
    "an undeclared answer": in_an_undeclared_answer,
    "an edit": in_an_edit,
    "a reason": in_a_reason,
    "a declared reason": in_a_declared_reason,
    "a late answer": in_a_late_answer,
    "a tool's error": in_a_tools_error,
    "a tool's return": in_what_a_tool_returns,
    "an invalid call": _invalid(lambda secret: json.dumps({"key": secret, "user": {"no": "text"}})),
    "an invalid call, undeclared": _invalid(lambda secret: json.dumps({"api_key": secret}), of=str),
    "a torn call": _invalid(lambda secret: json.dumps({"key": secret, "user": "ada"})[:-4]),
    "a torn call, undeclared": _invalid(lambda secret: json.dumps({"api_key": secret, "user": "ada"})[:-4], of=str),
    "no such tool": _invalid(lambda secret: json.dumps({"api_key": secret}), name="other"),
    "an address": in_an_address,
    "an unexpected question": in_an_unexpected_question,
    "nobody to ask": with_nobody_to_ask,
    "a payload": in_a_payload,
    "a review": in_a_review,
    "a declared review": in_a_declared_review,
    "the inbox": in_the_inbox,
    "the inbox, declared": in_the_inbox_declared,
    "a table": in_a_table,
    "SQL": in_sql,
    "a doctor's report": in_a_doctors_report,
    "words": in_words,
    "a rule that fails": in_a_rule_that_fails,
    "a replay": in_a_replay,
}

ONLY_QUOTED = {
    "a doctor's report",
    "a reason",
    "a declared reason",
    "a tool's error",
    "a tool's return",
    "words",
    "a rule that fails",
    "an address",
}
"""In these a text quotes it: a short one could not be told from other words."""
