"""Frozen records of a comparison, read by tables, files for machines and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.nesting import Units
from trialwise.analysis.trial_set import Level, MetricFacts
from trialwise.experiment.model import Better

Word = Literal["different", "equivalent", "undecided", "no inference"]
Direction = Literal["better", "worse"]
Claim = Literal["any difference", "beyond the margin", "within the margin"]


@dataclass(frozen=True, slots=True)
class Floor:
    """The noise floor of the bench, in the unit of the metric and in percent of the first side's mean.

    It comes from `source`, with `n` units of `level` on each side, of `treatment`.
    """

    value: float
    percent: float | None
    n: int
    level: Level
    treatment: str
    source: str


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One treatment and metric on both sides.

    `difference` is judged alone and None without inference; `p_adjusted` and `verdict` hold in the family of all rows. `more` is the
    number of further units of `units.level` on each side for a decision, None if none up to 10,000 would suffice or there is no
    margin, and `more_seconds` their duration by the record of both sides, None if unknown. `floor` is the noise floor of the bench,
    if it was calibrated; `is_described` says whether both means may be shown side by side without inference; `pairing` is the gain
    from pairing, if sides ran in the same units.
    """

    treatment: str
    metric: MetricFacts
    summary: st.SummaryDifference
    units: Units
    difference: st.Difference | None
    p_adjusted: float | None
    verdict: Word
    more: int | None
    more_seconds: float | None
    reason: str
    floor: Floor | None = None
    is_described: bool = True
    pairing: st.PairingGain | None = None

    @property
    def claim(self) -> Claim | None:
        """The claim that `p_adjusted` is evidence for, the likelier of the two; None without a test."""
        one = self.difference
        if one is None or self.p_adjusted is None:
            return None
        if one.p_equivalent is not None and one.p_equivalent < one.p_different:
            return "within the margin"
        return "any difference" if one.margin is None else "beyond the margin"

    @property
    def direction(self) -> Direction | None:
        """Whether the second side is better or worse, if the verdict is different and the metric has a preferred direction."""
        if self.verdict != "different" or self.difference is None or self.metric.better is None:
            return None
        rises = self.difference.welch.estimate > 0
        return "better" if rises == (self.metric.better == "higher") else "worse"

    @property
    def is_under_floor(self) -> bool:
        """Whether the sides differ by themselves, and by no more than nothing changed does on this bench."""
        one, floor = self.difference, self.floor
        return (
            one is not None
            and floor is not None
            and one.verdict == "different"
            and abs(one.welch.estimate) <= floor.value
        )


@dataclass(frozen=True, slots=True)
class OneSided:
    """Things that only one side has; they are named, and not compared. A cell is a metric of a treatment."""

    kind: Literal["treatment", "metric", "cell"]
    name: str
    side: str


@dataclass(frozen=True, slots=True)
class GeometricMean:
    """The geometric mean of B / A over `rows` of one unit and direction, without the `left_out`, which have values of 0 or below.

    They are the treatments of the metric `of`; if that is empty, the metrics of one treatment. Units of `level` are independent,
    and `paired` where both sides ran in the same ones. `ratio` and `percent`, 100 (ratio - 1), are None without inference, and
    `reason` says why.
    """

    of: str
    unit: str
    better: Better | None
    rows: int
    left_out: int
    level: Level
    paired: bool
    ratio: st.Ratio | None
    percent: st.Ratio | None
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Side `b` compared with side `a`. Verdicts hold jointly at `confidence` percent by the method `correction`."""

    a: str
    b: str
    rows: tuple[ComparisonRow, ...]
    one_sided: tuple[OneSided, ...]
    confidence: float
    correction: str
    notes: Mapping[str, tuple[str, ...]]
    """Caveats about the trials, by side."""
    environments: tuple[EnvironmentDifference, ...] = ()
    """Differences between the environments of both sides, if both are recorded."""
    geometric_means: tuple[GeometricMean, ...] = ()

    @property
    def counts(self) -> dict[Word, int]:
        """Count the rows by the word they end in."""
        words: tuple[Word, ...] = ("different", "equivalent", "undecided", "no inference")
        return {word: sum(row.verdict == word for row in self.rows) for word in words}
