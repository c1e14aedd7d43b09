"""What the bench reads out of the lines that its modules tell, and what becomes of one that fails."""

import subprocess
import sys

import pytest

from tests.bench import __main__ as bench
from tests.bench.figure import Figure, tell

TOLD = [
    ("approve / a bare future", 13.5, 20, "×", "139 µs"),
    ("text, 2,000 fragments, over litellm alone", 8, 25, "%", ""),
    ("timers after 500 questions", 0, 0, "timers", ""),
    ("a journal, turn 500 / turn 10", 1.1, None, "×", "3.1 ms; and more"),
    ("a page of 1,000,000 rows", 12345.6, None, "µs", ""),
    ("answer → code / LangGraph (in memory)", 0.00734, 0.2, "×", ""),
]


@pytest.mark.parametrize(("what", "found", "goal", "unit", "note"), TOLD)
def test_what_a_bench_tells_is_read_back(capsys, what, found, goal, unit, note):
    tell(what, found, goal, unit=unit, note=note)
    read = Figure.of("x", capsys.readouterr().out)
    assert read is not None
    assert (read.what, read.goal, read.unit, read.note, read.failed) == (what, goal, unit, note, False)
    assert read.found == pytest.approx(found, rel=0.01)
    assert not read.misses


def test_what_misses_its_goal_and_what_was_not_measured_is_marked():
    late = Figure(what="cards", found=3, goal=2)
    plain, none = Figure(what="notebook", found=40, unit="kB"), Figure.of("x", "cards: not measured; no Chromium")
    assert none is not None
    assert none.note == "no Chromium"
    assert (late.misses, plain.misses, none.misses) == (True, False, False)
    assert (late.failed, plain.failed, none.failed) == (False, False, True)
    shown = bench.table([late, plain, none])
    assert (shown.count("**misses**"), shown.count("**not measured**")) == (1, 1)
    assert bench.plot([late, plain, none]).count("<rect") == 1


@pytest.mark.parametrize("line", ["│  Name: Chat  │", "Loading CrewAI…", "ID: 413c45a9-29d0", "Traceback:"])
def test_what_a_library_prints_meanwhile_is_no_figure(line):
    assert Figure.of("x", line) is None


def test_each_module_that_runs_by_itself_is_found_and_the_helper_is_not():
    assert {"decisions", "imports", "long_life", "peers", "turns"} <= set(bench.benches())
    assert "figure" not in bench.benches()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("print('a: 1 ×'); raise SystemExit('no luck')", "failed: no luck"),
        ("print('a: 1 ×'); import time; time.sleep(600)", "stopped after"),
    ],
)
def test_a_bench_that_fails_or_hangs_is_a_line_and_keeps_what_it_has_told(monkeypatch, program, says):
    popen = subprocess.Popen

    def run(_: list[str], **options):
        return popen([sys.executable, "-c", program], **options)

    monkeypatch.setattr(bench.subprocess, "Popen", run)
    first, last = bench.measured("x", 5)
    assert (first.what, first.found) == ("a", 1)
    assert last.failed
    assert last.note.startswith(says)


def test_a_figure_that_misses_its_goal_is_shown_at_the_end_and_fails_nothing(monkeypatch, capsys):
    figures = [Figure(bench="x", what="cards", found=3, goal=2), Figure(bench="x", what="notebook", found=1, goal=2)]
    monkeypatch.setattr(bench, "measured", lambda *_: figures)
    assert bench.main(["x"]) == 0
    said = capsys.readouterr().out
    assert said.count("| x | cards |") == 1
    assert "| x | notebook |" not in said
    assert "2 figures, 1 miss their goal, 0 were not measured" in said


@pytest.mark.parametrize(("why", "ended"), [("failed: NameError", 1), ("stopped after 110 s", 0)])
def test_a_bench_that_fails_is_seen_by_whoever_runs_it_and_a_slow_machine_is_no_failure(monkeypatch, why, ended):
    monkeypatch.setattr(bench, "measured", lambda *_: [Figure(bench="x", what="all of it", note=why)])
    assert bench.main(["x"]) == ended


def test_what_is_kept_in_the_file_can_be_read():
    about, figures = bench.kept()
    assert "cores" in about
    assert {each.bench for each in figures} <= set(bench.benches())
