"""Every figure at once: ``python -m tests.bench [--write] [MODULE …]`` (``make bench``).

A bench is any module of this folder that runs by itself (``python -m tests.bench.NAME``) and tells its figures
(`tests.bench.figure`): ratios of two things that were measured in turn, each with its goal where there is one. Nobody
has to be told of a new one. What misses its goal is marked; so is a bench that fails or takes too long, and the others
go on. ``--write`` keeps all of it in ``figures.json`` beside this file, which the site shows as a table and as bars.
"""

import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import IO

import tests.bench
from tests.bench.figure import Figure, short
from tests.conftest import REPO

_FAILED = "failed"
FIGURES = Path(__file__).with_name("figures.json")
PATIENCE = 110.0
"""Seconds for one module; what it has told until then is kept."""
LONGER = {
    "clicks": 150.0,
    "inbox": 150.0,
    "journal": 170.0,
    "long_life": 150.0,
    "next_card": 300.0,
    "peers": 200.0,
    "streaming": 260.0,
    "web": 200.0,
}
AT_MOST = 24 * 60.0
"""Seconds for all of them; a module that comes after is told as not run."""
FIRST = ("peers", "web", "clicks", "streaming")
"""Those beside somebody else's."""


def benches() -> list[str]:
    """The modules of this folder that run by themselves."""
    names = [found.name for found in pkgutil.iter_modules(tests.bench.__path__)]
    runs = [
        name for name in names if "__main__" in (Path(__file__).with_name(f"{name}.py")).read_text(encoding="utf-8")
    ]
    return [*FIRST, *(name for name in runs if name not in ("__main__", *FIRST))]


def measured(bench: str, patience: float) -> list[Figure]:
    """Run one module, and read its lines; the last one says if it did not come to its end."""
    env = {**os.environ, "PYTHONPATH": str(REPO), "PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONUNBUFFERED": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.bench.{bench}"],
            cwd=REPO,
            env=env,
            stdout=out,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            ended = process.wait(timeout=patience)
            why = f"{_FAILED}: {(_lines(errors) or ['without a word'])[-1]}" if ended else ""
        except subprocess.TimeoutExpired:
            why = f"stopped after {patience:.0f} s"
            os.killpg(process.pid, signal.SIGKILL)  # its browser and its kernels, too
            process.wait()
        found = [figure for line in _lines(out) if (figure := Figure.of(bench, line)) is not None]
    return (
        [*found, Figure(bench=bench, what="all of it" if not found else "the rest of it", note=why)] if why else found
    )


def _not_run(bench: str) -> Figure:
    return Figure(bench=bench, what="all of it", note="the time was over")


def _lines(file: IO[str]) -> list[str]:
    file.seek(0)
    return [line.strip() for line in file.read().splitlines() if line.strip()]


def table(figures: list[Figure]) -> str:
    """All figures as Markdown, those that miss their goal in bold."""
    rows = ["| bench | what | found | goal | | |", "|---|---|---|---|---|---|"]
    for each in figures:
        cells = [each.bench, each.what]
        cells.append("–" if each.found is None else f"{short(each.found)} {each.unit}")
        cells.append("" if each.goal is None else f"≤ {short(each.goal)}")
        cells.append(_mark(each))
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in [*cells, each.note])} |")
    return "\n".join(rows)


def _mark(figure: Figure) -> str:
    if figure.failed:
        return "**not measured**"
    if figure.goal is None:
        return ""
    return "**misses**" if figure.misses else "ok"


def plot(figures: list[Figure]) -> str:
    """Each figure as a bar of its goal: an SVG that needs no library and follows the page's colours."""
    bars = [(each, each.found, each.goal) for each in figures if each.found is not None and each.goal]
    lines = []
    for at, (each, found, goal) in enumerate(bars):
        share, y = min(max(0.0, found / goal), 2), 18 + at * 22
        colour = "#d32f2f" if each.misses else "#2e7d32"
        beyond = " →" if found / goal > 2 else ""
        lines += [
            f'<text x="500" y="{y}" text-anchor="end">{escape(f"{each.bench}: {_cut(each.what, 76)}")}</text>',
            f'<rect x="510" y="{y - 11}" width="{max(1, share * 170):.0f}" height="13" fill="{colour}"/>',
            f'<text x="{515 + share * 170:.0f}" y="{y}">{short(found)} {each.unit}{beyond}</text>',
        ]
    height = 30 + len(bars) * 22
    line = f'<line x1="680" x2="680" y1="0" y2="{height}" stroke="currentColor" stroke-dasharray="3"/>'
    style = 'style="font:11px sans-serif;width:100%;min-width:640px" fill="currentColor"'
    title = "<title>Each figure as a share of its goal, which is the dashed line</title>"
    body = f"{title}{line}{''.join(lines)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 {height}" {style} role="img">{body}</svg>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def kept() -> tuple[str, list[Figure]]:
    """When somebody measured last, and what."""
    stored = json.loads(FIGURES.read_text(encoding="utf-8"))
    return stored["measured"], [Figure(**each) for each in stored["figures"]]


def main(arguments: list[str]) -> int:
    """Print every figure, and those that miss their goal or were not measured once more at the end.

    A figure that misses its goal is a finding, and no reason to stop whoever asked for it; gives 1 if a bench fails.
    """
    names = [each for each in arguments if not each.startswith("--")] or benches()
    figures: list[Figure] = []
    begun, loads = time.monotonic(), [os.getloadavg()[0]]
    for name in names:
        left = AT_MOST - (time.monotonic() - begun)
        started = time.monotonic()
        patience = min(left, LONGER.get(name, PATIENCE))
        found = measured(name, patience) if left > 10 else [_not_run(name)]
        for each in found:
            print(f"{_mark(each).strip('*').upper() if _mark(each) != 'ok' else '':>12} {name:>12}  {each.text}")
        print(f"{'':>12} {name:>12}  ({time.monotonic() - started:.0f} s)", flush=True)
        loads.append(os.getloadavg()[0])
        figures += found
    missed, without = [each for each in figures if each.misses], [each for each in figures if each.failed]
    minutes = (time.monotonic() - begun) / 60
    if missed or without:
        print(f"\n{table([*missed, *without])}\n")
    counted = f"{len(figures)} figures, {len(missed)} miss their goal, {len(without)} were not measured"
    print(f"{counted}; {minutes:.0f} minutes, load {min(loads):.0f} to {max(loads):.0f}")
    if "--write" in arguments:
        before = kept()[1] if FIGURES.exists() else []
        figures = [each for each in before if each.bench not in names and each.bench in benches()] + figures
        load = f"load {min(loads):.0f} to {max(loads):.0f}"
        took = f"{datetime.now(UTC):%Y-%m-%d} in {minutes:.0f} minutes"
        about = f"{took}, {os.cpu_count()} cores, {load}"
        stored = {"measured": about, "figures": [each.stored() for each in figures]}
        FIGURES.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if any(each.note.startswith(_FAILED) for each in without) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
