"""Checking a table against the document classes; what they refuse is said in the words of the file's keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trialwise.experiment.document import Document, document_schema
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, nearest, shown
from trialwise.experiment.sections import WrongValueError, adapter
from trialwise.experiment.words import Schema, allowed, choices, resolved

_MISSING: Mapping[Key, str] = {
    ("experiment",): '[experiment] with name = "…"',
    ("trial",): '[trial] with command = "…"',
    ("metrics",): '[metrics.NAME] with a source, as in resource = "wall"',
}

_PLACES: Mapping[str, Key] = {
    "[experiment]": ("experiment",),
    "[trial]": ("trial",),
    "[design]": ("design",),
    "[reset]": ("reset",),
    "kpi = { … }": ("metrics", "", "kpi"),
    "convergence = { … }": ("metrics", "", "convergence"),
    "[metrics.NAME]": ("metrics", ""),
}


def checked(table: Mapping[str, Any], problems: Problems) -> Document | None:
    """Check types, ranges and names of keys; note every problem, and return the document where there is none."""
    for key, problem in _unusable(table, ()):
        problems.add(key, problem)
    try:
        return adapter(Document).validate_python(table)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            _note(item, table, problems)
        return None


def _unusable(value: object, key: Key) -> Iterator[tuple[Key, str]]:
    """Values that TOML can write but that no program and no ledger can be given."""
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
    if location[-1] == "[key]":
        _note_name(_key(location[:-1], table), problems)
        return
    key = _key(location, table)
    match item["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            problems.add(key, *_unknown(key))
        case "missing":
            key = (*key, str(location[-1]))
            problems.add(key, *_missing(key))
        case "value_error":
            error = item.get("ctx", {})["error"]
            if isinstance(error, WrongValueError):
                problems.add(key, str(error), error.hint)
            else:
                problems.add(key, f"{error}; given: {shown(_value(key, table))}")
        case _ if not problems.has(key):
            problems.add(key, *_mismatch(key, _value(key, table)))
        case _:
            pass


def _key(location: Sequence[str | int], table: Mapping[str, Any]) -> Key:
    """The key of a location, without the names of union branches: the parts that lead somewhere in the table."""
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


# What to say


def _note_name(key: Key, problems: Problems) -> None:
    problems.add(
        key,
        "is no name: it must begin with an ASCII letter or _, go on with letters, digits, _ . or -, "
        "and have at most 128 characters",
    )


def _unknown(key: Key) -> tuple[str, str | None]:
    name = str(key[-1])
    known = _keys_at(key[:-1])
    elsewhere = [word for word, place in _PLACES.items() if name in _keys_at(place)]
    if elsewhere and name not in known:
        return f"unknown key; {name} belongs in {elsewhere[0]}", None
    meant = nearest(name, known)
    hint = f'; did you mean "{meant}"?' if meant else ";"
    return f"unknown key{hint} known here: {', '.join(known)}", None


def _missing(key: Key) -> tuple[str, str | None]:
    hint = _MISSING.get(key)
    if hint is None:
        return f"missing; it must be {_allowed_at(key)}", None
    return "missing", f"add {hint}; `trialwise new` writes a whole file to start from"


def _mismatch(key: Key, value: object) -> tuple[str, str | None]:
    hint = None
    if isinstance(value, str) and (meant := nearest(value, _options_at(key))):
        hint = f'did you mean "{meant}"?'
    if type(value).__module__ == "datetime":
        hint = "write a date or a time in quotes, as a text"
    return f"must be {_allowed_at(key)}; given: {shown(value)}", hint


# What the schema knows


def _definitions() -> Schema:
    return cast("Schema", document_schema()["$defs"])


def _branches(schema: Schema) -> Iterator[Schema]:
    """The schema and everything that it is a union of."""
    schema = resolved(schema, _definitions())
    yield schema
    for branch in choices(schema):
        yield from _branches(branch)


def _at(key: Key) -> list[Schema]:
    """The schemas that the value at `key` may follow."""
    found: list[Schema] = [document_schema()]
    for part in key:
        found = [inner for schema in found for branch in _branches(schema) for inner in _inside(branch, part)]
    return found


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


def _keys_at(key: Key) -> list[str]:
    return [
        name for schema in _at(key) for branch in _branches(schema) for name in branch.get("properties", {})
    ]


def _allowed_at(key: Key) -> str:
    found = _at(key)
    return allowed(found[0], _definitions()) if found else "something else"


def _options_at(key: Key) -> list[str]:
    return [
        str(option)
        for schema in _at(key)
        for branch in _branches(schema)
        for option in branch.get("enum", [branch.get("const")])
        if option is not None
    ]
