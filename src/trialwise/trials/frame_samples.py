"""The samples of a path trial's metrics of media."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.errors import TrialError
from trialwise.measurement import frames as fr
from trialwise.measurement.frames import Frames
from trialwise.measurement.samples import Samples


@dataclass(frozen=True, slots=True)
class MediaFlow:
    """The frames of a flow, and the time in which they count, in seconds.

    `rates` are the least and the most of its encoder in bit/s, `fair` is its equal share of the path's rate in Mbit/s; None without.
    """

    frames: Frames
    start: float
    stop: float
    rates: tuple[float, float] | None
    fair: float | None

    @property
    def kept(self) -> Frames:
        """The frames captured in that time."""
        return self.frames.between(self.start, self.stop)

    def utilization(self) -> float:
        """Return the rate of frames that arrived as a share of the fair one in percent; raise TrialError without a fair one."""
        if self.fair is None:
            raise TrialError("the path has no rate, so there is no fair share", hint="give trial.path a rate")
        return 100 * fr.frame_rate(self.kept, self.start, self.stop) / self.fair

    def quality(self) -> float:
        """Return the proxy of quality, from −1 to 1; raise TrialError for recorded frames."""
        if self.rates is None:
            raise TrialError(
                "recorded frames have no range of rates, so there is no quality",
                hint="use media:rate=LEAST..MOST",
            )
        return fr.quality(self.kept, self.start, self.stop, self.rates)

    def variation(self) -> float:
        """Return the variation of the target in percent; raise TrialError if there is none."""
        found = fr.rate_variation(self.kept, self.start, self.stop)
        if np.isnan(found):
            raise TrialError(
                "the encoder's target does not last for two seconds, so it has no variation",
                hint="recorded frames have no target; else take a longer runtime",
            )
        return found


_ONE: Mapping[str, Callable[[MediaFlow], float]] = {
    "late_frames": lambda flow: fr.late_frames(flow.kept, flow.stop),
    "freezes": lambda flow: float(len(fr.freezes(flow.kept, flow.stop))),
    "freeze_share": lambda flow: fr.freeze_share(flow.kept, flow.start, flow.stop),
    "rate_utilization": MediaFlow.utilization,
    "rate_variation": MediaFlow.variation,
    "quality": MediaFlow.quality,
}
FRAMES = frozenset({"frame_delay", *_ONE})
"""The quantities that frames of media have."""


def frame_samples(quantity: str, flows: Sequence[MediaFlow]) -> Samples:
    """Compute the samples of a quantity: the delays of all frames, else the mean of the flows.

    Raises
    ------
    TrialError
        No flow carries media, no frame arrived, or the quantity needs what the trial does not have.
    """
    if not flows:
        raise TrialError("no flow carries media", hint="use a load such as media:rate=150kbit/s..1.5Mbit/s")
    if quantity == "frame_delay":
        return _delays([flow.frames.between(flow.start, flow.stop) for flow in flows])
    value = float(np.mean([_ONE[quantity](flow) for flow in flows]))
    if np.isnan(value):
        raise TrialError("no frame was due: the flow does not last for 150 ms", hint="take a longer runtime")
    return Samples(np.array([value]))


def _delays(flows: Sequence[Frames]) -> Samples:
    """Return the delays of all frames that arrived, by the time of their capture."""
    values = np.concatenate([fr.frame_delays(frames) for frames in flows])
    times = np.concatenate([frames.captured[frames.whole] for frames in flows])
    if not len(values):
        raise TrialError("no frame arrived")
    order = np.argsort(times, kind="stable")
    return Samples(values[order], times[order])
