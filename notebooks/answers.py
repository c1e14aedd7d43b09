"""Who answers in these notebooks when no human does: `HITL_NB_PEOPLE=script:answers.py`.

By tool, in the order of the questions. Every `Session` of every notebook reads this file afresh, so each begins
with the first answer again.
"""

from datetime import datetime


def all_but_the_anthem(call):
    return [
        step.model_copy(update={"status": "disabled"}) if "anthem" in step.description else step
        for step in call.args.steps
    ]


def a_shorter_stay(call):
    shorter = call.args.model_copy(update={"nights": 4})
    call.respond(shorter)


def without_worry(call):
    return [
        step.model_copy(update={"status": "disabled"}) if step.description == "Worry" else step
        for step in call.args.steps
    ]


def income_by_median(call):
    rows = [{**row, "fill": "median"} if row["column"] == "income" else row for row in call.proposal]
    call.respond(rows)


def only_500(call):
    less = call.args.model_copy(update={"euros": 500})
    call.respond(less)


def all_but_the_customers(call):
    return call.decline("still in use") if "customers" in call.message else True


answers = {
    "generate_task_steps": [all_but_the_anthem],
    # 02_cards
    "book_hotel": [a_shorter_stay],
    "ask_for_address": [{"street": "Rua Augusta 1", "postcode": "1100-048"}],
    "propose_steps": [without_worry],
    "delete_table": [lambda call: call.respond({"approved": True}, reason="archived in March")],
    "approve": [lambda call: call.decline("on Monday")],
    "choose": [lambda call: call.render(call).answer({"chosen": [1]})],
    "pick_columns": [["paid_at", "refund_id"]],
    "ask": ["dt2"],
    "schedule_meeting": [datetime(2026, 3, 2, 14, 30)],
    "review": [income_by_median],
    # 04_crewai
    "write_announcement": ["approved"],
    "pick_a_place": ["Jezero Crater"],
    "write_slogan": ["Shorter, please.", True],
    "send_announcement": [lambda call: call.decline("not before the opening")],
    # 03_checkpoints
    "contract": ["roll back"],
    "budget": [{"euros": 400, "until": "2026-12-31"}],
    "drop": [all_but_the_customers],
    "send": [True],
    "folder": ["reports/weekly"],
    "pay": [only_500],
    "features": [True],
    # 05_testing_and_replay
    "propose_menu": [lambda call: [dish for dish in call.args.dishes if dish.vegetarian]],
}
