"""The inbox as a page: `hitl-nb inbox serve` in a process of its own, jobs that ask, people in front of Chromium."""

import asyncio
import json
import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager
from functools import partial

import httpx
import pandas
import pytest
from mcp.types import ElicitRequestFormParams
from playwright.async_api import expect
from pydantic import BaseModel, field_validator

from hitl_nb import approve, ask, interrupt, review, review_table, use
from hitl_nb.data import SqlReview
from hitl_nb.errors import Declined, Parked
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal
from hitl_nb.mcp import elicitation
from tests.browser.inbox import HEADER, Server
from tests.unit.cards.test_door import blocks, run
from tests.unit.inbox.jobs import REPO
from tests.unit.inbox.jobs import ask as job_of

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return str(tmp_path / "j.sqlite") if request.param == "sqlite" else request.getfixturevalue("postgres").schema()


@pytest.fixture
def server(place):
    running = Server(place)
    yield running
    running.kill()


@pytest.fixture
async def journal(place):
    with Journal(place) as opened:
        yield opened


@pytest.fixture
async def people(browser):
    """Gives a page that is logged in as somebody; nothing may go wrong on it."""
    contexts, errors = [], []

    async def open_page(url, user, **options):
        headers = {HEADER: user} if user else {}
        contexts.append(await browser.new_context(extra_http_headers=headers, **options))
        page = await contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(url)
        return page

    yield open_page
    for context in contexts:
        await context.close()
    assert errors == []


@asynccontextmanager
async def asked(*questions):
    """Questions that wait in this process, as a job's do."""
    tasks = [asyncio.ensure_future(question) for question in questions]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def click(page, name):
    button = page.get_by_role("button", name=name, exact=True)
    await expect(button).to_be_visible()
    # A card that has just been drawn is answered by nobody.
    await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
    await button.click()


async def test_what_somebody_is_at_stays_while_questions_come_go_and_are_looked_at(server, journal, place, people):
    server.start("--header", HEADER)
    person = Inbox(journal=journal, to="finance")
    first, second = approve("Pay Acme?", people=person), ask("Which day?", people=person)
    async with asked(first, second) as (paid, _):
        ada, bob = await people(server.url, "ada"), await people(server.url, "bob")
        for page in (ada, bob):
            await expect(page.locator(".hitl-card")).to_have_count(2)
        card = ada.locator(".hitl-card", has_text="Which day?")
        words = card.get_by_role("textbox", name="Your answer")
        await words.fill("Mon")
        await card.get_by_role("button", name="Give to…").click()
        name = ada.get_by_role("combobox", name="Give this question to")
        await name.press_sequentially("bo")
        elsewhere = "(el) => !el.closest('[hidden]') && !el.closest('.hitl-card')?.textContent.includes('Pay Acme?')"
        controls = "document.querySelectorAll('input, textarea, select, option, button')"
        await ada.evaluate(f"window.controls = [...{controls}].filter({elsewhere}), 0")
        async with asked(approve("Wipe?", risk="high", people=Inbox(journal=journal, to="security"))):
            await expect(ada.locator(".hitl-inbox-count")).to_have_text("3 open, 1 of high risk")
            given = bob.locator(".hitl-card", has_text="Which day?")
            await given.get_by_role("button", name="Give to…").click()
            await given.get_by_role("combobox").fill("carl")
            await given.get_by_role("button", name="Give", exact=True).click()
            await expect(card).to_contain_text("carl")
            await bob.locator(".hitl-card", has_text="Pay Acme?").get_by_role("button", name="Approve").click()
            assert await paid
            await expect(ada.locator(".hitl-inbox-count")).to_have_text("2 open, 1 of high risk")
            await expect(name).to_be_focused()
            await expect(name).to_have_value("bo")
            await expect(words).to_have_value("Mon")
            assert await ada.evaluate("controls.filter((el) => !el.isConnected).map((el) => el.outerHTML)") == []


