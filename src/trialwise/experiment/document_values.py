"""The values that may stand in an experiment file, and what makes a table of it strict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, WithJsonSchema

from trialwise.experiment.quantity import seconds
from trialwise.experiment.words import NAME_PATTERN


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError('must be a duration: "10s", "500ms", "1h 30min", or a number of seconds')  # noqa: TRY004 pydantic reads ValueError
    return seconds(value)


def _positive_duration(value: object) -> float:
    duration = _duration(value)
    if duration <= 0:
        raise ValueError("must be longer than nothing")
    return duration


_DURATION = 'a duration such as "10s", "500ms", "1h 30min", or a number of seconds'
Duration = Annotated[
    float,
    BeforeValidator(_duration),
    WithJsonSchema({"type": ["string", "number"], "minimum": 0, "title": _DURATION}),
]
PositiveDuration = Annotated[
    float,
    BeforeValidator(_positive_duration),
    WithJsonSchema({"type": ["string", "number"], "exclusiveMinimum": 0, "title": f"{_DURATION}, above 0"}),
]
# Beyond these ends the sizes of experiments lose their meaning, and computing them exactly takes for ever.
Percent = Annotated[float, Field(ge=0.0001, le=99.9999)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Level = str | Whole | float | bool
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=128)]
Text = Annotated[str, Field(min_length=1)]
Words = Text | Annotated[list[str], Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]

Namespace = Literal["network", "ipc"]

_EXTENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")


def _extent(value: object) -> tuple[float, bool]:
    """A width or a difference, and whether it is relative (in percent)."""
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0:
        return float(value), False
    if isinstance(value, str) and (found := _EXTENT.fullmatch(value.strip())) and float(found[1]) > 0:
        return float(found[1]), True
    raise ValueError('must be a percentage as "3%", or a number above 0 in the unit of the metric')


Extent = Annotated[
    tuple[float, bool],
    BeforeValidator(_extent),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^\s*(\d+(\.\d*)?|\.\d+)\s*%\s*$"},
            ],
            "title": 'a percentage as "3%", or a number above 0 in the unit of the metric',
        }
    ),
]

REDUCTIONS = ("mean", "median", "min", "max")


def _measure(value: object) -> str | float:
    if isinstance(value, str) and value in REDUCTIONS:
        return value
    try:
        number = float(
            value[1:] if isinstance(value, str) and value[:1] in {"p", "P"} else cast("float", value)
        )
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if (
        isinstance(value, bool)
        or not 0 < number < 100
        or (isinstance(value, str) and not _is_percentile(value))
    ):
        raise ValueError('must be "mean", "median", "min", "max", or a percentile: 95 or "p95"')
    return number


def _is_percentile(text: str) -> bool:
    return text[:1] in {"p", "P"} and text[1:].replace(".", "", 1).isdecimal() and text.isascii()


Measure = Annotated[
    str | float,
    BeforeValidator(_measure),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(REDUCTIONS)},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
                {"type": "string", "pattern": r"^[pP]\d{1,2}(\.\d+)?$"},
            ],
            "title": 'a reduction "mean", "median", "min", "max", or a percentile as 95 or "p95"',
        }
    ),
]


def _shape(value: object) -> str:
    """Which branch of a union a value is meant for, so that what is wrong in it is told for that branch alone."""
    return (
        "<table>"
        if isinstance(value, Mapping | BaseModel)
        else "<list>"
        if isinstance(value, list)
        else "<value>"
    )


BY_SHAPE = Discriminator(_shape)


class Section(BaseModel):
    """A table of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
