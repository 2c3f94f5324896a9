"""Single trials of kind path in this process, several at once: each has a path of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trialwise.experiment.model import Experiment, Metric
from trialwise.experiment.sources import PathSource
from trialwise.experiment.trials import PathFlow, PathSettings, PathTrial
from trialwise.measurement.packets import Packets, read_packets
from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing
from trialwise.trials.base import TrialRequest
from trialwise.trials.path import PathKind

AT_ONCE = 6
LATENESS_SECONDS = 0.05
"""Throughput and queueing delay are looked at, in bands far wider than this."""
_QUANTITIES = ("throughput", "queueing_delay", "utilization")


@dataclass(frozen=True, slots=True)
class Setting:
    """A trial to be: flows over the same link both ways, what is cut from the start (seconds), and the seed."""

    flows: tuple[PathFlow, ...]
    link: Mapping[str, str]
    runtime: float
    warmup: float
    seed: int = 1

    @property
    def lacking(self) -> str | None:
        """What its schemes lack on this machine."""
        found = [why for flow in self.flows for why in missing(scheme_named(flow.scheme, ()))]
        return "; ".join(found) or None


@dataclass(frozen=True, slots=True)
class Found:
    """What a trial came to: throughput of each flow (Mbit/s), median queueing delay (ms), utilization (%), packets."""

    throughputs: tuple[float, ...]
    queueing: float
    utilization: float
    packets: Packets = field(repr=False)


def run_all(settings: Mapping[str, Setting], scratch: Path) -> dict[str, Found]:
    """Run those that can run here, at most `AT_ONCE` at a time."""
    able = {name: setting for name, setting in settings.items() if setting.lacking is None}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda item: run_one(item[1], scratch / item[0]), able.items())
        return dict(zip(able, found, strict=True))


def run_one(setting: Setting, scratch: Path) -> Found:
    """Run a trial to its end; RuntimeError where it did not finish."""
    sources = [PathSource(quantity) for quantity in _QUANTITIES]
    own = [PathSource("throughput", flow=number) for number in range(1, len(setting.flows) + 1)]
    outcome = PathKind().execute(_request(_experiment(setting, [*sources, *own]), setting.seed, scratch))
    if outcome.status != "finished" or outcome.record is None:
        raise RuntimeError(f"{setting.flows}: {outcome.status}: {outcome.reason}")

    def values(source: PathSource) -> np.ndarray:
        samples = outcome.samples[source.key]
        late = slice(None) if samples.times is None else samples.times >= setting.warmup
        return samples.values[late]

    return Found(
        throughputs=tuple(float(np.mean(values(source))) for source in own),
        queueing=float(np.median(values(PathSource("queueing_delay")))),
        utilization=float(values(PathSource("utilization"))[0]),
        packets=read_packets(outcome.record[1]),
    )


def _experiment(setting: Setting, sources: Sequence[PathSource]) -> Experiment:
    groups = (tuple(setting.link.items()),)
    return Experiment(
        name="trial",
        folder=Path.cwd(),
        trial=PathTrial(
            flows=setting.flows,
            path=PathSettings(groups, groups, folder=str(Path.cwd())),
            runtime=setting.runtime,
            lateness=LATENESS_SECONDS,
        ),
        metrics=tuple(Metric(source.key, source) for source in sources),
        runtime=setting.runtime,
        warmup=setting.warmup,
    )


def _request(experiment: Experiment, seed: int, scratch: Path) -> TrialRequest:
    cancel, _never = os.pipe()
    return TrialRequest(
        experiment=experiment,
        factors={},
        number=1,
        attempt=1,
        series=1,
        round=1,
        position=1,
        seed=seed,
        scratch=scratch,
        marker=f"test:{os.getpid()}",
        cancel=cancel,
    )
