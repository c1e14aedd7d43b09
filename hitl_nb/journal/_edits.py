"""What a person changed in what was proposed, as paths: `[["steps", 1, "status"]]`."""

from collections.abc import Iterator
from typing import Any

Path = list[str | int]


def edited_paths(args: Any, proposal: Any, answer: Any) -> list[Path] | None:
    """Compare an answer with what was proposed.

    Args:
        args: The arguments as JSON data.
        proposal: What a plain Confirm would have answered, as JSON data; None means the arguments themselves.
        answer: The answer as JSON data.

    Returns:
        The place of each difference, in the arguments; empty if there is none. None if the answer is no edited form of
        the proposal at all (a text that answers a question), so that there is nothing to compare.
    """
    place: Path = []
    original = proposal
    if proposal is None:
        place, original = _proposed(args, answer)
    if not _alike(original, answer):
        return None
    return [place + path for path in _differences(original, answer)]


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
            yield from _at(key, key in original and key in answer, original.get(key), answer.get(key))
    elif isinstance(original, list) and isinstance(answer, list):
        shared = min(len(original), len(answer))
        for place in range(max(len(original), len(answer))):
            both = place < shared
            yield from _at(place, both, original[place] if both else None, answer[place] if both else None)
    elif isinstance(original, bool) != isinstance(answer, bool) or original != answer:
        yield []


def _at(step: str | int, in_both: bool, original: Any, answer: Any) -> Iterator[Path]:
    if not in_both:
        yield [step]
    else:
        for path in _differences(original, answer):
            yield [step, *path]
