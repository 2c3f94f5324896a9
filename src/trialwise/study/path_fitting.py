"""Fit an emulated path to a real one: identify, search, judge on what was held out, and certify."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from trialwise import __version__
from trialwise.analysis.comparison.comparing import CompareOptions
from trialwise.analysis.likeness.candidates import Candidate, Family
from trialwise.analysis.likeness.distances import Yardstick, collected
from trialwise.analysis.likeness.identifying import identify
from trialwise.analysis.likeness.judging import TrialValues, betrayed_by, judged_rows, outcome_of
from trialwise.analysis.likeness.results import Certificate, Ending, Search
from trialwise.analysis.likeness.values import likeness_values
from trialwise.analysis.progress import Progress
from trialwise.errors import PlanError
from trialwise.experiment.path_files import PathCertificate, digest_in, path_file
from trialwise.experiment.trials import PathSettings, way_text
from trialwise.measurement.packets import Packets
from trialwise.statistics.fitting.surrogate import fitted, proposal, sobol
from trialwise.study.evaluations import Distances, Evaluation, EvaluationLog, is_likelier, score
from trialwise.study.real_packets import RealPackets
from trialwise.study.real_trials import RealTreatment, RealTrials, now, read_real
from trialwise.trials.path_plan import FlowPlan
from trialwise.trials.simulated_path import packets_over

_Each = TypeVar("_Each")

DESIGN, IMPROVEMENTS = 16, 8
"""Evaluations of a Sobol design, and further ones at the greatest expected improvement, for each parameter that is searched."""
_LEAST = 8
"""Evaluations that a budget has to allow."""
_TRIALS, _JUDGED = 6, 40
"""Simulated trials of each treatment in an evaluation at most, and in a judgement at least."""
_FINALISTS = 3
_DELAYS = "the delay of each way is half of the least round trip"
_PATIENCE = 10
"""Times the time that a load of fixed size had over the real path: what it may take over an emulated one."""
_SEARCHING, _CONFIRMING, _JUDGING = 1, 2, 3
"""Purposes of seeds: no two steps simulate the same trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """Options of a calibration.

    `hold_out` and `only` are texts as `scheme=bbr,copa`; `budget` is in seconds of evaluations. `judging` has the confidence and
    the margins of the verdicts. With `real`, the likest paths are compared, and what was held out is judged, with real packets.
    """

    hold_out: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    budget: float = 600.0
    seed: int = 1
    real: bool = False
    judging: CompareOptions = field(default_factory=CompareOptions)


@dataclass(frozen=True, slots=True)
class FittedPath:
    """A path with its certificate, and the text of its file."""

    certificate: Certificate
    file: str


def fit_path(
    real: Path, options: FitOptions, log: Path, told: Progress, clock: Callable[[], float] = time.perf_counter
) -> FittedPath:
    """Fit a path to the trials of an experiment directory, and certify it.

    Parameters
    ----------
    real
        The directory: trials of kind path whose packets were kept.
    log
        File of evaluations: those of an interrupted calibration with the same options are taken from it.
    told
        Called with what is being done, how much is done, and the total.

    Raises
    ------
    PlanError
        An option names what is not there, everything is held out, or the budget is too small.
    AnalysisError
        Trials or packets are too few, or no queue was busy.
    """
    trials = read_real(real, options.only, options.hold_out, told)
    return fit_trials(trials, options, log, told, clock)


def fit_trials(
    trials: RealTrials,
    options: FitOptions,
    log: Path,
    told: Progress,
    clock: Callable[[], float] = time.perf_counter,
) -> FittedPath:
    """Fit a path to real trials that are in memory, as `fit_path` does."""
    family = Family(*identify(trials.packets_to_fit()))
    yardstick = Yardstick(trials.values_by_treatment())
    evaluations = EvaluationLog(log, trials.fingerprint(family, options.seed))
    fit = _Fit(trials, family, yardstick, options, evaluations, told, clock)
    fit.check()
    search, best = fit.search()
    return _certified(fit, search, best)


