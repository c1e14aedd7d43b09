"""Everything hitl_nb raises, as one small tree, so that ``except HitlError`` catches all of it.

::

    HitlError
    ├── UsageError             the code has to change; the message ends with the line to write
    │   ├── ToolDefinitionError    a tool that cannot be offered to a model
    │   ├── AgentDefinitionError   something that cannot be run as an agent
    │   ├── MissingExtraError      an optional library is not installed (also an ImportError)
    │   ├── NotAwaitedError        a question or a run used as if it were its answer, without `await`
    │   │   └── NotAwaitedAttributeError   an attribute of it (also an AttributeError)
    │   ├── AlreadyAwaitedError    a question or a run awaited twice (also a RuntimeError)
    │   ├── CallNotOpenError       an answer before the question is complete
    │   ├── NotYourTurn            an answer while somebody else is being asked
    │   ├── LoopBlockedError       a question whose answer could never arrive
    │   └── SessionBusyError       a second run while one is under way
    ├── InvalidValue           arguments or an answer that do not fit their type
    ├── NotApproved            a checkpoint's question that ended without a yes
    │   ├── Declined               a person said no
    │   ├── Cancelled              the question was withdrawn
    │   ├── ChangedWhileWaiting    what it is about was changed before the answer came
    │   └── Expired                nobody answered in time
    ├── NoHumanError           a question, and nobody who could answer it
    │   └── Parked                 … in time: it stays open, and a later run takes its answer
    ├── AgentError             the agent's run failed (the cause is its `__cause__`)
    ├── RunStopped             `stop()` ended what you await
    ├── FollowUpLimit          the model keeps calling tools
    ├── HistoryError           a tool call without exactly one adjacent result
    ├── ProtocolError          an AG-UI event stream out of order
    ├── JournalError           the journal cannot be opened, read or written
    ├── FrontendError          the browser half is missing or cannot be linked
    └── ScriptError            a scripted model or person, and a run that does not follow the script
        └── ReplayMismatch         a recorded session, and a run that asks something else

None of these is ever an approval: whatever raises, nothing was executed.
"""

from collections.abc import Sequence
from typing import Any

from hitl_nb._secrets import masked
from hitl_nb._text import SIGN, said, visible_line, warning_about

__all__ = [
    "AgentDefinitionError",
    "AgentError",
    "AlreadyAwaitedError",
    "CallNotOpenError",
    "Cancelled",
    "ChangedWhileWaiting",
    "Declined",
    "Expired",
    "FollowUpLimit",
    "FrontendError",
    "HistoryError",
    "HitlError",
    "InvalidValue",
    "JournalError",
    "LoopBlockedError",
    "MissingExtraError",
    "NoHumanError",
    "NotApproved",
    "NotAwaitedAttributeError",
    "NotAwaitedError",
    "NotYourTurn",
    "Parked",
    "ProtocolError",
    "ReplayMismatch",
    "RunStopped",
    "ScriptError",
    "SessionBusyError",
    "ToolDefinitionError",
    "UsageError",
]


def _in_a_line(error: Exception) -> list[str]:
    # IPython asks an error for its traceback. Of these, where it happened is no news: nothing is to be mended there.
    return [f"{type(error).__name__}: {error}"]


class HitlError(Exception):
    """The root of the tree. What it says quotes no secret that passed by, and nothing that a reader would not see."""

    def __str__(self) -> str:
        return said(super().__str__())

    def __repr__(self) -> str:
        # Python's own way writes out some of what is not seen, and says nothing about it.
        warning = warning_about(super().__str__())
        return visible_line(masked(super().__repr__()) + (f" {SIGN} {warning}" if warning else ""))


class UsageError(HitlError):
    """The calling code is wrong; the message ends with the line to write instead."""


class ToolDefinitionError(UsageError):
    """A tool that cannot be offered to a model: a parameter without a type, a name used twice."""


class AgentDefinitionError(UsageError):
    """Something that cannot be run as an agent: not a Flow, a Flow whose state has no ``messages``."""


