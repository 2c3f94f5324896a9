"""Trials whose sizes are drawn from a tilted distribution: their flows, and the likelihood ratio of each when it ended."""

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
from trialwise.trials.drawn_flows import Drawing, Flows

_REACH, _STEP = 8.0, 0.01
"""Standard deviations up to which a tilted lognormal is followed, and the width of a piece of its density."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What makes up for a tilt in one trial.

    `log_likelihood` is the logarithm of the likelihood ratio of all sizes drawn before the end of each flow, shape (flows,);
    `expected_flows` is λT, and `load_ratio` the load that the untilted sizes offer over the one asked for.
    """

    log_likelihood: Array
    expected_flows: float
    load_ratio: float


def tilt_of(trial: SimulationTrial) -> Tilt | None:
    """The tilt of a trial whose placeholders are filled; None where nothing is tilted.

    Raises
    ------
    PlanError
        No tilt has the name, the arrivals are not Poisson, or the trial is one of ns-3.
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
    if trial.engine == "ns3":
        raise PlanError(
            "ns-3 draws no tilted sizes",
            hint='write engine = "trialwise", or leave the tilt out of the workload',
        )
    if trial.workload.arrivals != "poisson":
        raise PlanError(
            f"arrivals {trial.workload.arrivals}: a tilt takes Poisson arrivals, whose number is known",
            hint='write arrivals = "poisson", or leave the tilt out',
        )
    return known[name]


def lognormal_text(mu: float, sigma: float) -> str:
    """Lognormal sizes as a workload writes them; their mean is a whole number of bytes."""
    return f"lognormal:mean={round(exp(mu + sigma**2 / 2))}B,sigma={sigma!r}"


def load_ratio(tilt: Tilt | None, fabric: _core.Fabric, drawing: Drawing) -> float:
    """The mean of the untilted sizes of a tilted trial over that of the workload: 1 unless sizes are those of a fit."""
    if not isinstance(tilt, SwitchingTilt):
        return 1.0
    fitted: Drawing = {**drawing, "sizes": lognormal_text(tilt.mu, tilt.sigma), "size_table": None}
    return _core.expected_flows(fabric, **drawing) / _core.expected_flows(fabric, **fitted)


def ranks_of(tilt: SwitchingTilt) -> tuple[list[float], list[float]]:
    """The density of the ranks U = F(S) of tilted lognormal sizes: edges from 0 to 1, and a height for each piece.

    It is constant in pieces of a hundredth of a standard deviation of ln S, each with the mass that the tilted lognormal has there.
    The weights are those of this density, exactly, so that nothing is approximated but the tilt itself, by less than its slope times
    that width.
    """
    from scipy.special import ndtr  # half of the time in which `trialwise simulate` starts

    steps = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    edges = np.asarray(ndtr(steps), dtype=np.float64)
    edges[0], edges[-1] = 0.0, 1.0
    # Far above, neighbouring ranks are the same number.
    kept = np.concatenate([[True], np.diff(edges) > 0])
    kept[-1] = True
    edges, steps = edges[kept], steps[kept]
    places = (tilt.mu + tilt.sigma * steps - tilt.tilted_mu) / tilt.tilted_sigma
    below = np.asarray(ndtr(places), dtype=np.float64)
    below[0], below[-1] = 0.0, 1.0
    above = np.asarray(ndtr(-places), dtype=np.float64)
    above[0], above[-1] = 1.0, 0.0
    # Differences of whichever tail is smaller keep their digits.
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
        Its flows, what came of them, the logarithm of the likelihood ratio when each ended, and when the tilted phase ended (ps, None
        where it did not).

    Raises
    ------
    ValueError
        The trial cannot be as it is written.
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
    """The flow list of a seed with the first `most` sizes at ranks of the density, and the logarithm of each size's ratio.

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
    """For each flow the logarithm of the likelihood ratio of all flows that began before it ended, shape (flows,).

    What begins later cannot change a flow that has ended (CCEval Eq. 9); NaN where a flow did not end.
    """
    begun = np.searchsorted(flows["start_ps"], flows["start_ps"] + fct_ps, side="left")
    totals = np.concatenate([[0.0], np.cumsum(log_ratios)])
    return np.where(fct_ps < 0, np.nan, totals[begun])
