"""The house in figures: how many rooms, who enters them, what they take from each other.

    python -m tests.house [FOLDER] [--json] [--check]

Reads the syntax of `hitl_nb/` in FOLDER (default: this checkout) and imports none of it: that takes seconds, works in
the middle of a move, and measures another commit as well. `--check` exits with 1 where a limit is exceeded.
Figures are signs, not goals: a module that is cut or merged for the sake of its row is worse than before.
"""

import argparse
import ast
import io
import json
import statistics
import sys
import textwrap
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LIMITS = {
    "modules": 115,
    "with a single user, %": 8,
    "annotations that hold Any, %": 12,
    "classes in halves": 0,
    "private members across rooms": 0,
    "a click → next request, functions": 120,
    "a click → next request, files": 30,
}
"""What may not be exceeded; `tests.house_click` counts the last two."""

LONG = 420
"""Lines from which on a file is a place to look for a second idea."""

PACKAGE = "hitl_nb"
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
"""Public, whatever the underscore says."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Modules = dict[str, "Module"]


@dataclass(frozen=True, eq=False)
class Module:
    """One file of the package."""

    name: str
    """As it is imported, ``hitl_nb.cards._view``; a package for its ``__init__``."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def is_init(self) -> bool:
        return self.path.stem == "__init__"

    @property
    def room(self) -> str:
        return room_of(self.name)

    @cached_property
    def imports(self) -> list[tuple[str, str | None]]:
        """What is imported, also inside functions and by name: a module, and what is taken from it."""
        found: list[tuple[str, str | None]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                found += [(self._absolute(node), alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                found += [(alias.name, None) for alias in node.names]
            elif isinstance(node, ast.Call) and _last(node.func) == "import_module":
                found += [(name, None) for name in map(_constant, node.args[:1]) if name]
        return found

    @cached_property
    def imported(self) -> dict[str, str]:
        """Names that an import puts into this module, and what each stands for."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                found |= {alias.asname or alias.name: f"{self._absolute(node)}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        return found

    def full(self, name: str) -> str:
        """What a name of this module is called from anywhere."""
        return self.imported.get(name, f"{self.name}.{name}")

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        above = self.name.split(".")[: -(node.level - self.is_init) or None]
        return ".".join([*above, *filter(None, [node.module])])


def modules_of(folder: Path) -> Modules:
    """Read the package in a folder."""
    found = {}
    for path in sorted((folder / PACKAGE).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name, text = ".".join(parts[: -1 if path.stem == "__init__" else None]), path.read_text()
        found[name] = Module(name=name, path=path, text=text, tree=ast.parse(text, str(path)))
    if not found:
        raise SystemExit(f"There is no `{PACKAGE}/` in {folder}. Write `python -m tests.house <a checkout>`.")
    return found


def room_of(name: str) -> str:
    """The package below ours, or the module that stands alone there."""
    return [*name.split("."), PACKAGE][1]


# -- who enters ---------------------------------------------------------------------------------------------------


def single_users(modules: Modules) -> dict[str, str]:
    """Modules that one other module enters, and which. What an ``__init__`` shows to the world is everybody's."""
    users: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for source, name in module.imports:
            target = f"{source}.{name}" if f"{source}.{name}" in modules else source
            if name is not None and target in modules and target != module.name:
                users[target].add(module.name)
    one = {name: next(iter(found)) for name, found in users.items() if len(found) == 1}
    return {
        name: one[name] for name in modules if name in one and not modules[name].is_init | modules[one[name]].is_init
    }


def is_private(name: str) -> bool:
    """One underscore in front and none behind: those are for Python (`__init__`) and IPython (`_repr_html_`)."""
    return name.startswith("_") and not name.startswith("__") and not name.endswith("_") and name not in NAMED_TUPLE


def privates(modules: Modules) -> tuple[list[str], list[str]]:
    """Private members of another room that a room uses, and those of other people's libraries.

    A syntax tree has no types. Whose `x._y` is goes by what the module says about `x` (its import, its annotation, the
    class it is made of); without that, by who defines a `_y`: the own room first.
    """
    owners: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for name in _defined(module.tree):
            owners[name].add(module.room)
    ours: set[str] = set()
    foreign: set[str] = set()
    for module in modules.values():
        for source, taken in module.imports:
            path = [*source.split("."), *filter(None, [taken])]
            inside = path[0] == PACKAGE
            # Our packages are private towards users; among each other only what is private in them is.
            if any(map(is_private, path[2:] if inside else path)) and room_of(source) != module.room:
                (ours if inside else foreign).add(f"{module.name} → {'.'.join(path)}")
        known = _known(module)
        for value, name in _private_accesses(module.tree):
            told = _told(value, known, module.imported)
            rooms = {room_of(source) for source in told if source.startswith(f"{PACKAGE}.")} & owners[name]
            if not rooms and module.room in owners[name]:
                continue
            rooms = rooms or (set() if told else owners[name])
            if module.room not in rooms:
                (ours if rooms else foreign).add(f"{module.name} → {ast.unparse(value)}.{name}")
    return sorted(ours), sorted(foreign)


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _last(node.value) == "self":
            yield node.attr  # `call._x = …` does not make `_x` ours


_BY_NAME = ("getattr", "setattr", "delattr", "hasattr")
"""With two arguments, and not the methods of the same name, which have one."""


def _private_accesses(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            value, name = node.value, node.attr
        elif isinstance(node, ast.Call) and _last(node.func) in _BY_NAME and len(node.args) > 1:
            value, name = node.args[0], _constant(node.args[1]) or ""
        else:
            continue
        if is_private(name) and _last(value) not in ("self", "cls", "super"):
            yield value, name


def _known(module: Module) -> dict[str, set[str]]:
    """What each variable, parameter and attribute is said to be: our classes in its annotation or its making."""
    known: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            classes = {module.imported.get(name, "") for name in _names(node.annotation)}
            name = node.arg if isinstance(node, ast.arg) else _last(node.target)
            known[name] |= {found for found in classes if found.startswith(f"{PACKAGE}.")}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                known[_last(target)] |= _told(node.value, {}, module.imported)
    return known


def _told(value: ast.expr, known: dict[str, set[str]], imported: dict[str, str]) -> set[str]:
    while isinstance(value, ast.Subscript | ast.Call):  # calls[0], Made(...), Made.of(...)
        inner = value.func if isinstance(value, ast.Call) else value.value
        value = inner.value if isinstance(value, ast.Call) and isinstance(inner, ast.Attribute) else inner
    if isinstance(value, ast.Name) and value.id in imported:
        return {imported[value.id]}
    return known.get(_last(value), set())


# -- what they are made of ----------------------------------------------------------------------------------------


def annotations_of(tree: ast.Module) -> Iterator[set[str]]:
    """The names in each annotation: of a parameter, of what is returned, of an attribute or variable."""
    for node in ast.walk(tree):
        found = node.returns if isinstance(node, Function) else getattr(node, "annotation", None)
        if isinstance(found, ast.expr):
            yield _names(found)


def aliases_of_any(modules: Iterable[Module]) -> set[str]:
    """Names of types that hold `Any` in their turn: ``Json = dict[str, Any]`` hides it, and checks nothing more."""
    found = {"Any"}
    given = [
        (_last(target), _names(node.value))
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Subscript | ast.BinOp | ast.Name)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    while more := {name for name, names in given if names & found} - found:
        found |= more
    return found


def halves(modules: Modules) -> list[str]:
    """One class cut in two: a base with one subclass, in the same room, that is shown to nobody and named nowhere else.

    A `Protocol`, an abstract class and an error are bases by nature.
    """
    classes: dict[str, tuple[Module, ast.ClassDef]] = {}
    children: dict[str, list[tuple[Module, str]]] = defaultdict(list)
    alive: set[str] = set()
    for module in modules.values():
        as_bases: set[ast.expr] = set()
        for node in ast.walk(module.tree):  # from the outside in: a class comes before its bases
            if isinstance(node, ast.ClassDef):
                classes[f"{module.name}.{node.name}"] = module, node
                for base in (base.value if isinstance(base, ast.Subscript) else base for base in node.bases):
                    as_bases.add(base)
                    children[module.full(_last(base))].append((module, node.name))
            elif isinstance(node, ast.Name | ast.Attribute) and node not in as_bases:
                alive.add(module.full(_last(node)))
            elif isinstance(node, ast.Assign) and "__all__" in map(_last, node.targets):
                alive |= {module.full(name) for name in map(_constant, ast.walk(node.value)) if name}
    found = []
    for name, (module, node) in classes.items():
        methods = (inner for inner in ast.walk(node) if isinstance(inner, Function))
        decorators = (_last(decorator) for method in methods for decorator in method.decorator_list)
        by_nature = {"Protocol", "ABC", "Exception", "abstractmethod"} & {*map(_last, node.bases), *decorators}
        rooms = [child.room for child, _ in children[name]]
        if rooms == [module.room] and not by_nature and name not in alive:
            found.append(f"{node.name}/{children[name][0][1]} in {module.room}")
    return sorted(found)


def in_several_rooms(names: Iterable[tuple[str, Module]]) -> list[str]:
    """Names that stand for different things in several rooms, and how often."""
    homes: dict[str, set[str]] = defaultdict(set)
    for name, module in names:
        if not name.startswith("__"):
            homes[name].add(module.name)
    several = {name: len(found) for name, found in homes.items() if len(set(map(room_of, found))) > 1}
    return [f"{name} {count}" for name, count in sorted(several.items(), key=lambda item: (-item[1], item[0]))]


def public_names(body: Iterable[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Functions, classes and methods without an underscore; not the other faces of one (overloads, setters)."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            if {"overload", "setter", "deleter"}.isdisjoint(map(_last, node.decorator_list)):
                yield node
            if isinstance(node, ast.ClassDef):
                yield from public_names(node.body)


# -- syntax -------------------------------------------------------------------------------------------------------


def _names(node: ast.AST) -> set[str]:
    """All names in an expression, also in quoted parts of an annotation."""
    found = set()
    for inner in ast.walk(node):
        found.add(_last(inner))
        try:
            found |= _names(ast.parse(_constant(inner) or "", mode="eval"))
        except SyntaxError:
            continue  # a text that is no expression
    return found


def _last(node: ast.AST) -> str:
    """The last identifier of ``a.b.c`` and of ``a.b.c()``; empty for anything else."""
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _constant(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _comment_lines(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT and token.line.lstrip().startswith("#") for token in tokens)


# -- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One row of the table."""

    value: float
    behind: list[str] | None = None
    """What was counted, by name."""


def counted(found: list[str]) -> Figure:
    """So many."""
    return Figure(len(found), found)


def share(part: int, whole: int) -> Figure:
    """So many of a hundred."""
    return Figure(round(100 * part / max(whole, 1), 1))


def figures_of(folder: Path) -> dict[str, Figure]:
    """Measure the package in a folder."""
    modules = modules_of(folder)
    trees = [module.tree for module in modules.values()]
    functions = [(n, m) for m in modules.values() for n in ast.walk(m.tree) if isinstance(n, Function)]
    top = [(n.name, m) for m in modules.values() for n in m.tree.body if isinstance(n, Function | ast.ClassDef)]
    rooms = Counter(module.room for module in modules.values())
    single = [f"{name} ← {user}" for name, user in single_users(modules).items()]
    ours, foreign = privates(modules)
    annotations = [names for tree in trees for names in annotations_of(tree)]
    hidden = aliases_of_any(modules.values())
    lengths = sorted((node.end_lineno or 0) - node.lineno + 1 for node, _ in functions)
    public = [node for tree in trees for node in public_names(tree.body)]
    lines = {module.path: len(module.text.splitlines()) for module in modules.values()}
    scripts = {path: len(path.read_text().splitlines()) for path in sorted((folder / "widgets").rglob("*.js"))}
    long = [f"{path.relative_to(folder)} {count}" for path, count in {**lines, **scripts}.items() if count > LONG]
    return {
        "modules": Figure(len(modules), [f"{room} {count}" for room, count in sorted(rooms.items())]),
        "with a single user": counted(single),
        "with a single user, %": share(len(single), len(modules)),
        "annotations that hold Any, %": share(sum("Any" in names for names in annotations), len(annotations)),
        "… also through an alias, %": share(sum(bool(names & hidden) for names in annotations), len(annotations)),
        "classes in halves": counted(halves(modules)),
        "private members across rooms": counted(ours),
        "private members of libraries": counted(foreign),
        "names in several rooms": counted(in_several_rooms(top)),
        "modules of one name": counted(in_several_rooms((m.path.stem, m) for m in modules.values())),
        "lines a function, median": Figure(statistics.median(lengths)),
        "lines a function, 95th": Figure(lengths[int(0.95 * len(lengths))]),
        "public names with a docstring, %": share(
            sum(ast.get_docstring(node) is not None for node in public), len(public)
        ),
        f"files over {LONG} lines": counted(long),
        "comment lines, %": share(sum(_comment_lines(m.text) for m in modules.values()), sum(lines.values())),
    }


def exceeded(figures: dict[str, float]) -> list[str]:
    """The figures that are over their limit."""
    return [name for name, value in figures.items() if value > LIMITS.get(name, value)]


def table(figures: dict[str, float]) -> str:
    """Figures beside their limits; an arrow where one is exceeded."""
    over = exceeded(figures)
    limits = {name: f"≤ {LIMITS[name]}{' ←' * (name in over)}" for name in figures if name in LIMITS}
    return "\n".join(f"{name:<44}{value:>6g}  {limits.get(name, '')}".rstrip() for name, value in figures.items())


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent.parent, help="a checkout")
    options.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options.add_argument("--check", action="store_true", help="exit with 1 if a limit is exceeded")
    chosen = options.parse_args()
    found = figures_of(chosen.folder.resolve())
    figures = {name: figure.value for name, figure in found.items()}
    behind = {name: figure.behind for name, figure in found.items() if figure.behind}
    if chosen.json:
        print(json.dumps({"figures": figures, "behind": behind, "exceeded": exceeded(figures)}, ensure_ascii=False))
    else:
        print(table(figures))
        for name, items in behind.items():
            print(f"\n{name}:")
            print(textwrap.fill(" · ".join(items), 118, initial_indent="  ", subsequent_indent="  "))
    sys.exit(bool(chosen.check and exceeded(figures)))


if __name__ == "__main__":
    main()