class _Fit:
    """One calibration: what is real, what can be fitted, and what has been evaluated."""

    def __init__(
        self,
        trials: RealTrials,
        family: Family,
        yardstick: Yardstick,
        options: FitOptions,
        log: EvaluationLog,
        told: Progress,
        clock: Callable[[], float],
    ) -> None:
        self.trials, self.family, self.yardstick, self.options = trials, family, yardstick, options
        self.log, self.told, self.clock = log, told, clock
        self.fitted = [one for one in trials.treatments if not one.is_held_out]
        self.simulated = [one for one in self.fitted if one.is_simulated]
        self.real = RealPackets(trials.experiment) if options.real and trials.experiment else None
        self.repeats = max(2, min(_TRIALS, *(len(one.plans) for one in self.fitted)))

    def settings(self, candidate: Candidate) -> PathSettings:
        """Return a candidate's path with the MTU of the real trials."""
        return self.family.settings(candidate, self.trials.mtu)

    def check(self) -> None:
        """Raise PlanError if real packets are wanted and cannot be had here."""
        if self.real is not None:
            factors = [row.factors for one in self.trials.treatments for row in one.rows[:1]]
            self.real.check(self.settings(self.family.identified), factors)

    def simulate(
        self, treatment: RealTreatment, candidate: Candidate, purpose: int, number: int
    ) -> list[TrialValues]:
        """Simulate a treatment over a candidate `number` times; for a purpose, each trial has one seed over all candidates."""

        def simulated(settings: PathSettings, place: int, seed: int) -> Packets:
            return packets_over(settings, _patient(treatment.plans[place]), seed)

        return self._values(treatment, candidate, (purpose, number), simulated)

    def emulate(
        self, treatment: RealTreatment, candidate: Candidate, purpose: int, number: int
    ) -> list[TrialValues]:
        """Do the same with real packets, or simulate if none are wanted."""
        real = self.real
        if real is None:
            return self.simulate(treatment, candidate, purpose, number)

        def emulated(settings: PathSettings, place: int, seed: int) -> Packets:
            return real.packets(settings, treatment.rows[place].factors, seed)

        return self._values(treatment, candidate, (purpose, number), emulated)

    def _values(
        self,
        treatment: RealTreatment,
        candidate: Candidate,
        seeds: tuple[int, int],
        trial: Callable[[PathSettings, int, int], Packets],
    ) -> list[TrialValues]:
        settings, (purpose, number) = self.settings(candidate), seeds
        found: list[TrialValues] = []
        for place in range(number):
            sequence = np.random.SeedSequence(
                [self.options.seed, purpose, self.trials.place(treatment), place]
            )
            seed = int(sequence.generate_state(1)[0])
            own = place % len(treatment.plans)
            packets = trial(settings, own, seed)
            found.append(likeness_values(packets, treatment.flows(treatment.plans[own]), self.trials.warmup))
        return found

    def distances(self, candidate: Candidate) -> Distances:
        """Return the distances of each fitted treatment and metric in simulated time, for the search."""
        trials = {one.name: self.simulate(one, candidate, _SEARCHING, self.repeats) for one in self.simulated}
        return {name: self.yardstick.distances(name, collected(each)) for name, each in trials.items()}

    def compared(self, candidates: Sequence[Candidate]) -> list[Distances]:
        """Return the distances of paths by other trials than those of the search, of real packets if they are wanted."""
        of_each, number = (
            (self.simulated, 2 * self.repeats) if self.real is None else (self.fitted, self.repeats)
        )
        found: list[dict[str, Mapping[str, float]]] = [{} for _ in candidates]
        work = [(place, one) for place in range(len(candidates)) for one in of_each]
        for place, one in self.telling("comparing the likest", work):
            values = self.emulate(one, candidates[place], _CONFIRMING, number)
            found[place][one.name] = self.yardstick.distances(one.name, collected(values))
        return list(found)

    def search(self) -> tuple[Search, Candidate]:
        """Return what was done, and the likest path: the identified one unless another is clearly likelier with other seeds."""
        known = self.family.identified
        if not self.simulated:
            return Search(0, 0, np.nan, np.nan, 0.0, "not simulated"), known
        evaluations, ended = self._evaluations()
        ranked = sorted(evaluations, key=lambda one: one.score())
        likest = [self.family.candidate(np.array(one.point)) for one in ranked[:_FINALISTS]]
        candidates = [known, *(one for one in likest if one != known)]
        found = self.compared(candidates)
        place = min(range(len(found)), key=lambda number: score(found[number]))
        chosen = place if is_likelier(found[place], found[0]) else 0
        seconds = sum(one.seconds for one in evaluations)
        search = Search(len(evaluations), self.repeats, score(found[0]), score(found[chosen]), seconds, ended)
        return search, candidates[chosen]

    def _evaluations(self) -> tuple[list[Evaluation], Ending]:
        first = self._evaluated(self.family.point(self.family.identified))
        if first.seconds * _LEAST > self.options.budget:
            raise PlanError(
                f"the budget of {self.options.budget:.3g} s is too small: one evaluation takes {first.seconds:.2g} s",
                hint=f"give it --budget {int(first.seconds * _LEAST * 4) + 1}s or more, or fit fewer treatments",
            )
        found = [first]
        dimensions = len(self.family.axes)
        if not dimensions:
            return found, "nothing open"
        for point in sobol(DESIGN * dimensions, dimensions, self.options.seed):
            if sum(one.seconds for one in found) >= self.options.budget:
                return found, "budget"
            found.append(self._evaluated(point.tolist(), len(found)))
        for step in range(IMPROVEMENTS * dimensions):
            if sum(one.seconds for one in found) >= self.options.budget:
                return found, "budget"
            points, values = (
                np.array([one.point for one in found]),
                np.array([np.log(one.score() + 0.1) for one in found]),
            )
            best = int(np.argmin(values))
            process = fitted(points, values)
            point = proposal(process, float(values[best]), self.options.seed * 1000 + step, [points[best]])
            found.append(self._evaluated(point.tolist(), len(found)))
        return found, "done"

    def _evaluated(self, point: Sequence[float], done: int = 0) -> Evaluation:
        self.told("searching", done, 1 + (DESIGN + IMPROVEMENTS) * len(self.family.axes))
        known = self.log.known(point)
        if known is not None:
            return known
        began = self.clock()
        candidate = self.family.candidate(np.array(point))
        distances = self.distances(candidate)
        return self.log.add(Evaluation(tuple(map(float, point)), distances, self.clock() - began))

    def telling(self, what: str, each: Sequence[_Each]) -> Iterator[_Each]:
        """Yield what is worked on, and tell how much is done."""
        for done, one in enumerate(each):
            self.told(what, done, len(each))
            yield one

    def without(self, treatment: str) -> Candidate:
        """Return the likest path of those evaluated if one treatment had not been fitted."""
        best = min(self.log.all, key=lambda one: one.score(without=treatment))
        if is_likelier(best.distances, self.log.all[0].distances, without=treatment):
            return self.family.candidate(np.array(best.point))
        return self.family.identified


