"""What `import hitl_nb` costs, as a ratio to what it cannot do without. Run: python -m tests.bench.imports"""

import os
import statistics
import subprocess
import sys

from tests.bench.figure import tell

PAIRS = 11
ANCHOR = "import ipywidgets, pydantic, ag_ui.core"
BARE = "import hitl_nb"
OURS = "from hitl_nb import Session, approve, gate, human_in_the_loop; import hitl_nb.cards"
SHOWN = f"{OURS}; hitl_nb.cards.RunView"
GOALS = {
    BARE: ("bare", 0.5),
    OURS: ("all of it in use", 1.2),
    SHOWN: ("all of it, and the widgets of a first card", 1.2),
}


def cpu_seconds(code: str) -> float:
    """User and system time of a fresh interpreter that runs `code`."""
    measured = f"import time; {code}; print(time.process_time())"
    # Compiled once, as wherever it is installed; to compile our files anew each time would be another figure.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True, env=env)
    return float(run.stdout)


def main() -> None:
    """Print the medians and the ratio of interleaved pairs."""
    programs = [*GOALS, ANCHOR]
    for code in programs:
        cpu_seconds(code)
    rounds = [[cpu_seconds(code) for code in programs] for _ in range(PAIRS)]
    anchor = statistics.median(one[-1] for one in rounds)
    for at, (what, goal) in enumerate(GOALS.values()):
        seconds = statistics.median(one[at] for one in rounds)
        ratio = statistics.median(one[at] / one[-1] for one in rounds)
        tell(f"import hitl_nb, {what} / {ANCHOR}", ratio, goal, note=f"{seconds:.3f} to {anchor:.3f} CPU s")


if __name__ == "__main__":
    main()
