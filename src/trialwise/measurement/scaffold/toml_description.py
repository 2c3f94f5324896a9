"""Descriptions of measurement points in TOML."""

from __future__ import annotations

import tomllib
from typing import Any, cast

from trialwise.errors import PlanError
from trialwise.measurement.scaffold.description import (
    Field,
    MeasurementPoint,
    Option,
    Program,
    checked,
    field_type,
    known_keys,
    option,
)


def parse_toml(text: str) -> Program:
    """Parse a description.

    Raises
    ------
    PlanError
        The text is not TOML, has an unknown key, or uses a name that is not allowed.
    """
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"this is not valid TOML: {error}") from error
    known_keys("the description", document, ("program", "options", "points"))
    program = _table("[program]", document.get("program"))
    known_keys("[program]", program, ("name", "description", "version"))
    points = _table("[points]", document.get("points", {}))
    options = _table("[options]", document.get("options", {}))
    return checked(
        Program(
            _text("[program]", program, "name"),
            tuple(_point(name, value) for name, value in points.items()),
            tuple(_option(name, value) for name, value in options.items()),
            _text("[program]", program, "description", ""),
            _text("[program]", program, "version", "0.1.0"),
        )
    )


def _table(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PlanError(f"{what} is missing" if value is None else f"{what} is not a table")
    return cast("dict[str, Any]", value)


def _text(what: str, table: dict[str, Any], key: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise PlanError(f"{what} needs {key}, a string")
    return value


def _point(name: str, value: object) -> MeasurementPoint:
    what = f"[points.{name}]"
    table = _table(what, value)
    known_keys(what, table, ("description", "fields"))
    fields = _table(f"[points.{name}.fields]", table.get("fields", {}))
    return MeasurementPoint(
        name,
        tuple(_field(f"{what} field {key!r}", key, field) for key, field in fields.items()),
        _text(what, table, "description", ""),
    )


def _field(what: str, name: str, value: object) -> Field:
    if isinstance(value, str):
        return Field(name, field_type(value))
    table = _table(what, value)
    known_keys(what, table, ("type", "unit", "description"))
    kind = field_type(_text(what, table, "type"))
    return Field(name, kind, _text(what, table, "unit", ""), _text(what, table, "description", ""))


def _option(name: str, value: object) -> Option:
    what = f"[options.{name}]"
    table = _table(what, value)
    known_keys(what, table, ("type", "default", "description", "unit", "letter"))
    return option(
        name,
        _text(what, table, "type"),
        table.get("default"),
        description=_text(what, table, "description", ""),
        unit=_text(what, table, "unit", ""),
        letter=_text(what, table, "letter", ""),
    )
