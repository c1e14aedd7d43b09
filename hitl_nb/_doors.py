"""Where public names are at home: what each says of itself, and what is said to whoever looks in the wrong place.

A class is written in some room of the house and shown at a door: `hitl_nb.Session`, `hitl_nb.people.Policy`. Its repr,
``help()``, tracebacks and pickles name the door, so that a room can be rebuilt.
"""

import ast
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_HOUSE = "hitl_nb"


def at_home(*things: object, door: str = _HOUSE) -> None:
    """Have classes and functions say that they are found at a door; without a name, at the package's own."""
    for thing in things:
        thing.__module__ = door


def all_at_home(door: Mapping[str, Any]) -> None:
    """Do so for what a door shows and its own room has made; what the package shows, too, is at home there.

    Args:
        door: The ``globals()`` of the door.
    """
    name = door["__name__"]
    for shown in door["__all__"]:
        thing = door.get(shown)
        if str(getattr(thing, "__module__", "")).startswith(f"{name}."):
            at_home(thing, door=_HOUSE if shown in sys.modules[_HOUSE].__all__ else name)


def no_such_name(module: str, name: str, renamed: Mapping[str, str] | None = None) -> Exception:
    """Return what a module's ``__getattr__`` raises for a name that it has not: with the line to write.

    Args:
        module: The module.
        name: The name.
        renamed: What some of its names are called now.
    """
    if renamed and name in renamed:
        line = f"from {module} import {renamed[name]}"
    else:
        door = next((door for door, names in _doors() if name in names and door != module), None)
        if door is None:
            shown = ", ".join(sys.modules[module].__all__)
            return AttributeError(f"module `{module}` has no `{name}`; it has {shown}.", name=name)
        line = f"from {door} import {name}"
    # `from hitl_nb import X` would throw an AttributeError's words away; for `hasattr` it has to be one.
    imported = sys._getframe(2).f_globals.get("__name__") == "importlib._bootstrap"
    words = f"`{module}` has no `{name}`. Write `{line}`."
    return ImportError(words, name=module) if imported else AttributeError(words, name=name)


def _doors() -> Iterator[tuple[str, list[str]]]:
    """Each door and what it shows, as it is written there: to import them all would load every library there is."""
    house = sys.modules[_HOUSE]
    yield _HOUSE, house.__all__
    for found in pkgutil.iter_modules(house.__path__, f"{_HOUSE}."):
        folder = Path(house.__path__[0], *found.name.split(".")[1:])
        file = folder / "__init__.py" if found.ispkg else folder.with_suffix(".py")
        if not found.name.startswith(f"{_HOUSE}._") and file.is_file():
            yield found.name, _names_shown(ast.parse(file.read_text(encoding="utf-8")))


def _names_shown(module: ast.Module) -> list[str]:
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return list(ast.literal_eval(node.value))
    return []
