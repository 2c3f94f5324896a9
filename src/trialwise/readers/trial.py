"""One trial of a file, to which a reader adds metric after metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, inf, isfinite, nan

from trialwise.readers.declared import Found
from trialwise.readers.records import ERRORS, Better, Inside, Status

_FEW = 10
_PERCENTS = frozenset((50, 75, 90, 95, 99, 99.9, 99.99, 99.999))
"""The percentiles that are kept: fio alone writes seventeen of each of its latencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the rows of one trial share; `reason` tells why the whole trial failed, and is empty if it did not."""

    found: Found
    treatment: Mapping[str, object] = field(default_factory=dict[str, object])
    levels: Mapping[str, object] = field(default_factory=dict[str, object])
    start: float | None = None
    end: float | None = None
    where: str = ""
    reason: str = ""
    as_written: bool = False

    def add(
        self,
        metric: str,
        value: float | None,
        unit: str,
        better: Better | None = None,
        *,
        samples: Inside | None = None,
        reason: str = "",
        status: Status = "finished",
    ) -> None:
        """Add a metric; with a reason, of its own or of the trial, it failed and has no value."""
        reason = self.reason or reason
        self.found.add(
            self.treatment,
            metric,
            None if reason else value,
            unit,
            better,
            levels=self.levels,
            status="failed" if reason else status,
            reason=reason,
            start=self.start,
            end=self.end,
            samples=samples,
            where=self.where,
            as_written=self.as_written,
        )

    def add_known(self, metric: str, value: float | None, unit: str, better: Better | None = None) -> None:
        """Add a metric if the file has it."""
        if value is not None:
            self.add(metric, value, unit, better)

    def add_quantile(
        self, metric: str, percent: float, value: float | None, unit: str, n: float | None
    ) -> None:
        """Add a usual percentile of n values as `metric_pNN`, lower being better, unless less than one of them lies beyond it."""
        if value is None or percent not in _PERCENTS:
            return
        name = f"{metric}_p{percent:g}"
        beyond = None if n is None else n * (1 - percent / 100)
        if beyond is not None and beyond < 1 - 1e-9:
            self.found.gather("percentile_of_few", name)
            return
        if beyond is not None and beyond < _FEW - 1e-9:
            self.found.note_few(name)
        self.add(name, value, unit, "lower")

    def add_errors(self, failed: float | None, of: float | None) -> None:
        """Add the number of requests that failed, last, and say it if there are any.

        Where all of them failed, nothing else that was added has a value: how fast errors are given is no result.
        """
        if failed is None:
            return
        of = of if of is not None and isfinite(of) else None
        if of is not None and 0 < of <= failed < inf:
            self.found.fail(self.treatment, self.levels, f"all {of:.0f} requests failed")
        self.add(ERRORS, failed, "1", "lower")
        if failed and isfinite(failed):
            self.found.note_errors(failed, of)


def unanswered(answered: float, errors: Iterable[str]) -> str:
    """Return why a load that nobody answered failed, which otherwise looks like the fastest; empty if there was an answer."""
    return "" if answered else next(filter(None, errors), "") or "no request was answered"


def sum_of(values: Iterable[float]) -> float:
    """Return the sum; not a number if there is an infinite one, or the sum exceeds the range of a double."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):
        return nan


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; None if there is no value."""
    return sum_of(values) / len(values) if values else None


def quantile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of values in ascending order: the smallest with at least that share at or below it."""
    place = -(-len(ordered) * percent // 100)
    return ordered[max(0, min(len(ordered) - 1, int(place) - 1))]


def add_requests(
    trial: Trial, metric: str, values: Sequence[float], times: Sequence[float] | None, reason: str = ""
) -> None:
    """Add the mean and percentiles of values in seconds, which are samples of the mean; with a reason, the mean failed."""
    samples = Inside("request", values, times)
    trial.add(f"{metric}_mean", mean(values), "s", "lower", samples=samples, reason=reason)
    if not reason:
        add_quantiles(trial, metric, values, "s")


def add_quantiles(trial: Trial, metric: str, values: Sequence[float], unit: str) -> None:
    """Add the percentiles 50, 95 and 99 of values; none if one of them is no finite number, since they have no order then."""
    ordered = sorted(values) if all(map(isfinite, values)) else []
    for percent in (50, 95, 99) if ordered else ():
        trial.add_quantile(metric, percent, quantile(ordered, percent), unit, len(ordered))
