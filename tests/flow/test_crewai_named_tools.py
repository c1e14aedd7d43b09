"""Which tools a gate is about: a slip in naming them opens nothing."""

from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.agents.agent_adapters.base_agent_adapter import BaseAgentAdapter
from crewai.hooks import get_before_tool_call_hooks
from crewai.mcp import MCPServerStdio
from crewai.tools import BaseTool

from hitl_nb.crewai import approve_tools
from hitl_nb.errors import ScriptError, UsageError
from hitl_nb.testing import ScriptedPerson
from tests.flow.crews import Mailer, crew_of, in_words, scripted, wants

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a process imports crewai
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # crewai reads its own deprecated fields
]

MAIL = {"to": "ada@example.org", "body": "Hello"}


async def declines(call):
    call.decline("too early")


def mailing(*names, model=scripted):
    """A crew that has a tool of each of these names and calls the first, and the mailers behind them."""
    mailers = [Mailer() for _ in names]
    for mailer, name in zip(mailers, names, strict=True):
        mailer.tool.name = name
    called = names[0].lower().replace(" ", "_")
    llm = model([wants(called, **MAIL)], "Done.")
    return mailers, llm, crew_of(llm, *(mailer.tool for mailer in mailers))


@pytest.mark.parametrize(
    "tools",
    [
        "send_mail",
        "Send Mail",
        "sendMail",
        ["send_mail"],
        ("send_mail",),
        {"send_mail"},
        dict.fromkeys(["send_mail"]).keys(),
        ["send_mail", "search"],
        Mailer().tool,
        [Mailer().tool],
        None,
    ],
)
@pytest.mark.parametrize("model", [scripted, in_words])
async def test_a_tool_that_is_named_in_any_way_is_held(tools, model):
    (mailer, _), _, crew = mailing("Send Mail", "search", model=model)
    with approve_tools(tools, people=declines):
        await crew.akickoff()
    assert mailer.sent == []


class NotMade(BaseTool):
    name: str = "send_mail"
    description: str = "Send a mail."

    def _run(self) -> str:
        return "sent"


def send_mail():
    """A plain function, which no agent can have."""


@pytest.mark.parametrize(
    ("tools", "line"),
    [
        ([], r'approve_tools\(\["send_mail"\]\)'),
        ("", r'approve_tools\(\["send_mail"\]\)'),
        (["send_mail", None], r'approve_tools\(\["send_mail"\]\)'),
        ([3], r'approve_tools\(\["send_mail"\]\)'),
        (3, r"approve_tools\(\)"),
        (True, r"approve_tools\(\)"),
        (b"send_mail", r"approve_tools\(\)"),
        ({"send_mail": True}, r"approve_tools\(\)"),
        ([["send_mail"]], r"approve_tools\(\)"),
        (["?!"], r"approve_tools\(\)"),
        (send_mail, r'approve_tools\(\["send_mail"\]\)'),
        ([send_mail], r'approve_tools\(\["send_mail"\]\)'),
        (NotMade, r"approve_tools\(\[NotMade\(\)\]\)"),
        ([NotMade], r"approve_tools\(\[NotMade\(\)\]\)"),
    ],
)
def test_what_is_no_tool_is_an_error_with_the_line_to_write_and_leaves_no_gate(tools, line):
    with pytest.raises(UsageError, match=line):
        approve_tools(tools)
    assert get_before_tool_call_hooks() == []


def test_so_is_a_condition_that_cannot_be_asked():
    with pytest.raises(UsageError, match="when=lambda args"):
        approve_tools("send_mail", when=False)  # type: ignore[arg-type]
    assert get_before_tool_call_hooks() == []


@pytest.mark.parametrize("tools", ["send_mial", ["send_mial"], ["search", "send_mial"], "send_mail, search", "send_*"])
@pytest.mark.parametrize("called", ["send_mail", "search"])
@pytest.mark.parametrize("model", [scripted, in_words])
async def test_a_name_that_no_tool_has_ends_the_run_before_any_tool_has_run(tools, called, model):
    other = "search" if called == "send_mail" else "send_mail"
    mailers, llm, crew = mailing(called, other, model=model)
    with ScriptedPerson([]) as person, approve_tools(tools, people=person), pytest.raises(UsageError) as caught:
        await crew.akickoff()
    assert [mailer.sent for mailer in mailers] == [[], []]
    assert len(llm.requests) == 1, "the agent tried the task again"
    assert "`search`, `send_mail`" in str(caught.value)


async def test_the_error_names_what_was_probably_meant():
    _, _, crew = mailing("send_mail", "search")
    with (
        approve_tools("send_mial", people=declines),
        pytest.raises(UsageError, match=r'approve_tools\(\["send_mail"\]'),
    ):
        await crew.akickoff()


async def test_of_several_calls_at_once_none_runs():
    mailer = Mailer()
    crew = crew_of(scripted([wants("send_mail", **MAIL), wants("send_mail", to="bob", body="")], "Done."), mailer.tool)
    with approve_tools("send_mial", people=declines), pytest.raises(UsageError):
        await crew.akickoff()
    assert mailer.sent == []


