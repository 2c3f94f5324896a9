"""Description in words of what a JSON Schema allows, for messages and for the reference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_MAX_SHOWN = 10**9


def allowed(schema: Schema, definitions: Schema) -> str:
    """Describe what `schema` allows; `definitions` holds what it refers to."""
    schema = resolved(schema, definitions)
    if "title" in schema and str(schema["title"]).startswith(("a ", "an ")):
        return str(schema["title"])
    if branches := choices(schema):
        words = list(dict.fromkeys(allowed(branch, definitions) for branch in branches))
        return _either([word for word in words if word != "a whole number" or "a number" not in words])
    if "enum" in schema or "const" in schema:
        return _either([json.dumps(item) for item in schema.get("enum", [schema.get("const")])])
    return _of_type(schema, definitions)


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """Resolve a reference."""
    if "$ref" in schema:
        found: Schema = definitions[str(schema["$ref"]).rsplit("/", 1)[-1]]
        return found
    return schema


def choices(schema: Schema) -> list[Schema]:
    """Return the branches of a union without null, which TOML lacks; empty if the schema is not a union."""
    branches: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    return [branch for branch in branches if branch.get("type") != "null"]


def _of_type(schema: Schema, definitions: Schema) -> str:
    match schema.get("type"):
        case "string":
            words = "a text that is not empty" if schema.get("minLength") else "a text"
        case "integer":
            words = "a whole number" + _between(schema)
        case "number":
            words = "a number" + _between(schema)
        case "array":
            words = _list(schema, definitions)
        case "object":
            words = _table(schema)
        case _:
            words = "true / false"
    return words


def _list(schema: Schema, definitions: Schema) -> str:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if "items" not in schema:
        return "a list"
    of = allowed(schema["items"], definitions)
    size = f" of {least} elements" if least == most else " with at least one element" if least else ""
    return f"a list{size}, each {of}"


def _table(schema: Schema) -> str:
    if keys := ", ".join(schema.get("properties", {})):
        return f"a table {{ {keys} }}"
    of = " of texts" if schema.get("additionalProperties") == {"type": "string"} else ""
    return f"a table{of}" + (" with at least one entry" if schema.get("minProperties") else "")


def _between(schema: Schema) -> str:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if above is not None and below is not None:
        return f" between {above:g} and {below:g}, both excluded"
    if above is not None:
        return f" above {above:g}"
    largest = high if high is not None else below - 1 if below is not None else None
    if low is None or low < -_MAX_SHOWN:
        return ""
    return f" of at least {low}" if largest is None or largest > _MAX_SHOWN else f" from {low} to {largest}"


def _either(words: Sequence[str]) -> str:
    separator = ";" if any(", " in word or word.startswith("a table {") for word in words) else ","
    last = f"{separator} or " if separator == ";" or len(words) > 2 else " or "
    return last.join([f"{separator} ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
