"""Metrics, margins and levels as written on a command line."""

from __future__ import annotations

from typing import get_args

from pydantic import ValidationError

from trialwise.errors import PlanError
from trialwise.experiment.file.sections import adapter
from trialwise.experiment.file.values import Width
from trialwise.experiment.model import Extent, Level, Metric
from trialwise.experiment.sources import (
    InstrumentSource,
    Resource,
    ResourceSource,
    Source,
    StreamSource,
    TextSource,
)

SOURCES = "wall, user, system, max_rss, stdout:REGEX, json:/POINTER, csv:COLUMN, stream:STREAM.FIELD or instrument:NAME"


def metric_of(name: str, words: str) -> Metric:
    """Build the metric of that name from the words for its source.

    Raises
    ------
    PlanError
        The words are none of `SOURCES`.
    """
    kind, colon, rest = words.partition(":")
    if not colon and kind in get_args(Resource):
        unit = "B" if kind == "max_rss" else "s"
        return Metric(name, ResourceSource(_resource(kind)), unit=unit, better="lower")
    source = _source(kind, rest) if colon and rest else None
    if source is None:
        raise PlanError(
            f"metric {name}: {words!r} does not say where it comes from", hint=f"one of {SOURCES}"
        )
    return Metric(name, source)


def _resource(word: str) -> Resource:
    return next(one for one in get_args(Resource) if one == word)


def _source(kind: str, rest: str) -> Source | None:
    match kind:
        case "stdout":
            return TextSource(pattern=rest)
        case "json":
            return TextSource(json=rest)
        case "csv":
            return TextSource(csv=rest)
        case "instrument":
            return InstrumentSource(rest)
        case "stream":
            stream, dot, name = rest.rpartition(".")
            return StreamSource(stream, name) if dot and stream and name else None
        case _:
            return None


def extent_of(text: str) -> Extent:
    """Parse a margin: "5%", or 0.5 in the metric's unit.

    Raises
    ------
    PlanError
        It is not a percentage or a number above 0.
    """
    try:
        value: str | float = float(text)
    except ValueError:
        value = text
    try:
        return adapter(Width).validate_python(value)
    except ValidationError as error:
        raise PlanError(
            f"{text!r} is not a valid margin",
            hint="a percentage as 5%, or a number above 0 in the metric's unit",
        ) from error


def levels_of(text: str) -> list[Level]:
    """Parse comma-separated levels, each as TOML would read it without quotes, else as text."""
    return [_level(part.strip()) for part in text.split(",")]


def _level(text: str) -> Level:
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return (
                kind(text) if text.isascii() and text[-1:].isalnum() and text[:1] in "0123456789-" else text
            )
        except ValueError:
            continue
    return text
