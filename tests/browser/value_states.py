"""Questions about values of all kinds, made by the kernel's half."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from hitl_nb.cards import Approval, Choice
from tests.browser.items import message, turn
from tests.unit.cards.desk import Desk, opened

WORDS = """## What I found

The **churn model** of last week is *stale*: 3 of 14 features have drifted, see [the report](https://example.org/drift?week=48).

1. Retrain on `2026-10` … `2026-11`
2. Compare by AUC, not by accuracy
   - hold out the last week

| feature | drift | p |
|:--|--:|:-:|
| tenure | 0.31 | < 0.01 |
| plan | 0.02 | 0.4 |

```python
model.fit(train, weights="balanced")  # 12 minutes
```

> Nobody looked at *region* yet.

![a chart](https://tracker.example/pixel.png) <!-- a comment stays visible -->"""

QUESTION = """Put **model 7** on the air?

It beats model 6 by *0.014* AUC on the held-out week. `champion` is replaced at once; the old one stays for 30 days."""


class Region(Enum):
    NORTH = "n"
    SOUTH = "s"


def figure() -> Figure:
    drawn = Figure(figsize=(4.6, 2.4))
    axes = drawn.subplots()
    axes.plot([1, 2, 3, 4, 5], [0.81, 0.84, 0.86, 0.871, 0.874], marker="o", label="model 7")
    axes.plot([1, 2, 3, 4, 5], [0.80, 0.835, 0.85, 0.858, 0.86], marker="o", label="model 6")
    axes.set_title("AUC by epoch")
    axes.set_xlabel("epoch")
    axes.set_ylabel("AUC")
    axes.legend()
    return drawn


def frame(rows: int) -> pd.DataFrame:
    start = pd.Timestamp("2026-03-02 14:05", tz="UTC")
    return pd.DataFrame(
        {
            "customer": [f"C-{1000 + at}" for at in range(rows)],
            "spend": [round(1200.5 + 310.25 * at, 2) for at in range(rows)],
            "since": [start + pd.Timedelta(days=7 * at) for at in range(rows)],
            "active": [at % 3 != 0 for at in range(rows)],
            "score": [None if at % 4 == 0 else round(0.1 + at / 100, 2) for at in range(rows)],
        }
    )


DEEP = {
    "run": "nightly-42",
    "started": datetime(2026, 3, 2, 14, 5, tzinfo=timezone(timedelta(hours=1))),
    "rows": 1_250_000,
    "cost": Decimal("12345.10"),
    "region": Region.NORTH,
    "dry_run": False,
    "params": {"optimizer": {"name": "adam", "betas": [0.9, 0.999]}, "schedule": {"warmup": 500, "decay": None}},
    "owners": ["Ada Lovelace", "Grace Hopper"],
}
SQL = {
    "sql": "DELETE FROM orders\nWHERE created < '2024-01-01' -- older than two years\n  AND total < 10;",
    "rows": 48_210,
}


def _state(args: Any, message: str, **options: Any) -> dict[str, Any]:
    with opened(args, message=message, kind="interrupt", **{"name": "approve", "render": Approval, **options}) as call:
        return {"items": [{**Desk(call).item, "turn": turn()}]}


MODELS = [
    {"name": "model 7", "auc": 0.874, "trained": datetime(2026, 3, 1).date(), "rows": 1_250_000},
    {"name": "model 6", "auc": 0.86, "trained": datetime(2026, 2, 1).date(), "rows": 990_000},
    {"name": "baseline", "auc": 0.71, "trained": datetime(2025, 7, 1).date(), "rows": 120_000},
]

VALUE_STATES: dict[str, dict[str, Any]] = {
    "value-frame": _state({"value": frame(8)}, "Overwrite these 8 customers?"),
    "value-long-frame": _state({"value": frame(450)}, "Overwrite these customers?"),
    "value-figure": _state({"value": figure()}, QUESTION),
    "value-outline": _state(DEEP, "Start the nightly run?", render=partial(Approval, risk="high"), name="nightly"),
    "value-code": _state(SQL, "Run this **statement**?"),
    "value-array": _state(
        {"weights": np.arange(12).reshape(3, 4) / 7, "mask": np.tile(np.arange(0, 255, 4, dtype="uint8"), (48, 1))},
        "Use these weights?",
    ),
    "choice-columns": _state({}, "Which model goes on the air?", name="choose", render=partial(Choice, options=MODELS)),
    "words": {
        "items": [message("m1", "Look at the churn model.\nWhat is wrong with it?", role="user"), message("m2", WORDS)]
    },
    "words-streaming": {"items": [message("m2", WORDS[:150], streaming=True)]},
}
