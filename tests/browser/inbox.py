"""`hitl-nb inbox serve` in a process of its own."""

import os
import subprocess
import sys
from typing import Any

import httpx

from tests.unit.inbox.jobs import REPO

HEADER = "X-Forwarded-User"
"""In which the proxy says who somebody is."""


class Server:
    """`hitl-nb inbox serve`, which may be killed and started anew at the same port."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.process: Any = None
        self.port: int | None = 0

    def start(self, *options, path=""):
        """Start it.

        Args:
            options: Of the command.
            path: Where further packages are.
        """
        bind = f"127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "hitl_nb.cli", "inbox", "serve", "--journal", self.place, "--bind", bind]
        found = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", str(REPO))]))
        env = {**os.environ, "PYTHONPATH": found}
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, cwd=REPO, env=env)
        self.url = self.process.stdout.readline().split(": ", 1)[1].strip()
        self.port = httpx.URL(self.url).port
        return self

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
