"""Shared state: one document, which the agent and the person both change.

The web replaces: a snapshot of the agent overwrites what a person has edited meanwhile, and nobody hears of it. Here
both sides are merged place by place (`hitl_nb._merge`) against what was last agreed on: what the agent was sent, and
what it has said since. An overlap is a `StateConflict` with both values. Until somebody resolves it the person's value
stands, and is what the next run sends.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from hitl_nb._limits import contained
from hitl_nb._merge import (
    NOT_THERE,
    Overlap,
    Path,
    changes,
    copied,
    in_order,
    merge,
    path_of,
    put,
    same,
    text_of,
    value_at,
)
from hitl_nb._text import logger, said_line
from hitl_nb.agents import RESERVED
from hitl_nb.errors import InvalidValue, UsageError

_log = logger()

By = Literal["person", "agent"]
"""Who has changed something: the person, which is the notebook's code, too, or the agent."""


@dataclass(frozen=True, kw_only=True)
class StateConflict:
    """One place that the agent and the person have changed, each in its own way. The person's value stands."""

    path: str
    """Where, as `State.resolve` takes it: ``trip.steps[id=7].title``."""

    was: Any
    """What both had agreed on."""

    yours: Any
    """What the person has made of it."""

    theirs: Any
    """What the agent has made of it; ``(not there)`` if it took it away."""

    is_order: bool = False
    """Whether it is the order of rows, by their ids."""


@dataclass(frozen=True, kw_only=True)
class StateChange:
    """What an observer of the state is told."""

    path: str
    """The path that is observed."""

    old: Any
    new: Any

    by: By
    """Who has changed it."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Which argument of which tool is about to become which key of the state."""

    key: str
    tool: str
    argument: str | None
    """None: all of them."""


