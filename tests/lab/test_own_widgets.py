"""A `render` of the user's own, with ordinary ipywidgets."""

from playwright.async_api import expect

from tests.lab.cells import ASK

SETUP = """\
import ipywidgets

from hitl_nb import Session, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


def dishes(call):
    choice = ipywidgets.ToggleButtons(options=call.args.dishes)
    done = ipywidgets.Button(description=f"Order {call.args.meal}")
    done.on_click(lambda _: call.respond(choice.value, by="a guest"))
    return ipywidgets.VBox([choice, done])


@human_in_the_loop(render=dishes)
def order(meal: str, dishes: list[str]) -> str:
    "Ask what to eat."


lunch = calls("order", meal="lunch", dishes=["bread", "soup"])
dinner = calls("order", meal="dinner", dishes=["stew", "pie"])
"""
RESULTS = "print(agent.results(1), [call.answered_by for call in reply.calls])"


def setup_with_own_widget(turns: str) -> str:
    """The setup cell for an agent with these turns (Python source)."""
    return f"{SETUP}agent = ScriptedAgent({turns})\nsession = Session(agent, tools=[order])\n"


async def test_two_questions_at_once_are_answered_in_reverse_and_each_gets_its_own_answer(open_notebook):
    turns = "[[lunch, dinner], says('Bon appétit!')]"
    notebook = await open_notebook({"setup": setup_with_own_widget(turns), "ask": ASK, "results": RESULTS})
    await notebook.run("setup")
    await notebook.run("ask")
    page = notebook.page
    await expect(page.get_by_text("Order (order): Ask what to eat.")).to_have_count(2)
    await page.get_by_role("button", name="pie").click()
    await page.get_by_role("button", name="Order dinner").click()
    await expect(page.get_by_role("button", name="Order dinner")).to_have_count(0)  # its record took its place

    assert not await notebook.is_over("ask")
    await page.get_by_role("button", name="soup").click()
    await page.get_by_role("button", name="Order lunch").click()

    assert "Bon appétit!" in await notebook.output("ask")
    await notebook.run("results")
    assert await notebook.output("results") == "{'call_1': 'soup', 'call_2': 'pie'} ['a guest', 'a guest']\n"
