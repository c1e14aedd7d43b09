"""JSON Patch that never breaks a document: all of its operations apply, or none does."""

import logging
from collections.abc import Iterable
from typing import Any

import jsonpatch
from pydantic_core import to_jsonable_python

_logger = logging.getLogger("hitl_nb.agui")

# TypeError: what jsonpatch before 1.34 raises for a step into a number or a string.
_FAILURES = (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError)


def patched(document: Any, operations: Iterable[Any], what: str) -> Any:
    """Give the patched document as a new object (RFC 6902).

    A patch that does not fit is logged and skipped, and the document comes back as it was: the sender's
    picture of it is stale, and the snapshot that ends a run puts it right. `what` names the document in the
    log.
    """
    try:
        return jsonpatch.apply_patch(document, to_jsonable_python(operations, by_alias=True))
    except _FAILURES as error:
        _logger.warning("Skipped a patch of %s: %s", what, error)
        return document
