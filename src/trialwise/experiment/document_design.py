"""Factors and the design in the experiment file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from trialwise.experiment.document_values import (
    BY_SHAPE,
    Count,
    Level,
    PositiveDuration,
    Section,
    Text,
    Whole,
)
from trialwise.experiment.words import LEVEL_PATTERN
from trialwise.rules import RULES, RuleName


class Range(Section):
    """A range that a value is drawn from, uniformly on its scale."""

    low: Whole | float = Field(
        description="Smallest value; the draws are whole numbers where both ends are.", examples=[1000]
    )
    high: Whole | float = Field(description="Largest value.", examples=[1000000])
    scale: Literal["linear", "log"] = Field(
        "linear", description="Whether values or their logarithms are uniform.", examples=["log"]
    )


class Draw(Section):
    """A factor drawn at random for each round."""

    draw: Annotated[
        Annotated[Text, Tag("<value>")]
        | Annotated[Annotated[list[Level], Field(min_length=1)], Tag("<list>")]
        | Annotated[Range, Tag("<table>")],
        BY_SHAPE,
    ] = Field(
        description="What to draw from: a file with one value on each line, a list, or a range { low, high }.",
        examples=["prefixes.txt", [1, 2, 3], {"low": 1000, "high": 1000000, "scale": "log"}],
    )


class DesignSection(Section):
    """How many trials, in what order, and when."""

    order: Literal["random", "fixed", "fixed+random", "balanced"] = Field(
        "random",
        description="Order of the treatments in each round: drawn anew; that of the file; half of the rounds each, "
        "mixed; or each treatment equally often right after each other.",
        examples=["balanced"],
    )
    series: Literal["auto"] | Count = Field(
        "auto", description="Number of series; auto: as many as the variability scores need.", examples=[5]
    )
    rounds: Literal["auto"] | Count = Field(
        "auto", description="Rounds in each series; auto: as many as the KPIs need.", examples=[30]
    )
    span: PositiveDuration | None = Field(
        None,
        description="Time over which the rounds of a series are spread at random; without it they run back to back.",
        examples=["24h"],
    )
    robustness: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0, description="Extreme values that an interval must be able to leave out.", examples=[1]
    )
    warmup_trials: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0,
        description="Trials of each treatment run and not counted, before each series.",
        examples=[1],
    )
    stop: Literal["plan", "verdict"] = Field(
        "plan",
        description="Whether the plan is run to its end, or until every comparison is decided; needs a margin of a metric.",
        examples=["verdict"],
    )
    looks: RuleName | None = Field(
        None,
        description="How it is found that enough has run: "
        + "; ".join(f"{rule.name} {rule.words}" for rule in RULES.values())
        + ". Default: two-stage, or geometric where simulated trials end by the precision of metrics alone.",
        examples=["anytime"],
    )
    pilot: Annotated[int, Field(ge=3, le=10_000)] = Field(
        20, description="Trials of each treatment that the forecast is made from.", examples=[10]
    )
    max_trials: Count | None = Field(
        None,
        description="Trials of each treatment at most, where something says when to stop; default 1000, of kind simulation 10000.",
        examples=[200],
    )
    budget: PositiveDuration | None = Field(
        None, description="Time at most, where something says when to stop.", examples=["2h"]
    )
    base: Annotated[str, Field(pattern=LEVEL_PATTERN)] | None = Field(
        None,
        description="The level that others are compared with; default all pairs of treatments.",
        examples=["flavour=none"],
    )
    unseen: list[Text] = Field(
        default_factory=list,
        description="Factors whose levels all run the very same thing: no text uses them, and what runs cannot tell them apart.",
        examples=[["side"]],
    )


FactorSection = Annotated[
    Annotated[Annotated[list[Level], Field(min_length=1)], Tag("<list>")] | Annotated[Draw, Tag("<table>")],
    BY_SHAPE,
]