class State:
    """The state that a session shares with its agent, ``session.state``: a document of plain data, or a pydantic model.

    Read and change it as a dict, by paths, or through `value`; also changes inside of it are noticed, when the next run
    begins at the latest. What the person changes travels with the next run.

    Attributes:
        conflicts: Where both sides have changed the same, oldest first. The person's value stands until `resolve`.

    ::

        session.state["budget"] = 900
        session.state.set("steps[id=2].done", True)
        session.state.observe(lambda change: print(change.new), "steps[id=2].done")
        session.state.edit()  # as the last line of a cell: an editor
    """

    def __init__(self, value: Any = None) -> None:
        self._model: type[BaseModel] | None = None
        self._instance: tuple[BaseModel, Any] | None = None
        self._observers: list[tuple[Path, Callable[[StateChange], object]]] = []
        self._watchers: list[Callable[[], object]] = []
        self._conflicts: dict[tuple[Path, bool], StateConflict] = {}
        self._sent: dict[Path, tuple[Any, Any]] = {}
        """What was sent and the agent has not confirmed: what it had said before, and what it was sent."""
        self._heard: set[str] = set()
        """The keys that the agent has said itself."""
        self._last: Any = None
        """The document as the agent has it: what it was sent, or said last."""
        self._guessed: dict[str, Any] = {}
        self.predictions: list[Prediction] = []
        """What `predict` was told."""
        self.saved: Callable[[], object] = lambda: None
        """Called when the person has changed something: it is kept."""
        self.out_of_step = False
        """Whether a change of the agent's did not fit here, and is missing until the agent says all of it."""
        self._mine = self._theirs = self._known = self._taken(value)

    # -- reading ------------------------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The state: plain data, or the model that the session was given. It may be changed in place.

        Raises:
            InvalidValue: What the agent has sent does not fit the model; `data` has it.
        """
        if self._model is None:
            return self._mine
        self.notice()
        if self._instance is None:
            try:
                instance = self._model.model_validate(copied(self._mine))
            except ValidationError as error:
                raise InvalidValue(
                    f"The shared state does not fit `{self._model.__name__}`: {error}. Read `session.state.data`."
                ) from None
            self._instance = instance, instance.model_dump(mode="json", by_alias=True)
        return self._instance[0]

    @property
    def data(self) -> Any:
        """The state as plain data, a copy."""
        self.notice()
        return copied(self._mine)

    @property
    def predicted(self) -> Any:
        """The same, with what the agent is about to write while the arguments of a tool stream; a copy."""
        data = self.data
        return {**data, **copied(self._guessed)} if isinstance(data, dict) else data

    def get(self, path: "str | Path", default: object = None) -> Any:
        """Return what stands at a path, or `default`."""
        found = value_at(self._mine, _read(path))
        return default if found is NOT_THERE else found

    def __getitem__(self, key: object) -> Any:
        return self._mine[key]

    def __contains__(self, key: object) -> bool:
        return key in self._mine

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mine)

    def __len__(self) -> int:
        return len(self._mine)

    def keys(self) -> Any:
        """Return the keys, as of a dict."""
        return self._mine.keys()

    def __eq__(self, other: object) -> bool:
        return same(self._mine, other._mine if isinstance(other, State) else _plain(other))

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        count = len(self._conflicts)
        told = f" · {count} conflict{'s' if count > 1 else ''}" if count else ""
        return said_line(f"<State {self._mine!r}{told}>")

    # -- changing -----------------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set((key,), value)

    def __delitem__(self, key: Any) -> None:
        if key not in self._mine:
            raise KeyError(key)
        self.delete((key,))

    def set(self, path: "str | Path", value: object) -> None:
        """Change what stands at a path, as the person.

        Raises:
            InvalidValue: It does not fit the model of the state; nothing is changed.
            UsageError: What the path stands in is not there.
        """
        self.notice()
        where = _read(path)
        try:
            after = put(self._mine, where, _plain(value))
        except LookupError:
            known = ", ".join(map(str, self._mine)) if isinstance(self._mine, dict) else type(self._mine).__name__
            raise UsageError(
                f"The shared state has no place `{text_of(where)}`: what it stands in is not there. It has {known}."
            ) from None
        self._check(after, where)
        self._become(after)

    def delete(self, path: "str | Path") -> None:
        """Take away what stands at a path, as the person."""
        self.notice()
        self._become(put(self._mine, _read(path), NOT_THERE))

    def replace(self, value: object) -> None:
        """Change the whole document, as the person; ``session.state = value`` does the same."""
        self.notice()
        self._become(self._taken(value))

    def notice(self) -> None:
        """Take note of what was changed in place, inside of `value`."""
        if self._instance is not None:
            instance, known = self._instance
            now = instance.model_dump(mode="json", by_alias=True)
            for path, _, new in list(changes(known, now)):
                self._mine = put(self._mine, path, new)
            self._instance = instance, now
        if not same(self._mine, self._known):
            self._tell(self._known, "person")

    def _become(self, after: object) -> None:
        before, self._mine = self._mine, after
        self._instance = None
        self._tell(before, "person")

    def _taken(self, value: object) -> Any:
        model = value if isinstance(value, type) else type(value)
        if issubclass(model, BaseModel):
            self._model = model
            if isinstance(value, type):
                try:
                    value = value()
                except ValidationError:
                    value = {}  # what has no default, the agent or the person will say
        return copied(_plain(value))

    def _check(self, after: object, where: Path) -> None:
        """Refuse what is wrong here; what is wrong elsewhere is not this person's doing."""
        if self._model is None:
            return
        try:
            self._model.model_validate(copied(after))
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                common = min(len(where), len(fault["loc"]))
                if all(
                    isinstance(step, str) is False or step == at
                    for step, at in zip(where, fault["loc"][:common], strict=False)
                ):
                    raise InvalidValue(f"`{text_of(where)}`: {fault['msg']}.") from None

    # -- looking on ---------------------------------------------------------------------------------------

    def observe(self, function: Callable[[StateChange], object], path: "str | Path" = "") -> Callable[[], None]:
        """Have `function` called with a `StateChange` whenever what stands at `path` changes, whoever changes it.

        Args:
            function: Called in the loop's thread, after the change.
            path: Where, ``steps[id=2].done``; default: anywhere.

        Returns:
            A function that ends it.
        """
        entry = (_read(path), function)
        self._observers.append(entry)
        return lambda: self._observers.remove(entry) if entry in self._observers else None

    def watch(self, function: Callable[[], object]) -> Callable[[], None]:
        """Have `function` called whenever the state, a prediction or a conflict has changed; gives what ends it."""
        self._watchers.append(function)
        return lambda: self._watchers.remove(function) if function in self._watchers else None

    def link(self, widget: Any, path: "str | Path", trait: str = "value") -> Callable[[], None]:
        """Keep a trait of any ipywidget and what stands at a path the same, in both directions.

        Returns:
            A function that ends it.
        """
        where = _read(path)
        if (now := value_at(self._mine, where)) is not NOT_THERE:
            setattr(widget, trait, now)

        def to_state(change: Any) -> None:
            if not same(value_at(self._mine, where), _plain(change["new"])):
                self.set(where, change["new"])

        def to_widget(change: StateChange) -> None:
            if change.new is not NOT_THERE and not same(_plain(getattr(widget, trait)), change.new):
                setattr(widget, trait, change.new)

        widget.observe(to_state, names=trait)
        unobserve = self.observe(to_widget, where)

        def end() -> None:
            unobserve()
            widget.unobserve(to_state, names=trait)

        return end

    def predict(self, key: str, *, tool: str, argument: str | None = None) -> None:
        """Show in `predicted` what the agent is about to write, while the arguments of a tool stream.

        An agent may say so itself, by the ``PredictState`` event.

        Args:
            key: Which key of the state.
            tool: By which tool's arguments.
            argument: By which of them; default: all.
        """
        self.predictions.append(Prediction(key=key, tool=tool, argument=argument))

    def edit(self) -> Any:
        """Return an editor of the state, the last line of a cell: fields, rows to add, move and remove, conflicts."""
        from hitl_nb.cards import StateEditor

        return StateEditor(self)

    def _tell(self, before: object, by: By) -> None:
        if by == "person":
            self._settle()
        self._known = copied(self._mine)
        if by == "person":
            self.saved()
        for path, function in tuple(self._observers):
            old, new = value_at(before, path), value_at(self._mine, path)
            if not same(old, new):
                self._call(function, StateChange(path=text_of(path), old=old, new=copied(new), by=by))
        self.announce()

    def announce(self) -> None:
        """Tell those who watch."""
        for watcher in tuple(self._watchers):
            self._call(watcher)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            with contained("An observer of the shared state"):
                function(*arguments)
        except Exception:
            _log.exception("An observer of the shared state failed")

    # -- conflicts ----------------------------------------------------------------------------------------

    @property
    def conflicts(self) -> list[StateConflict]:
        """Where both sides have changed the same, oldest first."""
        self.notice()
        return list(self._conflicts.values())

    @property
    def schema(self) -> Mapping[str, Any]:
        """What is known about it: the JSON Schema of its model, or nothing."""
        return self._model.model_json_schema() if self._model is not None else {}

    def edited(self, path: Path, base: object, value: object) -> None:
        """Take what a person has made of a place that they saw as `base`; what the agent has made of it since counts.

        Raises:
            InvalidValue: It does not fit the model; nothing is changed.
        """
        self.notice()
        now = value_at(self._mine, path)
        merged, overlaps = merge(base, value, now)
        try:
            after = put(self._mine, path, merged)
        except LookupError:
            raise InvalidValue(f"`{text_of(path)}` is not there any more; the agent has taken it away.") from None
        if merged is not NOT_THERE:
            self._check(after, path)
        for overlap in overlaps:
            self._note(replace(overlap, path=(*path, *overlap.path)))
        self._become(after)

    def resolve(self, path: "str | Path", take: Literal["mine", "theirs"]) -> None:
        """Resolve a conflict: keep the person's value, or take the agent's. To `set` a third one resolves nothing.

        Raises:
            UsageError: There is no conflict at this path, or `take` is neither.
        """
        self.notice()
        found = [key for key, each in self._conflicts.items() if each.path == path or key[0] == path]
        if not found or take not in ("mine", "theirs"):
            paths = ", ".join(f"`{each.path}`" for each in self._conflicts.values()) or "none"
            raise UsageError(
                f"There is no conflict `{path}` to resolve by `{take}`; there is {paths}. "
                'Write `session.state.resolve(session.state.conflicts[0].path, "mine")` or "theirs".'
            )
        for key in found:
            conflict = self._conflicts.pop(key)
            if take == "theirs":
                value = conflict.theirs
                if conflict.is_order:
                    value = in_order(value_at(self._mine, key[0]), conflict.theirs)
                self._mine = put(self._mine, key[0], copied(value))
                self._instance = None
        self._tell(self._known, "person")

    def _settle(self) -> None:
        """The person has changed something: a conflict has their new value, or is over if it is the agent's."""
        self._widen(self._mine)
        for key, conflict in list(self._conflicts.items()):
            now = _shape(value_at(self._mine, key[0]), conflict.is_order)
            if same(now, conflict.theirs):
                del self._conflicts[key]
            elif not same(now, conflict.yours):
                self._conflicts[key] = replace(conflict, yours=copied(now))

    def _widen(self, mine: object) -> None:
        """A conflict whose place the person has replaced as a whole, or cut off, is about all of that now."""
        for key, conflict in list(self._conflicts.items()):
            if not _has_room(mine, key[0]):
                end = next(end for end in range(len(key[0])) if not _has_room(mine, key[0][: end + 1]))
                inside = key[0][:end]
                del self._conflicts[key]
                overlap = Overlap(
                    path=inside, was=conflict.was, mine=value_at(mine, inside), theirs=value_at(self._theirs, inside)
                )
                if not same(overlap.mine, overlap.theirs):
                    self._note(overlap)

    def _note(self, overlap: Overlap) -> None:
        key = overlap.path, overlap.is_order
        depth = len(overlap.path)
        for path, is_order in list(self._conflicts):
            if path[:depth] == overlap.path and (path, is_order) != key and not overlap.is_order:
                del self._conflicts[path, is_order]  # it is part of this one now
        known = self._conflicts.get(key)
        self._conflicts[key] = StateConflict(
            path=text_of(overlap.path),
            was=copied(known.was if known else overlap.was),
            yours=copied(overlap.mine),
            theirs=copied(overlap.theirs),
            is_order=overlap.is_order,
        )

    # -- the session's side -------------------------------------------------------------------------------

    def to_send(self) -> Any:
        """Return what a run of the agent is given, the person's changes with it: that is agreed on from now on."""
        self.notice()
        self._sent = {path: (old, new) for path, old, new in changes(self._theirs, self._mine)}
        self._theirs = self._last = copied(self._mine)
        return copied(self._mine)

    def receive(self, theirs: object, *, whole: bool = True) -> None:
        """Take what the agent says the state is now.

        Args:
            theirs: All of it; what a framework keeps there for itself is not the user's.
            whole: Whether the agent has said all of it, and not only what has changed.
        """
        self.notice()
        theirs = self._with_what_it_does_not_know(self._for_the_user(theirs), whole=whole)
        self._guessed = {}
        self.out_of_step = self.out_of_step and not whole
        before = self._mine
        agreed, self._theirs = self._theirs, copied(theirs)
        merged, overlaps = merge(agreed, before, self._theirs)
        for overlap in overlaps:
            self._note(overlap)
        merged = self._with_what_was_sent(before, self._with_what_stands(before, merged))
        self._close_agreed(merged, whole=whole)
        if same(before, merged):
            self.announce()
            return
        self._mine, self._instance = copied(merged), None
        self._tell(before, "agent")

    def _for_the_user(self, theirs: Any) -> Any:
        """Leave out what a server sends of its own: CrewAI and LangGraph say the messages and the tools here, too."""
        if not isinstance(theirs, dict) or not isinstance(theirs.get("messages"), list):
            return theirs
        mine = self._mine if isinstance(self._mine, dict) else {}
        return {key: value for key, value in theirs.items() if key not in RESERVED or key in mine}

    def _with_what_it_does_not_know(self, theirs: Any, *, whole: bool) -> Any:
        """A snapshot without a key that the agent has never said takes nothing away: a Flow may have no such field."""
        last, self._last = self._last, theirs
        if not isinstance(theirs, dict) or not isinstance(self._theirs, dict):
            return theirs
        if whole or not isinstance(last, dict):
            self._heard.update(theirs)
        else:
            self._heard.update(key for key in last.keys() | theirs.keys() if not _is_in_both(key, last, theirs))
        kept = {key: value for key, value in self._theirs.items() if key not in theirs and key not in self._heard}
        return {**copied(kept), **theirs}

    def _with_what_stands(self, before: object, merged: object) -> Any:
        """As long as a conflict is open, the person's value stands, also when the agent writes another one again."""
        for (path, is_order), conflict in list(self._conflicts.items()):
            if (
                not is_order
                and not same(value_at(merged, path), conflict.yours)
                and same(value_at(before, path), conflict.yours)
            ):
                merged = self._standing(before, merged, path, conflict.yours)
        return merged

    def _standing(self, before: object, merged: object, path: Path, value: object) -> Any:
        """Have a value stand; where the agent has replaced what it stands in, all of that is the conflict."""
        try:
            return put(merged, path, copied(value))
        except LookupError:
            inside = next(
                path[:end] for end in range(len(path)) if not isinstance(value_at(merged, path[:end]), dict | list)
            )
            mine = value_at(before, inside)
            self._note(Overlap(path=inside, was=mine, mine=mine, theirs=value_at(merged, inside)))
            return put(merged, inside, copied(mine))

    def _with_what_was_sent(self, before: object, merged: object) -> Any:
        """An agent that says what it said before it was sent an edit has not taken it, or takes it back: who knows."""
        sent_then, self._sent = self._sent, {}
        for path, (old, sent) in sent_then.items():
            said, now = value_at(self._theirs, path), value_at(merged, path)
            if same(said, sent) or not same(said, old):
                continue
            # What the person has made of it meanwhile counts, if they have.
            mine = sent if same(now, said) else now
            merged = self._standing(before, merged, path, mine)
            self._note(Overlap(path=path, was=old, mine=mine, theirs=said))
        return merged

    def _close_agreed(self, merged: object, *, whole: bool) -> None:
        """What the agent itself says as the person wants it is no conflict any more; what it has changed again is."""
        self._widen(merged)
        for key, conflict in list(self._conflicts.items()):
            theirs = _shape(value_at(self._theirs, key[0]), conflict.is_order)
            mine = _shape(value_at(merged, key[0]), conflict.is_order)
            if same(theirs, mine):
                if whole:
                    del self._conflicts[key]
            elif not same(mine, conflict.yours) or not same(theirs, conflict.theirs):
                self._conflicts[key] = replace(conflict, yours=copied(mine), theirs=copied(theirs))

    def guess(self, key: str, value: object) -> None:
        """Show what the agent is about to write; forgotten when it has, or when its run is over."""
        if not same(self._guessed.get(key, NOT_THERE), value):
            self._guessed[key] = value
            self.announce()

    def guess_no_more(self) -> None:
        """Forget what the agent was about to write."""
        if self._guessed:
            self._guessed = {}
            self.announce()

    def beside(self) -> dict[str, Any] | None:
        """Return what has to be kept beside the document itself; None if nothing is open."""
        self.notice()
        if not self._conflicts and same(self._mine, self._theirs):
            return None
        rows = [
            [list(map(_step_out, path)), is_order, *(_out(part) for part in (each.was, each.yours, each.theirs))]
            for (path, is_order), each in self._conflicts.items()
        ]
        return {"theirs": _out(self._theirs), "conflicts": rows}

    def restore(self, document: Any, beside: Mapping[str, Any] | None) -> None:
        """Take what an earlier kernel has left."""
        self._mine, self._instance = copied(document), None
        self._theirs = copied(_in(beside["theirs"])) if beside else copied(document)
        self._known = copied(self._mine)
        for steps, is_order, was, yours, theirs in beside["conflicts"] if beside else ():
            overlap = Overlap(
                path=tuple(map(_step_in, steps)), was=_in(was), mine=_in(yours), theirs=_in(theirs), is_order=is_order
            )
            self._note(overlap)


