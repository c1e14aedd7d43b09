"""What an agent is given beside the words: a file, figure or table with a message, and values of the notebook.

A picture travels as one where the agent takes pictures (`takes_images`). Everything else, and everything elsewhere, is
said in words that can be read: a table by its columns and first rows, a text file by its text. Values that the agent
is told of in each run (the web's `useAgentContext`) are read again each time, and said in the same words.
"""

import base64
import json
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ag_ui.core import ContentPart, Context, ImageInputContent, InputContentDataSource, TextInputContent
from pydantic_core import to_jsonable_python

from hitl_nb._encoding import whole_text
from hitl_nb._limits import brief, contained, words_of
from hitl_nb._text import logger
from hitl_nb.errors import UsageError

Part = ContentPart
"""A part of a user's message."""

Content = str | list[Part]
"""A user's message as an agent gets it."""

_LARGEST = 20 * 1024 * 1024
"""Bytes of one file; the web's own limit."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BETWEEN = "\n\n"
"""Between the words and what went with them, where all of it is one text."""
_LONGEST = 20_000
"""Characters of one text or value that an agent is told."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """One thing that goes with a message."""

    name: str
    """What it is called, for the person."""

    text: str
    """What the agent reads of it."""

    picture: tuple[str, bytes] | None = None
    """Its type and bytes, if it is one."""

    def part(self, *, images: bool) -> Part:
        """Return it as a part of a message, as a picture where that is taken."""
        if self.picture is None or not images:
            return TextInputContent(text=self.text)
        kind, data = self.picture
        source = InputContentDataSource(value=base64.b64encode(data).decode(), mime_type=kind)
        return ImageInputContent(source=source)

    @property
    def address(self) -> str:
        """Return the picture as an address that holds it; nothing if it is none."""
        if self.picture is None:
            return ""
        kind, data = self.picture
        return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What a user has said, and what went with it."""

    words: str
    """The words alone."""

    attachments: tuple[Attachment, ...] = ()
    """What went with them."""

    def content(self, *, images: bool) -> Content:
        """Return it as the content of a message, with pictures as such where they are taken."""
        if not self.attachments:
            return self.words
        said = [TextInputContent(text=self.words)] if self.words else []
        made = [each.part(images=images) for each in self.attachments]
        if all(isinstance(part, TextInputContent) for part in made):  # one text, which every agent takes
            return _BETWEEN.join(part.text for part in [*said, *made] if isinstance(part, TextInputContent))
        return [*said, *made]

    def kept(self) -> dict[str, Any]:
        """Return what is kept beside its message, from which `recalled` tells the words from what went with them."""
        attached = [[each.name, each.text if each.picture else len(whole_text(each.text))] for each in self.attachments]
        return {"words": len(whole_text(self.words)), "attached": attached}


def recalled(content: Content, kept: Mapping[str, Any]) -> Sent | None:
    """Return what was said in a message of an earlier kernel; a picture that the agent was not given is a name.

    Args:
        content: The message's.
        kept: What `Sent.kept` gave.

    Returns:
        None where they do not fit together: a secret has been taken out of the message since.
    """
    spoken, attached = int(kept["words"]), kept["attached"]
    parts = [*content] if isinstance(content, list) else _apart(content, spoken, attached)
    if len(parts) != len(attached) + bool(spoken):
        return None
    words = parts.pop(0) if spoken else TextInputContent(text="")
    if not isinstance(words, TextInputContent):
        return None
    return Sent(words=words.text, attachments=tuple(map(_recalled, parts, attached)))


def _apart(content: str, spoken: int, attached: Sequence[tuple[str, str | int]]) -> list[Part]:
    lengths = [len(whole_text(about)) if isinstance(about, str) else about for _, about in attached]
    texts: list[str] = []
    at = 0
    for length in [spoken, *lengths] if spoken else lengths:
        texts.append(content[at : at + length])
        at += length + len(_BETWEEN)
    fits = _BETWEEN.join(texts) == content and at == len(content) + len(_BETWEEN)
    return [TextInputContent(text=text) for text in texts] if fits else []


def _recalled(part: Part, kept: tuple[str, str | int]) -> Attachment:
    name, about = kept
    if isinstance(part, ImageInputContent) and isinstance(part.source, InputContentDataSource):
        source = part.source
        return Attachment(name=name, text=str(about), picture=(source.mime_type, base64.b64decode(source.value)))
    return Attachment(name=name, text=part.text if isinstance(part, TextInputContent) else str(about))


def attachment_of(thing: object, name: str | None = None) -> Attachment:
    """Return what goes with a message for a path, a figure, an image, a DataFrame or data.

    Raises:
        UsageError: There is no such file, or it is too large.
    """
    if isinstance(thing, str | Path):
        return _file(Path(thing), name)
    if hasattr(thing, "savefig"):
        return _picture(_png(thing.savefig, format="png"), name or "figure", _title(thing))
    if hasattr(thing, "save") and hasattr(thing, "size") and hasattr(thing, "mode"):
        return _picture(_png(thing.save, format="PNG"), name or "image", f"{thing.size[0]} × {thing.size[1]} pixels")
    shape = getattr(thing, "shape", None)
    label = f"table of {shape[0]:,} rows" if isinstance(shape, tuple) and shape else type(thing).__name__
    return Attachment(name=name or label, text=f"[{name or 'attached'}]\n{summary_of(thing)}")


