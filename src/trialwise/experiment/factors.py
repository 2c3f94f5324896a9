"""Section [factors]: factors with their levels, and those sampled for each round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from trialwise.errors import PlanError
from trialwise.experiment.file.sections import ByShape, Section, key, table_of
from trialwise.experiment.file.values import Level, Levels, Text, Whole
from trialwise.experiment.placeholders import BUILT_IN, level_text
from trialwise.experiment.problems import Problems, shown
from trialwise.experiment.text import frozen_name, frozen_or_named, read_text


@dataclass(frozen=True, slots=True)
class FixedFactor:
    """A factor whose levels are all run: the treatments are the combinations of such levels."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class DrawnFactor:
    """A factor whose value is drawn at random, with replacement, for each round (TriScale, section 5.3).

    A claim then extends to the population that the values are drawn from. Either `values` is that population,
    or `low` and `high` bound it.
    """

    name: str
    values: tuple[Level, ...] = ()
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    logarithmic: bool = False
    origin: str = ""


Factor = FixedFactor | DrawnFactor


@dataclass(frozen=True, slots=True)
class Range(Section):
    """A range that a value is drawn from, uniformly on its scale."""

    low: Whole | float = key(..., "Smallest value; the draws are whole numbers where both ends are.", 1000)
    high: Whole | float = key(..., "Largest value.", 1000000)
    scale: Literal["linear", "log"] = key("linear", "Whether values or their logarithms are uniform.", "log")


@dataclass(frozen=True, slots=True)
class Draw(Section):
    """A factor drawn at random for each round."""

    draw: Annotated[str | list[Level] | Range, ByShape(value=Text, items=Levels, table=Range)] = key(
        ...,
        "What to draw from: a file with one value on each line, a list, or a range { low, high }.",
        "prefixes.txt",
        [1, 2, 3],
        {"low": 1000, "high": 1000000, "scale": "log"},
    )


FactorTable = Annotated[list[Level] | Draw, ByShape(items=Levels, table=Draw)]

MAX_TREATMENTS = 100_000
"""More combinations of levels than this indicate a mistake in the file."""
MAX_DRAWN = 2**53
"""Doubles represent all integers up to here."""


def build_factor(
    name: str, section: Sequence[Level] | Draw, path: Path, problems: Problems, within: Path | None = None
) -> Factor:
    """Build the record of a factor; note problems with its levels or its draw.

    `within` is the experiment directory if the file is the frozen copy in it.
    """
    if name in BUILT_IN:
        taken = ", ".join(f"{{{word}}}" for word in BUILT_IN)
        problems.add(("factors", name), f"this name is taken; built in are {taken}")
    if isinstance(section, Draw):
        return _drawn(name, section.draw, path, problems, within)
    _check_levels(name, section, problems)
    return FixedFactor(name, tuple(section))


def _check_levels(name: str, levels: Sequence[Level], problems: Problems) -> None:
    seen: dict[object, Level] = {}
    for index, level in enumerate(levels):
        same = seen.get(level, seen.get(level_text(level)))
        if same is not None:
            how = "" if shown(same) == shown(level) else f" as {shown(same)}, which is the same value"
            problems.add(
                ("factors", name, index),
                f"the level {shown(level)} stands there already{how}",
                "every level once",
            )
        seen.setdefault(level, level)
        seen.setdefault(level_text(level), level)


def check_treatments(factors: Sequence[Factor], problems: Problems) -> None:
    """Note a problem if the levels combine to more treatments than `MAX_TREATMENTS`."""
    number = math.prod(len(factor.levels) for factor in factors if isinstance(factor, FixedFactor))
    if number > MAX_TREATMENTS:
        problems.add(
            ("factors",),
            f"the levels combine to {number} treatments; at most {MAX_TREATMENTS} can be planned",
            "have fewer levels, or draw a factor at random for each round: { draw = [ … ] }",
        )


def _drawn(
    name: str, draw: str | Sequence[Level] | Range, path: Path, problems: Problems, within: Path | None
) -> DrawnFactor:
    if isinstance(draw, Range):
        return _drawn_from_range(name, draw, problems)
    if not isinstance(draw, str):
        return DrawnFactor(name, values=tuple(draw), origin="list")
    return DrawnFactor(name, values=_lines(name, draw, path, problems, within), origin=draw)


def _lines(name: str, draw: str, path: Path, problems: Problems, within: Path | None) -> tuple[str, ...]:
    key = ("factors", name, "draw")
    folder = path.parent
    try:
        text = read_text(
            frozen_or_named(folder, draw) if within is None else folder / frozen_name(draw), within=within
        )
        lines = (line.strip(" \t\r") for line in text.split("\n"))
    except PlanError as error:
        problems.add(key, f"the file to draw from: {error.message}")
        return ()
    values = tuple(line for line in lines if line)
    if not values:
        problems.add(key, f"nothing to draw from in {draw}", "write one value on each line")
    return values


def _drawn_from_range(name: str, draw: Range, problems: Problems) -> DrawnFactor:
    key = ("factors", name, "draw")
    if not draw.low < draw.high:
        problems.add(key, f"low must be less than high; given: {draw.low} and {draw.high}")
    if draw.scale == "log" and draw.low <= 0:
        problems.add((*key, "low"), f"must be above 0 on a log scale; given: {draw.low}")
    integer = isinstance(draw.low, int) and isinstance(draw.high, int)
    if integer and max(-draw.low, draw.high) > MAX_DRAWN:
        problems.add(
            key, f"whole numbers are drawn between -2^53 and 2^53; given: {draw.low} and {draw.high}"
        )
    return DrawnFactor(
        name,
        low=float(draw.low),
        high=float(draw.high),
        integer=integer,
        logarithmic=draw.scale == "log",
        origin=f"{draw.low} to {draw.high}",
    )


def factor_value(factor: Factor) -> Any:  # noqa: ANN401 levels, or a table
    """Return a factor as written in the file."""
    if isinstance(factor, FixedFactor):
        return factor.levels
    if factor.origin == "list":
        return {"draw": factor.values}
    if factor.values:
        return {"draw": factor.origin}
    low, high = (int(end) if factor.integer else end for end in (factor.low, factor.high))
    return {"draw": table_of(Range(low, high, "log" if factor.logarithmic else "linear"))}
