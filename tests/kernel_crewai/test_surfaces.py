"""Every way in which CrewAI asks a human, in a real kernel, answered by a real click."""

import pytest

from tests.kernel.client import Kernel
from tests.kernel_crewai.conftest import asked

pytestmark = pytest.mark.timeout(300)  # the first test starts the kernel, which imports crewai

FLOWS = """
llm = scripted('{"outcome": "rejected"}')

class Review(Flow):
    suppress_flow_events = True

    @start()
    @human_feedback("Publish this?", emit=["approved", "rejected"], llm=llm)
    async def draft(self):
        return "A draft."

    @listen("approved")
    def publish(self, result):
        print("published")

    @listen("rejected")
    def drop(self, result):
        print("dropped:", result.feedback)

class Ask(Flow):
    suppress_flow_events = True

    @start()
    def greet(self):
        return "Hello, " + self.ask("Your name?")
"""


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    # Each in a cell of its own: what one cell sets in a context variable, the next does not see.
    kernel.run("installation = install()")
    kernel.run(FLOWS)
    return kernel


def test_a_pressed_outcome_is_the_outcome_and_no_model_is_asked(ready):
    cell = ready.execute("await Review().kickoff_async(); print(len(llm.requests))")
    card = asked(ready, cell)
    question = card.question
    assert question["message"] == "Publish this?"
    assert question["props"]["choices"] == ["approved", "rejected"]
    assert [row["text"] for row in question["props"]["rows"]] == ["A draft."]
    card.click({"choice": 1})
    assert ready.output(cell) == "dropped: rejected\n0"


def test_words_go_to_the_flows_own_model_and_a_second_card_asks_whether_it_read_them_right(ready):
    cell = ready.execute("await Review().kickoff_async(); print(len(llm.requests))")
    asked(ready, cell).click({"text": "I would rather not"})
    reading = asked(ready, cell, after=1)
    question = reading.question
    assert question["message"] == "You wrote 'I would rather not'; the model reads it as `rejected`. Is that right?"
    assert question["confirm"] == "Yes"
    reading.click({"approved": True})
    assert ready.output(cell) == "dropped: I would rather not\n1"


def test_a_reading_that_is_declined_asks_again(ready):
    cell = ready.execute("await Review().kickoff_async(); print(len(llm.requests))")
    asked(ready, cell).click({"text": "yes, please!"})
    asked(ready, cell, after=1).decline()
    asked(ready, cell, after=2).click({"text": "Approved!"})
    assert ready.output(cell) == "published\n1"


def test_an_empty_reply_is_refused_on_the_card_and_the_flow_waits(ready):
    cell = ready.execute("await Review().kickoff_async()")
    card = asked(ready, cell)
    card.click({"text": "  "})
    ready.until(lambda: [m for m in card.widget.received if m["op"] == "answered"], "an acknowledgement")
    assert not ready.is_over(cell)
    card.decline("not like this")
    reply = ready.reply(cell)
    assert (reply["ename"], "not like this" in reply["evalue"]) == ("Declined", True)
    assert ready.printed(cell) == ""


def test_ask_in_a_sync_step_waits_for_the_click(ready):
    cell = ready.execute("print(await Ask().kickoff_async())")
    asked(ready, cell).click({"text": "Ada"})
    assert ready.output(cell) == "Hello, Ada"


@pytest.mark.parametrize("kickoff", ["crew.akickoff()", "crew.kickoff_async()"])
def test_a_task_with_human_input_waits_until_its_result_is_accepted(ready, kickoff):
    ready.run("crew = crew_of(scripted('first', 'second'), human_input=True)")
    cell = ready.execute(f"print((await {kickoff}).raw)")
    first = asked(ready, cell)
    assert [row["text"] for row in first.question["props"]["rows"]] == ["Write a report.", "first"]
    first.click({"text": "Better, please"})
    second = asked(ready, cell, after=1)
    assert second.question["props"]["rows"][1]["text"] == "second"
    second.click({"choice": 0})
    assert ready.output(cell) == "second"


def test_without_anybody_a_task_with_human_input_approves_nothing(ready):
    ready.run("crew = crew_of(scripted('first'), human_input=True)")
    cell = ready.execute("await crew.akickoff()", allow_stdin=False)
    reply = ready.reply(cell)
    assert reply["ename"] == "NoHumanError"
    assert "write_report" in reply["evalue"]


def test_a_crew_inside_a_sync_step_of_a_flow_asks_in_the_same_cell(ready):
    ready.run("""
        crew = crew_of(scripted('draft'), human_input=True)
        class Around(Flow):
            suppress_flow_events = True

            @start()
            def begin(self):
                return crew.kickoff().raw
    """)
    cell = ready.execute("print(await Around().kickoff_async())")
    asked(ready, cell).click({"choice": 0})
    assert ready.output(cell) == "draft"


