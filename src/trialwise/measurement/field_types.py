"""Types of measurement point fields: their names, and arrays of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TYPES: dict[type, str] = {int: "int64", float: "double", str: "string", bytes: "blob", bool: "bool"}
_ARRAYS = {
    "int32": "int32",
    "int": "int32",
    "integer": "int32",
    "long": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "guid": "uint64",
    "double": "float64",
    "float": "float64",
    "real": "float64",
    "bool": "bool",
    "boolean": "bool",
}

FieldTypes: TypeAlias = Mapping[str, str | type]


def type_name(kind: str | type) -> str:
    """Return the protocol's name of a type; raise ValueError if a Python type has none."""
    if isinstance(kind, str):
        return kind
    if kind not in _TYPES:
        known = ", ".join(known.__name__ for known in _TYPES)
        raise ValueError(f"{kind!r} is not a field type; write one of {known}, or a name such as 'uint32'")
    return _TYPES[kind]


def field_array(column: ArrayLike, kind: str) -> NDArray[Any] | ArrayLike:
    """Convert a column to the field's type; strings, blobs and vectors stay as they are."""
    import numpy as np

    if kind not in _ARRAYS:
        return column
    array = np.asarray(column)
    wanted = np.dtype(_ARRAYS[kind])
    narrower = wanted.kind in "iu" and not np.can_cast(array.dtype, wanted, casting="safe")
    if array.size and (narrower or not np.can_cast(array.dtype, wanted, casting="same_kind")):
        _check_range(array, wanted)
    return np.ascontiguousarray(array, dtype=wanted)


def _check_range(array: NDArray[Any], wanted: Any) -> None:  # noqa: ANN401 a dtype
    """Raise if integers would change value in the field's type."""
    import numpy as np

    if array.dtype.kind not in "iub" or wanted.kind not in "iu":
        raise TypeError(f"values of type {array.dtype} do not fit a field of type {wanted}")
    limits = np.iinfo(wanted)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise OverflowError(f"a value is outside {limits.min} to {limits.max}")