async def test_an_agent_on_its_own_is_held_to_it_as_well():
    mailer = Mailer()
    llm = scripted([wants("send_mail", **MAIL)], "Done.")
    agent = Agent(role="Writer", goal="Write", backstory="A writer.", llm=llm, tools=[mailer.tool])
    with approve_tools("send_mial", people=declines), pytest.raises(UsageError):
        await agent.kickoff_async("Write to Ada.")
    assert mailer.sent == []


def crew_of_two(first, second):
    """Two agents with a tool each, which both call it."""
    agents = [
        Agent(role=role, goal="Work", backstory="A worker.", llm=scripted([call], "Done."), tools=[tool], verbose=False)
        for role, (call, tool) in {"First": first, "Second": second}.items()
    ]
    tasks = [Task(description="Work.", expected_output="Work.", agent=agent) for agent in agents]
    return Crew(agents=agents, tasks=tasks, verbose=False)


async def test_a_tool_of_another_agent_of_the_crew_is_no_slip():
    searcher, mailer = Mailer(), Mailer()
    searcher.tool.name = "search"
    crew = crew_of_two((wants("search", **MAIL), searcher.tool), (wants("send_mail", **MAIL), mailer.tool))
    with approve_tools("send_mail", people=declines):
        await crew.akickoff()
    assert (len(searcher.sent), len(mailer.sent)) == (1, 0)


async def test_a_name_that_was_right_once_is_right_in_the_next_crew_that_has_no_such_tool():
    (mailer,), _, mailers = mailing("send_mail")
    (searcher,), _, searchers = mailing("search")
    with approve_tools("send_mail", people=declines):
        await mailers.akickoff()
        await searchers.akickoff()
    assert (len(mailer.sent), len(searcher.sent)) == (0, 1)


async def test_a_tool_that_is_handed_over_itself_cannot_be_misspelt():
    (searcher,), _, searchers = mailing("search")
    with approve_tools([Mailer().tool], people=declines):
        await searchers.akickoff()
    assert len(searcher.sent) == 1


async def test_of_two_tools_with_one_name_both_are_held():
    first, second = Mailer(), Mailer()
    llm = scripted([wants("send_mail", **MAIL), wants("send_mail_2", **MAIL)], "Done.")
    crew = crew_of(llm, first.tool, second.tool)
    with approve_tools("send_mail", people=declines):
        await crew.akickoff()
    assert first.sent == second.sent == []


async def test_crewais_own_tools_can_be_named_where_nobody_has_been_given_them_yet():
    (searcher,), _, searchers = mailing("search")
    with approve_tools("delegate_work_to_coworker", people=declines):
        await searchers.akickoff()
    assert len(searcher.sent) == 1


async def test_where_a_server_has_yet_to_say_which_tools_it_has_an_unknown_name_asks_about_each_call():
    searcher, mailer = Mailer(), Mailer()
    searcher.tool.name = "search"
    crew = crew_of_two((wants("search", **MAIL), searcher.tool), (wants("send_mail", **MAIL), mailer.tool))
    crew.agents[1].mcps = [MCPServerStdio(command="never-started")]
    # No answer is in the script, so the first question ends the crew.
    with approve_tools("delete_repository", people=ScriptedPerson([])), pytest.raises(ScriptError, match="`search`"):
        await crew.akickoff()
    assert searcher.sent == []


class Stranger(BaseAgentAdapter):
    """An agent of another framework, as CrewAI's adapters bring them: it runs its tools itself."""

    function_calling_llm: Any = None
    step_callback: Any = None
    last_messages: Any = ()

    def configure_tools(self, tools=None):
        self.tools = tools

    def configure_structured_output(self, task):
        pass

    def execute_task(self, task, context=None, tools=None):
        return self.tools[0].run(**MAIL)

    async def aexecute_task(self, task, context=None, tools=None):
        return self.execute_task(task, context, tools)

    def create_agent_executor(self, tools=None):
        pass

    def get_delegation_tools(self, agents):
        return []

    def get_platform_tools(self, apps):
        return []

    def get_mcp_tools(self, mcps):
        return []


def crew_of_strangers():
    mailer = Mailer()
    agent = Stranger(role="Stranger", goal="Work", backstory="A worker.", tools=[mailer.tool])
    task = Task(description="Work.", expected_output="Work.", agent=agent)
    return mailer, Crew(agents=[agent], tasks=[task], verbose=False)


@pytest.mark.parametrize("tools", [None, "send_mail", [Mailer().tool]])
async def test_an_agent_that_runs_its_tools_past_every_hook_does_not_begin_while_they_are_to_be_held(tools):
    mailer, crew = crew_of_strangers()
    with approve_tools(tools, people=declines), pytest.raises(UsageError, match=r"Stranger.*interrupt\.sync"):
        await crew.akickoff()
    assert mailer.sent == []


async def test_its_other_tools_are_none_of_the_gates_business():
    mailer, crew = crew_of_strangers()
    with approve_tools("delete_mail", people=declines):
        await crew.akickoff()
    await crew.akickoff()
    assert len(mailer.sent) == 2
