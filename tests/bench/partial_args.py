"""What the preview of streamed arguments costs, against parsing everything again at each fragment.

    python -m tests.bench.partial_args [--json]

The other side is what openai-python and most others do: pydantic_core's partial parser (it is jiter) on the
whole text at every fragment. That is quadratic, seconds for 200 KB, so it is run at 40 prefixes and scaled
up. Both run in turns in one process; a figure is the median of the pairwise ratios of CPU time. Ratios only:
milliseconds differ by machine.
"""

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json

from hitl_nb.agui import PartialArgs
from tests.bench.figure import tell

PAIRS = 9
SAMPLES = 40
GOALS = {
    ("20 KB", "cost / parsing again at each fragment"): 0.1,
    ("200 KB", "cost / parsing again at each fragment"): 0.02,
    ("200 KB / 20 KB", "cost / length"): 2,
    **{(size, "characters parsed / length"): 21 for size in ("2 KB", "20 KB", "200 KB")},
}
"""Text that has to have grown by 5 % before it is parsed again is parsed at most 21 times."""
DOCUMENTS: dict[str, Callable[[], Any]] = {
    "2 KB": lambda: {"steps": [_step(n) for n in range(20)]},
    "20 KB": lambda: {"steps": [_step(n) for n in range(200)]},
    "200 KB": lambda: {"rows": [_row(n) for n in range(2000)]},
}


def _step(number: int) -> dict[str, Any]:
    return {"description": f"Step {number}: check the thing and write it down", "status": "enabled", "n": number}


def _row(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"row {number}", "price": number * 1.25, "ok": number % 3 == 0, "note": "x" * 40}


def fragments(text: str) -> list[str]:
    """Cut a text as a model sends it: 4 to 20 characters a fragment, always the same way."""
    sizes, cut, end = random.Random(0), [], 0
    while end < len(text):
        start, end = end, end + sizes.randint(4, 20)
        cut.append(text[start:end])
    return cut


def cpu(work: Callable[[], object]) -> float:
    """Give the CPU seconds that `work` takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ours(parts: list[str], per_second: int | None = None) -> PartialArgs:
    """Feed the stream, as fast as it goes or as if fragments came at a rate."""
    now = 0.0
    args = PartialArgs(clock=lambda: now)
    for number, part in enumerate(parts):
        now = number / per_second if per_second else 0.0
        args.feed(part)
    args.finish()
    return args


def reparse(texts: list[str]) -> object:
    """Parse each text from its first character on, and give the last value."""
    value = None
    for text in texts:
        value = from_json(text, allow_partial="trailing-strings")
    return value


def prefixes(parts: list[str]) -> tuple[list[str], float]:
    """Give the texts that a reparse sees, or an even sample of them, and how many each stands for."""
    stride = max(1, len(parts) // SAMPLES)
    ends = range(stride - 1 if stride > 1 else 0, len(parts), stride)
    return ["".join(parts[: end + 1]) for end in ends], len(parts) / len(ends)


def measure(document: Any) -> dict[str, float]:
    """Give the figures of one document."""
    text = json.dumps(document)
    parts = fragments(text)
    seen, weight = prefixes(parts)
    repeat = max(1, 20_000 // len(text))  # a 2 KB stream is too short for the clock
    figures: dict[str, float] = {"characters": len(text), "fragments": len(parts)}
    for name, rate in {"all at once": None, "at 100/s": 100, "at 1000/s": 1000}.items():
        ratios = [
            cpu(lambda: [ours(parts, rate) for _ in range(repeat)])  # noqa: B023 - runs before the loop goes on
            / (cpu(lambda: [reparse(seen) for _ in range(repeat)]) * weight)
            for _ in range(PAIRS)
        ]
        figures[f"cost / parsing again at each fragment, {name}"] = statistics.median(ratios)
        figures[f"characters parsed / length, {name}"] = ours(parts, rate).characters_parsed / len(text)
    return figures


def growth() -> float:
    """Give the cost of 200 KB against 20 KB, over the ratio of their lengths: 1 is linear."""
    small, large = (json.dumps(DOCUMENTS[name]()) for name in ("20 KB", "200 KB"))
    few, many = fragments(small), fragments(large)
    ratios = [cpu(lambda: ours(many)) / cpu(lambda: [ours(few) for _ in range(5)]) * 5 for _ in range(PAIRS)]
    return statistics.median(ratios) / (len(large) / len(small))


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    as_json = options.parse_args().json
    gc.collect()
    gc.freeze()
    figures = {name: measure(make()) for name, make in DOCUMENTS.items()}
    figures["200 KB / 20 KB"] = {"cost / length": growth()}
    if as_json:
        print(json.dumps(figures))
        return
    for document, values in figures.items():
        for name, value in values.items():
            if name in ("characters", "fragments"):
                continue
            # At 100 a second, 200 KB take three minutes: a person sees them once a second, and that is the bound.
            by_clock = (document, name) == ("200 KB", "characters parsed / length, at 100/s")
            goal = None if by_clock else GOALS.get((document, name.split(",")[0]))
            tell(f"{document} of arguments, {name}", value, goal, note="once a second" if by_clock else "")


if __name__ == "__main__":
    main()
