"""Check of a table against the record of a file; errors are reported in terms of the file's keys."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trialwise.experiment.file.describe import Schema, allowed, choices, resolved
from trialwise.experiment.file.document import Document, document_schema, trial_tables
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import (
    RECORDS,
    Field,
    Section,
    WrongValueError,
    adapter,
    keys_of,
    schema_of,
)
from trialwise.experiment.problems import Problems, either, nearest, shown

_PLACES: Mapping[str, Key] = {
    "[experiment]": ("experiment",),
    "[trial]": ("trial",),
    "[design]": ("design",),
    "[reset]": ("reset",),
    "kpi = { … }": ("metrics", "", "kpi"),
    "convergence = { … }": ("metrics", "", "convergence"),
    "[metrics.NAME]": ("metrics", ""),
}


Record = TypeVar("Record", bound=Section)

_record: ContextVar[type[Section]] = ContextVar("record", default=Document)
"""The record of the file that is checked."""


def checked(table: Mapping[str, Any], problems: Problems) -> Document | None:
    """Check types, ranges and names of keys; note every problem, and return the document if the rest of it can be checked."""
    return checked_as(Document, table, problems)


def checked_as(record: type[Record], table: Mapping[str, Any], problems: Problems) -> Record | None:
    """Check the table of a file against the record of that file, as `checked` does."""
    token = _record.set(record)
    try:
        return _checked(record, table, problems)
    finally:
        _record.reset(token)


def _checked(record: type[Record], table: Mapping[str, Any], problems: Problems) -> Record | None:
    unusable = dict(_unusable(table, ()))
    for key, problem in unusable.items():
        problems.add(key, problem)
    try:
        return adapter(record).validate_python(table)
    except ValidationError as error:
        found = error.errors(include_url=False)
    unknown = [_key(item["loc"], table) for item in found if item["type"] == _UNKNOWN]
    missing = {_missing_key(item, table) for item in found if item["type"] == "missing"}
    for key in unknown if missing else ():
        if len(key) > 1:
            missing.discard((*key[:-1], _meant_by(key, table)))
    for item in found:
        is_meant = item["type"] != "missing" or _missing_key(item, table) in missing
        if is_meant and _key(item["loc"], table) not in unusable:
            _note(item, table, problems)
    mended = _mended(found, table)
    return None if mended is None else _checked(record, mended, problems)


_UNKNOWN = "unexpected_keyword_argument"


def _mended(found: Sequence[ErrorDetails], table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table without keys of other kinds and with stand-ins for missing values; None if that does not fix everything."""
    left = copy.deepcopy(dict(table))
    for item in found:
        key = _key(item["loc"], table)
        if item["type"] == "missing":
            key = _missing_key(item, table)
            field = _field_at(key, table)
            if field is None or field.key.stand_in is None:
                return None
            cast("Any", _value(key[:-1], left))[key[-1]] = field.key.stand_in
        elif item["type"] == _UNKNOWN and _tags_with(str(key[-1]), key[:-1], table):
            del cast("Any", _value(key[:-1], left))[key[-1]]
        else:
            return None
    return left


def _missing_key(item: ErrorDetails, table: Mapping[str, Any]) -> Key:
    return (*_key(item["loc"], table), str(item["loc"][-1]))


def _unusable(value: object, key: Key) -> Iterator[tuple[Key, str]]:
    """Yield values that TOML allows but that cannot be passed to a program or stored in a ledger."""
    if isinstance(value, str) and "\0" in value:
        yield key, "holds a NUL character, which no program can be given"
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield key, f"a whole number must fit into 64 bits; given: {shown(value)}"
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            yield from _unusable(inner, (*key, name))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[object]", value)):
            yield from _unusable(inner, (*key, index))


