"""What a person changed in what was proposed, as paths: `[["steps", 1, "status"]]`."""

import json
from collections.abc import Iterator
from typing import Any

from hitl_nb.journal._plain import json_text

Path = list[str | int]


def edited_paths(args: Any, proposal: Any, answer_json: str) -> list[Path] | None:
    """Compare an answer with what was proposed.

    Args:
        args: The arguments.
        proposal: What a plain Confirm would have answered; None means the arguments themselves.
        answer_json: The answer as JSON text.

    Returns:
        The place of each difference, in the arguments; empty if there is none. None if the answer is no edited form of
        the proposal at all (a text that answers a question), so that there is nothing to compare.
    """
    original_json = json_text(args if proposal is None else proposal)
    if _untouched(original_json, answer_json, is_args=proposal is None):
        return []
    place: Path = []
    original, answer = json.loads(original_json), json.loads(answer_json)
    if proposal is None:
        place, original = _proposed(original, answer)
    if not _alike(original, answer):
        return None
    return [place + path for path in _differences(original, answer)]


def _untouched(original: str, answer: str, *, is_args: bool) -> bool:
    """The usual case, told by the texts: the arguments, or the only one of them, as they were."""
    if original == answer:
        return True
    if not is_args or not original.endswith(f":{answer}}}") or answer[0] not in "{[":
        return False
    try:
        # What is left of `{"steps":…}` is one key, and only then one JSON text.
        return isinstance(json.loads(original[1 : -len(answer) - 2]), str)
    except ValueError:
        return False


def _proposed(args: Any, answer: Any) -> tuple[Path, Any]:
    """The arguments, or the only one of them: a tool that gets `steps` answers with the steps."""
    if not isinstance(args, dict) or not args:
        return [], None
    if isinstance(answer, dict) and args.keys() & answer.keys():
        return [], args
    [(name, sole), *others] = args.items()
    return ([name], sole) if isinstance(sole, dict | list) and not others else ([], None)


def _alike(original: Any, answer: Any) -> bool:
    kinds = (dict, list, str, bool)
    first, second = (next((kind for kind in kinds if isinstance(each, kind)), None) for each in (original, answer))
    return original is not None and answer is not None and first is second


def _differences(original: Any, answer: Any) -> Iterator[Path]:
    if isinstance(original, dict) and isinstance(answer, dict):
        for key in dict.fromkeys([*original, *answer]):
            if key not in original or key not in answer:
                yield [key]
            else:
                yield from ([key, *path] for path in _differences(original[key], answer[key]))
    elif isinstance(original, list) and isinstance(answer, list):
        for place, (old, new) in enumerate(zip(original, answer, strict=False)):
            yield from ([place, *path] for path in _differences(old, new))
        yield from ([place] for place in range(*sorted((len(original), len(answer)))))
    elif not _same_scalar(original, answer):
        yield []


def _same_scalar(original: Any, answer: Any) -> bool:
    if isinstance(original, bool) != isinstance(answer, bool):
        return False
    both_nan = original != original and answer != answer
    return bool(original == answer or both_nan)
