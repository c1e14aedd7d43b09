"""The released web client, Node's `@ag-ui/client`, to drive a server with."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.conftest import REPO

SOURCE = Path(__file__).parent / "node"
INSTALLED = REPO / ".node"


def installed() -> str:
    """Install the client into a folder that git ignores; gives the way to Node."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        _give_up("Node and npm are not installed")
    wanted = (SOURCE / "package.json").read_text(encoding="utf-8")
    stamp = INSTALLED / "installed.json"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        INSTALLED.mkdir(exist_ok=True)
        shutil.copy(SOURCE / "package.json", INSTALLED)
        command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock"]
        done = subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True, timeout=240)
        if done.returncode:
            _give_up(f"npm could not install @ag-ui/client: {done.stderr[-300:]}")
        stamp.write_text(wanted, encoding="utf-8")
    return str(found)


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


async def drive(node: str, task: dict[str, Any], name: str = "drive.mjs") -> Any:
    script = INSTALLED / name
    shutil.copy(SOURCE / name, script)
    process = await asyncio.create_subprocess_exec(
        node,
        str(script),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(json.dumps(task).encode()), 60)
    assert process.returncode == 0, err.decode()
    return json.loads(out)
