"""Frozen records of a calibration to a real path and of its certificate; a path's certificate is printed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.analysis.comparison.results import Word

Family = Literal["constant", "poisson", "varying", "unknown"]
Ending = Literal["done", "nothing open", "budget", "not simulated", "given", "chosen"]
Basis = Literal["means", "spread", "permutations"]
Origin = Literal["identified", "searched", "assumed", "given"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a path with its 95 % interval, and where it is from.

    Rates are in bit/s, delays in seconds, losses as a share of 1, queues in packets.
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    source: Origin
    how: str


@dataclass(frozen=True, slots=True)
class Service:
    """How a busy queue was served: its rate, the family, and variance over mean of packets by window (seconds).

    `is_even` says that packets left one by one at a constant rate, not in bursts.
    """

    rate: Parameter | None
    family: Family
    dispersion: Mapping[str, float]
    is_even: bool


@dataclass(frozen=True, slots=True)
class LossRuns:
    """Losses right after a loss: `again` of `after`, with p of independence; `gilbert` is (to bad, to good) if it is refuted."""

    after: int
    again: int
    p: float | None
    gilbert: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class IdentifiedWay:
    """What one direction of a path does to packets: `longest` is the longest queue seen, in packets, `queue` None if none was full."""

    service: Service
    delay: Parameter
    queue: Parameter | None
    longest: float
    loss: Parameter
    runs: LossRuns
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One treatment and metric, emulated against real; the treatment was not among those that the path was fitted to.

    `n` and `means` are of the real and the emulated trials. `change` is the difference in percent of the real mean, with the bounds
    of its interval; None without inference. `verdict` holds jointly for all rows of its table at the confidence; `more` is the
    number of further trials on each side for a decision, None if 10,000 would not do. `distance` is the energy distance, of which the
    real path's own noise is worth 1 on average, and `inside` the share of emulated trials within the tolerance interval of the real
    ones; both are None where only printed means are known. `beyond` is the number of real units (trials, or what they nest in) that
    lie beyond all emulated ones by more than the margin, and `p_beyond` the probability of so many by chance, corrected over the
    table; both are None without inference. `basis` is what the verdict rests on: the interval of the means, such values beyond the
    emulated ones, or permutations, by which means that seemed different are undecided.
    """

    treatment: str
    metric: str
    unit: str
    n: tuple[int, int]
    means: tuple[float, float]
    change: float | None
    low: float | None
    high: float | None
    margin: float | None
    verdict: Word
    more: int | None
    reason: str
    distance: float | None
    inside: float | None
    beyond: int | None
    p_beyond: float | None
    basis: Basis


@dataclass(frozen=True, slots=True)
class Search:
    """What a search did: evaluations of the objective, and its value at the path as identified and at the path chosen.

    An evaluation simulates every treatment that is fitted `trials` times. 1 is what the noise of the real path gives. `seconds` is
    what the evaluations took; `ended` says why there are no more, "given" that the path was fitted by somebody else, "chosen" that it
    was taken from those of an experiment: then `evaluations` counts these, and their values, from 0 to 1, are `farness` of the first
    one and of that chosen.
    """

    evaluations: int
    trials: int
    identified: float
    chosen: float
    seconds: float
    ended: Ending


@dataclass(frozen=True, slots=True)
class Moment:
    """The real path during one round: its least round trip in ms."""

    round: str
    least_rtt: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """For which schemes and metrics a path stands for a real one.

    `fitted` are the treatments that the path was fitted to, `held_out` those that were not. `judged` are the verdicts on the latter,
    and `left_out` those on each fitted treatment for the path that is likest without it. `failed` are the metrics in which one of
    `judged` (without any, of `left_out`) is different, `passed` those in which all are equivalent, `open` the others. `betrayed` is
    the treatment that is farthest from the real one. `digest` is that of the path file. `span` has the first and the last start of a
    real trial, None if these are not known; times are ISO 8601.
    """

    real: str
    span: tuple[str, str] | None
    made: str
    version: str
    seed: int
    engine: Literal["simulated", "emulated"]
    uplink: str
    downlink: str
    digest: str
    parameters: tuple[Parameter, ...]
    doubts: tuple[str, ...]
    fitted: tuple[str, ...]
    held_out: tuple[str, ...]
    not_simulated: tuple[str, ...]
    search: Search
    confidence: float
    correction: str
    judged: tuple[JudgedRow, ...]
    left_out: tuple[JudgedRow, ...]
    passed: tuple[str, ...]
    open: tuple[str, ...]
    failed: tuple[str, ...]
    betrayed: str | None
    course: tuple[Moment, ...]
    notes: tuple[str, ...]
