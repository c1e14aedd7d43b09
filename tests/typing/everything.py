"""Every public name in one program, read by mypy and by pyright, both strict.

What a line of `reveal_type` gives stands behind it; `test_checkers` compares that with what each checker says.
"""

from collections.abc import AsyncIterator, Callable
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal, reveal_type

from ag_ui.core import Event, RunAgentInput
from annotated_types import Ge
from pydantic import BaseModel

import hitl_nb.agents as agents
import hitl_nb.agui as agui
import hitl_nb.cards as cards
import hitl_nb.chat as chats
import hitl_nb.crewai as crewai
import hitl_nb.data as data
import hitl_nb.errors as errors
import hitl_nb.gates as gates
import hitl_nb.inbox as inbox
import hitl_nb.journal as journals
import hitl_nb.mcp as mcp
import hitl_nb.people as people
import hitl_nb.session as sessions
import hitl_nb.testing as testing
from hitl_nb import (
    Batch,
    Call,
    Journal,
    Question,
    Session,
    approve,
    ask,
    choose,
    doctor,
    frontend_tool,
    gate,
    human_in_the_loop,
    interrupt,
    label,
    on_interrupt,
    pending,
    report_progress,
    review,
    review_calls,
    review_code,
    review_table,
    use,
)
from hitl_nb.demo import PlanFlow


class Row(BaseModel):
    """Something to decide about."""

    name: str


# -- checkpoints --------------------------------------------------------------------------------------------------


async def checkpoints(rows: list[Row], flag: bool, boss: people.Person) -> None:
    """What code asks, and what it gets."""
    if await approve("Drop?", rows, risk="high", timeout=60, escalate_to=boss, key="drop", refresh=True):
        reveal_type(approve("Drop?"))  # Unasked[bool]
    reveal_type(await approve("Keep?", one_key=True, undo=5))  # bool
    reveal_type(await approve("DROP TABLE old", title="Run SQL"))  # bool
    reveal_type(approve("Drop?").start())  # Question[bool]
    question: Question[bool] = approve("Drop?").start()
    reveal_type(await question)  # bool
    reveal_type(await interrupt("Go on?"))  # bool
    reveal_type(await interrupt("Delete?", rows))  # list[Row]
    reveal_type(await interrupt("Which?", rows, answer=Row, name="which", kind="interrupt"))  # Row
    reveal_type(await interrupt("Which?", answer=list[Row], if_expired=None, timeout=1))  # list[Row] | None
    reveal_type(await interrupt("Which?", answer=Literal["a", "b"]))  # Any
    reveal_type(await interrupt("How many?", answer=Annotated[int, Ge(1)]))  # Any
    reveal_type(interrupt.sync("Which?", answer=Row, people=[boss], if_expired="later", timeout=1))  # Row | str
    reveal_type(interrupt.sync("Delete?", rows))  # list[Row]
    reveal_type(await ask("Why?", long=True, placeholder="because"))  # str
    reveal_type(await ask("When?", answer=date, default=date(2026, 3, 2)))  # date
    reveal_type(await ask("When?", answer=date, if_expired=None, timeout=1))  # date | None
    reveal_type(await ask("Which?", answer=Literal["a", "b"]))  # Any
    reveal_type(await ask("Is it?", answer=bool, one_key=True))  # bool
    reveal_type(await choose("Which?", rows, label="name", one_key=True))  # Row
    reveal_type(await choose("Which?", rows, label="name"))  # Row
    reveal_type(await choose("Which?", {row.name for row in rows}, multiple=True))  # list[str]
    reveal_type(await choose("Which?", [row.name for row in rows], multiple=flag))  # str | list[str]
    drawn = partial(cards.Choice, options=rows)
    reveal_type(await choose("Which?", rows, if_expired=0, timeout=1, render=drawn))  # Row | int
    reveal_type(await review(rows, "Right?"))  # list[Row]
    reveal_type(await review({"name": "a"}, answer=Row))  # Row
    reveal_type(await review(rows[0], if_expired=None, timeout=1))  # Row | None
    reveal_type(await review_table(rows, "Right?", drop=True, edit=["name"]))  # TableAnswer[list[Row]]
    reveal_type(await review_table(rows, if_expired=None, timeout=1))  # TableAnswer[list[Row]] | None
    shown = partial(data.TableReview, drop=True)
    reveal_type(await review_table(rows, render=shown))  # TableAnswer[list[Row]]
    done = data.TableAnswer.of(rows, keep=[True], changes=[(0, "name", "b")])
    reveal_type(done.data)  # list[Row]
    reveal_type(done.changes[0].label)  # object
    reveal_type(data.Change(0, None, "name", "a", "b").position)  # int
    reveal_type(await review_code("b", before="a", language="sql"))  # str
    hunks = partial(data.DiffReview, after="code")
    reveal_type(await review_code("b", if_expired=None, timeout=1, render=hunks))  # str | None
    queries = partial(data.SqlReview, preview="shop.sqlite")
    reveal_type(await interrupt("Run it?", answer=bool, render=queries))  # bool
    reveal_type(pending())  # list[Call]
    batch: Batch = await review_calls(pending(), reason="no")
    reveal_type(batch.left)  # tuple[Call, ...]
    table = partial(cards.BatchReview, calls=pending())
    reveal_type(await interrupt("Which?", answer=bool, render=table))  # bool


