"""From an open call to a decided one: validate, run or ask, never guess.

All cards of a round stand together; code runs in call order, and never before the calls ahead of it are decided:
what it does may depend on what a person says to them (google/adk-go#876).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from ag_ui.core import ToolCall

from hitl_nb._calls import MAY_HAVE_RUN, Call, Decision, GrantLost, Handle, Recorder, frozen, reporting
from hitl_nb._encoding import encode
from hitl_nb._limits import aside, contained, words_of
from hitl_nb._schema import learn_from_text
from hitl_nb._tools import FrontendTool, GateTool, HumanTool, ToolBox
from hitl_nb.errors import InvalidValue
from hitl_nb.people import Person, ask_in_turn, in_time
from hitl_nb.session._checkpoints import Checkpoint

Replayed = Literal["", "events", "journal"]
"""Where a question is left over from; empty: it is new."""

_Work = Callable[[Sequence[Awaitable[None]]], Awaitable[None]]
"""What is left to do for one call, given the work on the calls ahead of it."""


@dataclass(frozen=True, kw_only=True)
class PendingCall:
    """One call of a round, and where it came from."""

    call: Call
    """What is decided."""

    source: ToolCall | Checkpoint
    """A tool call of the model, or a checkpoint of the agent's code."""

    replayed: Replayed = ""
    """Whether it is left over from an earlier run, and how we know: a person is asked again, code that may have run is
    not run again. The journal knows that a gate was never passed; events do not."""

    by_code: bool = False
    """Whether code calls it (`Session.run_tool`): then a tool that is hidden from the model is there, too."""


