"""Putting something of ours into CrewAI, and taking it out again without a trace."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from hitl_nb.errors import MissingExtraError


def framework(name: str) -> Any:
    """Import a module of CrewAI at the moment of use: it costs 10 s, and `import hitl_nb` must not.

    Raises:
        MissingExtraError: CrewAI is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"Answering CrewAI's questions needs `{name}`, which cannot be imported ({error}). "
            'Install it with `pip install "hitl-nb[crewai]"` and restart the kernel.'
        ) from error


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let ``owner.name`` be `value` for a while.

    What somebody else puts there meanwhile stays: it is not ours to take away.
    """
    missing = object()
    # Not `getattr`: a static method, or what a class inherits, must come back as it was.
    before = vars(owner).get(name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if vars(owner).get(name, missing) is value:
            if before is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


class Counted:
    """A context that is entered by the first of many holders, and left by the last.

    Args:
        enter: Makes the context.
    """

    def __init__(self, enter: Callable[[], AbstractContextManager[None]]) -> None:
        self._enter = enter
        self._holders = 0
        self._stack = ExitStack()

    def hold(self) -> None:
        """Be one holder more."""
        if self._holders == 0:
            self._stack.enter_context(self._enter())
        self._holders += 1

    def release(self) -> None:
        """Be one holder less."""
        self._holders -= 1
        if self._holders == 0:
            self._stack.close()
