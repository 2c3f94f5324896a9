"""Match a log's arrivals to departures: logs identify packets by time, size and flow alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Mask

Keys = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
_FLOWS, _SIZES = 1 << 10, 1 << 16


def keys(times: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64], flows: npt.NDArray[np.int64]) -> Keys:
    """Return one number per packet from its time in microseconds (given in milliseconds), size and flow.

    Times up to 38 hours, sizes below 65536 bytes and flows below 1024 are told apart.
    """
    return (np.rint(times * 1000).astype(np.int64) * _SIZES + sizes) * _FLOWS + flows


def matched(wanted: Keys, offered: Keys, slack: int = 0) -> tuple[Places, Places]:
    """Return pairs of indices with the same key, each index used once; equal keys pair in order.

    Parameters
    ----------
    wanted, offered
        Keys of two logs.
    slack
        Microseconds by which their times may differ, since both may have been rounded.
    """
    left, right = np.arange(wanted.size), np.arange(offered.size)
    found: list[tuple[Places, Places]] = []
    for shift in sorted(range(-slack, slack + 1), key=abs):
        one, other = _same(wanted[left] + shift * _SIZES * _FLOWS, offered[right])
        found.append((left[one], right[other]))
        left, right = np.delete(left, one), np.delete(right, other)
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


def _same(one: Keys, other: Keys) -> tuple[Places, Places]:
    names = np.unique(np.concatenate([one, other]), return_inverse=True)[1].astype(np.int64)
    most = names.size + 1
    ranked_one = names[: one.size] * most + _rank(names[: one.size])
    ranked_other = names[one.size :] * most + _rank(names[one.size :])
    _, places, others = np.intersect1d(ranked_one, ranked_other, assume_unique=True, return_indices=True)
    return places, others


def _rank(names: Keys) -> Keys:
    """Count the equal keys before each."""
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    rank = np.empty(names.size, np.int64)
    rank[order] = np.arange(names.size) - starts
    return rank


def left_over(size: int, taken: Places) -> Mask:
    """Return which of `size` indices were not taken."""
    mask = np.ones(size, np.bool_)
    mask[taken] = False
    return mask