def _is_in_both(key: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return key in one and key in other and same(one[key], other[key])


def _has_room(document: object, path: Path) -> bool:
    """Whether something can be put there."""
    try:
        put(document, path, None)
    except LookupError:
        return False
    return True


def _read(path: "str | Path") -> Path:
    try:
        return path_of(path)
    except ValueError:
        raise UsageError(
            f"`{path}` is no path. Write `steps[0].title`, `steps[id=7].title`, or a tuple of keys and positions."
        ) from None


def _plain(value: object) -> Any:
    """Models, dataclasses and tuples as plain data; what has no JSON form stays what it is."""
    if isinstance(value, str | int | float | bool | None):
        return value
    try:
        return to_jsonable_python(value, by_alias=True)
    except Exception:
        return value


def _shape(value: object, is_order: bool) -> Any:
    if not is_order:
        return value
    return [row.get("id") if isinstance(row, Mapping) else row for row in value] if isinstance(value, list) else value


def _out(value: object) -> list[Any]:
    return [] if value is NOT_THERE else [to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="strings")]


def _in(kept: list[Any]) -> Any:
    return kept[0] if kept else NOT_THERE


def _step_out(step: Any) -> Any:
    return {"id": step.id} if not isinstance(step, str | int) else step


def _step_in(step: object) -> Any:
    from hitl_nb._merge import RowId

    return RowId(step["id"]) if isinstance(step, dict) else step
