"""What each extra costs: ``python -m tests.release.extras [EXTRA …] [--write]`` installs each into an empty
environment.

``--write`` puts the table into the README. Seconds are processor time of pip, resolving and unpacking: on an idle
machine about what one waits, once the packages are there. A download depends on the network and not on us, so seconds
are measured and not asserted; packages and megabytes are compared with what is installed here, in each `make test`.
"""

import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from tests.conftest import REPO
from tests.release.licences import licences

README = REPO / "README.md"
BEGIN, END = "<!-- extras: begin -->", "<!-- extras: end -->"
NOT_FOR_USERS = {"test", "docs", "bench"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one of them costs."""

    line: str
    """What a user writes."""

    packages: int
    megabytes: int
    seconds: int

    def __str__(self) -> str:
        return f"| `{self.line}` | {self.packages} | {self.megabytes:,} | {self.seconds} |"


def extras() -> list[str]:
    """The extras that a user installs; "" is none."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return ["", *(name for name in project["optional-dependencies"] if name not in NOT_FOR_USERS)]


def pip_line(extra: str) -> str:
    """What a user writes for it."""
    return f'pip install "hitl-nb[{extra}]"' if extra else "pip install hitl-nb"


def written() -> list[Row]:
    """The rows of the README."""
    table = README.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = re.findall(r"^\| `(.+?)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", table, flags=re.MULTILINE)
    return [
        Row(line=line, **dict(zip(("packages", "megabytes", "seconds"), map(_number, of), strict=True)))
        for line, *of in rows
    ]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def installed_here(extra: str) -> tuple[int, float]:
    """Packages and megabytes of an extra, ours included, as they would be on a disk that is empty otherwise."""
    names = ["hitl-nb", *licences(extra)]
    files = [file for name in names for file in distribution(name).files or () if file.suffix != ".pyc"]
    # A file takes blocks; bytecode is about as large as what it was made of.
    size = sum(_on_disk(file.size or 0) * (2 if file.suffix == ".py" else 1) for file in files)
    return len(names), size / 2**20


def _on_disk(size: int) -> int:
    return -(-size // 4096) * 4096


def built_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout."""
    command = [sys.executable, "-m", "uv", "build", "-q", "--wheel", "--out-dir", str(folder), str(REPO)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def measured(wheel: Path, extra: str) -> Row:
    """Install it where nothing is; pip itself is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        bare, before = _size(home), _packages(home)
        wanted = f"hitl-nb[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
        begun = _processor()
        subprocess.run([str(home / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", wanted], check=True)
        seconds = round(_processor() - begun)
        size, packages = _size(home) - bare, _packages(home) - before
        return Row(line=pip_line(extra), packages=packages, megabytes=size, seconds=seconds)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _size(home: Path) -> int:
    return int(subprocess.run(["du", "-sm", home], capture_output=True, text=True, check=True).stdout.split()[0])


def _packages(home: Path) -> int:
    return len(list(home.glob("lib/python*/site-packages/*.dist-info")))


def table(rows: list[Row]) -> str:
    """A row an extra."""
    return "\n".join(["| | packages | MB on disk | seconds of pip |", "|---|---|---|---|", *map(str, rows)])


def main(arguments: list[str]) -> None:
    """Print the rows, or write them into the README, in the place of those that it has."""
    names = [name for name in arguments if not name.startswith("--")] or extras()
    found = {row.line: row for row in written()}
    with tempfile.TemporaryDirectory() as folder:
        wheel = built_wheel(Path(folder))
        for name in names:
            row = found[pip_line(name)] = measured(wheel, name)
            print(row, flush=True)
    if "--write" in arguments:
        put = f"{BEGIN}\n{table([found[line] for line in map(pip_line, extras()) if line in found])}\n{END}"
        readme = README.read_text(encoding="utf-8")
        README.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: put, readme, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
