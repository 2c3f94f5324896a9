"""Convert records to plain JSON values, and their classes to JSON Schema, both from the dataclasses alone."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, cast

import numpy as np

from trialwise.columns import Columns
from trialwise.experiment.traits import Source

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def plain(value: object) -> Json:
    """Convert a value to JSON: records to objects, sequences and arrays to lists, NaN and infinities to null.

    Raises
    ------
    TypeError
        Trialwise's JSON documents cannot hold values of this type.
    """
    if isinstance(value, np.generic | np.ndarray):
        return plain(cast("object", value.tolist()))
    if value is None or isinstance(value, str | bool | int | float):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if isinstance(value, Path):
        return str(value)
    return _compound(value)


def _compound(value: object) -> Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return {str(key): plain(item) for key, item in entries.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in cast("Sequence[object]", value)]
    raise TypeError(f"{type(value).__name__} does not stand in JSON documents")


def schema_of(record: type) -> dict[str, Json]:
    """Return the JSON Schema of a dataclass as converted by `plain`; the classes it contains are in `$defs`."""
    definitions: dict[str, Json] = {}
    schema = _record(record, definitions)
    return {**schema, "$defs": dict(sorted(definitions.items()))}


def with_key(content: Mapping[str, Json], key: str, value: Json, *, after: str) -> dict[str, Json]:
    """Return an object with one key more, which stands after another."""
    made: dict[str, Json] = {}
    for name, kept in content.items():
        made[name] = kept
        if name == after:
            made[key] = value
    return made


def with_text(
    schema: dict[str, Json], key: str, *, after: str, text: dict[str, Json] | None = None
) -> dict[str, Json]:
    """Return the schema of a record whose object has one text more, as `with_key` puts it there; `text` is its own schema."""
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise TypeError("this is not the schema of a record")
    place = required.index(after) + 1
    return {
        **schema,
        "properties": with_key(properties, key, text or {"type": "string"}, after=after),
        "required": [*required[:place], key, *required[place:]],
    }


def _record(record: type, definitions: dict[str, Json]) -> dict[str, Json]:
    hints = typing.get_type_hints(record)
    names = [field.name for field in dataclasses.fields(record)]
    return {
        "type": "object",
        "description": " ".join((record.__doc__ or "").split()),
        "properties": {name: _schema(hints[name], definitions) for name in names},
        "required": list[Json](names),
        "additionalProperties": False,
    }


_SIMPLE: dict[object, dict[str, Json]] = {
    str: {"type": "string"},
    Path: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    type(None): {"type": "null"},
    object: {},
    Any: {},
}


def _schema(hint: Any, definitions: dict[str, Json]) -> dict[str, Json]:  # noqa: ANN401 a type, as typing has it
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    if dataclasses.is_dataclass(hint):
        return _reference(cast("type", hint), definitions)
    if isinstance(hint, type) and issubclass(cast("type[object]", hint), Columns):
        return {"type": "array", "items": _schema(cast("type[Columns[object]]", hint).record, definitions)}
    if hint is Source:
        return _any_of([_schema(each, definitions) for each in Source.known])
    return _generic(hint, typing.get_origin(hint), typing.get_args(hint), definitions)


def _generic(
    hint: object,
    origin: Any,  # noqa: ANN401 a type, as typing has it
    arguments: tuple[Any, ...],
    definitions: dict[str, Json],
) -> dict[str, Json]:
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _any_of([_schema(argument, definitions) for argument in arguments])
    if origin is np.ndarray:
        return {"type": "array", "items": {"type": ["number", "null"]}}
    if origin is tuple:
        return _tuple(arguments, definitions)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    raise TypeError(f"{hint} does not stand in JSON documents")


def _reference(record: type, definitions: dict[str, Json]) -> dict[str, Json]:
    name = _name(record)
    if name not in definitions:
        definitions[name] = {}
        definitions[name] = _record(record, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _name(record: type) -> str:
    """Return the name of a class; classes of statistics end in Result, because some share the name of their request."""
    is_result = record.__module__.startswith("trialwise.statistics")
    return record.__name__ + ("Result" if is_result and not record.__name__.endswith("Result") else "")


def _tuple(arguments: tuple[Any, ...], definitions: dict[str, Json]) -> dict[str, Json]:
    if len(arguments) == 2 and arguments[1] is ...:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    items: list[Json] = [_schema(argument, definitions) for argument in arguments]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _any_of(choices: list[dict[str, Json]]) -> dict[str, Json]:
    unique: list[Json] = []
    for choice in choices:
        if choice not in unique:
            unique.append(choice)
    return {"anyOf": unique}


def formatted(name: str, record: object) -> dict[str, Json]:
    """Convert a record to a JSON document whose key `format` names the format and its version.

    Raises
    ------
    TypeError
        It is not a record.
    """
    content = plain(record)
    if not isinstance(content, dict):
        raise TypeError("a record is an object")
    return {"format": name, **content}


def formatted_schema(name: str, record: type) -> dict[str, Json]:
    """Return the JSON Schema of a dataclass as converted by `formatted`."""
    schema = schema_of(record)
    keys, wanted = schema["properties"], schema["required"]
    if isinstance(keys, dict) and isinstance(wanted, list):
        schema |= {"properties": {"format": {"const": name}, **keys}, "required": ["format", *wanted]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}
