"""Queues and rates of a simulated trial over time, as they are drawn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from trialwise.trials.simulating import Simulated, switch_ports

Array = npt.NDArray[np.float64]


def fullest_queues(found: Simulated, most: int) -> tuple[Array, Mapping[str, Array]]:
    """The times of the looks (seconds), and the queues (bytes) of the ports of switches that were fullest, by their ends.

    Every port of a switch was looked at.
    """
    series = found.result.series
    if series is None:
        raise TypeError("no series was kept")
    ports, links = switch_ports(found.fabric), found.fabric.links
    fullest = series.queue.max(axis=0, initial=0).argsort(kind="stable")[::-1][:most]
    queues = {
        _ends(links[ports[place] // 2], ports[place]): series.queue[:, place].astype(np.float64)
        for place in map(int, fullest)
    }
    return series.time_ps / 1e12, queues


def largest_rates(found: Simulated, most: int) -> Mapping[str, Array]:
    """The rates (bit/s) at which payload of the flows that were looked at was acknowledged between two looks, by their sizes.

    The flows are those of `Sampling.flows`, largest first.
    """
    series = found.result.series
    if series is None:
        raise TypeError("no series was kept")
    largest = found.flows["size_bytes"].argsort(kind="stable")[::-1][:most]
    seconds = np.diff(series.time_ps / 1e12)
    rates: dict[str, Array] = {}
    for column, place in enumerate(largest.tolist()):
        gained = np.diff(series.acknowledged[:, column].astype(np.float64)) * 8 / seconds
        size = found.flows["size_bytes"][place] / 1e6
        rates[f"flow {found.flows['flow_id'][place]}, {size:.3g} MB"] = np.append(0.0, gained)
    return rates


def _ends(link: tuple[int, int, int, int], port: int) -> str:
    first, second, *_ = link
    return f"{first} to {second}" if port % 2 == 0 else f"{second} to {first}"
