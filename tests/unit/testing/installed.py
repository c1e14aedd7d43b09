"""This checkout as if it were installed: its entry points, also where the tests run on a bare path."""

import os
import tomllib
from pathlib import Path

from tests.conftest import REPO


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a process that finds the package and the entry points of `pyproject.toml`."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "site" / "hitl_nb-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hitl-nb\nVersion: 0\n", encoding="utf-8")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    path = os.pathsep.join([str(info.parent), str(REPO)])
    return {**os.environ, "PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1", **variables}
