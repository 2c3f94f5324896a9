"""The time series of flows and the packet delays of an experiment over paths, as rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trialwise.analysis.path.results import DelayDistribution, PathSeries
from trialwise.arrays import Array
from trialwise.report.figures.axes import WIDE, Axis
from trialwise.report.plot_rows import Row


def series_name(series: PathSeries, label: str) -> str:
    """Return a trial's label in a selection list."""
    again = f" (attempt {series.attempt})" if series.attempt > 1 else ""
    return f"trial {series.number}{again}: {label}, series {series.series}" + (
        " – not valid" if series.reason else ""
    )


def flow_names(shown: Sequence[PathSeries]) -> list[str]:
    """Return the flows by number, with their scheme if it is the same in all trials."""
    schemes: dict[int, set[str]] = {}
    for series in shown:
        for flow in series.flows:
            schemes.setdefault(flow.flow, set()).add(flow.scheme)
    return [
        f"flow {flow}" + (f": {next(iter(names))}" if len(names) == 1 else "")
        for flow, names in schemes.items()
    ]


def series_rows(shown: Sequence[PathSeries], labels: dict[str, str]) -> list[Row]:
    """Return one row for each bin of each flow of each trial; times are the middles of bins."""
    names = flow_names(shown)
    return [
        {
            "trial": series_name(series, labels[series.treatment]),
            "flow": names[flow.flow - 1],
            "time": time + series.bin / 2,
            "throughput": throughput,
            "low": low,
            "median": median,
            "high": high,
        }
        for series in shown
        for flow in series.flows
        for time, throughput, low, median, high in zip(
            series.times.tolist(),
            *map(_finite, (flow.throughput, flow.delay_low, flow.delay_median, flow.delay_high)),
            strict=True,
        )
    ]


def _finite(values: Array) -> list[float | None]:
    listed: list[float] = values.tolist()
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in listed]


def delay_rows(found: Sequence[DelayDistribution], labels: dict[str, str]) -> list[Row]:
    """Return the pooled delays of each treatment."""
    return [
        {"treatment": labels[known.treatment], "delay": delay, "share": share}
        for known in found
        for delay, share in zip(known.delays.tolist(), known.shares.tolist(), strict=True)
    ]


def trial_delay_rows(found: Sequence[DelayDistribution], labels: dict[str, str]) -> list[Row]:
    """Return the delays of each trial."""
    return [
        {
            "treatment": labels[known.treatment],
            "trial": f"trial {trial.number}",
            "delay": float(f"{delay:.5g}"),
            "share": share,
        }
        for known in found
        for trial in known.trials
        for delay, share in zip(trial.delays.tolist(), trial.shares.tolist(), strict=True)
    ]


def delay_axis(found: Sequence[DelayDistribution]) -> Axis:
    """Return the axis of packet delays."""
    ends = [end for known in found for end in (known.delays[0], known.delays[-1])]
    wide = min(ends) > 0 and max(ends) / min(ends) >= WIDE
    return Axis("one-way delay of packets [ms]", float(min(ends)), float(max(ends)), wide)
