"""Two pages with one notebook: in two tabs of one person, or of two users at a shared document."""

from playwright.async_api import expect


async def test_either_of_two_pages_answers_and_the_other_one_says_so(lab, open_notebook):
    notebook = await open_notebook({"setup": "from hitl_nb import approve", "ask": "print(await approve('Either?'))"})
    await notebook.run("setup")
    await notebook.run("ask")
    first = notebook.card("Either?")
    await expect(first.get_by_role("button", name="Approve")).to_be_enabled()
    await notebook.save()
    other = await lab.open_again(notebook)
    try:
        await other.trusted("ask")
        second = other.card("Either?")
        await other.rested()
        await second.get_by_role("button", name="Approve").click()
        assert "True" in await notebook.output("ask")
        await expect(notebook.cell("ask")).to_contain_text("Approved")
        await expect(other.cell("ask")).to_contain_text("Approved")
    finally:
        await other.page.context.close()