async def labels(texts: list[str], several: bool) -> None:
    """What many items are labelled with."""
    moods = await label(texts, ["positive", "negative"], "Mood?", key="batch-3", guidelines="*as it is*", order=[0.1])
    reveal_type(moods)  # Labels[str | None]
    reveal_type(moods[0])  # str | None
    reveal_type(await label(texts, range(10), show="image", shortcuts={"z": 0}))  # Labels[int | None]
    reveal_type(await label(texts, ["a", "b"], multi=True, render=data.LabelQueue))  # Labels[list[str] | None]
    reveal_type(await label(texts, ["a"], multi=several, show=len))  # Labels[str | list[str] | None]
    reveal_type(await label(texts, ["a"], if_expired=0, timeout=1))  # Labels[str | None] | int
    agreement: data.Agreement = moods.agreement
    reveal_type(agreement.share)  # float | None
    disputed: data.Disputed[str | None] = moods.disputed
    decided: data.Labels[str | None] = await label(disputed, "Which?")
    reveal_type(moods.settled(decided))  # list[str | None]


# -- tools --------------------------------------------------------------------------------------------------------


@gate(when=lambda args: args.amount > 100)
def pay(to: str, amount: int) -> float:
    """Pay."""
    return amount / 2


@gate
async def pay_later(to: str) -> date:
    """Pay later."""
    return date.today()


@frontend_tool(name="row_count")
def count(table: str) -> int:
    """Count."""
    report_progress(1, len(table), "counting")
    return len(table)


@frontend_tool(render=lambda call: call.result)
async def count_later(table: str) -> int:
    """Count later."""
    return len(table)


@human_in_the_loop(render=cards.StepReview)
def plan(steps: list[Row]) -> list[Row]:
    """Plan."""
    raise NotImplementedError


in_order = partial(cards.PlanReview, field="steps", add=False)


by_model = human_in_the_loop(Row, render=cards.Form)
by_schema = human_in_the_loop(name="pick", parameters={"type": "object", "properties": {}}, answer=int)


async def tools() -> None:
    """A gated function is called as it is written; so is one that the model may call."""
    reveal_type(pay("ada", 500))  # Unasked[float]
    reveal_type(await pay("ada", amount=500))  # float
    reveal_type(pay.sync("ada", 500))  # float
    reveal_type(await pay_later("ada"))  # date
    reveal_type(count("rows"))  # int
    plan([])
    made: gates.Gate[..., Any] = pay
    reveal_type(made.sync())  # Any


# -- sessions -----------------------------------------------------------------------------------------------------


