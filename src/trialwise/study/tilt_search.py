"""Search for the tilt of one treatment: CCEval's, the same with weights, a defensive mixture, or none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias

import numpy as np

from trialwise import statistics as st
from trialwise._core import parse_fraction
from trialwise.arrays import Array
from trialwise.errors import PlanError, StatisticsError
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.placeholders import fill
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.tilts import DefensiveTilt, SwitchingTilt, Tilt
from trialwise.numbers import about, write
from trialwise.statistics.simulation.cross_entropy import CYCLES, EPOCHS
from trialwise.statistics.simulation.defensive import STRENGTHS, WORTH
from trialwise.study.tilt_document import EpochDocument, FitDocument, TiltChoice
from trialwise.trials.tilt_cycles import RawCycle, TiltCycles

TiltMethod: TypeAlias = Literal["cross-entropy", "weighted", "defensive"]
Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with the name of a tilt, the number of steps done, and their total."""

MAX_FLOWS = 1000.0
"""Mean flows per trial above which no mixture is sought: at 440 the best one gains 1.3, at 4,400 nothing."""
_SURROGATE = 2000
"""Cycles of the fluid model from which the gain of a tilt is estimated."""
_TAIL = 1000
"""Responses of the tail for each weighted epoch."""
_WEIGHTS = 0.9
"""Mean likelihood ratio below which the sample has missed the trials that carry the weight."""


@dataclass(frozen=True, slots=True)
class TiltOptions:
    """Options of the search. `cycles` None takes the method's own number: 10 as printed, weighted as many as the tail takes."""

    method: TiltMethod = "defensive"
    epochs: int = EPOCHS
    cycles: int | None = None
    seed: int = 1


def fitted_sizes(cycles: TiltCycles) -> tuple[Array, Array, list[st.SizeFit]]:
    """Return sizes (bytes), the percentage of flows up to each, and the four fitted families; raise PlanError without a table."""
    try:
        sizes, shares = cycles.size_table
        return sizes, shares, [st.fit_sizes(sizes, shares, family) for family in st.FAMILIES]
    except ValueError as error:
        raise PlanError(
            f"workload: {error}", hint='name a table of sizes, as in sizes = "websearch"'
        ) from error


