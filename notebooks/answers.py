"""Who answers in these notebooks when no human does: `HITL_NB_PEOPLE=script:answers.py`.

By tool, in the order of the questions. Every `Session` of every notebook reads this file afresh, so each begins
with the first answer again.
"""

from datetime import datetime

from hitl_nb.data import TableAnswer


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


def without_the_heaviest(call):
    suspects = call.proposal.data
    return TableAnswer.of(suspects, keep=suspects.bmi < 42, changes=[(0, "bmi", 38.1)])


def one_digit_too_many(call):
    return TableAnswer.of(call.proposal.data, changes=[(5, "bp", 98.0)])


def only_what_reads(call):
    return call.decline("not on the only copy") if "DELETE" in call.args.sql else call.proposal


def by_a_quick_eye(call):
    from sklearn.datasets import load_digits

    labels = load_digits().target[1700:1750].tolist()
    return [{3: 8, 17: 1, 31: None}.get(at, label) for at, label in enumerate(labels)]


def by_a_second_look(call):
    from sklearn.datasets import load_digits

    images = [image.tolist() for image in load_digits().images[1700:1750]]
    truth = load_digits().target[1700:1750].tolist()
    return [truth[images.index(image.tolist())] for image in call.args.batch.items]


def filled_first(call):
    scale, fill, drop = call.proposal
    inner = {**fill["steps"][0], "description": "malic_acid by its median"}
    return [{**fill, "steps": [inner]}, scale, {**drop, "status": "disabled"}]


def at_the_kitchen(call):
    if call.args:
        return True  # an address
    if "lunch" in call.message:
        return call.decline("no time for lunch")
    if "perhaps" in call.message:
        return call.cancel()
    return {"name": "Ada", "day": "2026-12-24", "people": 4, "room": "f", "needs": ["veg", "chair"]}


def only_for_rain(call):
    return call.proposal if call.args["reason"] == "rain" else call.decline("it does not rain")


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
    # 07_outliers
    "outliers": [without_the_heaviest],
    "mistyped": [one_digit_too_many],
    "fill": ["median"],
    # 08_sql
    "run_sql": [only_what_reads],
    # 09_label
    "digits": [by_a_quick_eye],
    "disputed": [by_a_second_look],
    # 10_promote
    "candidate": [lambda call: call.render(call).answer({"chosen": [0]})],
    "promote": [True],
    # 15_mcp
    "kitchen": [at_the_kitchen],
    "cancel_all": [only_for_rain],
    # 11_plan
    "cleaning_plan": [filled_first],
    "cleaning_code": [lambda call: call.proposal],
}
