"""What a comparison says: frozen records, which tables, files for machines and tests read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.nesting import Units
from trialwise.analysis.trial_set import Level, MetricFacts

Word = Literal["different", "equivalent", "undecided", "no inference"]
Direction = Literal["better", "worse"]
Claim = Literal["any difference", "beyond the margin", "within the margin"]


@dataclass(frozen=True, slots=True)
class Floor:
    """What the bench cannot tell from nothing, in the unit of the metric and in percent of the first side's mean.

    It was found in `source` with `n` units of `level` on each side, of `treatment`.
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

    `difference` is by itself and None where there is no inference; `p_adjusted` and `verdict` hold in the family of all rows.
    `more` is the bill: further units of `units.level` on each side, None where none up to 10,000 would do or no margin says what
    is to be decided, and `more_seconds` how
    long these take by the record of both sides, None where nobody knows. `floor` is that of the bench, where it was
    calibrated; `is_described` says whether both means
    may stand beside each other where there is no inference; `pairing` what pairs were worth, where sides ran in the same units.
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
        """What `p_adjusted` is evidence for: the likelier of both claims; None where there is no test."""
        one = self.difference
        if one is None or self.p_adjusted is None:
            return None
        if one.p_equivalent is not None and one.p_equivalent < one.p_different:
            return "within the margin"
        return "any difference" if one.margin is None else "beyond the margin"

    @property
    def direction(self) -> Direction | None:
        """Whether the second side is better or worse, where the verdict is different and the metric says which way is better."""
        if self.verdict != "different" or self.difference is None or self.metric.better is None:
            return None
        rises = self.difference.welch.estimate > 0
        return "better" if rises == (self.metric.better == "higher") else "worse"


@dataclass(frozen=True, slots=True)
class OneSided:
    """What only one side has, and which: it is named, and not compared. A cell is a metric of a treatment."""

    kind: Literal["treatment", "metric", "cell"]
    name: str
    side: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Side `b` against side `a`. Verdicts hold together at `confidence` percent by the method `correction`."""

    a: str
    b: str
    rows: tuple[ComparisonRow, ...]
    one_sided: tuple[OneSided, ...]
    confidence: float
    correction: str
    notes: Mapping[str, tuple[str, ...]]
    """What is to be known of the trials, by side."""
    environments: tuple[EnvironmentDifference, ...] = ()
    """What differs between the environments of both sides, where both are recorded."""

    @property
    def counts(self) -> dict[Word, int]:
        """How many rows end in which word."""
        words: tuple[Word, ...] = ("different", "equivalent", "undecided", "no inference")
        return {word: sum(row.verdict == word for row in self.rows) for word in words}
