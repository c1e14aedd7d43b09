"""What `import hitl_nb` costs, as a ratio to what it cannot do without. Run: python -m tests.bench.imports"""

import statistics
import subprocess
import sys
import time

PAIRS = 11
ANCHOR = "import ipywidgets, pydantic, ag_ui.core"
BARE = "import hitl_nb"
OURS = "from hitl_nb import Session, approve, gate, human_in_the_loop; import hitl_nb.cards"


def cpu_seconds(code: str) -> float:
    """User and system time of a fresh interpreter that runs `code`."""
    measured = f"import time; {code}; print(time.process_time())"
    return float(subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print the medians and the ratio of interleaved pairs."""
    for code in (BARE, OURS, ANCHOR):
        cpu_seconds(code)
    begin = time.monotonic()
    rounds = [(cpu_seconds(BARE), cpu_seconds(OURS), cpu_seconds(ANCHOR)) for _ in range(PAIRS)]
    for what, code, column in (("bare", BARE, 0), ("all of it", OURS, 1)):
        seconds = statistics.median(one[column] for one in rounds)
        ratio = statistics.median(one[column] / one[2] for one in rounds)
        print(f"{what:9}  {seconds:.3f} CPU s · ratio {ratio:.2f} (goal <= 1.3) · {code}")
    print(f"anchor     {statistics.median(one[2] for one in rounds):.3f} CPU s · {ANCHOR}")
    print(f"medians of {PAIRS} interleaved rounds, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
