"""A JupyterLab of our own: its settings, data and kernels in a folder that is thrown away."""

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from tests.conftest import REPO

PYTHON = "HITL_NB_LAB_PYTHON"
"""The variable that names the Python of another JupyterLab; its kernels are those of these tests all the same."""

PATIENCE = 60
"""Seconds until a server that does not answer has failed."""


class Server:
    """Where a running JupyterLab is.

    Attributes:
        url: Its address.
        files: The folder that its notebooks are in.
    """

    def __init__(self, folder: Path) -> None:
        self.files = folder / "notebooks"
        self.url = f"http://127.0.0.1:{free_port()}"
        self._folder = folder
        self._settings = folder / "config" / "lab" / "user-settings"

    def set(self, plugin: str, **settings: object) -> None:
        """Change a setting as in Lab's settings editor; pages opened from now on have it."""
        package, name = plugin.split(":")
        path = self._settings / package / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        """Run it for as long as the context lasts."""
        self.files.mkdir(parents=True)
        _write_kernelspec(self._folder / "data" / "kernels" / "python3")
        self.set("@jupyterlab/apputils-extension:notification", fetchNews="false", checkForUpdates=False)
        # After two minutes it would save in the middle of a journey about what was not saved.
        self.set("@jupyterlab/docmanager-extension:plugin", autosave=False)
        log = self._folder / "server.log"
        with log.open("wb") as out:
            # Starting it takes milliseconds, and afterwards only its end matters: no need for asyncio's process.
            process = subprocess.Popen(self._command(), env=self._environment(), stdout=out, stderr=out)  # noqa: ASYNC220
            try:
                with anyio.move_on_after(PATIENCE):
                    while not await anyio.to_thread.run_sync(self._answers):
                        if process.poll() is not None:
                            break
                        await anyio.sleep(0.1)
                if not self._answers():
                    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")
                yield self
            finally:
                process.terminate()
                process.wait(30)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/status", timeout=5):
                return True
        except OSError:
            return False

    def _command(self) -> list[str]:
        return [
            *(os.environ.get(PYTHON, sys.executable), "-m", "jupyterlab", "--no-browser"),
            *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.url.rsplit(':', 1)[1]}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.files}",
            "--ServerApp.disable_check_xsrf=True",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",  # Notebook 7, which the same server has
            # Nothing may ask for news, versions or extensions outside of this machine, nor ask whether it may.
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
        ]

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython",
        }
        mine = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_KERNELS}
        mine |= {name: str(self._folder / folder) for name, folder in own.items()}
        return mine | {
            "JUPYTER_PREFER_ENV_PATH": "0",  # our kernelspec wins
            "PYTHONPATH": os.pathsep.join([str(REPO), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }


# A human is there, so nobody answers from a script; and a key must not decide what a test sees.
_NOT_FOR_KERNELS = {"HITL_NB_PEOPLE", "OPENAI_API_KEY", "PYTEST_CURRENT_TEST", "PYTEST_VERSION"}


def _write_kernelspec(folder: Path) -> None:
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
