"""From a dict off the wire to a typed event, or a loud refusal.

The boundary the AG-UI clients call *enforcement*: what the protocol does not know is let pass (a newer agent
must not break an older client), what it does know has to be right (guessing what a broken field meant would
be inventing).
"""

import logging
from collections.abc import Mapping
from typing import cast, get_args

from ag_ui.core import BaseEvent, Event
from pydantic import ValidationError

from hitl_nb.errors import ProtocolError

_logger = logging.getLogger("hitl_nb.agui")


def _classes() -> dict[str, type[BaseEvent]]:
    union, _ = get_args(Event)
    return {cls.model_fields["type"].default.value: cls for cls in get_args(union)}


EVENT_CLASSES = _classes()
"""Every event the installed ag-ui-protocol knows, by the wire's `type`."""


def parse_event(data: Mapping[str, object]) -> Event | None:
    """Read one event as JSON gave it: camelCase keys, `type` as the discriminator.

    Args:
        data: What JSON gave.

    Returns:
        The event; unknown properties are kept on it. None for a `type` this protocol version does not know: it
            is logged and to be skipped.

    Raises:
        ProtocolError: No `type`, or a field the protocol describes is missing or has the wrong type. The run
            cannot go on: what the field should have said is anybody's guess.
    """
    kind = data.get("type")
    if not isinstance(kind, str):
        raise ProtocolError('An event without `type` arrived; send `{"type": "RUN_STARTED", …}`.')
    cls = EVENT_CLASSES.get(kind)
    if cls is None:
        _logger.warning("Skipped an event of the unknown type `%s`", kind)
        return None
    try:
        return cast("Event", cls.model_validate(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ProtocolError(
            f"`{kind}` is malformed at `{field}`: {first['msg']}; "
            "send the fields that https://docs.ag-ui.com/concepts/events lists."
        ) from error
