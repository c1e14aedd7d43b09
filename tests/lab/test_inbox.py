"""The inbox of a team: a job asks in a process of its own; people answer in JupyterLab, and on the page."""

from playwright.async_api import expect

from hitl_nb.journal import Journal
from tests.browser.inbox import HEADER, Server
from tests.unit.inbox.jobs import ask, ended

JOB = """
print("pays" if await approve("Pay the first?", {"to": "Example Ltd", "amount": 12}) else "keeps")
print("pays" if await approve("Pay the second?", {"to": "Example Ltd", "amount": 13}) else "keeps")
print("pays" if await approve("Pay the third?", {"to": "Example Ltd", "amount": 14}) else "keeps")
"""


async def test_two_people_on_the_page_and_one_in_jupyterlab_answer_the_questions_of_a_job(
    open_notebook, postgres, browser_pages
):
    place = postgres.schema()
    Journal(place).close()
    notebook = await open_notebook(
        {"setup": f"from hitl_nb import Journal\njournal = Journal({place!r}, name='carl')", "look": "journal.inbox()"}
    )
    await notebook.run("setup")
    await notebook.run("look")
    await notebook.finished("look")  # the cell is over; its cards come and go
    server, job = Server(place).start("--header", HEADER), ask(JOB, place, HITL_NB_JOB="night")
    try:
        ada, bob = await browser_pages(server.url, "ada"), await browser_pages(server.url, "bob")
        screens = {"ada": ada, "bob": bob, "carl": notebook.page}
        for question, who in (("first", "carl"), ("second", "ada"), ("third", "bob")):
            for page in screens.values():
                card = page.get_by_role("group", name=f"Pay the {question}?", exact=True)
                await expect(card.get_by_role("button", name="Approve")).to_be_enabled(timeout=30_000)
                await expect(card).to_contain_text("job night")
            mine = screens[who].get_by_role("group", name=f"Pay the {question}?", exact=True)
            # A card that has just been drawn is answered by nobody.
            await expect(screens[who].locator(".hitl-card[data-resting]")).to_have_count(0)
            await mine.get_by_role("button", name="Approve").click()
            for page in screens.values():
                card = page.get_by_role("group", name=f"Pay the {question}?", exact=True)
                await expect(card).to_contain_text(f"by {who}", timeout=30_000)
                await expect(card.get_by_role("button", name="Approve")).to_have_count(0)
        assert ended(job) == "pays\n" * 3
    finally:
        server.kill()
        job.kill()
        job.communicate()
    with Journal(place) as journal:
        assert [row["by"] for row in journal if row["event"] == "answered"] == ["carl", "ada", "bob"]
        assert journal.verify().ok
