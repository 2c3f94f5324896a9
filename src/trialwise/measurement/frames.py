"""Frames of media as a sender captured them and a receiver got them, and what a viewer makes of that: pure functions.

A frame is whole when its last missing byte has arrived. It is displayed then, unless a later one has been displayed before, or a
frame before it that it needs is missing: a frame needs all captured ones back to the last key frame. Frames that the encoder left out
are needed by none. Without the clock of a decoder there is no buffer that smooths arrivals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Array

FREEZE_GAPS, FREEZE_EXTRA = 3.0, 0.150
"""A gap between displayed frames is a freeze above max(3 mean gaps, mean gap + 150 ms)."""
LATE = 0.150
"""Seconds from capture to arrival beyond which a frame is late."""
RATE_BIN = 1.0
"""Seconds of the bins in which targets are averaged for their variation."""


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """The frames of one flow, by number.

    `captured` are seconds since the first flow started, `size` bytes of payload (0 if the encoder left it out), `target` the rate that
    the encoder followed in bit/s (NaN without one), `key` whether it needs no frame before it, and `arrived` the seconds at which its
    last byte arrived on the same clock, NaN if it never did. All have shape (n,).
    """

    captured: Array
    size: npt.NDArray[np.int64]
    target: Array
    key: npt.NDArray[np.bool_]
    arrived: Array

    def __len__(self) -> int:
        return len(self.captured)

    @property
    def encoded(self) -> npt.NDArray[np.bool_]:
        """Whether each was encoded, and not left out."""
        return self.size > 0

    @property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Whether each has arrived."""
        return np.isfinite(self.arrived)

    def between(self, start: float, stop: float) -> Frames:
        """Return those captured in [start, stop) seconds; what arrived at `stop` or later has not arrived."""
        kept = (self.captured >= start) & (self.captured < stop)
        arrived = np.where(self.arrived < stop, self.arrived, np.nan)
        return Frames(self.captured[kept], self.size[kept], self.target[kept], self.key[kept], arrived[kept])


def frame_delays(frames: Frames) -> Array:
    """Return the time from capture to the arrival of the last byte, for each frame that arrived, by number; milliseconds."""
    return (frames.arrived - frames.captured)[frames.whole] * 1e3


def displayed(frames: Frames) -> Array:
    """Return the times at which frames are displayed, in order; seconds, shape (m,) with m at most the number of frames."""
    whole = frames.whole
    times: list[float] = []
    is_decodable = True
    shown = -np.inf
    for place in np.flatnonzero(frames.encoded):
        is_decodable = bool(whole[place] and (frames.key[place] or is_decodable))
        if is_decodable:
            # A frame that overtakes one that it needs is decoded with it.
            shown = max(shown, float(frames.arrived[place]))
            times.append(shown)
    return np.array(times, dtype=np.float64)


def freezes(frames: Frames, stop: float) -> Array:
    """Return how long each freeze lasts: gaps between displayed frames above max(3 d, d + 150 ms), with d the mean gap.

    From the last displayed frame to `stop` is a gap too: without it, a picture that has frozen for good would count as none. The rule
    is that of `freezeCount` (W3C, Identifiers for WebRTC's Statistics API), with the mean of all gaps in place of a moving one.

    Returns
    -------
    ndarray
        Seconds, shape (k,), in order; empty if fewer than two frames were displayed.
    """
    times = displayed(frames)
    if len(times) < 2:
        return np.array([], dtype=np.float64)
    gaps = np.diff(times)
    usual = float(gaps.mean())
    gaps = np.append(gaps, max(0.0, stop - times[-1]))
    return gaps[gaps > max(FREEZE_GAPS * usual, usual + FREEZE_EXTRA)]


def freeze_share(frames: Frames, start: float, stop: float) -> float:
    """Return the share of the time [start, stop) in freezes, in percent; 100 if fewer than two frames were displayed."""
    if len(displayed(frames)) < 2:
        return 100.0
    return 100 * float(freezes(frames, stop).sum()) / (stop - start)


def late_frames(frames: Frames, stop: float, deadline: float = LATE) -> float:
    """Return the share of frames that did not arrive within `deadline` seconds of their capture, in percent.

    Frames that the encoder left out count as late; those captured less than `deadline` before `stop` do not count. NaN without any.
    """
    due = frames.captured + deadline <= stop
    if not due.any():
        return np.nan
    in_time = frames.encoded & (frames.arrived - frames.captured <= deadline)
    return 100 * float(np.mean(~in_time[due]))


def frame_rate(frames: Frames, start: float, stop: float) -> float:
    """Return the payload of frames that arrived over the time [start, stop); Mbit/s."""
    return float(frames.size[frames.whole].sum()) * 8e-6 / (stop - start)


def rate_variation(frames: Frames, start: float, stop: float) -> float:
    """Return the variation of the encoder's target: standard deviation (of n) of its means in whole seconds, over their mean.

    Returns
    -------
    float
        Percent; NaN if there is no target, as for recorded frames, or less than two seconds.
    """
    bins = int((stop - start) / RATE_BIN + 1e-9)
    known = frames.encoded & np.isfinite(frames.target)
    place = ((frames.captured[known] - start) / RATE_BIN).astype(np.int64)
    inside = place < bins
    counts = np.bincount(place[inside], minlength=bins)
    sums = np.bincount(place[inside], weights=frames.target[known][inside], minlength=bins)
    means = sums[counts > 0] / counts[counts > 0]
    return 100 * float(means.std() / means.mean()) if len(means) >= 2 else np.nan


def quality(frames: Frames, start: float, stop: float, rates: tuple[float, float]) -> float:
    """Return a proxy of quality: log2(r / least) / log2(most / least), with r the rate of frames that arrived, less the frozen share.

    `rates` are the least and the most of the encoder, bit/s; r is cut to them. Quality by this proxy grows by the same for each
    doubling of the rate. It knows nothing of the picture, and is no VMAF.

    Returns
    -------
    float
        1 at the highest rate without a freeze, −1 if all is frozen at the lowest. A range of a single rate is its highest.
    """
    least, most = rates
    rate = min(max(frame_rate(frames, start, stop) * 1e6, least), most)
    height = float(np.log2(rate / least) / np.log2(most / least)) if most > least else 1.0
    return height - freeze_share(frames, start, stop) / 100
