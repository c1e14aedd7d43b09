"""How long a click's way through our own code is, in functions and files: `python -m tests.bench.house`.

Not a time, and the only figure here that a machine does not change: see `tests.house_click`.
"""

import json
import subprocess
import sys

from tests.bench.figure import tell
from tests.house import LIMITS


def main() -> None:
    """Tell both."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.house_click", "--json"], capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)["figures"]
    for name, limit in LIMITS.items():
        if name in figures:
            tell(name, figures[name], limit, unit=name.rpartition(" ")[2])


if __name__ == "__main__":
    main()
