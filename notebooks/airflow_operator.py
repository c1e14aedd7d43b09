"""An Airflow operator for a job that may ask people: it holds no worker while somebody makes up their mind.

Copy this file into your DAGs folder. The job is run as it would be in a shell. If it is parked (exit code 75), the task
is deferred; a trigger waits until every question of this run is answered, and the job is run again and takes the
answers. The run's id is the job, so a retry finds its answers and tomorrow's run asks anew::

    HitlOperator(task_id="publish", command=["python", "nightly.py"], journal="postgresql://hitl_jobs@db/hitl")

papermill has one exit code for whatever ends a notebook; `notebooks/12_nightly_job.ipynb` has the lines of a script
that runs a notebook and ends with 75 where it is parked.

It needs Airflow 3 and, beside the workers, ``hitl-nb`` with its extra ``[postgres]`` on the triggerer.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

from airflow.exceptions import AirflowException
from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent

PARKED = 75


class HitlOperator(BaseOperator):
    """Run a command, and again each time that its questions are answered.

    Args:
        command: The job: a script, papermill, anything that ends with 75 when it is parked.
        journal: Where people read its questions.
        patience: How long to wait for an answer; then the task fails, and the question stays open.
    """

    template_fields: Sequence[str] = ("command", "journal")

    def __init__(
        self, *, command: list[str], journal: str, patience: timedelta = timedelta(days=2), **options: Any
    ) -> None:
        super().__init__(**options)
        self.command, self.journal, self.patience = command, journal, patience

    def execute(self, context: Any, event: Any = None) -> None:
        """Run the command; defer while it is parked."""
        job = f"{context['dag'].dag_id}/{context['run_id']}/{self.task_id}"
        environment = {"HITL_NB_JOURNAL": self.journal, "HITL_NB_PEOPLE": "inbox:0", "HITL_NB_JOB": job}
        code = subprocess.run(self.command, env={**os.environ, **environment}, check=False).returncode
        if code == PARKED:
            self.log.info("Somebody has to answer the questions of %s", job)
            trigger = InboxTrigger(journal=self.journal, job=job)
            self.defer(trigger=trigger, method_name="execute", timeout=self.patience)
        if code != 0:
            raise AirflowException(f"The job ended with {code}.")


def _wait(journal: str, job: str) -> list[str]:
    return [sys.executable, "-m", "hitl_nb.cli", "inbox", "wait", "--journal", journal, "--job", job]


class InboxTrigger(BaseTrigger):
    """Fires once every question of a job has an answer."""

    def __init__(self, journal: str, job: str) -> None:
        super().__init__()
        self.journal, self.job = journal, job

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Say how to make it anew, in the triggerer."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {"journal": self.journal, "job": self.job}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask `hitl-nb inbox wait`, which listens to the database, and so costs nothing meanwhile."""
        wait = [*_wait(self.journal, self.job), "--timeout", "600"]
        while True:
            process = await asyncio.create_subprocess_exec(*wait)
            try:
                code = await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
            if code == 0:
                yield TriggerEvent("answered")
                return
            if code != PARKED:
                await asyncio.sleep(30)  # the database is away
