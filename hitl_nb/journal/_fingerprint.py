"""Is this the same input as last time? A hash of what a value holds, the same in every process.

Not ``hash()`` (salted per process), not pickle (differs by version and history), not ``repr`` (truncates).
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import AnyUrl, BaseModel, Secret, SecretBytes, SecretStr

from hitl_nb.errors import UsageError

_SCALARS: Final = (bool, int, float, complex, str, Decimal, Fraction, datetime, date, time, timedelta, UUID, PurePath)


def fingerprint(value: Any) -> str:
    """Give the sha256 (64 hex digits) of a value's content.

    Args:
        value: Plain data in any nesting, pydantic models, dataclasses, enums, dates, numpy arrays (any shape and
            dtype), pandas and polars DataFrames and Series (values, dtypes, labels and index).

    Types count: 1, 1.0, True and "1" differ. The order of a dict's keys and of a set does not. A `SecretStr` counts
    as a secret, whichever it is: a hash of it in a file could be guessed.

    Raises:
        UsageError: `value` holds something without content to compare (a function, a model, an open file).
    """
    try:
        return _digest(value).hex()
    except RecursionError:
        raise UsageError(
            "A value that contains itself has no fingerprint. Write `key=` only for plain data, e.g. `payload=rows`."
        ) from None


def _digest(value: Any) -> bytes:
    return sha256(b"\0".join(_parts(value))).digest()


def _parts(value: Any) -> Iterable[bytes]:
    """The tag of a kind, and its content as parts of fixed length or as one part at the end."""
    if value is None:
        return [b"null"]
    if isinstance(value, Enum):
        return [b"enum", _text(type(value).__qualname__), _text(value.name)]
    if isinstance(value, SecretStr | SecretBytes | Secret):
        return [b"secret"]
    if type(value).__module__.partition(".")[0] in ("numpy", "pandas", "polars"):
        return _array_parts(value)
    if isinstance(value, _SCALARS):
        return [b"scalar", _text(_scalar_name(value)), _text(repr(value) if isinstance(value, float) else str(value))]
    if isinstance(value, bytes | bytearray | memoryview):
        return [b"bytes", sha256(value).digest()]
    if isinstance(value, AnyUrl):
        return [b"url", _text(str(value))]
    return _container_parts(value)


def _scalar_name(value: Any) -> str:
    return next(kind.__name__ for kind in (bool, datetime, *_SCALARS) if isinstance(value, kind))


def _container_parts(value: Any) -> Iterable[bytes]:
    if isinstance(value, BaseModel):
        held = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return [b"model", _text(type(value).__qualname__), _mapping(held)]
    if is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        return [b"model", _text(type(value).__qualname__), _mapping(held)]
    if isinstance(value, Mapping):
        return [b"mapping", _mapping(value)]
    if isinstance(value, Set):
        return [b"set", *sorted(_digest(item) for item in value)]
    if isinstance(value, Sequence):
        return [b"tuple" if isinstance(value, tuple) else b"list", *(_digest(item) for item in value)]
    raise _no_content(value)


def _mapping(value: Mapping[Any, Any]) -> bytes:
    entries = sorted(_digest(key) + _digest(part) for key, part in value.items())
    return sha256(b"".join(entries)).digest()


def _array_parts(value: Any) -> Iterable[bytes]:
    kind = type(value).__name__
    library = type(value).__module__.partition(".")[0]
    if library == "numpy" and hasattr(value, "dtype"):
        return _numpy_parts(value)
    if library == "pandas":
        return _pandas_parts(value)
    if library == "polars" and kind in ("DataFrame", "Series"):
        return _polars_parts(value)
    raise _no_content(value)


def _numpy_parts(array: Any) -> Iterable[bytes]:
    if array.dtype.hasobject:
        return [b"array", _text("object"), _digest(array.shape), _digest(array.tolist())]
    if array.shape == () and not hasattr(array, "tobytes"):
        raise _no_content(array)
    mask = getattr(array, "mask", None)
    parts = [b"array", _text(array.dtype.descr if array.dtype.names else array.dtype.str), _digest(tuple(array.shape))]
    return [*parts, sha256(array.tobytes()).digest(), b"" if mask is None else _digest(mask.tolist())]


def _pandas_parts(value: Any) -> Iterable[bytes]:
    import pandas

    if isinstance(value, pandas.DataFrame):
        # By position, because two columns may have one name.
        columns = [_digest(value.iloc[:, place]) for place in range(value.shape[1])]
        return [b"frame", _digest(value.columns), _digest(value.index), *columns]
    if isinstance(value, pandas.Series):
        return [b"series", _digest(value.name), _digest(value.index), *_values(value)]
    if isinstance(value, pandas.MultiIndex):
        return [b"index", _digest(list(value.names)), *(_digest(level) for level in _levels(value))]
    if isinstance(value, pandas.Index):
        return [b"index", _digest(value.name), *_values(value)]
    if value is pandas.NA or value is pandas.NaT:
        return [b"missing", _text(repr(value))]
    if isinstance(value, pandas.Timestamp | pandas.Timedelta):
        return [b"scalar", _text(type(value).__name__), _text(value.isoformat())]
    if isinstance(value, pandas.Period | pandas.Interval):
        return [b"scalar", _text(type(value).__name__), _text(repr(value))]
    raise _no_content(value)


def _levels(index: Any) -> list[Any]:
    return [index.get_level_values(place) for place in range(index.nlevels)]


def _values(series: Any) -> Iterable[bytes]:
    """The dtype and the values of a Series or Index."""
    import pandas

    dtype = _text(series.dtype)
    if isinstance(series.dtype, pandas.CategoricalDtype):
        categories = series.dtype.categories
        codes = series.codes if isinstance(series, pandas.Index) else series.cat.codes.to_numpy()
        return [dtype, _digest(categories), sha256(codes.tobytes()).digest()]
    if series.dtype == object:
        # Not pandas' own hash: for mixed columns it goes through text, where 1 and "1" are the same.
        return [dtype, _digest(series.tolist())]
    hashes = pandas.util.hash_pandas_object(series, index=False, categorize=False).to_numpy()
    return [dtype, _text(len(series)), sha256(hashes.tobytes()).digest()]


def _polars_parts(value: Any) -> Iterable[bytes]:
    frame = value.to_frame() if hasattr(value, "to_frame") else value
    schema = [(name, str(dtype)) for name, dtype in frame.schema.items()]
    if any("Object" in dtype for _, dtype in schema):
        return [b"polars", _digest(schema), _digest(frame.rows())]
    # Stable within one version of polars; after an upgrade a question is asked again, which is the safe side.
    hashes = [column.hash().to_numpy().tobytes() for column in frame.get_columns()]
    return [b"polars", _digest(schema), _text(frame.height), *(sha256(each).digest() for each in hashes)]


def _text(value: Any) -> bytes:
    # Hashed, so that no text can look like the end of one part and the begin of the next.
    return sha256(str(value).encode("utf-8", "surrogatepass")).digest()


def _no_content(value: Any) -> UsageError:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return UsageError(
        f"`{name}` has no content that could be compared with last time's. "
        "Write `key=` only for plain data, models, arrays and DataFrames, or leave `key` out to be asked each time."
    )
