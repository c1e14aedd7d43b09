"""Is this the very same content? One lossless fingerprint for what is shown, approved, run and recalled.

Not ``hash()`` (salted per process), not pickle (differs by version and history), not ``repr`` and not JSON: they lose
the middle of a frame, and the difference between the keys 1 and "1".
"""

import functools
import secrets
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, time
from enum import Enum
from hashlib import sha256
from typing import Any, Final

from pydantic import AnyUrl, BaseModel, Secret, SecretBytes, SecretStr

from hitl_nb._calls._held import (
    SCALARS,
    SIMPLE,
    ZONES,
    attributes_of,
    exact,
    has_fields,
    is_a_subclass,
    library_of,
    names_in,
    worked_out,
)
from hitl_nb._schema import facts_of_type
from hitl_nb._secrets import is_content, is_secret_name
from hitl_nb.errors import UsageError

_PROCESS_KEY: Final = secrets.token_bytes(32)
"""Secrets are compared in this process only: a hash of one that leaves it could be guessed."""


@dataclass(frozen=True, kw_only=True)
class Print:
    """What a value is compared by, within this process."""

    digest: str
    """64 hex digits; equal for equal content."""

    live: tuple[str, ...] = ()
    """The types of what has no content (connections, functions, …): compared by identity."""

    durable: bool = True
    """Whether `digest` is the same in every process: nothing live, and no secret, declared or by its name."""


def print_of(value: object) -> Print:
    """Return what `value` is compared by in this process. Secrets count, and what has no content is itself."""
    if type(value) is dict and not value:
        return _NOTHING  # most questions are about nothing else
    reader = _Reader(durable=False)
    digest = reader.digest(value).hex()
    return Print(digest=digest, live=tuple(dict.fromkeys(reader.live)), durable=not (reader.live or reader.secret))


def fingerprint(value: object) -> str:
    """Return the sha256 (64 hex digits) of a value's content, the same in every process.

    Args:
        value: Plain data in any nesting, pydantic models, dataclasses, enums, dates, numpy arrays (any shape and
            dtype), pandas and polars DataFrames and Series (values, dtypes, labels and index), pyarrow Tables.

    Types count: 1, 1.0, True and "1" differ, as keys too, and so do two named tuples or other subclasses; with a
    subclass its public attributes count. The order of a dict's keys and of a set does not. A `SecretStr`, and what
    stands under a name like ``api_key``, counts as a secret, whichever it is: a hash of it in a file could be guessed.

    Raises:
        UsageError: `value` holds something without content to compare (a function, an open file, itself).
    """
    return _Reader(durable=True).digest(value).hex()


