"""A notebook in CI: it runs, it fails, or it is paused because a question is open and nobody is there to answer.

Paused is no failure: a pipeline that sees `PAUSED` asks somebody, and runs the notebook again with the answer; or it
plays a recorded session around the whole notebook, without a change to it: ``HITL_NB_PEOPLE=replay:<file>``. The same
is ``hitl_nb.use(people="replay:<file>")`` in code. Found through the entry-point group ``hitl_nb.people``, so that what
asks people need not know who replays them.
"""

import atexit
import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Final

from hitl_nb._library import library
from hitl_nb._text import logger
from hitl_nb.errors import NoHumanError, Parked, ScriptError
from hitl_nb.testing._replay import Replay, ReplayedPerson, replay

FAILED: Final = 1
PAUSED: Final = 75
"""The exit code of a run that waits for a person: EX_TEMPFAIL of sysexits.h, "try again later"."""

_CHECK: Final = "from hitl_nb.testing._environment import check_environment; check_environment()"


def run_notebook(path: str | PathLike[str], *, timeout: int, out: Callable[[str], object]) -> int:
    """Run a notebook without a front end; it is not changed.

    Args:
        path: The file.
        timeout: Seconds for each cell.
        out: Is told, in lines of text, what is open, or what failed.

    Returns:
        0, `FAILED` or `PAUSED`.

    Raises:
        MissingExtraError: nbclient is not installed.
        OSError: There is no such file.
    """
    names = ("nbformat", "nbclient", "nbclient.exceptions")
    nbformat, nbclient, errors = (library(name, extra="demo", what="Running a notebook") for name in names)
    notebook = nbformat.read(path, as_version=4)
    if os.environ.get("HITL_NB_PEOPLE", "").startswith("replay:"):
        # A recorded session that was not played to its end is a failure here as everywhere.
        notebook.cells.append(nbformat.v4.new_code_cell(_CHECK))
    folder = str(Path(path).resolve().parent)
    client = nbclient.NotebookClient(notebook, timeout=timeout, resources={"metadata": {"path": folder}})
    try:
        client.execute()
    except errors.CellExecutionError as error:
        name = getattr(error, "ename", "")
        if name in (NoHumanError.__name__, Parked.__name__):
            out(f"paused: {error.evalue}\n")
            return PAUSED
        out(f"failed: {error.evalue if name == ScriptError.__name__ else error}\n")
        return FAILED
    except errors.CellTimeoutError as error:
        out(f"failed: {error}\n")
        return FAILED
    out("done\n")
    return 0


_log = logger()
_playing: list[Replay] = []


class StandingIn(ReplayedPerson):
    """Answers for the rest of this process, or until it is stopped."""

    def __init__(self, case: Replay) -> None:
        super().__init__(case)
        self._playing = case

    def stop(self, error: BaseException | None) -> None:
        """End the recorded session as leaving its block would, with `error`."""
        if self._playing in _playing:
            _playing.remove(self._playing)
            self._playing.__exit__(type(error) if error is not None else None, error, None)


def from_variable(file: str) -> StandingIn:
    """Replay `file` for the rest of this process (``HITL_NB_PEOPLE=replay:<file>``); return who answers.

    From the variable it begins with the first session or checkpoint; a model that is called before is the real one.
    """
    case = replay(file).__enter__()
    _playing.append(case)
    atexit.register(_report)
    return StandingIn(case)


def check_environment() -> None:
    """Raise what leaving the block would raise, had there been one."""
    for case in _playing:
        case.__exit__(None, None, None)
    _playing.clear()


def _report() -> None:
    try:
        check_environment()
    except ScriptError as error:
        _log.error("%s", error)