async def test_nobody_is_told_that_they_are_looking_themselves(server, journal, people):
    server.start("--header", HEADER)
    async with asked(ask("Which day?", people=Inbox(journal))):
        ada = await people(server.url, "ada")
        await ada.get_by_role("textbox", name="Your answer").click()
        bob, again = await people(server.url, "bob"), await people(server.url, "ada")
        await expect(bob.get_by_text("ada is looking")).to_be_visible()
        await expect(again.get_by_text("Waiting for ada")).to_be_visible()
        for page in (ada, again):
            await expect(page.get_by_text("is looking")).to_have_count(0)


async def test_of_two_people_at_two_pages_the_first_wins_and_the_other_sees_who_and_what(server, place, people):
    server.start("--header", HEADER)
    code = 'print(repr(await interrupt("Fill the order", {"item": "cup"}, answer=Order)))'
    job = job_of(code, place, HITL_NB_JOB="night")
    try:
        ada, bob = await people(server.url, "ada"), await people(server.url, "bob")
        for page in (ada, bob):
            await expect(page.get_by_text("Fill the order")).to_be_visible()
            await expect(page).to_have_title("(1) Inbox")
            await page.get_by_role("textbox", name="Item").fill("cup" if page is ada else "pot")
            await page.locator("input[type=date]").fill("2026-12-24")
            await page.get_by_role("textbox", name="Price").fill("3.10")
        await expect(bob.get_by_text("ada is looking")).to_be_visible()  # and can answer all the same
        await asyncio.gather(click(ada, "Confirm"), click(bob, "Confirm"))
        out, err = await asyncio.to_thread(job.communicate, timeout=50)
        assert out.startswith("Order("), err
        winner, item = ("ada", "cup") if "'cup'" in out else ("bob", "pot")
        for page in (ada, bob):
            await expect(page.locator(".hitl-card")).to_contain_text(f"by {winner} ")
            await expect(page.locator(".hitl-card")).to_contain_text(item)
            await expect(page).to_have_title("Inbox")
        late = bob if winner == "ada" else ada
        await expect(late.get_by_text(f"Already answered by {winner}")).to_be_visible()
    finally:
        job.kill()
        job.communicate()
    with Journal(place) as journal:
        assert [row["by"] for row in journal if row["event"] == "answered"] == [winner]
        assert len([row for row in journal if row["event"] == "late"]) == 1
        assert journal.verify().ok


async def test_a_new_question_comes_by_itself_and_goes_when_somebody_elsewhere_answers(server, journal, people):
    server.start("--header", HEADER)
    page = await people(server.url, "ada")
    await expect(page.get_by_text("Nothing is open.")).to_be_visible()
    async with asked(ask("How many?", answer=int, people=Inbox(journal))) as [question]:
        await expect(page.get_by_text("How many?")).to_be_visible()
        while not (calls := list(journal.inbox())):
            await asyncio.sleep(0.05)
        calls[0].respond(3, by="carl")
        assert await question == 3
        await expect(page.get_by_text("by carl")).to_be_visible()


async def test_what_is_typed_and_what_is_sent_outlives_a_server_that_is_killed(server, journal, people):
    server.start("--header", HEADER)
    async with asked(ask("Why?", people=Inbox(journal))) as [question]:
        page = await people(server.url, "ada")
        await page.get_by_role("textbox").fill("because")
        server.kill()
        await expect(page.get_by_text("Not connected just now")).to_be_visible()
        await page.get_by_role("button", name="Answer").click()
        server.start("--header", HEADER)
        assert await asyncio.wait_for(question, 30) == "because"
        await expect(page.get_by_text("by ada")).to_be_visible()
        await expect(page.get_by_text("Not connected just now")).to_be_hidden()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_an_answer_that_whoever_asks_refuses_is_open_again_with_what_was_typed_and_why(server, journal, people):
    class Even(BaseModel):
        number: int
        why: str

        @field_validator("number")
        @classmethod
        def must_be_even(cls, number):
            if number % 2:
                raise ValueError("must be even")
            return number

    def render(call):
        raise AssertionError("it is drawn where it is asked only")

    server.start("--header", HEADER)
    inbox = Inbox(journal)
    async with asked(interrupt("How many?", answer=Even, render=render, people=inbox)) as [question]:
        page = await people(server.url, "ada")
        await expect(page.get_by_text("who asks has a view of its own, which is not here")).to_be_visible()
        await page.get_by_role("textbox", name="Number").fill("3")
        await page.get_by_role("textbox", name="Why").fill("because of the cups")
        await click(page, "Confirm")
        await expect(page.get_by_role("alert").filter(has_text="must be even")).to_be_visible()
        await expect(page.get_by_role("textbox", name="Why")).to_have_value("because of the cups")
        await page.get_by_role("textbox", name="Number").fill("4")
        await click(page, "Confirm")
        assert await question == Even(number=4, why="because of the cups")


