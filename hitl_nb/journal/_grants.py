"""Who runs what was approved, and whether they are still there.

A yes is for one run. Whoever finds that it has begun elsewhere waits for its end, as long as there is a process that
could come to one.
"""

import functools
import json
import os
import socket
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hitl_nb.journal._hiding import MASK

STARTED: Final = """
    SELECT started.id, started.ts, started.value, ended.id, ended.result FROM events AS started
    LEFT JOIN events AS ended ON ended.event = 'ended' AND ended.question = started.question
    WHERE started.event = 'started' AND started.question = ?
"""
"""The run that the decision about one question allowed."""

_PROC: Final = Path("/proc")
_START_TIME: Final = 19
"""Where ``/proc/<pid>/stat`` has the start time (field 22), counted from behind the name."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """Who runs what was approved."""

    at: datetime
    """Since when (aware, UTC)."""

    host: str
    """On which machine."""

    pid: int
    """In which process of it."""

    mine: bool
    """Whether that is this process."""

    alive: bool | None
    """Whether that process is still there; None where this process cannot look: another machine, another container."""

    ended: str | None
    """What the model is told of its end (with stars for secrets); None as long as there is none."""

    redacted: bool
    """Whether `ended` has lost a secret."""


def started_from(row: tuple[Any, ...]) -> Started:
    """Give the run of a row of `STARTED`."""
    _, ts, value, end, result = row
    where = json.loads(value)
    ended = None if end is None else result or ""
    return Started(
        at=datetime.fromisoformat(ts),
        host=where["host"],
        pid=where["pid"],
        mine=where == _this_process(os.getpid()),
        alive=_is_alive(where),
        ended=ended,
        redacted=MASK in (ended or ""),
    )


def this_process() -> str:
    """Give what a `started` row says of who started: JSON, enough to tell this process from any other."""
    return _as_json(os.getpid())


@functools.lru_cache(maxsize=1)
def _as_json(pid: int) -> str:
    return json.dumps(_this_process(pid))


@functools.lru_cache(maxsize=1)
def _this_process(pid: int) -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        # Process ids begin anew with each start of the machine, and in each container.
        "boot": _read(_PROC / "sys/kernel/random/boot_id"),
        "space": _link(_PROC / "self/ns/pid"),
        "pid": pid,
        "since": _start_time(pid),
    }


def _is_alive(where: dict[str, Any]) -> bool | None:
    me = _this_process(os.getpid())
    if where == me:
        return True
    if where["host"] != me["host"]:
        return None
    if where["boot"] != me["boot"]:
        return False  # the machine was started anew since
    if where["space"] != me["space"]:
        return None
    if where["since"] is not None:
        return bool(_start_time(where["pid"]) == where["since"])
    return _answers(where["pid"])


def _start_time(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was; None if it is not there, or only its remains."""
    stat = _read(_PROC / str(pid) / "stat")
    if stat is None:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[_START_TIME - 1])


def _answers(pid: int) -> bool | None:
    """Whether there is such a process, where there is no ``/proc``: it may be another one by now."""
    if sys.platform == "win32":
        return None  # `os.kill` would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _link(path: Path) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
