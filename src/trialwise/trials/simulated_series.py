"""Queues and rates of a simulated trial over time, as they are drawn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trialwise.arrays import Array
from trialwise.trials.fabrics import switch_ports
from trialwise.trials.simulating import Simulated

_RATES = 100
"""Number of parts of a trial over which rates are averaged: between two samples, a few packets make most of the rate."""


def fullest_queues(found: Simulated, most: int) -> tuple[Array, Mapping[str, Array]]:
    """Return the sample times (seconds), and the queues (bytes) of the fullest switch ports, named by their ends.

    Every port of a switch was sampled. Ports whose queues were always empty are left out, unless all were. TypeError if no
    series was kept.
    """
    series = found.result.series
    if series is None:
        raise TypeError("no series was kept")
    ports, links = switch_ports(found.fabric), found.fabric.links
    peaks = series.queue.max(axis=0, initial=0)
    fullest = peaks.argsort(kind="stable")[::-1][:most]
    fullest = fullest[: max(1, np.count_nonzero(peaks[fullest]))]
    queues = {
        _ends(links[ports[place] // 2], ports[place]): series.queue[:, place].astype(np.float64)
        for place in map(int, fullest)
    }
    return series.time_ps / 1e12, queues


def largest_rates(found: Simulated, most: int) -> tuple[Array, Mapping[str, Array]]:
    """Return the rates (bit/s) at which sampled flows' payload was acknowledged up to each time (seconds), named by their sizes.

    The flows are those of `Sampling.flows`, largest first. TypeError if no series was kept.
    """
    series = found.result.series
    if series is None:
        raise TypeError("no series was kept")
    largest = found.flows["size_bytes"].argsort(kind="stable")[::-1][
        : min(most, series.acknowledged.shape[1])
    ]
    every = max(1, round(len(series.time_ps) / _RATES))
    times = series.time_ps[::every] / 1e12
    seconds = np.diff(times)
    rates: dict[str, Array] = {}
    for column, place in enumerate(largest.tolist()):
        gained = np.diff(series.acknowledged[::every, column].astype(np.float64)) * 8 / seconds
        size = found.flows["size_bytes"][place] / 1e6
        rates[f"flow {found.flows['flow_id'][place]}, {size:.3g} MB"] = np.append(0.0, gained)
    return times, rates


def _ends(link: tuple[int, int, int, int], port: int) -> str:
    first, second, *_ = link
    return f"{first} to {second}" if port % 2 == 0 else f"{second} to {first}"