def _note(item: ErrorDetails, table: Mapping[str, Any], problems: Problems) -> None:
    location: Sequence[str | int] = item["loc"]
    if location[-1] == "[key]" and item["type"] != "value_error":
        _note_name(_key(location[:-1], table), problems)
        return
    key = _key(location, table)
    match item["type"]:
        case "unexpected_keyword_argument":
            problems.add(key, *_unknown(key, table))
        case "missing":
            key = _missing_key(item, table)
            problems.add(key, *_missing(key, table))
        case "wrong_tag" if isinstance(_value(key, table), Mapping):
            key = (*key, item.get("ctx", {})["tag"])
            problems.add(key, *(_mismatch(key, table) if problems.given(key) else _missing(key, table)))
        case "value_error":
            error = item.get("ctx", {})["error"]
            if isinstance(error, WrongValueError):
                problems.add(key, str(error), error.hint)
            else:
                problems.add(key, f"{error}; given: {shown(_value(key, table))}")
        case _ if not problems.has(key):
            problems.add(key, *_mismatch(key, table))
        case _:
            pass


def _key(location: Sequence[str | int], table: Mapping[str, Any]) -> Key:
    """Return the key of a location, without the names of union branches, keeping the parts that exist in the table."""
    key: Key = ()
    value: Any = table
    for part in location:
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list) and isinstance(part, int)
        ):
            key = (*key, part)
            value = cast("Any", value)[part]
    return key


def _value(key: Key, table: Mapping[str, Any]) -> object:
    value: Any = table
    for part in key:
        value = value[part]
    return value


# Messages


def _note_name(key: Key, problems: Problems) -> None:
    problems.add(
        key,
        "is not a valid name: it must begin with an ASCII letter or _, go on with letters, digits, _ . or -, "
        "and have at most 128 characters",
    )


def _unknown(key: Key, table: Mapping[str, Any]) -> tuple[str, str | None]:
    if elsewhere := _elsewhere(key, table):
        return elsewhere, None
    meant = _meant_by(key, table)
    hint = f'; did you mean "{meant}"?' if meant else ";"
    return f"unknown key{hint} known here: {', '.join(_known_at(key[:-1], table))}", None


def _elsewhere(key: Key, table: Mapping[str, Any]) -> str | None:
    """Say where a key belongs that is known in another place."""
    name = str(key[-1])
    for record in _records_at(key[:-1], table):
        if name in record.elsewhere:
            return record.elsewhere[name]
    if tags := _tags_with(name, key[:-1], table):
        return f"only valid with {tags}"
    places = [word for word, keys in _places().items() if name in keys] if _record.get() is Document else []
    return f"unknown key; {name} belongs in {places[0]}" if places else None


@cache
def _places() -> Mapping[str, Sequence[str]]:
    """Return the keys of each place that a misplaced key may belong to."""
    return {word: _keys_at(place) for word, place in _PLACES.items()}


def _meant_by(key: Key, table: Mapping[str, Any]) -> str | None:
    """Return the key that was probably meant by an unknown one."""
    return None if _elsewhere(key, table) else nearest(str(key[-1]), _keys_at(key[:-1], table))


def _known_at(key: Key, table: Mapping[str, Any]) -> list[str]:
    """Return the keys of a table that are valid for the kind of the trial."""
    trial: object = table.get("trial")
    kind = cast("Mapping[str, object]", trial).get("kind", "command") if isinstance(trial, Mapping) else None
    fields = (field for record in _records_at(key, table) for field in keys_of(record).values())
    record = trial_tables().get(kind) if isinstance(kind, str) else None
    own = record.takes if record else ()
    return list(
        dict.fromkeys(
            field.name
            for field in fields
            if not field.key.kinds or kind in (None, *field.key.kinds) or field.name in own
        )
    )


def _missing(key: Key, table: Mapping[str, Any]) -> tuple[str, str | None]:
    field = _field_at(key, table)
    if field is not None and field.key.missing:
        return "missing", field.key.missing
    return f"missing; it must be {_allowed_at(key, table)}", None


def _field_at(key: Key, table: Mapping[str, Any]) -> Field | None:
    fields = (field for record in _records_at(key[:-1], table) for field in keys_of(record).values())
    return next((field for field in fields if field.name == key[-1]), None)


def _mismatch(key: Key, table: Mapping[str, Any]) -> tuple[str, str | None]:
    hint, value = None, _value(key, table)
    if isinstance(value, str) and (meant := nearest(value, _options_at(key, table))):
        hint = f'did you mean "{meant}"?'
    if type(value).__module__ == "datetime":
        hint = "write a date or a time in quotes, as a text"
    return f"must be {_allowed_at(key, table)}; given: {shown(value)}", hint


