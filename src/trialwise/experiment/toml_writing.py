"""Values and tables written as TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tomlkit

Value = str | int | float | bool | Sequence["Value"] | Mapping[str, "Value"]
Table = dict[str, Value]


def toml_value(value: Value) -> str:
    """Write a value as TOML, on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(name)} = {toml_value(inner)}" for name, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(toml_value(inner) for inner in value)}]"
    return str(tomlkit.item(value).as_string())


def toml_key(name: str) -> str:
    """Write a key as TOML, quoted if necessary."""
    return str(tomlkit.key(name).as_string())


def table_lines(name: str, table: Mapping[str, Value]) -> list[str]:
    """Write a table as lines of TOML."""
    return [f"[{name}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())]


def written_table(name: str, table: Table) -> str:
    """Write a table as TOML, followed by an empty line."""
    return "\n".join([*table_lines(name, table), ""])
