"""NumPy's `.npy` and `.npz` (NEP 1): the header is parsed here, and arrays of objects, which are pickles, are refused.

A vector has values whose unit of replication nobody knows; a structured array is a table; the names of several vectors are levels.
"""

from __future__ import annotations

import ast
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.readers.content import MOST_RATIO, MOST_UNPACKED, Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.tables.roles import Column, read_columns

_MAGIC = b"\x93NUMPY"
_ZIP = b"PK\x03\x04"
_MOST_HEADER = 1 << 16
_MOST_ARRAYS = 10_000
_UNKNOWN = "unknown"

Array = npt.NDArray[Any]


class ObjectArrayError(AnalysisError):
    """An array holds Python objects, which only executing them would give."""


def _array(path: object, data: bytes) -> Array:
    """Return an array without copying it.

    Raises
    ------
    ObjectArrayError
        It holds objects.
    AnalysisError
        The header is none, or the file is shorter than it says.
    """
    wide = data[6:7] != b"\x01"
    size = struct.calcsize("<I" if wide else "<H")
    length = int.from_bytes(data[8 : 8 + size], "little")
    header = data[8 + size : 8 + size + length]
    if length > _MOST_HEADER or len(header) < length:
        raise AnalysisError(f"{path}: has no whole header of an array")
    told = _literal(path, header)
    if _has_objects(told.get("descr")):
        raise ObjectArrayError(f"{path}: holds Python objects")
    shape = _shape(path, told.get("shape"))
    try:
        kind = np.dtype(told["descr"])
        if kind.hasobject:
            raise ObjectArrayError(f"{path}: holds Python objects")
        count = math.prod(shape)
        body = memoryview(data)[8 + size + length :]
        if kind.itemsize * count > len(body):
            raise AnalysisError(
                f"{path}: holds {len(body) // max(kind.itemsize, 1)} of {count} values",
                hint="was it copied or downloaded to its end?",
            )
        flat = np.frombuffer(body, kind, count)
        return flat.reshape(shape, order="F" if told.get("fortran_order") is True else "C")
    except (KeyError, TypeError, ValueError, SyntaxError, OverflowError, RecursionError) as error:
        raise AnalysisError(f"{path}: its header describes no array: {error}") from error


def _shape(path: object, told: object) -> tuple[int, ...]:
    entries = cast("tuple[object, ...]", told) if isinstance(told, tuple) else (None,)
    shape = [each for each in entries if isinstance(each, int) and each >= 0]
    if len(shape) < len(entries):
        raise AnalysisError(f"{path}: its header has no shape")
    return tuple(shape)


def _literal(path: object, header: bytes) -> Mapping[str, Any]:
    try:
        told = ast.literal_eval(header.decode("latin-1").strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise AnalysisError(f"{path}: has no header of an array") from error
    if not isinstance(told, dict):
        raise AnalysisError(f"{path}: has no header of an array")
    return cast("dict[str, Any]", told)


def _has_objects(kind: object) -> bool:
    """Return True if a description of elements names Python objects, at any depth."""
    if isinstance(kind, str):
        return kind.lstrip("<>|=").startswith("O")
    fields = cast("list[object]", kind) if isinstance(kind, list) else []
    entries = [cast("tuple[object, ...]", entry) for entry in fields if isinstance(entry, tuple)]
    return any(_has_objects(part) for entry in entries for part in entry[1:])


def _is_npy(content: Content) -> bool:
    return content.data.startswith(_MAGIC)


def _read_npy(content: Content, found: Found) -> None:
    try:
        array = _array(content.path, content.data)
    except ObjectArrayError:
        found.unit = "none"
        found.note("unsafe_refused", what="an array of Python objects")
        return
    if array.dtype.names:
        found.unit, found.replicated = "row", "process"
        columns = [
            Column.of_array(name, array[name].ravel()) for name in array.dtype.names if array[name].ndim <= 1
        ]
        read_columns(found, columns)
        return
    values = _vector(content.path, array)
    found.note("no_factors")
    found.note("unit_of_replication_unknown", what="are the values trials, or samples of one?")
    _add_vector(found, {}, values)


def _vector(path: object, array: Array) -> Array:
    """Return a vector of numbers.

    Raises
    ------
    AnalysisError
        It is none.
    """
    if array.ndim == 2 and 1 not in array.shape:
        rows, columns = array.shape
        raise AnalysisError(
            f"{path}: {rows} × {columns} numbers: either may be the trials",
            hint="write a table with a header, whose columns are the treatments",
        )
    if array.dtype.kind not in "iuf" or array.ndim > 2:
        raise AnalysisError(
            f"{path}: an array of {array.dtype} with {array.ndim} dimensions is no list of numbers"
        )
    return array.ravel()


def _add_vector(found: Found, treatment: Mapping[str, str], values: Array) -> None:
    for number, value in enumerate(values.astype(np.float64).tolist()):
        place = f"{'/'.join(treatment.values())}[{number}]"
        found.add(treatment, "value", value, _UNKNOWN, levels={found.replicated: place}, where=place)
    found.note("unit_unknown", what="value")


def _members(content: Content) -> list[zipfile.ZipInfo]:
    """Return the members of a zip file; none if it is not one of arrays."""
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            found = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error):
        return []
    return found if found and all(each.filename.endswith(".npy") for each in found) else []


def _is_npz(content: Content) -> bool:
    return content.data.startswith(_ZIP) and bool(_members(content))


def _read_npz(content: Content, found: Found) -> None:
    members = _members(content)
    most = min(MOST_UNPACKED, max(len(content.data) * MOST_RATIO, 1 << 20))
    if sum(each.file_size for each in members) > most or len(members) > _MOST_ARRAYS:
        raise found.wrong("unpacks to more than is read")
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        for each in members:
            name = each.filename.removesuffix(".npy")
            try:
                with archive.open(each) as member:
                    data = member.read(each.file_size)
                array = _vector(f"{content.path}: {name}", _array(f"{content.path}: {name}", data))
            except ObjectArrayError:
                found.note("unsafe_refused", what=f"{name}, an array of Python objects")
            except (
                zipfile.BadZipFile,
                zlib.error,
                OSError,
                RuntimeError,
                EOFError,
                ValueError,
                NotImplementedError,
            ) as error:
                found.note("partial", what=f"{name}: {error}")
            else:
                _add_vector(found, {"array": name}, array)


READERS = (
    Reader(
        name="npy",
        tool="NumPy",
        how="`numpy.save`",
        replicated="repetition",
        unit="unknown: asked for",
        fits=_is_npy,
        read=_read_npy,
    ),
    Reader(
        name="npz",
        tool="NumPy",
        how="`numpy.savez`, with an array for each treatment",
        replicated="process",
        unit="element",
        fits=_is_npz,
        read=_read_npz,
    ),
)
