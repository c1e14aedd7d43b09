"""What a person changed in what was proposed: `[{"path": "steps[1].status", "from": "enabled", "to": "disabled"}]`."""

import json
from typing import Any

from hitl_nb._calls import Call, Decision
from hitl_nb._schema import FormNode, changes_of

_ANY = FormNode(kind="json")


def edits_of(call: Call, decision: Decision, original_json: str, answer_json: str) -> list[dict[str, Any]] | None:
    """Give what was changed: as the card says, else by comparing.

    Args:
        call: The call.
        decision: Its approval.
        original_json: What was proposed, as JSON text without secrets.
        answer_json: What was answered, likewise.

    Returns:
        ``{"path": …, "from": …, "to": …}`` a change, as `Call.edits`; empty if there is none. None if the answer is no
        form of the proposal at all (a text that answers a question), so that there is nothing to compare.
    """
    if decision.edits:
        return list(decision.edits)
    is_args = call.proposal is None
    if _untouched(original_json, answer_json, is_args=is_args):
        return []
    name, original, answer = "", json.loads(original_json), json.loads(answer_json)
    if is_args:
        name, original = _proposed(original, answer)
    return changes_of(original, answer, _ANY, name=name) if _alike(original, answer) else None


def _untouched(original: str, answer: str, *, is_args: bool) -> bool:
    """The usual case, told by the texts: the arguments, or the only one of them, as they were."""
    if original == answer:
        return True
    if not is_args or answer[0] not in "{[" or not original.endswith(f":{answer}}}"):
        return False
    try:
        # What is left of `{"steps":…}` is one key, and only then one JSON text.
        return isinstance(json.loads(original[1 : -len(answer) - 2]), str)
    except ValueError:
        return False


def _proposed(args: Any, answer: Any) -> tuple[str, Any]:
    """The arguments, or the only one of them: a tool that gets `steps` answers with the steps."""
    if not isinstance(args, dict) or not args:
        return "", None
    if isinstance(answer, dict) and args.keys() & answer.keys():
        return "", args
    [(name, sole), *others] = args.items()
    return (name, sole) if isinstance(sole, dict | list) and not others else ("", None)


def _alike(original: Any, answer: Any) -> bool:
    kinds = (dict, list, str, bool)
    first, second = (next((kind for kind in kinds if isinstance(each, kind)), None) for each in (original, answer))
    return original is not None and answer is not None and first is second