class Dispatcher:
    """Decides the questions of one session.

    Args:
        tools: Who answers what.
        people: The people, in turn.
        one_at_a_time: Ask in call order, the next only after the last is decided.
        refuse: Gives a reason to refuse a call unasked (a call that was declined just now), or None.
        recorder: The journal, or None.
        on_decided: Called with each question once it is decided.
        on_error: Called with the web's error code and a message for each call that goes wrong.
    """

    def __init__(
        self,
        tools: ToolBox,
        people: Sequence[Person],
        *,
        one_at_a_time: bool,
        refuse: Callable[[Call, str], Awaitable[str | None]],
        recorder: Recorder | None,
        on_decided: Callable[[PendingCall], None],
        on_error: Callable[[str, str], None],
    ) -> None:
        self._tools = tools
        self._people = people
        self._one_at_a_time = one_at_a_time
        self._refuse = refuse
        self._recorder = recorder
        self._on_decided = on_decided
        self._on_error = on_error

    async def decide(self, questions: Sequence[PendingCall]) -> None:
        """Have every call decided.

        Raises:
            NoHumanError: Somebody had to be asked and nobody could.
            Exception: A person raised. The calls that are open then stay open: the run closes them as not executed.
        """
        work = [await self._prepared(each) for each in questions]
        if self._one_at_a_time:
            for question, one in zip(questions, work, strict=True):
                await self._run(question, one, [])
            return
        tasks: list[asyncio.Task[None]] = []
        for question, one in zip(questions, work, strict=True):
            name = f"hitl_nb decides {question.call.id}"
            tasks.append(asyncio.create_task(self._run(question, one, list(tasks)), name=name))
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, question: PendingCall, one: _Work, before: Sequence[Awaitable[None]]) -> None:
        with contained(f"What answers `{question.call.name}`"):
            await one(before)
        await Handle.of(question.call).settled()
        self._on_decided(question)

    async def _prepared(self, question: PendingCall) -> _Work:
        """Validate first: a person never sees a question that does not fit its own schema."""
        call = question.call
        handle = Handle.of(call)
        if isinstance(question.source, Checkpoint):
            checkpoint = question.source
            await handle.open(checkpoint.args, arguments=json.dumps(checkpoint.args), recorder=self._recorder)
            if question.replayed == "journal":
                self._adopt(call)
            handler = self._tools.handler_of(checkpoint.interrupt)
            first = [handler.handler] if handler and handler.handler else []
            return lambda _: self._ask(call, checkpoint.expires_at, first)
        tool = self._tools.get(question.source.function.name)
        if tool is None or not (tool.available or question.by_code):
            learn_from_text(question.source.function.arguments)
            return self._wrong(call, "tool_not_found", self._no_such(question.source.function.name))
        try:
            arguments = question.source.function.arguments
            args = await aside(lambda: tool.validated(arguments), tool.parameters.cost(arguments))
        except InvalidValue as error:
            hint = f"invalid arguments: {error}. Call `{call.name}` again with corrected arguments."
            learn_from_text(question.source.function.arguments, tool.parameters)
            return self._wrong(call, "tool_argument_parse_failed", hint)
        if isinstance(tool, FrontendTool):
            if question.replayed:
                return self._wrong(call, "tool_handler_failed", "not executed: this call is from an earlier run")
            return lambda before: self._execute(tool, call, args, before)
        assert isinstance(tool, HumanTool)
        if isinstance(tool, GateTool) and question.replayed == "events":
            return self._wrong(call, "tool_handler_failed", "not executed: this call is from an earlier run")
        await handle.open(
            args,
            arguments=question.source.function.arguments or "{}",
            parameters=tool.parameters,
            recorder=self._recorder,
            gated=isinstance(tool, GateTool),
        )
        reason = await self._refuse(call, question.source.function.arguments)
        if reason is not None:
            handle.close("declined", reason, by="hitl_nb")
            return _nothing
        if question.replayed == "journal":
            self._adopt(call)
        if isinstance(tool, GateTool):
            return lambda before: self._pass_gate(tool, call, before)
        return lambda _: self._ask(call, None)

    def _adopt(self, call: Call) -> None:
        """Take the decision that an earlier kernel has left for exactly this question, if there is one."""
        stored = self._recorder.winner(call) if self._recorder is not None else None
        if stored is not None:
            try:
                Handle.of(call).adopt(stored, mine=True)
            except InvalidValue as error:
                call_error = f"what was answered before the restart does not fit any more ({error})"
                Handle.of(call).close("cancelled", call_error)

    def _no_such(self, name: str) -> str:
        known = ", ".join(f"`{known}`" for known in self._tools.names) or "none"
        return f"unknown tool `{name}`; available: {known}"

    def _wrong(self, call: Call, code: str, message: str) -> _Work:
        Handle.of(call).reject(message)
        self._on_error(code, message)
        return _nothing

    async def _ask(self, call: Call, expires_at: datetime | None, first: Sequence[Person] = ()) -> None:
        people = [*first, *self._people]
        if expires_at is None:
            await ask_in_turn(call, people)
            return
        Handle.of(call).deadline = expires_at, "Expires"
        left = (expires_at - datetime.now(UTC)).total_seconds()
        if left > 0:  # nobody is asked what cannot be answered any more
            await in_time(ask_in_turn(call, people), left)
        handle = Handle.of(call)
        await handle.settled()
        if not handle.taken:
            handle.expire(f"not answered before {expires_at.isoformat()}")

    async def _execute(self, tool: FrontendTool, call: Call, args: object, before: Sequence[Awaitable[None]]) -> None:
        if before:
            await asyncio.gather(*(asyncio.shield(one) for one in before))
        handle = Handle.of(call)
        handle.open_now(args)
        try:
            with reporting(handle):
                value = await _run_now(tool, args)
            result = encode(value)
        except Exception as error:
            # As on the web, the model is told; unlike there the run goes on, so that it can do something about it.
            words = words_of(error)
            self._on_error("tool_handler_failed", words)
            handle.settle(Decision(outcome="invalid", result=f"Error: {words}", reason=words))
            return
        except BaseException:
            handle.settle(Decision(outcome="aborted", result=_STOPPED))
            raise
        handle.settle(Decision(outcome="answered", answer=value, result=result))

    async def _pass_gate(self, tool: GateTool, call: Call, before: Sequence[Awaitable[None]]) -> None:
        handle = Handle.of(call)
        await handle.settled()  # an answer that code has just given: if it cannot be kept, somebody is asked
        if not handle.taken:
            if tool.needs_person(frozen(handle.grant.frozen)):
                await self._ask(call, None)
            else:
                # With a journal this fails where another kernel has a decision for it already, which then counts.
                call.respond(call.args, by=f"gate: no approval needed by the rule of `{tool.name}`", via="policy")
                await handle.written()
        if not call.approved:
            return
        if before:
            await asyncio.gather(*(asyncio.shield(one) for one in before))
        try:
            args = await handle.grant.begin()
        except GrantLost as lost:
            handle.delivered = MAY_HAVE_RUN  # what is told if nobody waits for its end
            handle.delivered = await lost.outcome()
            return
        except InvalidValue:
            return
        try:
            with reporting(handle):
                text = _returned(await _run_now(tool, args), call)
        except Exception as error:
            words = words_of(error)
            self._on_error("tool_handler_failed", words)
            text = f"Error: {words}"
        except BaseException:
            handle.grant.end(_STOPPED)
            raise
        handle.grant.end(text)


async def _run_now(tool: FrontendTool | GateTool, args: object) -> Any:
    """Run a tool; whatever it raises is an error of the tool, and neither the end of the kernel nor a stop.

    Raises:
        Exception: What went wrong in it.
        CancelledError: The run was stopped meanwhile.
    """
    with contained(f"`{tool.name}`"):
        return await tool.run(args)


_STOPPED = "Error: it was stopped while it ran; it may or may not have had its effect, and it is not run again."


def _returned(value: object, call: Call) -> str:
    """Return what the model gets from a gate: what the function returned, and what the person had changed before."""
    decision = Handle.of(call).decision
    if decision is None or not decision.edits:
        return encode(value)
    return encode({"status": "edited", "approved": True, "edits": list(decision.edits), "returned": value})


async def _nothing(_before: object) -> None:
    """Nothing is left to do: the call is decided."""
