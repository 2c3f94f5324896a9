"""Frozen records of a calibration, read by tables, files for machines and later verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.trial_set import Level, MetricFacts

Arrangement = Literal["interleaved", "separate"]
"""Whether both sides ran in the same hosts and boots, or each in separate ones."""
Finding = Literal["fine", "alarms", "too few"]
"""Whether the verdict keeps its level on this bench, raises too many false alarms, or cannot be judged."""


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The noise floor of a bench with `n` units on each side: 95 % of differences without a change are smaller.

    `value` is in the unit of the metric, `percent` in percent of the mean (None if that is 0).
    """

    value: float
    percent: float | None
    n: int
    quantile: float
    method: str


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest difference that n units on each side detect with a chance of 90 %, with bounds; also in percent of the mean."""

    found: st.DetectableDifference
    percent: float | None
    times: int
    """Factor on the present number of units."""


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One metric of one treatment against itself.

    `n` is the number of units of `level`, the level of inference, on each side of a re-split. `real` is the difference between the
    actual sides, if there were two, and `mean` the mean of all trials. `elsewhere` is computed if there are too many false alarms:
    the 95 % range of their rate over bootstrap draws of the rounds (boots, hosts), as expected in other rounds of this bench.
    `reason` says why the rest is None.
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
    """Variation of units of one level within the level above, and its share of the total variance in percent."""

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
    """The variance of one metric of one treatment, split by level; `levels` is empty if `note` says why."""

    metric: str
    treatment: str
    levels: tuple[LevelSpread, ...]
    n: int
    confidence: float
    method: str
    note: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of a bench. `comparison` compares the actual sides; None if the trials had none.

    `family` counts the re-splits in which any row was different after correction for multiplicity: the family-wise error rate of a
    comparison of all rows. `splits` is the number of re-splits of each row.
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
