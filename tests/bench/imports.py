"""What `import hitl_nb` costs, as a ratio to what it cannot do without. Run: python -m tests.bench.imports"""

import statistics
import subprocess
import sys
import time

PAIRS = 11
ANCHOR = "import ipywidgets, pydantic, ag_ui.core"
OURS = "import hitl_nb"


def cpu_seconds(code: str) -> float:
    """User and system time of a fresh interpreter that runs `code`."""
    measured = f"import time; {code}; print(time.process_time())"
    return float(subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print the medians and the ratio of interleaved pairs."""
    for code in (OURS, ANCHOR):
        cpu_seconds(code)
    begin = time.monotonic()
    pairs = [(cpu_seconds(OURS), cpu_seconds(ANCHOR)) for _ in range(PAIRS)]
    ours, anchor = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{OURS}: {ours:.3f} CPU s · {ANCHOR}: {anchor:.3f} CPU s")
    print(f"ratio {ratio:.2f} (goal <= 1.3; median of {PAIRS} pairs, {time.monotonic() - begin:.0f} s)")


if __name__ == "__main__":
    main()
