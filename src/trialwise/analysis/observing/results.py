"""Frozen records of an observation, read by the table, files for machines and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.comparison.results import Direction, Word
from trialwise.experiment.model import Better, Level

Question = Literal["effect", "error"]
Outcome = Literal["different", "equivalent", "undecided"]
FORMAT = "trialwise.observe/1"


@dataclass(frozen=True, slots=True)
class ObservedRow:
    """One metric of one flavour at one load: its effect relative to the base, or its error relative to 0.

    The interval is for the row alone; `p_adjusted` and `verdict` hold jointly for all rows.
    """

    question: Question
    flavour: str
    load: Mapping[str, Level]
    """The levels of all other factors."""
    metric: str
    unit: str
    better: Better | None
    n_base: int
    """Number of values of the base at the level of inference; for an error, of the flavour itself."""
    n: int
    unit_of_inference: str
    """The highest of host, boot, build, process and trial that varies."""
    mean_base: float
    """0 for an error."""
    mean: float
    estimate: float | None
    """Flavour minus base, in the metric's unit; None, like its interval, without inference."""
    low: float | None
    high: float | None
    percent: float | None
    """The same in percent of the base; None if its mean is near 0, or without bounds."""
    percent_low: float | None
    percent_high: float | None
    margin: float | None
    """As given: in the metric's unit, or in percent of the base if `margin_relative`."""
    margin_relative: bool
    p_different: float | None
    """Two-sided, against "the difference is at most the margin", uncorrected."""
    p_equivalent: float | None
    """From two one-sided tests, against "the difference is not within the margin", uncorrected."""
    p_adjusted: float | None
    verdict: Word
    direction: Direction | None
    more: int | None
    """Further units of inference on each side for a 90 % chance to decide; 0 if decided."""
    more_seconds: float | None
    reason: str
    method: str


@dataclass(frozen=True, slots=True)
class Observation:
    """Every flavour against the base, at every load, for every metric. Verdicts hold jointly at `confidence` percent.

    `verdict` is different if any row is, equivalent if all rows are, and otherwise undecided.
    """

    format: str
    source: str
    factor: str
    base: str
    confidence: float
    correction: str
    verdict: Outcome
    rows: tuple[ObservedRow, ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> dict[Word, int]:
        """Count the rows by the word they end in."""
        words: tuple[Word, ...] = ("different", "equivalent", "undecided", "no inference")
        return {word: sum(row.verdict == word for row in self.rows) for word in words}
