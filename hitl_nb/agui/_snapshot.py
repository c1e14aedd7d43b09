"""Whole histories that arrive at once, and what of the own one survives them."""

from ag_ui.core import MessagesSnapshotEvent, RunStartedEvent

from hitl_nb.agui._messages import Messages

_OFTEN_LOCAL = frozenset({"activity", "reasoning"})


def merge_snapshot(messages: Messages, event: MessagesSnapshotEvent) -> None:
    """Take a snapshot: its messages replace those with the same id, in place; new ones follow; the others go.

    Most servers never send activities and reasoning back, so those stay where they are; but once a snapshot
    holds one of that kind, the server keeps track of them, and one it leaves out is gone.
    """
    incoming = {message.id: message for message in event.messages}
    stays = _OFTEN_LOCAL - {message.role for message in event.messages}
    merged = [
        incoming.get(message.id, message)
        for message in messages.items
        if message.id in incoming or message.role in stays
    ]
    known = {message.id for message in merged}
    messages.replace(merged + [message for message in event.messages if message.id not in known])


def begin_run(messages: Messages, event: RunStartedEvent) -> None:
    """Let go of the last run's messages, and take in those the echoed input holds and we do not."""
    messages.forget()
    if event.input is None:
        return
    known = {message.id for message in messages.items}
    for message in event.input.messages:
        if message.id not in known:
            known.add(message.id)
            messages.items.append(message)
