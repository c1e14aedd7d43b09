"""What a queue of labels is about: the items as they were when it was asked, how each is shown, the labels and keys.

An item is its place in what was given. Each has a print, and the batch has one of them all: a label that was written
down is never taken for another item.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from hitl_nb._calls import equal, fingerprint, frozen
from hitl_nb.cards import Node, column_words, described, markdown, png, rows_of, seen, text_nodes
from hitl_nb.errors import UsageError
from hitl_nb.journal import LabelPass

Show: TypeAlias = Literal["text", "markdown", "image"] | Callable[[Any], object] | None
"""How an item is shown; a function makes something else of it: a figure, an image, a dict, a text."""

Mark: TypeAlias = Literal[False] | tuple[int, ...] | None
"""What an item has: nothing yet, no label because it was skipped, or labels by their places."""

_MAGIC: Final[Mapping[bytes, str]] = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
_SMALL: Final = 128
"""Pixels that a small picture is drawn with, each of its own as a square."""
_TINY: Final = 48
"""The same in a record."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What is pressed for what; the signs are those that browsers give keys."""

    labels: tuple[str, ...]
    """One a label; empty for those beyond."""

    skip: str
    note: str
    filter: str = "/"
    undo: str = "Backspace"


class Batch:
    """The items of a queue.

    Args:
        items: Any sequence, a Series, or a DataFrame, whose rows are the items.
        labels: What each may be; their words must differ.
        multi: Whether an item may have several.
        show: How each is shown.
        guidelines: Markdown that stands beside the queue.
        shortcuts: Key → label, in the place of digits.
        order: A number an item; the lowest is asked about first.
        before: Place → what is known of an item, in words.

    Raises:
        UsageError: There are no items, no labels, or two that cannot be told apart.
    """

    def __init__(
        self,
        items: Any,
        labels: Iterable[Any],
        *,
        multi: bool = False,
        show: Show = None,
        guidelines: str = "",
        shortcuts: Mapping[str, Any] | None = None,
        order: Iterable[float] | None = None,
        before: Mapping[int, str] | None = None,
    ) -> None:
        self.given = items if hasattr(items, "__len__") else list(_items_of(items))
        self.items: list[Any] = [frozen(item) for item in _items_of(self.given)]
        self.columns = _columns_of(items)
        self.labels = [] if isinstance(labels, str) else list(labels)
        self.words = [described(each).label for each in self.labels]
        self.multi, self.show, self.guidelines = multi, _checked_show(show), guidelines
        self.before = dict(before or {})
        self._check()
        self.order = _order_of(order, len(self.items))
        self._shortcuts = dict(shortcuts or {})
        self.keys = _keys_of(self.words, self._shortcuts)
        self.passes: Callable[[], list[LabelPass]] = list
        """Gives what everybody has done in this queue."""
        self._prints: list[str] | None = None

    def _check(self) -> None:
        if not self.items:
            raise UsageError('There is nothing to label. Write `await label(["a text", "another"], ["good", "bad"])`.')
        if not self.labels:
            raise UsageError('`label` has no labels to choose from. Write `await label(items, ["good", "bad"])`.')
        twice = next((word for word in self.words if self.words.count(word) > 1), None)
        if twice is not None:
            raise UsageError(f"Two labels are called `{twice}`. Write labels whose words differ.")

    def __len__(self) -> int:
        return len(self.items)

    def part(self, places: Sequence[int], before: Sequence[str]) -> "Batch":
        """Return some of the items as a batch of their own, each with what is known of it."""
        room, given = _room(self.given), self.given
        some: Any = [self.items[at] for at in places]
        if room == "pandas" and hasattr(given, "iloc"):
            some = given.iloc[list(places)]
        elif room == "polars":
            some = cast("Any", given)[list(places)]
        return Batch(
            some,
            self.labels,
            multi=self.multi,
            show=self.show,
            guidelines=self.guidelines,
            shortcuts=self._shortcuts,
            before=dict(enumerate(before)),
        )

    # -- which items these are ----------------------------------------------------------------------------

    @property
    def content(self) -> str:
        """The print of all items, in their order; the same in every process."""
        self._prints = self._prints or [_print(item) for item in self.items]
        return sha256("".join(self._prints).encode()).hexdigest()

    def has_changed(self) -> bool:
        """Whether code has changed the items since they were asked about."""
        now = list(_items_of(self.given))
        try:
            return len(now) != len(self.items) or sha256("".join(map(_print, now)).encode()).hexdigest() != self.content
        except UsageError:
            return False  # what has no content is itself

    def place_of(self, label: object) -> int:
        """Return the place of a label, from itself or its words; -1 if there is none.

        Args:
            label: A label.
        """
        for place, each in enumerate(self.labels):
            if each is label or equal(each, label):
                return place
        return self.words.index(label) if isinstance(label, str) and label in self.words else -1

    # -- how they are seen --------------------------------------------------------------------------------

    def nodes(self, at: int) -> list[Node]:
        """Return what is drawn of an item; what goes wrong in a function of the user's own is said in its place."""
        item = self.items[at]
        if callable(self.show):
            shown = self.show(item)
            nodes = _shown(shown)
            _close(shown)
            return nodes
        if self.columns is not None:
            return [_outline(self.columns, item)]
        if self.show == "markdown":
            return markdown(str(item))
        if self.show == "image":
            return [_picture(item)]
        return [["plain", {}, str(item)]] if self.show == "text" else _shown(item)

    def thumbnail(self, at: int) -> list[Any] | None:
        """Return a small picture of an item that is shown as one; None for all others."""
        node = _picture(self.items[at], _TINY) if self.show == "image" else None
        return node if isinstance(node, list) and node[0] == "img" else None

    def text(self, at: int) -> str:
        """Return an item as text: to search in, and to read in a record, without its secrets."""
        item = self.items[at]
        if isinstance(item, str):
            return item
        if callable(self.show) or self.show == "image" or isinstance(item, bytes):
            return _in_short(item)
        value = dict(zip(map(str, self.columns), item, strict=True)) if self.columns is not None else item
        rows = rows_of(value, None)
        return "; ".join(f"{row.label}: {row.text}" if row.label else row.text for row in rows)


