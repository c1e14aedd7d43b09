"""Who answers in these notebooks when no human does: `HITL_NB_PEOPLE=script:answers.py`.

By tool, in the order of the questions. Every `Session` of every notebook reads this file afresh, so each begins
with the first answer again.
"""


def all_but_the_anthem(call):
    return [
        step.model_copy(update={"status": "disabled"}) if "anthem" in step.description else step
        for step in call.args.steps
    ]


answers = {"generate_task_steps": [all_but_the_anthem]}
