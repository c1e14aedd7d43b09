"""Libraries of the extras: the one way in which this package imports what it can do without.

At the moment of use, since crewai costs 10 s and litellm 7 s, and ``import hitl_nb`` must not. A plain ``import``
inside a function would say less where the library is missing: not which extra brings it, nor that the kernel has to
be restarted.
"""

import importlib
from types import ModuleType

from hitl_nb.errors import MissingExtraError


def library(name: str, *, extra: str, what: str) -> ModuleType:
    """Return an optional module.

    Args:
        name: The module.
        extra: The extra of hitl_nb that brings it.
        what: Who needs it, as the subject of a sentence.

    Raises:
        MissingExtraError: It cannot be imported; the message is the pip line.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs `{name}`, which cannot be imported ({error}). "
            f'Install it with `pip install "hitl-nb[{extra}]"` and restart the kernel.'
        ) from error