class _Reader:
    """Walks one value."""

    def __init__(self, *, durable: bool) -> None:
        self._durable = durable
        self.live: list[str] = []
        self.secret = False
        self._inside: dict[int, int] = {}
        self._rows = 0
        """How many lists this is in."""

    def digest(self, value: object) -> bytes:
        kind = type(value)
        if kind in SIMPLE:
            return _scalar(value)
        if not _holds(value):
            return sha256(b"\0".join(self._parts(value))).digest()
        if id(value) in self._inside:
            if self._durable:
                raise UsageError(
                    "A value that contains itself has no fingerprint. Write `key=` only for plain data, "
                    "e.g. `payload=rows`."
                )
            return sha256(b"cycle %d" % self._inside[id(value)]).digest()
        self._inside[id(value)] = len(self._inside)
        try:
            return sha256(b"\0".join(self._parts(value))).digest()
        except RecursionError:
            raise UsageError(
                "A value nested this deep has no fingerprint. Write flatter data, e.g. `payload=rows`."
            ) from None
        finally:
            del self._inside[id(value)]

    def _parts(self, value: Any) -> Iterable[bytes]:
        """The tag of a kind, and its content as parts of fixed length or as one part at the end."""
        if value is None:
            return [b"null"]
        if isinstance(value, Enum):
            return self._enum(value)
        if hasattr(type(value), "__compared_by__"):  # ours: a table that says itself whether it is still the same
            return [b"told", _type(value), self.digest(value.__compared_by__())]
        if isinstance(value, SecretStr | SecretBytes | Secret):
            return self._secret(value)
        if (library := library_of(type(value))) is not None:
            return [*self._array_parts(value, library), *self._subclass_parts(value)]
        if isinstance(value, SCALARS):
            return self._scalar_parts(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes_parts(value)
        if isinstance(value, AnyUrl):
            return [b"url", _text(str(value))]
        return self._container_parts(value)

    def _secret(self, value: Any) -> Iterable[bytes]:
        self.secret = True
        return [b"secret", *([] if self._durable else [self._hidden(value.get_secret_value())])]

    def _hidden(self, value: object) -> bytes:
        """A secret as it is compared in this process only."""
        return sha256(_PROCESS_KEY + self.digest(value)).digest()

    def _enum(self, value: Enum) -> Iterable[bytes]:
        """Its value counts beside its name: flags may have none, and a cell that is run again may give it another."""
        reader = _Reader(durable=False)
        held = reader.digest(value.value)
        has_content = not (reader.live or reader.secret)
        return [b"enum", _type(value), _text(value.name), *([held] if has_content else [])]

    def _scalar_parts(self, value: Any) -> Iterable[bytes]:
        base = next(kind for kind in (bool, datetime, *SCALARS) if isinstance(value, kind))
        parts = [b"scalar", _text(base.__name__), _text(exact(value, base))]
        if isinstance(value, datetime | time) and type(value.tzinfo).__module__ not in ZONES:
            parts += [self.digest(part) for part in (value.utcoffset(), value.dst(), value.tzname())]
        if type(value).__module__ in ("builtins", "datetime", "decimal"):
            return parts
        # A subclass (`class Cents(int)`) means something else than its base.
        return [*parts, _type(value), *([] if type(value) in SCALARS else self._attribute_parts(value))]

    def _bytes_parts(self, value: bytes | bytearray | memoryview) -> Iterable[bytes]:
        if not isinstance(value, memoryview) or (value.format == "B" and value.ndim == 1):
            return [b"bytes", sha256(bytes(value)).digest(), *self._subclass_parts(value)]
        return [b"memory", _text(value.format), self.digest(value.shape), sha256(value.tobytes()).digest()]

    def _container_parts(self, value: object) -> Iterable[bytes]:
        if isinstance(value, BaseModel):
            held = {name: part for name, part in value.__dict__.items() if name not in worked_out(type(value))}
            held.update(value.__pydantic_extra__ or {})
            private = getattr(value, "__pydantic_private__", None)
            return [
                b"model",
                _type(value),
                self._mapping(held, _secret_fields(type(value))),
                *([self._mapping(private)] if private else []),
            ]
        if has_fields(value):
            own = [b"model", _type(value), self._mapping(attributes_of(value))]
            return [*own, *self._items(value)] if isinstance(value, Mapping | Set | Sequence) else own
        if isinstance(value, Mapping | Set | Sequence):
            return [*self._items(value), *self._subclass_parts(value)]
        return self._live(value)

    def _items(self, value: Mapping[Any, Any] | Set[Any] | Sequence[Any]) -> Iterable[bytes]:
        if isinstance(value, Mapping):
            return [b"mapping", self._mapping(value)]
        if isinstance(value, Set):
            return [b"set", *sorted(self.digest(item) for item in value)]
        tag = b"tuple" if isinstance(value, tuple) else b"list"
        names = names_in(value)
        if names is not None:
            items = zip(names, value, strict=True)
            return [tag, self.digest(names), *(self._part(name, item, {}) for name, item in items)]
        self._rows += 1
        try:
            return [tag, *(self.digest(item) for item in value)]
        finally:
            self._rows -= 1

    def _subclass_parts(self, value: object) -> Iterable[bytes]:
        """Whose subclass it is, and what it holds beside its items: a `Keep(1)` is no `Drop(1)`."""
        if not is_a_subclass(type(value)):
            return []
        return [b"subclass", _type(value), *self._attribute_parts(value)]

    def _attribute_parts(self, value: object) -> Iterable[bytes]:
        held = attributes_of(value)
        return [self._mapping(held)] if held else []

    def _mapping(self, value: Mapping[Any, Any], secret: Mapping[str, bool] | None = None) -> bytes:
        entries = sorted(self.digest(key) + self._part(key, part, secret or {}) for key, part in value.items())
        return sha256(b"".join(entries)).digest()

    def _part(self, name: Any, value: Any, secret: Mapping[str, bool]) -> bytes:
        """The value of a key; a secret by its name, unless its type knows better."""
        hides = secret[name] if name in secret else is_secret_name(name, in_rows=self._rows > 0)
        if not hides or not is_content(value):
            return self.digest(value)
        self.secret = True
        return sha256(b"secret" if self._durable else b"secret" + self._hidden(value)).digest()

    def _live(self, value: object) -> Iterable[bytes]:
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        if self._durable:
            raise UsageError(
                f"`{name}` has no content that could be compared with last time's. "
                "Write `key=` only for plain data, models, arrays and DataFrames, or leave `key` out to be asked "
                "each time."
            )
        self.live.append(name)
        return [b"live", _text(name), b"%d" % id(value)]

    # -- arrays and frames --------------------------------------------------------------------------------

    def _array_parts(self, value: Any, library: str) -> Iterable[bytes]:
        if library == "numpy" and hasattr(value, "dtype"):
            return self._numpy_parts(value)
        if library == "pandas":
            return self._pandas_parts(value)
        if library == "polars":
            return self._polars_parts(value)
        return self._arrow_parts(value)

    def _numpy_parts(self, array: Any) -> Iterable[bytes]:
        if array.shape == () and not hasattr(array, "tobytes"):
            return self._live(array)
        shape = self.digest(tuple(array.shape))
        mask = getattr(array, "mask", None)
        masked = b"" if mask is None else self.digest(mask.tolist())
        if array.dtype.names:
            # One by one, because what stands between two aligned fields is whatever was there.
            fields_ = [self.digest(array[name]) for name in array.dtype.names]
            return [b"array", _text(array.dtype.descr), shape, *fields_, masked]
        if array.dtype.hasobject:  # also numpy's own texts, whose bytes are addresses
            return [b"array", _text("object"), shape, self.digest(array.tolist()), masked]
        return [b"array", _text(array.dtype.str), shape, sha256(array.tobytes()).digest(), masked]

    def _pandas_parts(self, value: object) -> Iterable[bytes]:
        import pandas

        if isinstance(value, pandas.DataFrame):
            # By position, because two columns may have one name.
            columns = [self.digest(value.iloc[:, place]) for place in range(value.shape[1])]
            return [b"frame", self.digest(value.columns), self.digest(value.index), *columns]
        if isinstance(value, pandas.Series):
            return [b"series", self.digest(value.name), self.digest(value.index), *self._values(value)]
        if isinstance(value, pandas.MultiIndex):
            levels = [value.get_level_values(place) for place in range(value.nlevels)]
            return [b"index", self.digest(list(value.names)), *(self.digest(level) for level in levels)]
        if isinstance(value, pandas.Index):
            return [b"index", self.digest(value.name), *self._values(value)]
        if value is pandas.NA or value is pandas.NaT:
            return [b"missing", _text(repr(value))]
        if isinstance(value, pandas.Timestamp | pandas.Timedelta):
            zone = getattr(value, "tz", None)
            parts = [b"scalar", _text(type(value).__name__), _text(value.isoformat())]
            return parts if zone is None else [*parts, _text(zone)]
        if isinstance(value, pandas.Period):
            return [b"scalar", _text("Period"), _text(value.ordinal), _text(value.freqstr)]
        if isinstance(value, pandas.Interval):  # not its repr, which leaves out the zone of its ends
            return [
                b"scalar",
                _text("Interval"),
                _text(value.closed),
                self.digest(value.left),
                self.digest(value.right),
            ]
        if isinstance(value, pandas.api.extensions.ExtensionArray):
            return [b"values", *self._values(pandas.Series(value))]
        return self._live(value)

    def _values(self, series: Any) -> Iterable[bytes]:
        """The dtype and the values of a Series or Index."""
        import numpy
        import pandas

        dtype = _text(series.dtype)
        if isinstance(series.dtype, pandas.CategoricalDtype):
            categories = series.dtype.categories
            codes = series.codes if isinstance(series, pandas.Index) else series.cat.codes.to_numpy()
            ordered = [b"ordered"] if series.dtype.ordered else []
            return [dtype, *ordered, self.digest(categories), sha256(codes.tobytes()).digest()]
        if series.dtype == object or (_is_arrow(series.dtype) and series.dtype.kind == "O") or _is_wide(series.dtype):
            # Not pandas' own hash: for mixed columns it goes through text, where 1 and "1" are the same, and so do
            # Arrow's lists, if they do not fail.
            return [dtype, self.digest(series.tolist())]
        hashes = pandas.util.hash_pandas_object(series, index=False, categorize=False).to_numpy()
        parts = [dtype, _text(len(series)), sha256(hashes.tobytes()).digest()]
        # In a column of texts nothing and "nan" have one hash; in Arrow's, a NaN and nothing.
        is_plain = isinstance(series.dtype, numpy.dtype)
        return parts if is_plain else [*parts, sha256(numpy.asarray(series.isna()).tobytes()).digest()]

    def _arrow_parts(self, value: Any) -> Iterable[bytes]:
        import pyarrow

        try:
            import pandas
        except ImportError:
            return self._live(value)
        if isinstance(value, pyarrow.RecordBatch):
            return [b"batch", self.digest(pyarrow.Table.from_batches([value]))]
        if isinstance(value, pyarrow.Array | pyarrow.ChunkedArray):
            return [b"values", self.digest(pyarrow.table([value], names=[""]))]
        if isinstance(value, pyarrow.Scalar):
            return [b"value", self.digest(pyarrow.array([value.as_py()], value.type))]
        if not isinstance(value, pyarrow.Table):
            return self._live(value)
        table = value
        # Not its buffers: what stands in them where a value is missing is whatever was there.
        schema = table.schema.remove_metadata()
        types = [(field.name, str(field.type), field.nullable) for field in schema]
        frame = table.to_pandas(types_mapper=pandas.ArrowDtype, ignore_metadata=True)
        return [b"arrow", self.digest(types), self.digest(frame)]

    def _polars_parts(self, value: Any) -> Iterable[bytes]:
        import polars

        if not isinstance(value, polars.DataFrame | polars.Series):
            return self._live(value)
        frame = value.to_frame() if hasattr(value, "to_frame") else value
        schema = [(name, str(dtype)) for name, dtype in frame.schema.items()]
        if any("Object" in dtype for _, dtype in schema):
            return [b"polars", self.digest(schema), self.digest(frame.rows())]
        # Stable within one version of polars; after an upgrade a question is asked again, which is the safe side.
        hashes = [column.hash().to_numpy().tobytes() for column in frame.get_columns()]
        return [b"polars", self.digest(schema), _text(frame.height), *(sha256(each).digest() for each in hashes)]


def _is_arrow(dtype: Any) -> bool:
    return hasattr(dtype, "pyarrow_dtype")


def _is_wide(dtype: Any) -> bool:
    """Whether it is a number of numpy that pandas cannot hash."""
    return dtype.kind in "fc" and getattr(dtype, "itemsize", 0) > (8 if dtype.kind == "f" else 16)


@functools.lru_cache(maxsize=256)
def _secret_fields(model: type[BaseModel]) -> dict[str, bool]:
    """Which fields are secrets, where a model says anything about that; by its schema, and by their names."""
    hider = facts_of_type(model).hider
    if hider is None:
        return {}
    names = {name: (name, field.alias, field.serialization_alias) for name, field in model.model_fields.items()}
    return {
        name: any(hider.hide({each: "x"}, []) != {each: "x"} for each in all_ if each) for name, all_ in names.items()
    }


def _holds(value: object) -> bool:
    """Whether a value may contain others, and so itself."""
    return not isinstance(value, str | bytes) and (
        isinstance(value, Mapping | Sequence | Set | BaseModel) or has_fields(value)
    )


def _scalar(value: object) -> bytes:
    kind = type(value)
    return sha256(b"\0".join((b"scalar", _text(kind.__name__), _text(exact(value, kind))))).digest()


def _type(value: object) -> bytes:
    return _text(f"{type(value).__module__}.{type(value).__qualname__}")


def _text(value: object) -> bytes:
    # Hashed, so that no text can look like the end of one part and the begin of the next.
    return sha256(str(value).encode("utf-8", "surrogatepass")).digest()


_NOTHING: Final = Print(digest=fingerprint({}))
