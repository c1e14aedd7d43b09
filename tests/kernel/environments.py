"""One virtual environment per ipykernel version, and a kernel to start in each.

``python -m tests.kernel.environments`` makes them below ``.kernels/`` (ignored by git) and returns at once when
they are there. An environment holds what hitl_nb depends on, and imports hitl_nb from this checkout.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ENVIRONMENTS = REPOSITORY / ".kernels"
SPECS = ENVIRONMENTS / "specs"
"""What `KernelSpecManager.kernel_dirs` has to name, so that no other kernel is found."""

VERSIONS = ("6.31.0", "7.3.0", "7.4.0")
"""The last ipykernel of each way of holding messages back."""


OTHERS = ("6.17.1", "6.29.5", "7.0.1")
"""Further ones, for the host matrix: Colab's, and the ends of what is supported."""

PINS = {"6.17.1": ["ipython==7.34.0"]}
"""What else has to be of a version: Colab has an IPython that is as old as its kernel."""


def kernel_name(version: str) -> str:
    return f"ipykernel-{version}"


def ensure(version: str) -> None:
    """Make the environment and its kernelspec, unless they are there and up to date."""
    home = ENVIRONMENTS / version
    wanted = _requirements(version)
    receipt = home / "installed.json"
    if not receipt.exists() or json.loads(receipt.read_text()) != wanted:
        _uv("venv", "--clear", "--python", sys.executable, str(home))
        _uv("pip", "install", "--python", str(_python(version)), *wanted["packages"])
        receipt.write_text(json.dumps(wanted))  # last, so that a broken installation is made again
    _write_spec(version)


def requirements() -> list[str]:
    """What hitl_nb depends on."""
    return list(tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"])


def _requirements(version: str) -> dict[str, list[str]]:
    pins = PINS.get(version, [])
    return {"packages": [f"ipykernel=={version}", *pins, *requirements()], "python": [sys.version]}


def _write_spec(version: str) -> None:
    spec = {
        "argv": [str(_python(version)), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"ipykernel {version}",
        "language": "python",
        "env": {"PYTHONPATH": str(REPOSITORY)},
    }
    _write_if_new(SPECS / kernel_name(version) / "kernel.json", json.dumps(spec, indent=1))


def _write_if_new(path: Path, text: str) -> None:
    # Another test run may be reading it.
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _python(version: str) -> Path:
    return ENVIRONMENTS / version / "bin" / "python"


def _uv(*arguments: str) -> None:
    # An activated environment would be taken for the target.
    environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], check=True, env=environ)


if __name__ == "__main__":
    for each in VERSIONS:
        ensure(each)