class Mine:
    """An agent of one's own."""

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Say nothing."""
        for event in agui.verify(agui.expand_chunks([])):
            yield event


def card(call: Call) -> cards.Card:
    """A card, chosen by the call."""
    shown = (partial(cards.Approval, ask_reason="optional"), cards.Plain, cards.QuickReply, cards.Text)
    return partial(cards.TimePicker, slots=[date.today()])(call) if call.kind == "tool" else shown[0](call)


async def talk(ada: people.NotebookPerson, agent: agents.Agent) -> sessions.Reply:
    """A conversation, and who takes part in it."""
    rules = people.Policy(people.allow("row_count"), people.deny("pay", when=lambda args: args.amount > 10**6))
    four_eyes = people.AllOf(ada, people.Escalate(people.Remember(ada), after=60, to=people.ScriptedPerson([True])))
    own = on_interrupt(render=card, handler=ada, enabled=lambda interrupt: interrupt.id == "a", undo=5)
    session = Session(PlanFlow, [pay, count, plan, by_model, by_schema], interrupts=own, people=[rules, four_eyes])
    for other in (Session(agent), Session(Mine()), Session("https://example.org/agent", journal=None)):
        reveal_type(other.start("Hello", if_busy="wait"))  # Run
    models = (agents.ChatAgent("openai/gpt-4o"), agents.HttpAgent("https://example.org"), agents.FlowAgent(PlanFlow))
    run: sessions.Run = Session(models[0], people=ada).start("Hello")
    reveal_type((await run).calls)  # list[Call]
    reveal_type(await session.run("Plan a trip to Mars"))  # Reply
    reveal_type(session.pending)  # list[Call]
    reveal_type(await session.run_tool("row_count", {"table": "orders"}, follow_up="How many?"))  # Call
    reveal_type(session.run_tool("row_count", {"table": "orders"}).start())  # Run
    session.suggestions("Hello", ("Plan", "Plan a trip"), instructions="next steps")
    suggested: list[sessions.Suggestion] = await session.suggest()
    reveal_type(suggested[0].message)  # str
    reveal_type(session.take_back())  # str | None
    session.on_run(lambda started: print(started.id))()
    panel: chats.Chat = session.chat(title="Planner", dock=True).attach([1, 2], "rows")
    reveal_type(panel.send("Hello"))  # Run
    session.start("Look", attachments=["plot.png"])
    state: sessions.State = session.state
    state["budget"] = 900
    reveal_type(state.conflicts)  # list[StateConflict]
    conflict: sessions.StateConflict = state.conflicts[0]
    print(conflict.yours, conflict.theirs)
    observer: Callable[[sessions.StateChange], None] = lambda change: print(change.by)  # noqa: E731 - to name its type
    state.observe(observer, "budget")()
    session.render_state(cards.Checklist("steps"))()
    session.agent_context("the rows", [1, 2])()
    session.render_tool_call()
    session.render_tool_call("search", lambda call: f"{call.status} {call.args}")
    pieces = agents.CallAssembler("m1", used=(), tools=["pay"]).feed(agents.Fragment(id="a", name="pay"))
    print(next(pieces))
    return await session.resume()


def recorded(journal: Journal, call: Call) -> None:
    """What was asked, and what came of it."""
    reveal_type(call.late_answers)  # list[Any]
    reveal_type(call.respond(True, by="ada"))  # bool
    reveal_type(journal.summary())  # Summary
    reveal_type(journal.verify())  # Verification
    _: tuple[type, ...] = (journals.OpenCall, journals.Started, journals.StoredDecision, journals.Summary)
    _ = (
        journals.Erasure,
        journals.ThreadRecord,
        journals.Verification,
        people.Rule,
        testing.Request,
        crewai.Installation,
    )


def events(conversation: agui.Conversation, checked: agui.Verifier, partial_: agui.PartialArgs) -> None:
    """The client half of AG-UI."""
    event = agui.parse_event({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    for whole in agui.ChunkExpander().feed(event) if event is not None else ():
        checked.feed(whole)
        conversation.apply(whole)
    reveal_type(agui.apply([]).messages == conversation.messages)  # bool
    partial_.feed("{")


def replayed() -> None:
    """Without a model and without people."""
    model = testing.ScriptedModel([testing.calls("plan", steps=[]), testing.says("Done.")], alias="openai/gpt-4o")
    with use(people="script:answers.py", journal="memory"), model, testing.ScriptedPerson({"plan": [[]]}) as person:
        reveal_type(person.asked)  # list[Call]
    with testing.record("case.json"), testing.replay("case.json"):
        print(testing.PAUSED, model.requests)


def crews() -> None:
    """CrewAI's own questions."""
    with crewai.install(people=people.NotebookPerson("Ada")), crewai.approve_tools(["send_mail"]) as held:
        reveal_type(held)  # ToolGate
    crewai.uninstall()


async def elsewhere(journal: Journal, read: object, write: object) -> None:
    """Asked here and answered there; asked by a server and answered here."""
    reveal_type(journal.inbox(to="risk", order="riskiest"))  # InboxView
    inbox.serve(journal, bind="127.0.0.1:8765", header="X-Forwarded-User")
    reveal_type([call.name for call in inbox.InboxView(journal)])  # list[str]
    try:
        await approve("Close the books?", people=inbox.Inbox(journal, to="risk", wait="10m"))
    except errors.Parked as later:
        print(later)
    answers = mcp.elicitation("weather", people=people.NotebookPerson())
    async with mcp.ElicitingSession(read, write, elicitation_callback=answers) as session:
        mcp.gate_mcp(session, server="weather", when=lambda name, args: name != "read", timeout=60)
    with mcp.elicitation_for_crewai(people=people.NotebookPerson(), timeout=60):
        pass
    print(doctor())


async def refused() -> bool:
    """What goes wrong, told apart."""
    try:
        return await approve("Drop?")
    except (errors.Declined, errors.Cancelled, errors.Expired, errors.ChangedWhileWaiting) as refusal:
        reveal_type(refusal.call)  # Any
    except errors.InvalidValue as error:
        reveal_type(error.errors)  # list[dict[str, Any]]
    except (errors.AgentError, errors.ReplayMismatch) as error:
        reveal_type(error)  # AgentError | ReplayMismatch
    except (errors.NotApproved, errors.NoHumanError, errors.RunStopped, errors.FollowUpLimit, errors.HitlError):
        raise
    return False


SLIPS: tuple[type[errors.UsageError], ...] = (
    *(errors.ToolDefinitionError, errors.AgentDefinitionError, errors.MissingExtraError, errors.NotAwaitedError),
    *(errors.NotAwaitedAttributeError, errors.AlreadyAwaitedError, errors.CallNotOpenError, errors.NotYourTurn),
    *(errors.LoopBlockedError, errors.SessionBusyError),
)
FAULTS: tuple[type[errors.HitlError], ...] = (
    *(errors.HistoryError, errors.ProtocolError, errors.JournalError, errors.FrontendError, errors.ScriptError),
)
crewai.ToolGate.remove  # noqa: B018