def _checked_show(show: Show) -> Show:
    if show in (None, "text", "markdown", "image") or callable(show):
        return show
    raise UsageError(
        f'`show={show!r}` shows nothing. Write `show="text"`, `show="markdown"`, `show="image"`, or a function that '
        "makes a figure, an image or a text of an item."
    )


def _room(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _items_of(given: Any) -> Iterable[Any]:
    if isinstance(given, str | bytes | Mapping | Set):
        what = "has no order" if isinstance(given, Set) else "is one item and no queue of them"
        raise UsageError(f"A `{type(given).__name__}` {what}. Write `await label([first, second], labels)`.")
    if _room(given) == "pandas" and hasattr(given, "columns"):
        parts = [given.iloc[:, at].array for at in range(given.shape[1])]
        return zip(*parts, strict=True) if parts else []
    if _room(given) == "polars" and hasattr(given, "iter_rows"):
        return cast("Iterable[Any]", given.iter_rows())
    try:
        return cast("Iterable[Any]", iter(given))
    except TypeError:
        raise UsageError(
            f"A `{type(given).__name__}` has no items. Write `await label(texts, labels)` with a list, a Series or a "
            "DataFrame."
        ) from None


def _columns_of(given: object) -> list[str] | None:
    if _room(given) not in ("pandas", "polars") or not hasattr(given, "columns"):
        return None
    return [column_words(each) for each in given.columns]


def _order_of(order: Iterable[float] | None, count: int) -> list[int] | None:
    if order is None:
        return None
    scores = [float(score) for score in order]
    if len(scores) != count or any(score != score for score in scores):
        raise UsageError(
            f"`order` has a number for {len(scores)} items, and there are {count}. Write one each, the lowest first: "
            "`order=confidence`."
        )
    return sorted(range(count), key=scores.__getitem__)


def _keys_of(words: Sequence[str], shortcuts: Mapping[str, object]) -> Keys:
    """Digits, but for the keys that somebody has chosen, and for digits that are labels themselves."""
    own: dict[str, str] = {}
    for key, label in shortcuts.items():
        word = described(label).label
        if not isinstance(key, str) or len(key) != 1 or not key.isprintable() or key in " /":
            raise UsageError(f'`{key!r}` is no key for a label. Write one sign, e.g. `shortcuts={{"p": "positive"}}`.')
        if word not in words:
            raise UsageError(f"`shortcuts` has a key for `{word}`, which is no label. Write one of {', '.join(words)}.")
        own[word] = key
    taken = set(own.values())
    own |= {word: word for word in words if len(word) == 1 and word in "0123456789" and word not in own}
    taken |= set(own.values())
    free = iter([key for key in "123456789abcdefghijklmopqrtuvwxyz" if key not in taken])
    keys = tuple(own.get(word) or next(free, "") for word in words)
    taken |= set(keys)
    skip = next((key for key in "0s-_" if key not in taken), "")
    note = next((key for key in "n+#" if key not in taken), "")
    return Keys(labels=keys, skip=skip, note=note)


# -- one item ---------------------------------------------------------------------------------------------------------


def _print(item: object) -> str:
    """What an item is compared by: its content, else what is seen of it."""
    try:
        return fingerprint(item)
    except UsageError:
        nodes = _shown(item)
        if nodes and isinstance(nodes[0], list) and nodes[0][0] == "img":
            return fingerprint(nodes[0][1]["src"])
        raise UsageError(
            f"A `{type(item).__name__}` has no content to tell it from another by. Write `label(range(len(items)), "
            "labels, show=lambda at: items[at])`."
        ) from None


def _shown(value: object) -> list[Node]:
    if isinstance(value, bytes) and any(value.startswith(magic) for magic in _MAGIC):
        return [_picture(value)]
    return text_nodes(value) if isinstance(value, str) else seen(value)


def _outline(columns: Sequence[str], row: Sequence[object]) -> Node:
    parts: list[Any] = []
    for name, value in zip(columns, row, strict=True):
        parts += [["dt", {}, name], ["dd", {}, *seen(value, name=name)]]
    return ["dl", {}, *parts]


def _in_short(item: object) -> str:
    if isinstance(item, str | int | float):
        return str(item)
    size = getattr(item, "shape", None) or getattr(item, "size", None)
    return f"{type(item).__name__} {' × '.join(map(str, size))}" if isinstance(size, tuple) else type(item).__name__


def _close(figure: object) -> None:
    """A figure that was made for us is drawn once, and not below the cell."""
    plots = sys.modules.get("matplotlib.pyplot")
    made = figure if hasattr(figure, "savefig") else getattr(figure, "figure", None)
    if plots is not None and hasattr(made, "savefig"):
        plots.close(made)


def _picture(item: object, pixels: int = _SMALL) -> Node:
    """Return a picture: an array of numbers of any kind, its range said; or the bytes of a file, or where it is."""
    if isinstance(item, str | Path):
        item = Path(item).read_bytes()
    if isinstance(item, bytes):
        import base64

        kind = next((kind for magic, kind in _MAGIC.items() if item.startswith(magic)), None)
        if kind is None:
            return ["em", {}, "These bytes are no PNG, JPEG, GIF or WebP."]
        return ["img", {"src": f"data:image/{kind};base64,{base64.b64encode(item).decode()}"}, "Picture"]
    if _room(item) == "numpy" and getattr(item, "ndim", 0) in (2, 3):
        return _of_array(item, pixels)
    nodes = seen(item)
    return nodes[0] if nodes and not isinstance(nodes[0], str) else ["em", {}, f"A {type(item).__name__}, no picture."]


def _of_array(array: Any, pixels: int) -> Node:
    import numpy as np

    words = f"Picture, {array.shape[1]} × {array.shape[0]} pixels"
    if str(array.dtype) != "uint8":
        numbers = np.nan_to_num(array.astype("float64"), posinf=0, neginf=0)
        low, high = float(numbers.min()), float(numbers.max())
        words += f", values from {low:g} to {high:g}"
        array = ((numbers - low) * (255 / (high - low) if high > low else 0)).round().astype("uint8")
    if array.ndim == 3 and array.shape[2] not in (3, 4):
        array = array[:, :, 0]
    larger = pixels // max(array.shape[:2])
    if larger > 1:
        array = array.repeat(larger, axis=0).repeat(larger, axis=1)
    return png(array, words)
