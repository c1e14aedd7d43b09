"""Calls that nobody is asked about, in a cell: progress, a widget of the user's own, what the file keeps."""

from playwright.async_api import expect

SETUP = """\
import asyncio
import ipywidgets

from hitl_nb import Session, frontend_tool, report_progress
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

go_on = asyncio.Event()


@frontend_tool
async def index(folder: str) -> dict[str, int]:
    "Index a folder."
    report_progress(1, 4, "reading page 1")
    await go_on.wait()
    return {"pages": 4}


def picture(call):
    return ipywidgets.Label(f"{call.name} is {call.status}")


@frontend_tool(render=picture)
def draw() -> str:
    "Draw."
    return "drawn"


agent = ScriptedAgent([[calls("index", folder="docs"), calls("draw")], says("All indexed.")])
session = Session(agent, tools=[index, draw])
session.render_tool_call()
"""


async def test_a_tool_is_seen_at_work_and_code_runs_one_without_the_model(open_notebook):
    notebook = await open_notebook(
        {
            "setup": SETUP,
            "start": "run = session.start('Go')",
            "go": "go_on.set()",
            "code": "call = await session.run_tool('index', {'folder': 'src'})\ncall.answer",
            "told": "print(len(agent.inputs), agent.results(1))",
        }
    )
    page = notebook.page
    await notebook.run("setup")
    await notebook.finished("setup")
    await notebook.run("start")
    card = page.locator(".hitl-tool-call").first
    await expect(card).to_contain_text("running · reading page 1")
    await expect(card.get_by_role("progressbar")).to_have_attribute("value", "0.25")
    await card.locator("summary").press("Enter")
    await expect(card.get_by_text("folder")).to_be_hidden()
    await card.locator("summary").press("Enter")
    await notebook.run("go")
    await expect(card).to_contain_text("done")
    await expect(card).to_contain_text("pages")
    await expect(page.get_by_text("draw is complete")).to_be_visible()
    await expect(page.get_by_text("All indexed.", exact=True)).to_be_visible()

    await notebook.run("code")
    assert "{'pages': 4}" in await notebook.output("code")
    await expect(page.locator(".hitl-record").last).to_contain_text("Index (index), done")
    await notebook.run("told")
    assert "2 {'call_1': '{\"pages\":4}', 'call_2': 'drawn'}" in await notebook.output("told")
    await notebook.save()
    saved = str(notebook.saved())
    assert "Index (index), done" in saved
    assert "All indexed." in saved