def _patient(plans: Sequence[FlowPlan]) -> list[FlowPlan]:
    """Return flows of which those with a load of fixed size have more time than over the real path, which may have been faster."""
    return [
        plan
        if plan.lasts
        else dataclasses.replace(plan, stop=plan.flow.start + _PATIENCE * (plan.stop - plan.flow.start))
        for plan in plans
    ]


def _certified(fit: _Fit, search: Search, best: Candidate) -> FittedPath:
    trials, options = fit.trials, fit.options
    real = trials.trials
    held = [one for one in trials.treatments if one.is_held_out and (one.is_simulated or fit.real)]
    number = {one.name: max(_JUDGED, len(one.plans)) for one in trials.treatments}
    in_judgement = {one.name: len(one.plans) for one in trials.treatments} if fit.real else number
    judged, correction = judged_rows(
        real,
        {
            one.name: fit.emulate(one, best, _JUDGING, in_judgement[one.name])
            for one in fit.telling("judging", held)
        },
        fit.yardstick,
        options.judging,
        "emulated",
    )
    others = {
        one.name: fit.simulate(one, fit.without(one.name), _JUDGING, number[one.name])
        for one in fit.telling("leaving out in turn", fit.simulated if len(fit.simulated) > 1 else [])
    }
    left_out, second = judged_rows(real, others, fit.yardstick, options.judging, "emulated")
    passed, undecided, failed = outcome_of(judged or left_out)
    settings = fit.settings(best)
    made = now()
    text = path_file(
        settings,
        PathCertificate(
            trials.name, made, tuple(one.name for one in held), passed, undecided, failed, _DELAYS
        ),
    )
    certificate = Certificate(
        real=trials.name,
        span=trials.span,
        made=made,
        version=__version__,
        seed=options.seed,
        engine="simulated" if fit.real is None else "emulated",
        uplink=way_text(settings.uplink),
        downlink=way_text(settings.downlink),
        digest=digest_in(text),
        parameters=fit.family.parameters(best),
        doubts=(*fit.family.doubts, *trials.doubts),
        fitted=tuple(one.name for one in fit.fitted),
        held_out=tuple(one.name for one in trials.treatments if one.is_held_out),
        not_simulated=tuple(one.name for one in trials.treatments if not one.is_simulated),
        search=search,
        confidence=options.judging.confidence,
        correction=correction if judged else second,
        judged=judged,
        left_out=left_out,
        passed=passed,
        open=undecided,
        failed=failed,
        betrayed=betrayed_by((*judged, *left_out)),
        course=trials.course,
        notes=real.notes,
    )
    return FittedPath(certificate, text)