@pytest.mark.parametrize(("approved", "sent"), [(True, 1), (False, 0)])
def test_a_tool_runs_only_after_a_click(ready, approved, sent):
    ready.run("""
        mailer = Mailer()
        crew = crew_of(scripted([wants("send_mail", to="ada@example.org", body="Hello")], "Done."), mailer.tool)
        gate = approve_tools(["send_mail"])
    """)
    cell = ready.execute("await crew.akickoff(); print(len(mailer.sent))")
    card = asked(ready, cell)
    assert [(row["label"], row["text"]) for row in card.question["props"]["rows"]] == [
        ("to", "ada@example.org"),
        ("body", "Hello"),
    ]
    card.click({"approved": True}) if approved else card.decline("too early")
    assert ready.output(cell) == str(sent)
    ready.run("gate.remove()")


ORDERING = """
    mailer = Mailer()
    crew = crew_of(scripted([wants("send_mail", to="ada@example.org", body="Hello")], "Done."), mailer.tool)
"""


def test_what_a_hook_changes_between_the_card_and_the_click_is_not_run(ready):
    ready.run(ORDERING)
    ready.run("""
        from crewai.hooks import register_before_tool_call_hook, unregister_before_tool_call_hook
        held = []
        hook = lambda context: held.append(context.tool_input)
        register_before_tool_call_hook(hook)
    """)
    cell = ready.execute("""
        with approve_tools("send_mail"):
            running = asyncio.create_task(crew.akickoff())
            while not pending():
                await asyncio.sleep(0.01)
            held[0]["to"] = "eve@example.org"
            print("held")
            await running
        unregister_before_tool_call_hook(hook)
        print(mailer.sent, "changed by code" in str(crew.agents[0].llm.requests[-1]))
    """)
    card = asked(ready, cell)
    # The card may be there before the cell looked for the question; a click at once would leave it nothing to find.
    ready.until(lambda: "held" in ready.printed(cell), "change between the card and the click")
    card.click({"approved": True})
    told, _, result = ready.output(cell).removeprefix("held\n").rpartition("\n")
    assert result == "[] True"
    assert told.startswith("`send_mail` was not run")


def test_a_misspelt_tool_ends_the_cell_with_the_line_to_write_and_nothing_runs(ready):
    ready.run(ORDERING)
    reply = ready.reply(
        ready.execute("""
            with approve_tools("send_mial"):
                await crew.akickoff()
        """)
    )
    assert (reply["ename"], 'approve_tools(["send_mail"])' in reply["evalue"]) == ("UsageError", True)
    assert ready.run("print(mailer.sent)") == "[]"


@pytest.mark.parametrize("flow", ["Review", "Ask"])
def test_a_sync_kickoff_in_a_cell_is_answered_with_the_line_to_write(ready, flow):
    reply = ready.reply(ready.execute(f"{flow}().kickoff()"))
    assert reply["ename"] == "LoopBlockedError"
    assert "await flow.kickoff_async()" in reply["evalue"]


def test_an_async_step_that_calls_ask_is_told_the_line_to_write(ready):
    reply = ready.reply(
        ready.execute("""
            class Wrong(Flow):
                suppress_flow_events = True

                @start()
                async def greet(self):
                    return self.ask("Your name?")

            await Wrong().kickoff_async()
        """)
    )
    assert reply["ename"] == "UsageError"
    assert "await asyncio.to_thread(self.ask" in reply["evalue"]


@pytest.mark.parametrize("run", ["Review().kickoff_async()", "Ask().kickoff_async()", "crew.kickoff_async()"])
def test_the_stop_button_ends_the_cell_and_closes_the_question(ready, run):
    ready.run("crew = crew_of(scripted('first'), human_input=True)")
    cell = ready.execute(f"await {run}")
    card = asked(ready, cell)
    ready.interrupt()
    assert ready.reply(cell)["ename"] in ("CancelledError", "KeyboardInterrupt")
    ready.until(lambda: card.item("complete"), "a closed card")
    assert card.item("complete")["record"]["outcome"] == "aborted"
    assert ready.run("print(pending())") == "[]"


def test_the_saved_cell_shows_what_was_asked_and_answered(ready):
    cell = ready.execute("await Review().kickoff_async()")
    asked(ready, cell).click({"choice": 0})
    ready.output(cell)
    saved = ready.about(cell, "update_display_data")[-1]["data"]["text/plain"]
    assert "Answered: approved" in saved
    assert "A draft." in saved


def test_after_uninstall_crewai_asks_for_itself_again(ready):
    ready.run("installation.uninstall()")
    reply = ready.reply(ready.execute("await Review().kickoff_async()", allow_stdin=False))
    assert reply["ename"] == "StdinNotImplementedError"
