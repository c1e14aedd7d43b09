"""``python -m hitl_nb.testing NOTEBOOK.ipynb``: run a notebook without a front end, and say what it waits for."""

import argparse
import sys

from hitl_nb.testing._environment import FAILED, run_notebook


def main() -> int:
    """Return the exit code: 0, 1 if a cell failed, `PAUSED` (75) if a question is open and nobody answers."""
    parser = argparse.ArgumentParser(
        prog="python -m hitl_nb.testing",
        description="Run a notebook without a front end. HITL_NB_PEOPLE=script:<file> or replay:<file> answers.",
        epilog="Exit code: 0 it ran, 1 a cell failed, 75 a question is open and nobody is there to answer it.",
    )
    parser.add_argument("notebook", help="the .ipynb file; it is not changed")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for each cell (default: %(default)s)")
    options = parser.parse_args()
    try:
        return run_notebook(options.notebook, timeout=options.timeout, out=sys.stdout.write)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return FAILED


if __name__ == "__main__":
    raise SystemExit(main())
