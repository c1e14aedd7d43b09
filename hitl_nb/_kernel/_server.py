"""Which server has started this kernel, and whether its pages can draw a card.

A kernel is not told by its front end which one that is. Its parent process tells: what it is called, and what is
installed where it runs, often in another environment than the kernel.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NAMES: Final = {
    "jupyter-lab": "JupyterLab",
    "jupyterlab": "JupyterLab",
    "jupyter-notebook": "Notebook",
    "notebook": "Notebook",
    "jupyter-nbclassic": "nbclassic",
    "nbclassic": "nbclassic",
    "voila": "Voila",
    "jupyterhub-singleuser": "JupyterHub",
    "jupyter-server": "Jupyter Server",
    "jupyter_server": "Jupyter Server",
}
"""By command or module."""

_PACKAGES: Final = {"jupyterlab": "JupyterLab", "notebook": "Notebook", "nbclassic": "nbclassic", "voila": "Voila"}


@dataclass(frozen=True, kw_only=True)
class Server:
    """The server that has started this kernel."""

    name: str
    """As its users call it."""

    python: str
    """The interpreter that runs it; empty if that cannot be told."""

    versions: dict[str, str]
    """Of the front ends that are installed where it runs, by what their users call them."""

    draws_widgets: bool | None
    """Whether anywidget's browser half is where it looks for it; None if that cannot be told."""

    def __str__(self) -> str:
        others = [f"{name} {version}" for name, version in self.versions.items() if name != self.name]
        beside = f" (installed beside it: {', '.join(others)})" if others else ""
        return f"{self.name} {self.versions.get(self.name, '')}".strip() + beside


def server_of_kernel() -> Server | None:
    """Return what the parent process is, if it is a server of notebooks."""
    try:
        import psutil  # type: ignore[import-untyped]  # of ipykernel; its types are a package of their own

        command = psutil.Process(int(os.environ.get("JPY_PARENT_PID") or os.getppid())).cmdline()
    except Exception:  # not installed, another user's, on another machine, over
        return None
    words = [Path(word).name.removesuffix(".exe").removesuffix("-script.py") for word in command[:4]]
    name = next((_NAMES[word] for word in words if word in _NAMES), None)
    if name is None:
        return None
    home = Path(command[0]).parent.parent if os.path.isabs(command[0]) else None
    return Server(
        name=name,
        python=command[0] if home else "",
        versions=_versions(home) if home else {},
        draws_widgets=_has_browser_half(home) if home else None,
    )


def _versions(home: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for folder in (*home.glob("lib/python3*/site-packages"), home / "Lib" / "site-packages"):
        for package, name in _PACKAGES.items():
            for info in folder.glob(f"{package}-*.dist-info"):
                found[name] = info.name.removeprefix(f"{package}-").removesuffix(".dist-info")
    return found


def _has_browser_half(home: Path) -> bool:
    """Whether it is in the server's environment, or where the servers of this person or machine look, too."""
    places = [home / "share" / "jupyter", *_of_everybody()]
    return any((place / "labextensions" / "anywidget").is_dir() for place in places)


def _of_everybody() -> list[Path]:
    try:
        from jupyter_core import paths
    except ImportError:
        return []
    mine: list[Any] = [paths.jupyter_data_dir(), *os.environ.get("JUPYTER_PATH", "").split(os.pathsep)]
    own = Path(sys.prefix) / "share" / "jupyter"
    return [Path(each) for each in [*mine, *paths.SYSTEM_JUPYTER_PATH] if each and Path(each) != own]
