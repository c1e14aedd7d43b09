"""Replays what the released web client does against a Session: python -m tests.conformance.hitl FILE

Each scenario plays recorded agent events and a recorded user; what the agent was given, the messages and the results
must be the same, or the scenario stands in `DEVIATIONS` with the reason why ours is better. Run with
``one_at_a_time=True``, the web's serial order. The `int_*` scenarios belong to the checkpoints.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ag_ui.core import CustomEvent, Event, RunAgentInput

from hitl_nb import Call, Session, frontend_tool, human_in_the_loop
from hitl_nb._waiting import until_decided
from hitl_nb.agui import parse_event
from hitl_nb.errors import HitlError

DEVIATIONS = {
    "HAZARD_": "the web loses, misroutes or invents an answer here; ours is bound to the call's id",
    "stop_leaves_second_call_dangling": "stop closes every open and queued call, so the thread stays usable",
    "new_user_message_while_pending": 'a new message is refused by name (or if_busy="decline" / "wait"), never sent '
    "with a dangling call",
    "invalid_json_args": "the error goes back to the model, which can correct its call",
    "args_null": "the error goes back to the model, which can correct its call",
    "args_number": "the error goes back to the model, which can correct its call",
    "args_string": "the error goes back to the model, which can correct its call",
    "args_array": "the error goes back to the model, which can correct its call",
    "schema_violation_not_checked": "a person is never asked with arguments that do not fit the schema",
    "unknown_tool_dangles": "an unknown tool is answered with an error instead of dangling",
    "hitl_plus_unknown_tool": "an unknown tool is answered with an error instead of dangling",
    "agent_id_mismatch": "a tool of another agent is answered with an error instead of dangling",
    "frontend_tool_throws_no_follow_up": "the model is told of the error and goes on",
    "reload_pending_frontend_tool_not_executed": "not run again either, but closed, so the thread stays usable",
    "run_error_after_call_still_asks": "a run that failed asks nobody: its call may not be what the agent meant",
    "int_expired_not_sent": "an expired interrupt is cancelled on the wire; the web bricks the thread",
    "int_tool_call_reason_adds_tool_message": "beside a `resume` no result is made up: the agent gives it",
    "int_other_reason_no_tool_message": "a call that the agent leaves without a result gets the person's decision",
    "int_new_user_message_blocked": "refused before the message enters the history, by the name of the open call",
}
"""Scenario (or prefix of a name) → why ours is better. tests/conformance/test_deviations.py tests the better one."""

SECONDS = 60.0
"""After which a scenario is given up."""

STEPS = 400
"""Turns of the event loop after which nothing moves any more; nothing here waits for real time."""


def deviation(name: str) -> str | None:
    """Give the reason why this scenario may differ."""
    return next(
        (why for key, why in DEVIATIONS.items() if name == key or (key == "HAZARD_" and name.startswith(key))), None
    )


class RecordedAgent:
    """Plays the events of `turns`, one list a run, and keeps what each run was given."""

    def __init__(self, turns: list[list[dict[str, Any]]]) -> None:
        self._turns = turns
        self.inputs: list[RunAgentInput] = []

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        self.inputs.append(input.model_copy(deep=True))
        number = len(self.inputs) - 1
        turn = self._turns[number] if number < len(self._turns) else []
        identity = {"threadId": input.thread_id, "runId": input.run_id}
        events = [{"type": "RUN_STARTED", **identity}, *turn]
        if turn[-1:] == [] or turn[-1]["type"] not in ("RUN_FINISHED", "RUN_ERROR"):
            events.append({"type": "RUN_FINISHED"})
        for event in events:
            whole = {**identity, **event} if event["type"].startswith("RUN_FINISHED") else event
            parsed = parse_event(whole)
            if parsed is not None:
                yield parsed
            await asyncio.sleep(0)


class Player:
    """Plays one scenario's user against a Session and observes what the web's harness observes."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self.scenario = scenario
        self.agent = RecordedAgent(scenario["turns"])
        self.log: list[list[Any]] = []
        self.calls: dict[str, Call] = {}
        self.session = Session(
            self.agent,
            tools=[self._tool(tool) for tool in scenario["tools"]],
            people=[self._person],
            thread_id="t1",
            one_at_a_time=True,
            agent_id="default",
            journal=None,
        )
        self._texts: list[str] = []
        self._statuses: dict[str, list[str]] = {}
        self.session.subscribe(self._note_error)

    def _note_error(self, event: Event) -> None:
        if isinstance(event, CustomEvent) and event.name == "error":
            self.log.append(["error", event.value["code"]])

    def _tool(self, spec: dict[str, Any]) -> Any:
        options = {
            "name": spec["name"],
            "parameters": _schema(spec.get("schema")),
            "follow_up": spec.get("followUp", True),
            "available": spec.get("available", True) not in (False, "disabled"),
            "agent_id": spec.get("agentId"),
        }
        if spec["kind"] == "hitl":
            # As on the web, where every such tool has a renderer of its own, and what it answers travels alone.
            return human_in_the_loop(**options, render=_renderer)

        def handler(**_: Any) -> Any:
            if "throws" in spec:
                raise RuntimeError(spec["throws"])
            return spec.get("returns")

        return frontend_tool(**options)(handler)

    async def _person(self, call: Call) -> None:
        self.calls[call.id] = call
        await until_decided(call)

    async def play(self) -> dict[str, Any]:
        """Play the script; gives the observations."""
        for step in self.scenario["script"]:
            self._follow_calls()
            do = getattr(self, f"_do_{step['do']}", None)
            if do is None:
                raise ValueError(f"there is no step {step['do']!r}")
            await do(step)
        await self._settle()
        observed = self._observed()
        if self.session._run is not None:
            self.session.stop()
            await self.session._run.settled()
        return observed

    def _follow_calls(self) -> None:
        """Note each status of the calls that a renderer would get (also those that nobody is asked about)."""
        run = self.session._run
        for call in run.transcript.calls if run is not None else ():
            if call.kind == "tool" and call.id not in self._statuses:
                first = [] if call.status == "inProgress" else [call.status]
                self._statuses[call.id] = seen = first
                call.observe(lambda change, seen=seen: seen.append(change["new"]), "status")

    def _observed(self) -> dict[str, Any]:
        thread = self.session._thread
        answered = {m.tool_call_id: m.content for m in thread.messages if m.role == "tool"}
        hitl = {tool["name"] for tool in self.scenario["tools"] if tool["kind"] == "hitl"}
        made = {call.id: call.function.name for m in thread.messages for call in getattr(m, "tool_calls", None) or ()}
        shown = {i for i, name in made.items() if name in hitl or "*" in hitl}
        return {
            "runs": [self._run_of(given) for given in self.agent.inputs],
            "messages": [_message(message) for message in thread.messages],
            "results": {i: content for i, content in answered.items() if i in shown},
            "statuses": {i: list(seen) for i, seen in self._statuses.items()},
            "errors": [entry[1] for entry in self.log],
            "pendingInterrupts": [call.id for call in self.session.pending if call.kind == "interrupt"],
        }

    def _run_of(self, given: RunAgentInput) -> dict[str, Any]:
        run: dict[str, Any] = {
            "messages": [_message(message) for message in given.messages],
            "forwardedProps": given.forwarded_props or {},
            "tools": [tool.name for tool in given.tools or []],
        }
        if given.resume:
            run["resume"] = [entry.model_dump(by_alias=True, exclude_none=True, mode="json") for entry in given.resume]
        return run

    # -- the user -----------------------------------------------------------------------------------------

    async def _do_user(self, step: dict[str, Any]) -> None:
        self._texts.append(step["text"])

    async def _do_run(self, step: dict[str, Any]) -> None:
        try:
            self.session.start(self._texts.pop(0))
        except HitlError as error:
            self.log.append(["error", type(error).__name__, str(error)])

    _do_run_nowait = _do_run

    async def _do_connect(self, step: dict[str, Any]) -> None:
        stored = [event for raw in self.scenario["stored"] if (event := parse_event(raw)) is not None]
        self.session._launch(None, foreground=False, replay=stored)
        await self._settle()

    async def _do_wait_executing(self, step: dict[str, Any]) -> None:
        await self._until(lambda: step["id"] in self.calls)

    async def _do_wait_interrupt(self, step: dict[str, Any]) -> None:
        await self._until(lambda: any(call.kind == "interrupt" for call in self.calls.values()))

    async def _do_respond(self, step: dict[str, Any]) -> None:
        if step["id"] in self.calls:
            self.calls[step["id"]].respond(step["value"])

    _do_respond_if_open = _do_respond

    async def _do_respond_many(self, step: dict[str, Any]) -> None:
        for value in step["values"]:
            self.calls[step["id"]].respond(value)

    async def _do_respond_with(self, step: dict[str, Any]) -> None:
        self.calls[step["of"]].respond(step["value"])

    async def _do_resolve(self, step: dict[str, Any]) -> None:
        call = self._interrupt(step)
        if call is not None:
            call.respond(step.get("value"))

    _do_resolve_nowait = _do_resolve

    async def _do_cancel(self, step: dict[str, Any]) -> None:
        call = self._interrupt(step)
        if call is not None:
            call.cancel()

    def _interrupt(self, step: dict[str, Any]) -> Call | None:
        wanted = step.get("id") or step.get("interruptId")
        calls = [call for call in self.calls.values() if call.kind == "interrupt"]
        return next((call for call in calls if wanted in (None, call.id)), None)

    async def _do_stop(self, step: dict[str, Any]) -> None:
        self.session.stop()
        await self._settle()

    async def _do_sleep(self, step: dict[str, Any]) -> None:
        await self._settle()

    async def _do_settle(self, step: dict[str, Any]) -> None:
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(STEPS):
            self._follow_calls()
            await asyncio.sleep(0)

    async def _until(self, true: Any) -> None:
        for _ in range(STEPS):
            self._follow_calls()
            if true():
                return
            await asyncio.sleep(0)