class TiltSearch:
    """The search for the tilt of one treatment; raises PlanError if its arrivals are not Poisson, or its sizes cannot be sampled."""

    def __init__(
        self,
        experiment: Experiment,
        trial: SimulationTrial,
        metric: Metric,
        options: TiltOptions,
        name: str,
        told: Progress,
    ) -> None:
        self._trial = trial
        self._options = options
        self._name = name
        self._told = told
        self._percentile = metric.percentile or 0.0
        self._random = np.random.default_rng(seed_of(options.seed, "tilt", name))
        self._cycles = TiltCycles(trial, experiment.folder, self._random)
        self._sizes, self._shares, self._fits = fitted_sizes(self._cycles)
        if trial.workload.arrivals != "poisson":
            raise PlanError(
                f"arrivals {trial.workload.arrivals}: a tilt takes Poisson arrivals, whose number is known",
                hint='arrivals = "poisson"',
            )
        self._mean_flows = self._cycles.mean_flows

    def choose(self, factors: Mapping[str, Level]) -> tuple[TiltChoice, Tilt | None]:
        """Return the choice and its tilt; None if none is worth it."""
        if self._options.method == "defensive":
            return self._defensive(factors)
        return self._switching(factors)

    def _switching(self, factors: Mapping[str, Level]) -> tuple[TiltChoice, Tilt]:
        fit = self._fits[0]
        mu, sigma = fit.parameters
        weighted = self._options.method == "weighted"
        tail = (1 - self._percentile / 100) * self._mean_flows
        cycles = self._options.cycles or (ceil(_TAIL / tail) if weighted else CYCLES)
        total, done = self._options.epochs * cycles, 0

        def draw(tilt: st.LognormalTilt, threshold: float) -> st.Cycle:
            nonlocal done
            self._told(self._name, done, total)
            done += 1
            asked = SwitchingTilt(tilt.mu, tilt.sigma, tilt.tilted_mu, tilt.tilted_sigma, threshold)
            return _cycle(self._cycles.fluid(asked) if weighted else self._cycles.packets(asked, self._look))

        try:
            found = st.cross_entropy_search(
                draw,
                (mu, sigma),
                self._percentile,
                self._mean_flows,
                epochs=self._options.epochs,
                cycles=cycles,
                weighted=weighted,
            )
        except StatisticsError as error:
            raise PlanError(
                f"{self._name}: the search degenerated: {error}",
                hint="more cycles (--cycles), --method weighted, or --method defensive",
            ) from error
        end = found.tilt
        tilt = SwitchingTilt(mu, sigma, end.tilted_mu, end.tilted_sigma, found.threshold)
        gain, warnings = self._judged(tilt)
        warnings = [fit.note, *([found.warning] if found.warning else []), *warnings]
        epochs = tuple(EpochDocument(*each) for each in found.history)
        return self._choice(factors, tilt, found.method, fit.mean_ratio, gain, epochs, warnings), tilt

    def _judged(self, tilt: SwitchingTilt) -> tuple[float, list[str]]:
        """Return the gain of a tilt on the fluid model, and what speaks against it."""
        untilted = dataclasses.replace(tilt, tilted_mu=tilt.mu, tilted_sigma=tilt.sigma)
        plain = [_cycle(self._cycles.fluid(untilted)) for _ in range(_SURROGATE)]
        tilted = [_cycle(self._cycles.fluid(tilt)) for _ in range(_SURROGATE)]
        threshold = st.importance_quantile(plain, self._percentile, self._mean_flows).estimate
        gain = st.variance_ratio(plain, tilted, threshold)
        total = sum(float(cycle.weights.sum()) for cycle in tilted) / (_SURROGATE * self._mean_flows)
        warnings: list[str] = []
        if total < _WEIGHTS:
            warnings.append(
                f"the weights degenerate: on {_SURROGATE} cycles of the surrogate "
                f"likelihood ratios have the mean {write(total, digits=2)} instead "
                "of 1; the rare trials that carry the rest were not seen, and the gain is none"
            )
        if gain < WORTH:
            warnings.append(
                "no tilt is better: on the surrogate "
                f"the variance of the tail is {about(1 / gain)} times as large with this one"
                if gain < 1
                else "this tilt is not worth it: "
                f"the variance of the tail falls {write(gain, digits=2)} times, and {WORTH:g} are wanted"
            )
        return gain, warnings

    def _defensive(self, factors: Mapping[str, Level]) -> tuple[TiltChoice, Tilt | None]:
        if self._mean_flows > MAX_FLOWS:
            reason = f"a trial has {about(self._mean_flows)} flows in the mean: above {MAX_FLOWS:g} no weights are worth anything"
            return self._choice(factors, None, "defensive mixture", 1.0, 1.0, (), [reason]), None
        cycles = self._options.cycles or _CHOICE
        fewest = ceil(_TAIL / ((1 - self._percentile / 100) * self._mean_flows))
        total = (1 + len(STRENGTHS)) * max(cycles, fewest)
        done = 0

        def surrogate(sampler: st.SwitchingSampler) -> tuple[Array, Array]:
            nonlocal done
            self._told(self._name, done, total)
            done += 1
            return self._cycles.listed(sampler)

        found = st.defensive_choice(
            surrogate,
            lambda rank: float(np.interp(rank, self._shares / 100, self._sizes)),
            self._mean_flows / self._cycles.seconds,
            self._percentile,
            self._mean_flows,
            self._random,
            cycles=cycles,
        )
        method = "defensive mixture, learnt on the fluid model"
        if not found.used:
            return self._choice(factors, None, method, 1.0, found.variance_ratio, (), [found.reason]), None
        mixture = found.mixture
        heights = 1 - mixture.share + mixture.share * mixture.masses / np.diff(mixture.edges)
        tilt = DefensiveTilt(tuple(mixture.edges.tolist()), tuple(heights.tolist()), found.most)
        return self._choice(factors, tilt, method, 1.0, found.variance_ratio, (), []), tilt

    def _look(self, _now: int, _events: int, _unfinished: int) -> None:
        """Called during a long trial, so that it can be interrupted."""

    def _choice(
        self,
        factors: Mapping[str, Level],
        tilt: Tilt | None,
        method: str,
        ratio: float,
        gain: float,
        epochs: tuple[EpochDocument, ...],
        warnings: Sequence[str],
    ) -> TiltChoice:
        load = parse_fraction(fill(self._trial.workload.load, factors))
        return TiltChoice(
            name=self._name,
            tilt=None if tilt is None else dataclasses.asdict(tilt),
            method=method,
            percentile=self._percentile,
            expected_flows=self._mean_flows,
            load=load,
            true_load=load * ratio,
            fits=tuple(
                FitDocument(
                    fit.family,
                    fit.parameters,
                    fit.mean_ratio,
                    fit.rmse,
                    fit.largest_error,
                    fit.beyond,
                )
                for fit in self._fits
            ),
            epochs=epochs,
            surrogate_gain=gain,
            warnings=tuple(warnings),
        )


_CHOICE = 4000
"""Cycles of the surrogate for each strength of a mixture."""


def _cycle(raw: RawCycle) -> st.Cycle:
    return st.Cycle(raw.responses, np.exp(raw.log_likelihood), raw.coordinates)
