"""ONNX files of the networks in this folder: written, and read back (IR version 8, operators of version 17).

Only what these networks need of https://onnx.ai/onnx/repo-docs/IR.html: tensors of 32-bit floats, nodes, and inputs and outputs with
fixed shapes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
FLOAT = 1
"""TensorProto.DataType."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operator: `Tanh` of these inputs, with whole numbers as attributes."""

    operator: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, int]


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _tensor(name: str, values: Floats) -> bytes:
    dims = b"".join(_field(1, size) for size in values.shape)
    return dims + _field(2, FLOAT) + _field(8, name) + _field(9, values.astype("<f4").tobytes())


def _node(node: Node) -> bytes:
    names = [_field(1, name) for name in node.inputs] + [_field(2, name) for name in node.outputs]
    whole = 2  # AttributeProto.INT
    said = [
        _field(5, _field(1, key) + _field(3, value) + _field(20, whole))
        for key, value in node.attributes.items()
    ]
    return b"".join(names) + _field(4, node.operator) + b"".join(said)


def _shaped(name: str, shape: Sequence[int]) -> bytes:
    dims = b"".join(_field(1, _field(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, dims)))


def network(
    nodes: Sequence[Node],
    weights: Mapping[str, Floats],
    inputs: Mapping[str, Sequence[int]],
    outputs: Mapping[str, Sequence[int]],
    trained: Mapping[str, object],
) -> bytes:
    """Return a network as an ONNX file, with how it was made under `trained` of its metadata."""
    graph = b"".join(_field(1, _node(node)) for node in nodes) + _field(2, "policy")
    graph += b"".join(_field(5, _tensor(name, values)) for name, values in weights.items())
    graph += b"".join(_field(11, _shaped(name, shape)) for name, shape in inputs.items())
    graph += b"".join(_field(12, _shaped(name, shape)) for name, shape in outputs.items())
    note = _field(1, "trained") + _field(2, json.dumps(trained))
    head = _field(1, 8) + _field(2, "trialwise") + _field(14, note)
    return head + _field(7, graph) + _field(8, _field(2, 17))


def weights_of(path: Path) -> dict[str, Floats]:
    """Return the tensors of a file that `network` made, by name."""
    (graph,) = (value for number, value in _fields(path.read_bytes()) if number == 7)
    found: dict[str, Floats] = {}
    for number, value in _fields(graph):
        if number == 5:
            said = list(_fields(value))
            shape = [int.from_bytes(size, "little") for key, size in said if key == 1]
            name, raw = dict(said)[8].decode(), dict(said)[9]
            found[name] = np.frombuffer(raw, "<f4").reshape(shape)
    return found


def trained_of(path: Path) -> dict[str, object]:
    """Return how the network of a file was made."""
    (note,) = (value for number, value in _fields(path.read_bytes()) if number == 14)
    return json.loads(dict(_fields(note))[2])


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield numbers and contents; numbers that are contents as eight bytes."""
    at = 0
    while at < len(content):
        tag, at = _number(content, at)
        length, at = _number(content, at)
        if tag & 7 == 0:
            yield tag >> 3, struct.pack("<Q", length)
        else:
            yield tag >> 3, content[at : at + length]
            at += length


def _number(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while content[at] > 0x7F:
        number |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | content[at] << shift, at + 1
