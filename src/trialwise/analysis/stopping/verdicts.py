"""The stopping rule: after each round, decide from the recorded trials alone whether the experiment has enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from trialwise.analysis.estimation.control_columns import ControlColumns, KnownWorkloads
from trialwise.analysis.estimation.flow_lists import flow_list_names
from trialwise.analysis.estimation.level_choice import chosen_columns
from trialwise.analysis.estimation.weighted import is_tilted
from trialwise.analysis.progress import Progress
from trialwise.analysis.stopping import differences
from trialwise.analysis.stopping.differences import DifferenceClaim
from trialwise.analysis.stopping.elapsed import Elapsed
from trialwise.analysis.stopping.intervals import IntervalClaim
from trialwise.analysis.stopping.monitors import ClaimMonitor
from trialwise.analysis.stopping.results import ClaimState, StoppingState, Verdicts
from trialwise.analysis.stopping.sentences import open_texts, reason_text, too_many
from trialwise.analysis.stopping.two_stages import TwoStages
from trialwise.analysis.stopping.values import Round, RoundValues
from trialwise.design.sizing import block_of, size
from trialwise.design.stopping import comparisons
from trialwise.design.treatments import treatments
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.stopping import compared_metrics, goals, is_monitored, stops_by_series
from trialwise.measurement.samples import Samples
from trialwise.rules import RULES
from trialwise.store.records import TrialRow


class StoppingMonitor:
    """Collects trials as they end and reports the state of the claims.

    The state is a function of the finished trials in plan order, so that a run that was killed and resumed ends the same way. Trials
    of an incomplete round do not count yet. Claims about treatments that are skipped are not waited for.
    """

    def __init__(self, experiment: Experiment, workloads: KnownWorkloads | None = None) -> None:
        """Set up the monitor; `workloads` provides control variates, if a simulation stops by an interval that has some."""
        design = experiment.design
        sizing = size(experiment)
        factors = {treatment.name: dict(treatment.levels) for treatment in treatments(experiment)}
        names = list(factors)
        flows = flow_list_names(experiment, factors)
        self._design = design
        self._treatments = names
        self._ran = Counter[str]()
        self._skipped: Collection[str] = ()
        self._by_series = stops_by_series(experiment)
        self._block = block_of(experiment)
        self._most = sizing.series * sizing.rounds
        self._rounds_in_series = sizing.rounds
        intervals = [IntervalClaim(goal, name) for goal in goals(experiment) for name in names]
        self._all_intervals = self._intervals = intervals
        self._all_differences = self._differences = [
            DifferenceClaim(metric, metric.margin, a, b, same_flows=a in flows and flows[a] == flows.get(b))
            for metric in compared_metrics(experiment)
            for a, b in comparisons(experiment)
            if metric.margin is not None
        ]
        self._courses = {
            id(claim): ClaimMonitor(
                claim,
                design,
                _columns(claim, factors[claim.treatment], workloads),
                tilted=is_tilted(experiment),
                sobol=experiment.trial.traits.in_blocks,
            )
            for claim in intervals
            if is_monitored(claim.goal, design)
        }
        self._values = RoundValues(experiment)
        self._elapsed = Elapsed()
        self._two_stages = self._stages = TwoStages(
            experiment, sizing, intervals, self._differences, self._values
        )

    def skip(self, treatments: Collection[str]) -> None:
        """Wait for no claim about these treatments, which do not run, and for those about all others.

        The level is still shared with their comparisons: which treatments are skipped may depend on the results.
        """
        self._skipped = treatments
        self._intervals = [claim for claim in self._all_intervals if claim.treatment not in treatments]
        self._differences = [
            claim for claim in self._all_differences if not {claim.a, claim.b}.intersection(treatments)
        ]
        self._stages = self._two_stages.without(treatments) if treatments else self._two_stages

    def add_time(self, row: TrialRow, started: float | None, finished: float | None) -> None:
        """Add the time of a trial, whatever its outcome."""
        self._ran[row.treatment] += 1
        self._elapsed.add(row, started, finished)

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Add the report of a finished trial."""
        self._values.add(row, samples)

    @property
    def sources(self) -> list[str]:
        """The sources of the values that it reads."""
        return self._values.sources

    def add_many(self, trials: Sequence[tuple[TrialRow, Mapping[str, Samples]]]) -> None:
        """Add finished trials with their times, as recorded."""
        for row, _ in trials:
            self.add_time(row, row.started, row.finished)
        self._values.add_many(trials)

    def state(self, upcoming: TrialRow | None, told: Progress | None = None) -> StoppingState:
        """Return the state when the round of `upcoming` is about to run; None: the plan is exhausted.

        `told` is called with the number of claims examined, and the total.
        """
        here = None if upcoming is None or upcoming.warmup else (upcoming.series, upcoming.round)
        rounds = list(self._values.rounds)
        if rounds and rounds[-1] == here:  # the runner was killed in it
            del rounds[-1]
        following = None if upcoming is None else upcoming.series
        cut = self._budget_is_short(len(rounds))
        ended = upcoming is None or cut
        verdicts = (
            self._stages.after(rounds, list(self._look_points(rounds, following)), ended=ended)
            if RULES[self._design.looks].judges_once
            else self._every_round(rounds if ended else rounds[: self._last_look(rounds, following)], told)
        )
        decided = all(claim.state == "decided" for claim in verdicts.claims)
        enough = verdicts.phase == "judged" or all(claim.state != "open" for claim in verdicts.claims)
        return StoppingState(
            looks=self._design.looks,
            phase=verdicts.phase,
            decided=decided,
            reason=reason_text(
                verdicts.claims,
                looks=self._design.looks,
                judged=enough,
                budget=self._design.budget if cut else None,
                most=self._most if ended else None,
                out_of_reach=verdicts.out_of_reach,
            ),
            rounds=len(rounds),
            forecast=verdicts.forecast,
            most=self._most,
            seconds=self._elapsed.seconds,
            budget=self._design.budget,
            correction=verdicts.correction,
            claims=verdicts.claims,
            warnings=tuple(self._warnings(verdicts.claims)),
            out_of_reach=verdicts.out_of_reach,
        )

    def _warnings(self, claims: Sequence[ClaimState]) -> Iterator[str]:
        if warning := RULES[self._design.looks].warning:
            yield warning
        yield from (f"{name} is skipped: no claim about it is waited for" for name in self._skipped)
        for claim in claims:
            if text := too_many(claim, self._most):
                yield text

    def outlook(self, upcoming: TrialRow) -> tuple[str | None, int | None, tuple[str, ...], bool]:
        """Return why to stop before the round of `upcoming`, the expected number of trials, open claims, and whether a pilot runs."""
        state = self.state(upcoming)
        total = self._trials_in_all(state.forecast)
        return state.reason, total, tuple(open_texts(state)), state.phase == "pilot"

    def _trials_in_all(self, rounds: int | None) -> int | None:
        """Return the trials of these rounds, including the warm-ups of their series."""
        if rounds is None:
            return None
        series = -(-rounds // self._rounds_in_series)
        left = [name for name in self._treatments if name not in self._skipped]
        before = sum(self._ran[name] for name in self._skipped)
        return (rounds + series * self._design.warmup_trials) * len(left) + before

    def _budget_is_short(self, rounds: int) -> bool:
        """Return True if a further round of average length would exceed the budget."""
        budget, used = self._design.budget, self._elapsed.seconds
        return budget is not None and rounds > 0 and used + used / rounds > budget

    def _look_points(self, rounds: Sequence[Round], following: int | None) -> Iterator[int]:
        """Yield the numbers of rounds after which a look is allowed: whole blocks of the order; whole series if these are counted."""
        return (number for number in range(1, len(rounds) + 1) if self._may_look(rounds, number, following))

    def _last_look(self, rounds: Sequence[Round], following: int | None) -> int:
        numbers = range(len(rounds), 0, -1)
        return next((number for number in numbers if self._may_look(rounds, number, following)), 0)

    def _may_look(self, rounds: Sequence[Round], number: int, following: int | None) -> bool:
        series, round_ = rounds[number - 1]
        after = rounds[number][0] if number < len(rounds) else following
        return after != series or (not self._by_series and round_ % self._block == 0)

    def _every_round(self, rounds: Sequence[Round], told: Progress | None) -> Verdicts:
        values = self._values
        claims: list[ClaimState] = []
        for place, claim in enumerate(self._intervals):
            if told is not None:
                told("judging claims", place, len(self._intervals))
            claims.append(
                course.after(values, rounds)
                if (course := self._course(claim))
                else claim.at_any_time(claim.vector(values, rounds), values.level)
            )
        verdicts, correction = (
            differences.at_any_time(self._differences, values, rounds, len(self._all_differences))
            if self._differences
            else ([], "")
        )
        sizes = [claim.wanted for claim in (*claims, *verdicts) if claim.wanted is not None]
        forecast = (
            min(max(*sizes, len(rounds)), self._most) if len(sizes) == len((*claims, *verdicts)) else None
        )
        courses = filter(None, map(self._course, self._intervals))
        far = any(course.is_far_beyond(self._most) for course in courses)
        return Verdicts("looking", (*claims, *verdicts), forecast, correction, out_of_reach=far)

    def _course(self, claim: IntervalClaim) -> ClaimMonitor | None:
        """Return what monitors a claim while trials arrive; None if it is judged anew at each look."""
        return self._courses.get(id(claim))


def _columns(
    claim: IntervalClaim, factors: Mapping[str, Level], workloads: KnownWorkloads | None
) -> Callable[[], ControlColumns | None] | None:
    """Return the function that builds the control variates of a claim; None if it has none."""
    metric, kind = claim.goal.metric, claim.goal.stop.controls
    if workloads is None or kind == "none":
        return None
    return lambda: chosen_columns(metric, kind, factors, workloads, claim.goal.stop.levels)[0]
