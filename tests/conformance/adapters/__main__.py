"""Play every cell and print the table: python -m tests.conformance.adapters [NAME...]."""

import asyncio
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from tests.conformance.adapters.bench import COLUMNS, played, table
from tests.conformance.adapters.every import BENCHES


async def main(wanted: list[str]) -> int:
    """Play what is wanted, or everything; gives the number of cells that do not hold."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for make in BENCHES:
            if wanted and not any(word in f"{make.__module__}.{make.__qualname__}" for word in wanted):
                continue
            for number, column in enumerate(COLUMNS):
                path = Path(folder) / f"{make.__qualname__}-{number}.sqlite"
                with redirect_stdout(sys.stderr):  # CrewAI tells of every step
                    outcomes.append(await played(make, column, path))
    print(table(outcomes))
    return sum(bool(outcome.problem) for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(bool(asyncio.run(main(sys.argv[1:]))))