async def test_a_page_shows_what_is_for_somebody_and_the_riskiest_first(server, journal, people):
    server.start("--header", HEADER)
    inboxes = {name: Inbox(journal, to=name) for name in ("finance", "sales")}
    questions = (
        approve("Small?", people=inboxes["finance"]),
        approve("Large?", risk="high", people=inboxes["finance"]),
        approve("Which?", people=inboxes["sales"]),
    )
    async with asked(*questions):
        while len(journal.inbox()) < 3:
            await asyncio.sleep(0.05)
        assert [call.message for call in journal.inbox(order="riskiest")] == ["Large?", "Small?", "Which?"]
        assert [call.message for call in journal.inbox(to="sales")] == ["Which?"]
        page = await people(server.url, "ada", viewport={"width": 390, "height": 844})
        await expect(page.locator(".hitl-card")).to_have_count(3)
        await expect(page.get_by_role("status").first).to_have_text("3 open, 1 of high risk")
        await page.get_by_label("For").select_option(label="finance (2)")
        await expect(page.locator(".hitl-card")).to_have_count(2)
        await expect(page).to_have_title("(2) Inbox")
        await page.get_by_label("Order").select_option("riskiest")
        await expect(page.locator(".hitl-card").first).to_contain_text("Large?")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_several_are_decided_at_one_table_and_what_may_write_is_ticked_by_itself(server, journal, people):
    server.start("--header", HEADER)
    inbox, render = Inbox(journal), partial(SqlReview, dialect="sqlite")
    questions = (
        approve("Pay Ada?", {"amount": 1}, people=inbox),
        approve("Pay Bob?", {"amount": 2}, people=inbox),
        interrupt("Run it?", {"sql": "DELETE FROM orders"}, render=render, people=inbox),
        interrupt("Look?", {"sql": "SELECT 1"}, render=render, people=inbox),
    )
    async with asked(*questions) as (ada, bob, writes, reads):
        page = await people(server.url, "ada", viewport={"width": 390, "height": 844})
        await expect(page.locator(".hitl-card")).to_have_count(4)
        await expect(page.get_by_role("status").first).to_have_text("4 open, 1 of high risk")
        await page.get_by_role("button", name="Decide several at one table").click()
        table = page.locator(".hitl-card").filter(has_text="Which of these?")
        await expect(table).to_be_visible()
        await expect(page.locator(".hitl-card:visible")).to_have_count(1)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        await expect(table.locator(".hitl-batch-title", has_text="high risk")).to_be_visible()
        await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
        await table.get_by_role("button", name="Approve all 3 that are not of high risk").click()
        await table.get_by_role("checkbox", name="decline").nth(3).check()
        await click(page, "Approve 2, decline 1")
        assert await ada
        assert await bob
        await expect(page.get_by_role("group", name="Run it?")).to_be_visible()
        await expect(page.get_by_role("status").first).to_have_text("1 open, 1 of high risk")
        assert not writes.done()
        with pytest.raises(Declined):
            await reads
        rows = [row for row in journal if row["event"] == "answered"]
        assert [row["by"] for row in rows] == ["ada"] * 3
        assert journal.verify().ok


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_table_that_is_left_leaves_all_open_and_one_who_was_faster_is_told(server, journal, people):
    server.start("--header", HEADER)
    inbox = Inbox(journal)
    async with asked(*(approve(f"Pay {who}?", people=inbox) for who in ("Ada", "Bob"))) as (ada, bob):
        page = await people(server.url, "carl")
        await page.get_by_role("button", name="Decide several at one table").click()
        for _ in range(2):  # the second time it is sent, without a reason
            await click(page, "Leave all open")
        await expect(page.locator(".hitl-card:visible")).to_have_count(2)
        assert not ada.done()
        await page.get_by_role("button", name="Decide several at one table").click()
        table = page.locator(".hitl-card").filter(has_text="Which of these?")
        await expect(table).to_be_visible()
        faster = next(call for call in journal.inbox() if call.message == "Pay Ada?")
        faster.respond(True, by="dora")
        assert await ada
        await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
        await table.get_by_role("button", name="Approve all 2").click()
        await click(page, "Approve 2")
        assert await bob
        await expect(page.get_by_text("Not decided at the table: Pay Ada?: somebody else was first")).to_be_visible()
        assert [row["by"] for row in journal if row["event"] == "answered"] == ["dora", "carl"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_question_is_given_to_somebody_on_the_page(server, journal, people):
    server.start("--header", HEADER)
    async with asked(approve("Pay?", people=Inbox(journal, to="finance"))):
        page = await people(server.url, "ada")
        await page.get_by_role("button", name="Give to…").click()
        await page.get_by_label("Give this question to").fill("bob")
        await page.get_by_role("button", name="Give", exact=True).click()
        await expect(page.locator(".hitl-card")).to_contain_text("given to bob")
        bob = await people(f"{server.url}?to=bob", "bob")
        await expect(bob.locator(".hitl-card")).to_contain_text("Pay?")


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_page_says_what_does_not_answer_and_that_a_job_has_left(server, journal, people):
    server.start("--header", HEADER)
    with pytest.raises(Parked):
        await approve("Pay?", people=Inbox(journal, wait=0))
    page = await people(server.url, "ada")
    await expect(page.locator(".hitl-card")).to_contain_text("parked: its next run takes the answer")
    server.kill()
    await expect(page.get_by_text("The inbox is not answering, perhaps busy")).to_be_visible()
    assert "kernel" not in await page.locator("main").inner_text()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_table_is_drawn_as_a_table_and_its_last_page_is_seen_before_it_is_approved(server, journal, people):
    server.start("--header", HEADER)
    frame = pandas.DataFrame({"item": [f"cup {at}" for at in range(450)], "price": range(450)})
    async with asked(approve("Send these?", frame, people=Inbox(journal))) as [question]:
        page = await people(server.url, "ada")
        await expect(page.get_by_role("cell", name="cup 0", exact=True)).to_be_visible()
        await expect(page.get_by_text("Look at the last page of the table first").first).to_be_visible()
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
        assert not question.done()
        await page.get_by_role("button", name="Last").click()
        await expect(page.get_by_role("cell", name="cup 449", exact=True)).to_be_visible()
        await click(page, "Approve")
        assert await question


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_nobody_gets_in_who_is_not_logged_in_and_no_other_page_can_answer(server, journal, people):
    server.start("--header", HEADER)
    ada, page_name = {HEADER: "ada"}, "p" * 32
    body = json.dumps({"op": "hello", "have": 0})
    send = f"send?page={page_name}"
    ours = {**ada, "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    async with httpx.AsyncClient(base_url=server.url) as client:
        for path in ("", "run.js", "inbox.js", f"events?page={page_name}"):
            assert (await client.get(path)).status_code == 401
            assert (await client.get(path, headers=[(HEADER, "ada"), (HEADER, "eve")])).status_code == 401
        answer = await client.get("", headers=ada)
        assert answer.status_code == 200
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert (await client.get("../cli.py", headers=ada)).status_code == 404
        assert (await client.get(f"events?page={page_name}&order=loudest", headers=ada)).status_code == 400
        async with client.stream("GET", f"events?page={page_name}", headers=ada):
            assert (await client.post(send, headers=ours, content=body)).status_code == 204
            for wrong in ("cross-site", "same-site", "none"):
                headers = {**ours, "Sec-Fetch-Site": wrong}
                assert (await client.post(send, headers=headers, content=body)).status_code == 403
            by_form = {**ours, "Content-Type": "text/plain"}
            assert (await client.post(send, headers=by_form, content=body)).status_code == 403
            del ours["Sec-Fetch-Site"]  # plain http, behind a proxy
            assert (await client.post(send, headers=ours, content=body)).status_code == 403
            for origin, status in (("http://evil.example", 403), (server.url.rstrip("/"), 204)):
                headers = {**ours, "Origin": origin}
                assert (await client.post(send, headers=headers, content=body)).status_code == status
            # Eve is logged in, and knows the name of Ada's page.
            eve = {**ours, HEADER: "eve", "Origin": server.url.rstrip("/")}
            assert (await client.post(send, headers=eve, content=body)).status_code == 404


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_without_a_header_it_is_for_whoever_has_started_it(server, journal, people):
    server.start()
    async with asked(approve("Pay?", people=Inbox(journal))) as [question], httpx.AsyncClient() as client:
        assert (await client.get(server.url.split("?")[0])).status_code == 401
        page = await people(server.url, None)
        assert "key=" not in page.url
        await click(page, "Approve")
        assert await question
    refused = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "hitl_nb.cli", "inbox", "serve", "--bind", "0.0.0.0:0"],
        capture_output=True,
        text=True,
        cwd=REPO,
        env={**os.environ, "HITL_NB_JOURNAL": server.place},
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--header" in refused.stderr


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_no_text_of_a_question_or_a_name_becomes_markup_on_the_page(server, journal, people):
    server.start("--header", HEADER)
    attack = "<img src=x onerror='window.owned = 1'>"
    question = interrupt(attack, {"x": attack}, people=Inbox(journal, to=attack))
    async with asked(question):
        page = await people(server.url, "eve <b>")
        await expect(page.locator(".hitl-card")).to_contain_text(attack)
        assert await page.evaluate("document.querySelectorAll('img, b').length") == 0
        assert await page.evaluate("window.owned") is None
        await expect(page.get_by_text("eve <b>").first).to_be_visible()


async def type_into(page, row, column, text):
    """Type into a cell of the grid as a person does, who has seen it a moment before."""
    await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
    await page.get_by_role("grid").get_by_role("row").nth(row + 1).get_by_role("gridcell").nth(column).dblclick()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")


async def test_a_table_is_corrected_and_thinned_out_on_the_page_and_the_asker_has_its_own_types(
    server, journal, people
):
    server.start("--header", HEADER)
    rows = {
        "item": ["cup", "pot", "p\u0430n"],
        "price": [12.5, 12000.0, 3.0],
        "password": ["hunter1", "hunter2", "hunter3"],
    }
    frame = pandas.DataFrame(rows, index=["x", "y", "z"]).astype({"price": "float32"})
    make = partial(review, frame, "Correct these?", edit=["item", "price"], drop=True)
    async with asked(make(people=Inbox(journal))) as [question]:
        page = await people(server.url, "ada", viewport={"width": 390, "height": 844})
        await expect(page.get_by_role("grid")).to_contain_text("12000.0")
        await expect(page.get_by_text("Stars stand for secrets (password)")).to_be_visible()
        await expect(page.get_by_role("gridcell", name="⚠ p\u0430n")).to_have_attribute(
            "title", re.compile("mixes Latin")
        )
        await type_into(page, 0, 1, "13.5")
        await page.get_by_role("rowheader", name="1 · y").dblclick()
        await expect(page.get_by_role("button", name="Confirm: keep 2 of 3 rows, change 1 cell")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        await click(page, "Confirm: keep 2 of 3 rows, change 1 cell")
        wanted = frame.iloc[[0, 2]].copy()
        wanted.loc["x", "price"] = 13.5
        pandas.testing.assert_frame_equal(await question, wanted)
        await expect(page.locator(".hitl-card")).to_contain_text("12.5 → 13.5")
        await expect(page.locator(".hitl-card")).to_contain_text("by ada")
    assert "hunter" not in repr(list(journal))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_cell_that_whoever_asks_refuses_is_open_again_with_all_that_was_done(server, journal, people):
    server.start("--header", HEADER)
    frame = pandas.DataFrame({"n": pandas.array([1.0, 2.0], "float32"), "item": ["cup", "pot"]})
    make = partial(review_table, frame, "Correct these?", edit=["n", "item"])
    async with asked(make(people=Inbox(journal))) as [question]:
        page = await people(server.url, "ada")
        await expect(page.get_by_role("grid")).to_contain_text("pot")
        await type_into(page, 1, 1, "pan")
        await type_into(page, 0, 0, "16777217")
        await click(page, "Confirm: change 2 cells")
        refusal = page.get_by_role("alert").filter(has_text="Row 0, n: ")
        await expect(refusal).to_contain_text("cannot hold 16777217")
        await expect(page.get_by_role("gridcell", name="pan pot")).to_be_visible()
        await type_into(page, 0, 0, "16777216")
        await click(page, "Confirm: change 2 cells")
        assert (await question).data.to_dict("list") == {"n": [16777216.0, 2.0], "item": ["cup", "pan"]}


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """Where the package of CONTRIBUTING is installed, for whoever looks there."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name, text in blocks().items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    run(sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target", target, source, cwd=source)
    return str(target)


RATED = 'from hitl_stars import Stars\nprint(await interrupt("How was it?", {"talk": "At sea"}, render=Stars))'


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_card_of_another_package_is_drawn_where_it_is_installed(server, place, people, stars):
    server.start("--header", HEADER, path=stars)
    job = job_of(RATED, place, PYTHONPATH=os.pathsep.join([stars, str(REPO)]))
    try:
        page = await people(server.url, "ada")
        await page.get_by_role("radio", name="4 ★★★★").check()
        await page.get_by_role("textbox", name="Comment").fill("salty")
        await click(page, "Confirm")
        out, err = await asyncio.to_thread(job.communicate, timeout=50)
        assert out == "{'stars': 4, 'comment': 'salty'}\n", err
        await expect(page.locator(".hitl-card")).to_contain_text("4 of 5 stars")
    finally:
        job.kill()
        job.communicate()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_card_of_a_package_that_is_not_there_is_the_default_card_and_says_so(server, place, people, stars):
    server.start("--header", HEADER)
    job = job_of(RATED, place, PYTHONPATH=os.pathsep.join([stars, str(REPO)]))
    try:
        page = await people(server.url, "ada")
        words = "who asks has the card of `hitl_stars`, which is not installed here"
        await expect(page.locator(".hitl-card")).to_contain_text(words)
        await expect(page.get_by_role("radio")).to_have_count(0)
        await expect(page.locator(".hitl-card")).to_contain_text("At sea")
        await expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    finally:
        job.kill()
        job.communicate()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_what_a_server_asks_can_be_cancelled_on_the_page_and_that_is_no_decline(server, journal, people):
    server.start("--header", HEADER)
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    params = ElicitRequestFormParams(message="Where to?", requestedSchema=schema)
    with use(journal=journal):
        answering = elicitation("weather", people=Inbox(journal))
        assert answering is not None
        async with asked(answering(None, params)) as [question]:
            page = await people(server.url, "ada")
            for name in ("Decline", "Cancel", "Confirm"):
                await expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
            await click(page, "Cancel")
            assert (await question).action == "cancel"


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_what_is_erased_goes_from_an_open_page_with_a_word(server, place, people):
    server.start("--header", HEADER)
    with Journal(place, personal=True) as journal:
        questions = [approve(f"Pay {who}?", people=Inbox(journal)) for who in ("Ada Lovelace", "Bob")]
        async with asked(*questions):
            page = await people(server.url, "carl")
            await expect(page.get_by_role("status").first).to_have_text("2 open")
            await expect(page.get_by_text(re.compile(r"\d waiting"))).to_have_count(0)  # it is said once
            await page.get_by_role("button", name="Decide several at one table").click()
            await expect(page.locator(".hitl-card").filter(has_text="Which of these?")).to_be_visible()
            lovelace = next(call for call in journal.inbox() if "Lovelace" in call.message)
            await asyncio.to_thread(journal.erase, lovelace.id, by="dora")
            told = page.get_by_role("alert").filter(has_text="A question that was here is not any more: erased")
            await expect(told).to_contain_text("by dora")
            await expect(page.locator("main")).not_to_contain_text("Lovelace")
            await expect(page.get_by_role("group", name="Pay Bob?")).to_be_visible()
            await click(page, "Approve")
            await expect(page.get_by_text("by carl")).to_be_visible()
            # Also what was decided is not there any more once it is erased.
            [bob] = [row["call"] for row in journal if row["event"] == "answered" and row["by"] == "carl"]
            await asyncio.to_thread(journal.erase, str(bob), by="dora")
            await expect(page.locator("main")).not_to_contain_text("Bob")
