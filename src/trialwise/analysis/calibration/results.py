"""What a calibration says: frozen records, which tables, files for machines and later verdicts read alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.trial_set import Level, MetricFacts

Arrangement = Literal["interleaved", "separate"]
"""Whether both sides ran in the same hosts and boots, or each in hosts or boots of its own."""
Finding = Literal["fine", "alarms", "too few"]
"""Whether the verdict keeps its level on this bench, calls nothing a difference too often, or cannot be judged."""


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What this bench cannot tell from nothing, with `n` units on each side: 95 of 100 differences without a change are smaller.

    `value` is in the unit of the metric, `percent` in percent of the mean (None where that is 0).
    """

    value: float
    percent: float | None
    n: int
    quantile: float
    method: str


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest difference that n units on each side show with a chance of 90 %, and its bounds; in percent of the mean too."""

    found: st.DetectableDifference
    percent: float | None
    times: int
    """So many times the units that there are now."""


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One metric of one treatment against itself.

    `n` is the number of units of `level`, the level of inference, on each side of a re-split. `real` is the difference between
    the sides that ran, where there were two, and `mean` that of all trials. `elsewhere` is looked at where false alarms are more
    than allowed: the 95 % range of their rate over draws of the rounds (boots, hosts) with replacement, as other rounds of this
    bench might have it. `reason` says why the rest is None.
    """

    metric: MetricFacts
    treatment: str
    arrangement: Arrangement
    level: Level
    n: tuple[int, int]
    trials: int
    mean: float
    real: float | None
    floor: NoiseFloor | None
    false_alarms: st.Proportion | None
    elsewhere: tuple[float, float] | None
    detectable: tuple[Detectable, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class LevelSpread:
    """How much units of one level vary within the level above, and its share of all variance in percent."""

    level: str
    units: int
    variance: float | None
    low: float | None
    high: float | None
    share: float | None
    includes: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of one metric of one treatment, split by level; `levels` is empty where `note` says why."""

    metric: str
    treatment: str
    levels: tuple[LevelSpread, ...]
    n: int
    confidence: float
    method: str
    note: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """A bench against itself. `comparison` is that of the sides that ran, None where the trials had none.

    `family` counts the re-splits in which any row was different after the correction for their number: what a comparison of
    all rows does wrongly when nothing has changed. `splits` is the number of re-splits of each row.
    """

    source: str
    finding: Finding
    reason: str
    rows: tuple[CalibrationRow, ...]
    spreads: tuple[Spread, ...]
    comparison: Comparison | None
    family: st.Proportion | None
    confidence: float
    splits: int
    seed: int
    method: str
    notes: tuple[str, ...]