class MissingExtraError(UsageError, ImportError):
    """An optional library is not installed; the message is the pip line."""


class NotAwaitedError(UsageError):
    """A question or a run was used as if it were its answer: ``if approve("Drop?"):`` without ``await``."""


class NotAwaitedAttributeError(NotAwaitedError, AttributeError):
    """An attribute was looked up on a question or a run that was not awaited; to ``hasattr`` it is just not there."""


class AlreadyAwaitedError(UsageError, RuntimeError):
    """A question or a run was awaited or started a second time; it is never asked twice."""


class CallNotOpenError(UsageError):
    """``respond`` while the model is still writing the arguments."""


class NotYourTurn(UsageError):  # noqa: N818 - what happened, not a fault
    """A click on a question that is being put to somebody else: a rule decides first, the time for it is up."""


class LoopBlockedError(UsageError):
    """Code blocks the loop that would have to bring the answer it waits for."""


class SessionBusyError(UsageError):
    """A new run while another one of the same session is under way; names its open calls."""


class InvalidValue(HitlError):  # noqa: N818 - it is the value that is invalid, not the program
    """Arguments or an answer that do not fit their declared type.

    Attributes:
        errors: One ``{"path": [...], "message": str}`` a fault; `path` is made of keys and indices.
    """

    def __init__(self, message: str, errors: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(message)
        self.errors: list[dict[str, Any]] = list(errors)


class NotApproved(HitlError):  # noqa: N818 - what a person decided, not a fault
    """A checkpoint's question ended without a yes; ``call`` is the question (None in another process)."""

    def __init__(self, message: str, call: Any = None) -> None:
        super().__init__(message)
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        # A call waits in this process; an error that cannot be pickled would break a pool of processes.
        return type(self), self.args, {**vars(self), "call": None}


class Declined(NotApproved):
    """A person, or a rule, said no."""


class Cancelled(NotApproved):
    """The question was withdrawn."""


class ChangedWhileWaiting(NotApproved):
    """Code has changed what the question is about while it was open: nobody has approved what it is now."""


class Expired(NotApproved):
    """Nobody answered in time, which is not a no, and certainly not a yes."""

    def _render_traceback_(self) -> list[str]:
        return _in_a_line(self)


class NoHumanError(HitlError):
    """A question needs a person and nobody can answer here: it is never answered by a guess instead."""


class Parked(NoHumanError):  # noqa: N818 - what happened, not a fault
    """Nobody answered while this run could wait: the question stays open, and a later run takes its answer, once.

    In a script the process ends with 75 ("try again later"), as ``python -m hitl_nb.testing`` does.
    """


class AgentError(HitlError):
    """The agent's run failed and gave only a text (over HTTP, say); ``code`` is the wire's error code."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class RunStopped(HitlError):  # noqa: N818 - what happened, not a fault
    """The run or question you await was stopped by its ``stop()``; open calls were closed as not executed."""

    def _render_traceback_(self) -> list[str]:
        return _in_a_line(self)


class FollowUpLimit(HitlError):  # noqa: N818
    """The model called tools in more rounds than ``max_follow_ups`` allows."""


class HistoryError(HitlError):
    """The message history breaks the rule of every provider: one adjacent result a tool call, in call order."""


class ProtocolError(HitlError):
    """An AG-UI event stream breaks the order rules of the protocol."""


class JournalError(HitlError):
    """The journal cannot be opened, read or written: a folder without permission, a damaged or newer file.

    What was to be recorded is not: nothing of it may be shown, executed or delivered.
    """


class FrontendError(HitlError):
    """The browser half is missing from the installation, or a module cannot be linked."""


class ScriptError(HitlError):
    """A script and the run disagree: an unexpected question, an answer left over, no turn left."""


class ReplayMismatch(ScriptError):  # noqa: N818 - the two differ; neither is at fault
    """A recorded session is replayed, and the model or a person is asked something that was not recorded.

    Attributes:
        diff: What differs, as a unified difference; also part of the message.
    """

    def __init__(self, message: str, diff: str = "") -> None:
        super().__init__(message)
        self.diff = diff
