"""JSON Patch that never breaks a document: all of its operations apply, or none does."""

import logging
from collections.abc import Iterable
from typing import Any

from pydantic_core import to_jsonable_python

_logger = logging.getLogger("hitl_nb.agui")


def patched(document: Any, operations: Iterable[Any], what: str) -> Any:
    """Give the patched document as a new object (RFC 6902).

    A patch that does not fit is logged and skipped, and the document comes back as it was: the sender's
    picture of it is stale, and the snapshot that ends a run puts it right. `what` names the document in the
    log.
    """
    # Imported at the first patch: few agents send any, and every `import hitl_nb` would pay for it.
    import jsonpatch

    try:
        return jsonpatch.apply_patch(document, to_jsonable_python(operations, by_alias=True))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError) as error:
        # TypeError: how older versions of jsonpatch say that a step leads into a number or a string.
        _logger.warning("Skipped a patch of %s: %s", what, error)
        return document
