"""Libraries of the extras, imported at the moment of use: crewai costs 10 s, and ``import hitl_nb`` must not."""

import importlib
from typing import Any

from hitl_nb.errors import MissingExtraError


def library(name: str, *, extra: str, what: str) -> Any:
    """Give an optional module.

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
