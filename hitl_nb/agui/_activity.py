"""Activities: messages with structured content (a plan, a search) that never go back to the model."""

from ag_ui.core import ActivityDeltaEvent, ActivityMessage, ActivitySnapshotEvent

from hitl_nb.agui._messages import Messages, merge_metadata
from hitl_nb.agui._patch import patched


def set_activity(messages: Messages, event: ActivitySnapshotEvent) -> None:
    """Make an activity, or replace the one with this id unless the event says `replace: false`.

    A replacement keeps the metadata gathered so far; its owner is the event's. A message of another kind
    under this id is replaced as well.
    """
    existing = messages.get(event.message_id)
    if existing is not None and event.replace is False:
        if (activity := messages.edit_activity(event.message_id)) is not None:
            merge_metadata(activity, event)
        return
    made = ActivityMessage.model_construct(
        id=event.message_id, role="activity", activity_type=event.activity_type, content=event.content
    )
    if event.subagent_run_id is not None:
        made.subagent_run_id = event.subagent_run_id
    if isinstance(existing, ActivityMessage) and existing.metadata is not None:
        made.metadata = existing.metadata
    merge_metadata(made, event)
    if existing is None:
        messages.append(made)
    else:
        messages.put(existing, made)


def patch_activity(messages: Messages, event: ActivityDeltaEvent) -> None:
    """Patch the content of an activity; its metadata is merged even if the patch does not fit."""
    activity = messages.edit_activity(event.message_id)
    if activity is None:
        return
    merge_metadata(activity, event)
    before = activity.content
    activity.content = patched(before, event.patch, f"the activity `{event.message_id}`")
    if activity.content is not before:
        activity.activity_type = event.activity_type
