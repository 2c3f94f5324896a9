"""Turn the results of a simulated trial into the samples of metrics, and the record of its flows."""

from __future__ import annotations

import io
import math

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import TrialError
from trialwise.experiment.model import Metric
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES, size_class
from trialwise.experiment.tilts import EXPECTED_FLOWS, LOAD_RATIO, LOG_LIKELIHOOD
from trialwise.experiment.traits import assumed
from trialwise.late import pl
from trialwise.measurement.samples import Samples
from trialwise.trials.drawn_flows import Flows
from trialwise.trials.fabrics import switch_ports
from trialwise.trials.simulating import Simulated
from trialwise.trials.tilting import Weights


def nobody(source: SimulationSource) -> str:
    """Say that a source covers no flow."""
    whose = f"no flow of {source.sizes}" if source.sizes else "no flow"
    return f"{whose} starts in the stable phase" if source.phase == "stable" else f"there is {whose}"


def chosen_flows(
    source: SimulationSource, trial: SimulationTrial, flows: Flows, duration: float
) -> npt.NDArray[np.bool_]:
    """Return which flows a source covers, shape (flows,).

    Warm-up and cool-down are the flows that start before `warmup` and in the last `cooldown` of the duration (CCEval, figure 13).
    """
    sizes, start = flows["size_bytes"], flows["start_ps"] / 1e12
    chosen = np.ones(len(sizes), dtype=np.bool_)
    if source.sizes:
        ends = size_class(source.sizes)
        chosen &= (sizes >= ends.low) & (sizes < (math.inf if ends.high is None else ends.high))
    if source.phase == "stable":
        chosen &= start >= trial.warmup
        chosen &= (start < duration - trial.cooldown) | (trial.cooldown == 0)
    return chosen


def metric_samples(metric: Metric, trial: SimulationTrial, found: Simulated) -> Samples:
    """Compute the samples of one metric, none if it covers no flow; raise TrialError if a flow did not finish."""
    source = assumed(metric.source, SimulationSource)
    if source.quantity == "jct":
        if missing := int(np.isnan(found.jct).sum()):
            raise TrialError(f"metric {metric.name}: {missing} of {len(found.jct)} jobs did not end")
        return Samples(found.jct)
    if not SIMULATION_QUANTITIES[source.quantity].per_flow:
        return _of_network(source.quantity, found)
    chosen = chosen_flows(source, trial, found.flows, found.duration)
    sizes = found.flows["size_bytes"][chosen]
    if source.quantity == "flows":
        return Samples(np.array([chosen.sum()]))
    if source.quantity == "bytes":
        return Samples(np.array([sizes.sum()]))
    if source.quantity == "largest_flow":
        return Samples(np.sort(sizes)[-1:].astype(np.float64))
    values = getattr(found, source.quantity)[chosen]
    if unfinished := int(np.isnan(values).sum()):
        raise TrialError(f"metric {metric.name}: {unfinished} of {len(values)} flows did not finish")
    return Samples(values)


def _of_network(quantity: str, found: Simulated) -> Samples:
    result, totals = found.result, found.result.totals
    if isinstance(result, _core.SimulationResult):
        if quantity == "queue" and result.series is not None:
            waiting = result.series.queue.max(axis=1).astype(np.float64)
            return Samples(waiting, times=result.series.time_ps / 1e12)
        if quantity == "peak_queue":
            ports = switch_ports(found.fabric)
            return Samples(np.array([float(result.port_peak_queue[ports].max(initial=0))]))
    dropped = sum(totals[name] for name in ("dropped_buffer", "dropped_link", "dropped_fault"))
    counts = {"drops": dropped, "resent": totals["data_resent"]} | totals
    return Samples(np.array([float(counts[quantity])]))


def counted(found: Simulated) -> dict[str, Samples]:
    """Return the simulator's counts, besides the metrics."""
    return {
        f"simulator:{name}": Samples(np.array([float(count)])) for name, count in found.result.totals.items()
    }


def weights_kept(weights: Weights | None) -> dict[str, Samples]:
    """Return the weights of a tilt; the first entry has a number per flow, like a metric of all flows."""
    if weights is None:
        return {}
    return {
        LOG_LIKELIHOOD: Samples(weights.log_likelihood),
        EXPECTED_FLOWS: Samples(np.array([weights.expected_flows])),
        LOAD_RATIO: Samples(np.array([weights.load_ratio])),
    }


def flow_records(found: Simulated) -> bytes:
    """Return a Parquet file with a row per flow: its specification, `fct_ps` (null if it did not finish), `ideal_ps`.

    A tilted trial adds `log_likelihood`, the logarithm of the trial's likelihood ratio when the flow ended.
    """
    fct = pl.Series("fct_ps", found.result.fct_ps)
    frame = pl.DataFrame({**found.flows, "ideal_ps": found.result.ideal_ps})
    packed = io.BytesIO()
    if found.weights is not None:
        frame = frame.with_columns(log_likelihood=pl.Series(found.weights.log_likelihood, nan_to_null=True))
    frame.with_columns(fct_ps=fct.set(fct < 0, None)).write_parquet(packed, compression="zstd")
    return packed.getvalue()
