"""The inbox of a team: a job asks in a process of its own; people answer in JupyterLab, and on the page."""

import asyncio

from playwright.async_api import expect
from pydantic import BaseModel, field_validator

from hitl_nb import approve, interrupt
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal
from tests.browser.inbox import HEADER, Server
from tests.browser.test_inbox import asked
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


class Even(BaseModel):
    number: int
    why: str

    @field_validator("number")
    @classmethod
    def must_be_even(cls, number):
        if number % 2:
            raise ValueError("must be even")
        return number


async def shown(open_notebook, place):
    """A notebook that shows the inbox of a journal; its cell is over, its cards come and go."""
    setup = f"from hitl_nb import Journal\njournal = Journal({place!r}, name='carl')"
    notebook = await open_notebook({"setup": setup, "look": "journal.inbox()"})
    await notebook.run("setup")
    await notebook.run("look")
    await notebook.finished("look")
    return notebook


async def test_an_answer_that_the_asker_refuses_is_open_again_with_what_was_typed_and_the_reason(
    open_notebook, tmp_path
):
    place = str(tmp_path / "j.sqlite")
    with Journal(place) as journal:
        async with asked(interrupt("How many?", answer=Even, people=Inbox(journal))) as [question]:
            page = (await shown(open_notebook, place)).page
            await page.get_by_role("textbox", name="Number").fill("3")
            await page.get_by_role("textbox", name="Why").fill("because of the cups")
            await page.get_by_role("button", name="Confirm").click()
            await expect(page.get_by_role("alert").filter(has_text="must be even")).to_be_visible(timeout=30_000)
            await expect(page.get_by_role("textbox", name="Why")).to_have_value("because of the cups")
            await expect(page.get_by_role("textbox", name="Number")).to_have_value("3")
            await page.get_by_role("textbox", name="Number").fill("4")
            await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
            await page.get_by_role("button", name="Confirm").click()
            assert await question == Even(number=4, why="because of the cups")


async def test_what_is_erased_goes_from_the_screen_and_from_the_file(open_notebook, tmp_path):
    place = str(tmp_path / "j.sqlite")
    with Journal(place, personal=True) as journal:
        questions = [approve(f"Pay {who}?", people=Inbox(journal)) for who in ("Ada Lovelace", "Bob", "Grace")]
        async with asked(*questions) as [first, *_]:
            notebook = await shown(open_notebook, place)
            page = notebook.page
            ada = page.get_by_role("group", name="Pay Ada Lovelace?", exact=True)
            await expect(ada.get_by_role("button", name="Approve")).to_be_enabled(timeout=30_000)
            await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
            await ada.get_by_role("button", name="Approve").click()
            assert await first
            await expect(ada).to_contain_text("by carl")
            # One that was decided, and one that is open.
            [decided] = [row["call"] for row in journal if row["event"] == "answered"]
            bob = next(call for call in journal.inbox() if "Bob" in call.message)
            for each in (str(decided), bob.id):
                await asyncio.to_thread(journal.erase, each, by="dora")
            cards = page.locator(".hitl-run")
            await expect(cards).to_contain_text("A question that was here is not any more: erased", timeout=30_000)
            await expect(cards).not_to_contain_text("Lovelace")
            await expect(cards).not_to_contain_text("Bob")
            await expect(page.get_by_role("group", name="Pay Grace?")).to_be_visible()
            await notebook.save()
            stored = notebook.path.read_text(encoding="utf-8")
            assert "A question that was here is not any more" in stored
            assert "Lovelace" not in stored
            assert "Bob" not in stored