# Queries to the schema


def _definitions() -> Schema:
    return cast("Schema", _schema()["$defs"])


def _schema() -> Schema:
    record = _record.get()
    return cast("Schema", document_schema() if record is Document else _schema_of(record))


@cache
def _schema_of(record: type[Section]) -> Schema:
    return cast("Schema", schema_of(record))


_ANY = object()
"""Stands for an unknown value."""


def _branches(schema: Schema, value: object = _ANY) -> Iterator[Schema]:
    """Yield the schema and the branches of its union, without records that the tag in the value rules out."""
    schema = resolved(schema, _definitions())
    yield schema
    branches = choices(schema)
    for branch in [each for each in branches if _fits(each, value)] or branches:
        yield from _branches(branch, value)


def _ruled_out(schema: Schema, value: object) -> Iterator[Schema]:
    """Yield the records that the tag in the value rules out."""
    for branch in choices(resolved(schema, _definitions())):
        if _fits(branch, value):
            yield from _ruled_out(branch, value)
        else:
            yield resolved(branch, _definitions())


def _tag(schema: Schema) -> tuple[str, Schema] | None:
    """Return the key that distinguishes a record from others of its kind."""
    properties: Schema = resolved(schema, _definitions()).get("properties", {})
    return next(((name, each) for name, each in properties.items() if "const" in each), None)


def _fits(schema: Schema, value: object) -> bool:
    tag = _tag(schema)
    if tag is None or not isinstance(value, Mapping):
        return True
    name, fixed = tag
    return cast("Mapping[str, object]", value).get(name, fixed.get("default")) == fixed["const"]


def _at(key: Key, table: object = _ANY) -> list[tuple[Schema, object]]:
    """Return the schemas that the value at `key` may follow, each with that value."""
    found: list[tuple[Schema, object]] = [(_schema(), table)]
    for part in key:
        found = [
            (inner, _part(value, part))
            for schema, value in found
            for branch in _branches(schema, value)
            for inner in _inside(branch, part)
        ]
    return found


def _part(value: object, part: str | int) -> object:
    try:
        return cast("Any", value)[part]
    except (KeyError, IndexError, TypeError):
        return _ANY


def _inside(schema: Schema, part: str | int) -> list[Schema]:
    if isinstance(part, int):
        return [schema["items"]] if "items" in schema else []
    if part in schema.get("properties", {}):
        return [schema["properties"][part]]
    further = schema.get("additionalProperties")
    return [
        *schema.get("patternProperties", {}).values(),
        *([further] if isinstance(further, Mapping) else []),
    ]


def _meant(key: Key, table: object) -> list[Schema]:
    """Return what the value at `key` may be, union by union."""
    return [branch for schema, value in _at(key, table) for branch in _branches(schema, value)]


def _keys_at(key: Key, table: object = _ANY) -> list[str]:
    return list(dict.fromkeys(name for branch in _meant(key, table) for name in branch.get("properties", {})))


def _records_at(key: Key, table: object) -> Iterator[type[Section]]:
    titles = (branch.get("title", "") for branch in _meant(key, table) if "properties" in branch)
    return (RECORDS[title] for title in titles if title in RECORDS)


def _tags_with(name: str, key: Key, table: object) -> str:
    """Return the tags of the records that have this key, as in `kind = "path" or "simulation"`."""
    found: dict[str, list[str]] = {}
    for schema, value in _at(key, table):
        for other in _ruled_out(schema, value):
            tag = _tag(other)
            if tag and name in other["properties"]:
                found.setdefault(tag[0], []).append(f'"{tag[1]["const"]}"')
    return either(f"{tag} = {either(values)}" for tag, values in found.items()) if found else ""


def _allowed_at(key: Key, table: object) -> str:
    found = [schema for schema, _ in _at(key, table)]
    if len(found) > 1 and all("const" in schema for schema in found):
        found = [{"enum": [schema["const"] for schema in found]}]
    return allowed(found[0], _definitions()) if found else "something else"


def _options_at(key: Key, table: object) -> list[str]:
    return [
        str(option)
        for branch in _meant(key, table)
        for option in branch.get("enum", [branch.get("const")])
        if option is not None
    ]