def text_in(content: Any) -> str:
    """Return the words of a user's message, without what went with them."""
    if isinstance(content, str):
        return content
    return next((part.text for part in content or () if isinstance(part, TextInputContent)), "")


def _png(save: Any, **options: str) -> bytes:
    import io

    held = io.BytesIO()
    save(held, **options)
    return held.getvalue()


def _title(figure: object) -> str:
    titles = [axes.get_title() for axes in getattr(figure, "axes", [])]
    return ", ".join(title for title in titles if title)


def _picture(data: bytes, name: str, about: str, kind: str = "image/png") -> Attachment:
    words = f": {about}" if about else ""
    return Attachment(name=name, text=f"[picture {name}{words}; you cannot see it]", picture=(kind, data))


def _file(path: Path, name: str | None) -> Attachment:
    if not path.is_file():
        raise UsageError(f'There is no file `{path}` to attach. Write `chat.attach("data/orders.csv")`.')
    size = path.stat().st_size
    if size > _LARGEST:
        raise UsageError(f"`{path.name}` has {size:,} bytes, and {_LARGEST:,} go with a message at most.")
    kind, _ = mimetypes.guess_type(path.name)
    data = path.read_bytes()
    if kind in _PICTURES:
        return _picture(data, name or path.name, f"{size:,} bytes", kind)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = f"(a file of {size:,} bytes that is no text)"
    return Attachment(name=name or path.name, text=f"[file {path.name}]\n{brief(text, _LONGEST)}")


# -- values of the notebook -------------------------------------------------------------------------------------------

_log = logger()

_ROWS = 5
_COLUMNS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class Readable:
    """One value that the agent is told of."""

    description: str
    """What it is, in words."""

    value: Any
    """The value, or a function that gives it, called for each run."""

    def read(self) -> str:
        """Return it as it is told."""
        value = self.value
        try:
            with contained(f"What gives the context `{self.description}`"):
                return summary_of(value() if callable(value) and not isinstance(value, type) else value)
        except Exception as error:
            _log.exception("The context `%s` cannot be read", self.description)
            return f"(it cannot be read: {type(error).__name__}: {words_of(error)})"


def context_of(readables: Sequence[Readable]) -> list[Context]:
    """Return what a run is given."""
    return [Context(description=each.description, value=each.read()) for each in readables]


def summary_of(value: object) -> str:
    """Return any value in words or JSON that an agent can read; a table as what is in it."""
    if isinstance(value, str):
        return brief(value, _LONGEST)
    if (columns := _columns_of(value)) is not None:
        return brief(_table(value, columns), _LONGEST)
    try:
        return brief(json.dumps(to_jsonable_python(value, by_alias=True), ensure_ascii=False), _LONGEST)
    except Exception:
        return brief(repr(value), _LONGEST)


def _columns_of(value: object) -> list[Any] | None:
    if not hasattr(value, "columns") or not hasattr(value, "shape") or not hasattr(value, "head"):
        return None
    return list(value.columns)


def _table(frame: Any, columns: Sequence[Any]) -> str:
    rows, width = frame.shape
    lines = [f"A table of {rows:,} rows and {width:,} columns.", ""]
    lines += [_column(frame, name) for name in columns[:_COLUMNS]]
    if width > _COLUMNS:
        lines.append(f"… and {width - _COLUMNS:,} more columns")
    head = frame.head(_ROWS)
    # pandas writes its index beside; polars has none.
    shown = head.iloc[:, :_COLUMNS].to_csv() if hasattr(head, "iloc") else head.write_csv()
    return "\n".join([*lines, "", f"The first {min(rows, _ROWS)} rows, as CSV:", shown.rstrip("\n")])


def _column(frame: Any, name: Any) -> str:
    column = frame[name]
    parts = [f"- {name}: {column.dtype}"]
    missing = int(column.isna().sum()) if hasattr(column, "isna") else int(column.null_count())
    if missing:
        parts.append(f"{missing:,} missing")
    parts += _about(column)
    return ", ".join(parts)


def _about(column: object) -> list[str]:
    for measure in (_range, _kinds):
        try:
            if told := measure(column):
                return [told]
        except Exception:
            continue
    return []


def _range(column: Any) -> str:
    if str(column.dtype) in ("object", "str", "String", "string", "category", "bool", "Boolean"):
        return ""
    return f"from {column.min()} to {column.max()}"


def _kinds(column: Any) -> str:
    count = column.nunique() if hasattr(column, "nunique") else column.n_unique()
    values = (
        list(column.dropna().unique()[:5]) if hasattr(column, "dropna") else column.drop_nulls().unique()[:5].to_list()
    )
    few = ", ".join(brief(str(each), 40) for each in values)
    return f"{count:,} different: {few}{', …' if count > len(values) else ''}"
