"""One table for every adapter: what a person can do with what its agent stops at, produced by a run.

    python -m tests.conformance.adapters

Each cell is a conversation of its own with the real adapter; the model is scripted at the provider's seam, and what
counts is what really ran and what the next model request holds, not what this side believes.
"""

from tests.conformance.adapters.bench import COLUMNS, Bench, Outcome, played

__all__ = ["COLUMNS", "Bench", "Outcome", "played"]
