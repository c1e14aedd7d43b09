"""``HITL_NB_PEOPLE=replay:<file>``: a recorded session around a whole notebook, without a change to it.

The same is ``hitl_nb.use(people="replay:<file>")`` in code. Found through the entry-point group ``hitl_nb.people``, so
that what asks people need not know who replays them.
"""

import atexit
import logging

from hitl_nb.errors import ScriptError
from hitl_nb.testing._replay import Replay, ReplayedPerson, replay

_log = logging.getLogger("hitl_nb")
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
