"""Trials with sizes from a tilted distribution: their flows, and the likelihood ratio of each when it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.arrays import Array
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.tilts import DefensiveTilt, SwitchingTilt, Tilt
from trialwise.late import special
from trialwise.trials.drawn_flows import Drawing, Flows

_REACH, _STEP = 8.0, 0.01
"""Standard deviations up to which a tilted lognormal is followed, and the width of a piece of its density."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The correction for a tilt in one trial.

    `log_likelihood` is the logarithm of the likelihood ratio of all sizes sampled before the end of each flow, shape (flows,);
    `expected_flows` is λT, and `load_ratio` the load that the untilted sizes offer, divided by the requested load.
    """

    log_likelihood: Array
    expected_flows: float
    load_ratio: float


def tilt_of(trial: SimulationTrial) -> Tilt | None:
    """Return the tilt of a trial with its placeholders filled in; None if nothing is tilted.

    Raises
    ------
    PlanError
        The tilt's name is unknown, the arrivals are not Poisson, or the trial uses ns-3.
    """
    name = trial.workload.tilt
    if not name:
        return None
    known = dict(trial.tilts)
    if name not in known:
        from trialwise.experiment.problems import nearest

        meant = nearest(name, list(known))
        did = f"; did you mean {meant}?" if meant else ""
        raise PlanError(
            f"no tilt is called {name!r}{did}",
            hint=f"describe it under [tilts.{name}]; `trialwise tilt` writes it",
        )
    if trial.engine != "trialwise":
        raise PlanError(
            f'engine = "{trial.engine}" draws no tilted sizes',
            hint='write engine = "trialwise", or leave the tilt out of the workload',
        )
    if trial.workload.arrivals != "poisson":
        raise PlanError(
            f"arrivals {trial.workload.arrivals}: a tilt takes Poisson arrivals, whose number is known",
            hint='write arrivals = "poisson", or leave the tilt out',
        )
    return known[name]


def lognormal_text(mu: float, sigma: float) -> str:
    """Write lognormal sizes as a workload does; their mean is an integer number of bytes."""
    return f"lognormal:mean={round(exp(mu + sigma**2 / 2))}B,sigma={sigma!r}"


def load_ratio(tilt: Tilt | None, fabric: _core.Fabric, drawing: Drawing) -> float:
    """Return the mean of a tilted trial's untilted sizes divided by the workload's: 1 unless sizes come from a fit."""
    if not isinstance(tilt, SwitchingTilt):
        return 1.0
    fitted: Drawing = {**drawing, "sizes": lognormal_text(tilt.mu, tilt.sigma), "size_table": None}
    return _core.expected_flows(fabric, **drawing) / _core.expected_flows(fabric, **fitted)


def ranks_of(tilt: SwitchingTilt) -> tuple[list[float], list[float]]:
    """Return the density of the ranks U = F(S) of tilted lognormal sizes: edges from 0 to 1, and a height for each piece.

    It is piecewise constant over a hundredth of a standard deviation of ln S, each piece with the tilted lognormal's mass there.
    The weights are exactly those of this density, so that only the tilt itself is approximate, by less than its slope times
    that width.
    """
    steps = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    edges = np.asarray(special.ndtr(steps), dtype=np.float64)
    edges[0], edges[-1] = 0.0, 1.0
    # Far above, neighbouring ranks are the same number.
    kept = np.concatenate([[True], np.diff(edges) > 0])
    kept[-1] = True
    edges, steps = edges[kept], steps[kept]
    places = (tilt.mu + tilt.sigma * steps - tilt.tilted_mu) / tilt.tilted_sigma
    below = np.asarray(special.ndtr(places), dtype=np.float64)
    below[0], below[-1] = 0.0, 1.0
    above = np.asarray(special.ndtr(-places), dtype=np.float64)
    above[0], above[-1] = 1.0, 0.0
    # Differences of the smaller tail keep their digits.
    masses = np.where(places[1:] < 0, np.diff(below), -np.diff(above))
    masses = np.maximum(masses, np.finfo(np.float64).tiny)
    return edges.tolist(), (masses / np.diff(edges)).tolist()


def switching_trial(
    tilt: SwitchingTilt,
    trial: SimulationTrial,
    fabric: _core.Fabric,
    drawing: Drawing,
    congestion: object,
    *,
    flow_seed: int,
    seed: int,
    progress: Callable[[int, int, int], object] | None = None,
) -> tuple[Flows, _core.SimulationResult, Array, int | None]:
    """Simulate a trial by CCEval's switching change of measure.

    Returns
    -------
    tuple
        Its flows, its results, the logarithm of the likelihood ratio when each ended, and when the tilted phase ended (ps, None
        if it did not).

    Raises
    ------
    ValueError
        The trial is invalid.
    """
    edges, heights = ranks_of(tilt)
    return _core.simulate_switching(
        fabric,
        edges=edges,
        heights=heights,
        threshold_ps=round(tilt.threshold * 1e12),
        **drawing,
        drawn_sizes=lognormal_text(tilt.mu, tilt.sigma),
        flow_seed=flow_seed,
        controller=congestion,
        parameters=trial.controller,
        network=trial.network,
        mode=trial.mode,
        seed=seed,
        progress=progress,
    )


def defensive_flows(
    tilt: DefensiveTilt, fabric: _core.Fabric, drawing: Drawing, seed: int
) -> tuple[Flows, Array]:
    """Return the flow list of a seed with the first `most` sizes at ranks of the density, and the log ratio of each size.

    Starts and pairs are those of the untilted list, and sizes come from the same random numbers: lists of one seed are alike.
    """
    tilted, log_ratios = _core.generate_flows_weighted(
        fabric, edges=tilt.edges, heights=tilt.density, **drawing, seed=seed
    )
    plain = _core.generate_flows(fabric, **drawing, seed=seed)
    tilted["size_bytes"][tilt.most :] = plain["size_bytes"][tilt.most :]
    log_ratios[tilt.most :] = 0.0
    return tilted, log_ratios


def at_finish(flows: Flows, log_ratios: Array, fct_ps: npt.NDArray[np.int64]) -> Array:
    """Return for each flow the log likelihood ratio of all flows that began before it ended, shape (flows,).

    What begins later cannot change a flow that has ended (CCEval Eq. 9); NaN for a flow that did not end.
    """
    begun = np.searchsorted(flows["start_ps"], flows["start_ps"] + fct_ps, side="left")
    totals = np.concatenate([[0.0], np.cumsum(log_ratios)])
    return np.where(fct_ps < 0, np.nan, totals[begun])
