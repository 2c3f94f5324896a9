"""What an observation says: frozen records, which the table, the files for machines and tests read alike."""

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
    """One metric of one flavour at one load: its effect, against the base, or its error, against 0.

    The interval is that of the row by itself; `p_adjusted` and `verdict` hold together with those of all rows.
    """

    question: Question
    flavour: str
    load: Mapping[str, Level]
    """The levels of all other factors."""
    metric: str
    unit: str
    better: Better | None
    n_base: int
    """Values of the base at the level of inference; of an error those of the flavour itself."""
    n: int
    unit_of_inference: str
    """The highest of host, boot, build, process and trial that varies."""
    mean_base: float
    """0 of an error."""
    mean: float
    estimate: float | None
    """Flavour minus base, in the metric's unit; None, as its interval, where there is no inference."""
    low: float | None
    high: float | None
    percent: float | None
    """The same in percent of the base; None where that has no mean to speak of, or no bounds."""
    percent_low: float | None
    percent_high: float | None
    margin: float | None
    """As it was given: in the metric's unit, or in percent of the base where `margin_relative`."""
    margin_relative: bool
    p_different: float | None
    """Two-sided, against "the difference is at most the margin", by itself."""
    p_equivalent: float | None
    """Of two one-sided tests, against "the difference is not within the margin", by itself."""
    p_adjusted: float | None
    verdict: Word
    direction: Direction | None
    more: int | None
    """The bill: further units of inference on each side for a 90 % chance to decide; 0 where it is decided."""
    more_seconds: float | None
    reason: str
    method: str


@dataclass(frozen=True, slots=True)
class Observation:
    """Every flavour against the base, at every load, for every metric. Verdicts hold together at `confidence` percent.

    `verdict` is different where one row is, equivalent where all rows are, and else undecided.
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
        """How many rows end in which word."""
        words: tuple[Word, ...] = ("different", "equivalent", "undecided", "no inference")
        return {word: sum(row.verdict == word for row in self.rows) for word in words}