def _renderer(call: Call) -> None:
    """Draws nothing: these scenarios are answered by their script."""


def _schema(spec: Any) -> dict[str, Any]:
    """Give the JSON Schema of a tool; the set writes ``x:number`` for one required property."""
    if isinstance(spec, dict):
        return spec
    pairs = [pair.split(":") for pair in (spec or "").split(",") if pair]
    properties = {name.strip(): {"type": kind.strip()} for name, kind in pairs}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _message(message: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.role}
    if message.role == "tool":
        shown["toolCallId"] = message.tool_call_id
    shown["content"] = message.content or ""
    if getattr(message, "tool_calls", None):
        shown["toolCalls"] = [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
            for call in message.tool_calls
        ]
    return shown


def _comparable(observed: dict[str, Any]) -> dict[str, Any]:
    """Give what the web did in the terms of `Player`: of the log only the error codes, and no first status.

    Whether a renderer still sees ``inProgress`` is a matter of when React draws.
    """
    return {
        **observed,
        "statuses": {i: seen[1:] if seen[:1] == ["inProgress"] else seen for i, seen in observed["statuses"].items()},
        "errors": [entry[1] for entry in observed["log"] if entry[0] == "error"],
    }


def differences(scenario: dict[str, Any], observed: dict[str, Any]) -> list[str]:
    """Give what differs from the web, in words; empty if nothing does."""
    found = []
    web = _comparable(scenario["observed"])
    for key, ours in observed.items():
        theirs = web[key]
        if ours != theirs:
            found.append(f"{key}: web {json.dumps(theirs)} · ours {json.dumps(ours)}")
    return found


async def play(scenario: dict[str, Any]) -> list[str]:
    """Play one scenario; gives what differs. One that cannot be played differs, and says why."""
    try:
        async with asyncio.timeout(SECONDS):
            return differences(scenario, await Player(scenario).play())
    except Exception as error:
        return [f"cannot be played: {type(error).__name__}: {error}"]


def scenarios(path: Path) -> list[dict[str, Any]]:
    """Read a file of the format; what is no scenario in it is one that cannot be played."""
    data = json.loads(path.read_text(encoding="utf-8"))
    found = data.get("scenarios", []) if isinstance(data, dict) else data
    named = enumerate(found if isinstance(found, list) else [], 1)
    return [{"name": f"scenario {at}", **(it if isinstance(it, dict) else {})} for at, it in named]


async def main(path: Path) -> int:
    """Play a file; prints the ids that fail and one line at the end."""
    every = scenarios(path)
    passed = deviating = 0
    for scenario in every:
        found = await play(scenario)
        if found and deviation(scenario["name"]) is None:
            print(f"FAIL {scenario['name']}", *found, sep="\n    ")
            continue
        passed += 1
        deviating += bool(found)
    print(f"hitl: {passed}/{len(every)}, {deviating} deviations")
    return 0 if passed == len(every) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
