"""The rule: after each round, from nothing but the trials that are on record, whether the experiment has enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.estimation.control_columns import ControlColumns, KnownWorkloads, control_columns
from trialwise.analysis.estimation.weighted import is_tilted
from trialwise.analysis.stopping import differences
from trialwise.analysis.stopping.courses import ClaimCourse
from trialwise.analysis.stopping.differences import DifferenceClaim
from trialwise.analysis.stopping.elapsed import Elapsed
from trialwise.analysis.stopping.intervals import Forecast, IntervalClaim
from trialwise.analysis.stopping.results import ClaimState, Phase, StoppingState
from trialwise.analysis.stopping.sentences import open_texts, reason_text, too_many
from trialwise.analysis.stopping.values import Round, RoundValues
from trialwise.analysis.telling import Told
from trialwise.design.sizing import block_of, size
from trialwise.design.stopping import comparisons, pilot_size, series_pilot
from trialwise.design.treatments import treatments
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.sampling import is_sobol
from trialwise.experiment.stopping import compared_metrics, goals, has_course, stops_by_series
from trialwise.measurement.samples import Samples
from trialwise.statistics.relative_margin import WARNING
from trialwise.store.records import TrialRow


@dataclass(frozen=True, slots=True)
class _Pilot:
    """The rounds of the pilot, and what it asks for of each interval and each difference."""

    rounds: int
    intervals: tuple[Forecast, ...]
    differences: tuple[Forecast, ...]


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """What a look says."""

    phase: Phase
    claims: tuple[ClaimState, ...]
    forecast: int | None = None
    correction: str = ""
    out_of_reach: bool = False


class Judge:
    """Takes in trials as they end and says what is known.

    What it says is a function of the finished trials in plan order, so that a run that was killed and goes on comes to the same
    end. Trials of a round that has not run to its end do not count yet.
    """

    def __init__(self, experiment: Experiment, workloads: KnownWorkloads | None = None) -> None:
        """`workloads` say what control variates are, where a simulation stops by an interval that has some."""
        design = experiment.design
        sizing = size(experiment)
        factors = {treatment.name: dict(treatment.levels) for treatment in treatments(experiment)}
        names = list(factors)
        self._design = design
        self._treatments = len(names)
        self._by_series = stops_by_series(experiment)
        self._block = block_of(experiment)
        self._most = sizing.series * sizing.rounds
        self._pilot_size = pilot_size(experiment)
        self._series_pilot = series_pilot(experiment) if self._by_series else 0
        self._rounds_in_series = sizing.rounds
        self._intervals = [IntervalClaim(goal, name) for goal in goals(experiment) for name in names]
        self._differences = [
            DifferenceClaim(metric, metric.margin, a, b)
            for metric in compared_metrics(experiment)
            for a, b in comparisons(experiment)
            if metric.margin is not None
        ]
        self._courses = {
            place: ClaimCourse(
                claim,
                design,
                _columns(claim, factors[claim.treatment], workloads),
                tilted=is_tilted(experiment),
                sobol=is_sobol(experiment),
            )
            for place, claim in enumerate(self._intervals)
            if has_course(claim.goal, design)
        }
        self._values = RoundValues(experiment)
        self._elapsed = Elapsed()
        self._kept: dict[tuple[object, ...], _Pilot] = {}

    def add_time(self, row: TrialRow, started: float | None, finished: float | None) -> None:
        """Take in when a trial ran, whatever came of it."""
        self._elapsed.add(row, started, finished)

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Take in what a finished trial reported."""
        self._values.add(row, samples)

    @property
    def sources(self) -> list[str]:
        """The sources of what it takes in."""
        return self._values.sources

    def add_many(self, trials: Sequence[tuple[TrialRow, Mapping[str, Samples]]]) -> None:
        """Take in finished trials, with when they ran, as they stand on record."""
        for row, _ in trials:
            self.add_time(row, row.started, row.finished)
        self._values.add_many(trials)

    def state(self, upcoming: TrialRow | None, told: Told | None = None) -> StoppingState:
        """What is known when the round of `upcoming` is about to run; None: nothing is left of the plan.

        `told` is told how many claims of how many have been looked at.
        """
        here = None if upcoming is None or upcoming.warmup else (upcoming.series, upcoming.round)
        rounds = list(self._values.rounds)
        if rounds and rounds[-1] == here:  # the runner was killed in it
            del rounds[-1]
        following = None if upcoming is None else upcoming.series
        cut = self._budget_is_short(len(rounds))
        ended = upcoming is None or cut
        verdicts = (
            self._two_stages(rounds, list(self._look_points(rounds, following)), ended=ended)
            if self._design.looks == "two-stage"
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
        if self._design.looks == "cceval":
            yield WARNING
        for claim in claims:
            if text := too_many(claim, self._most):
                yield text

    def outlook(self, upcoming: TrialRow) -> tuple[str | None, int | None, tuple[str, ...], bool]:
        """Why to stop before the round of `upcoming`, how many trials there will be in all, what is open, whether a pilot runs."""
        state = self.state(upcoming)
        total = self._trials_in_all(state.forecast)
        return state.reason, total, tuple(open_texts(state)), state.phase == "pilot"

    def _trials_in_all(self, rounds: int | None) -> int | None:
        """With the warm-ups of the series that so many rounds take."""
        if rounds is None:
            return None
        series = -(-rounds // self._rounds_in_series)
        return (rounds + series * self._design.warmup_trials) * self._treatments

    def _budget_is_short(self, rounds: int) -> bool:
        """Whether a further round, as long as those before on average, would take more than the budget."""
        budget, used = self._design.budget, self._elapsed.seconds
        return budget is not None and rounds > 0 and used + used / rounds > budget

    def _look_points(self, rounds: Sequence[Round], following: int | None) -> Iterator[int]:
        """Numbers of rounds after which one may look: whole blocks of the order; whole series where these are counted."""
        return (number for number in range(1, len(rounds) + 1) if self._may_look(rounds, number, following))

    def _last_look(self, rounds: Sequence[Round], following: int | None) -> int:
        numbers = range(len(rounds), 0, -1)
        return next((number for number in numbers if self._may_look(rounds, number, following)), 0)

    def _may_look(self, rounds: Sequence[Round], number: int, following: int | None) -> bool:
        series, round_ = rounds[number - 1]
        after = rounds[number][0] if number < len(rounds) else following
        return after != series or (not self._by_series and round_ % self._block == 0)

    # Two stages

    def _two_stages(self, rounds: Sequence[Round], looks: Sequence[int], *, ended: bool) -> _Verdicts:
        # The lower limits of both searches only spare work: nothing is complete before.
        likely = (look for look in looks if look >= self._pilot_size)
        end = next((look for look in likely if self._has_pilot(rounds[:look])), None)
        if end is None:
            return _Verdicts("pilot", tuple(self._unjudged(rounds, None)), self._pilot_rounds())
        pilot = self._pilot(rounds[:end])
        wanted = self._fresh_rounds(pilot)
        likely = (look for look in looks if look >= end + wanted)
        last = next((look for look in likely if self._is_full(rounds[end:look], pilot)), None)
        if last is None and ended and len(rounds) > end:
            last = len(rounds)
        if last is None:
            claims = tuple(self._unjudged(rounds[end:], pilot))
            far = not ended and self._is_out_of_reach(pilot)
            phase: Phase = "judged" if ended else "fresh"
            return _Verdicts(phase, claims, min(end + wanted, self._most), out_of_reach=far)
        return self._judged(rounds[end:last], pilot, last)

    def _pilot_rounds(self) -> int:
        if self._by_series:
            return max(self._series_pilot * self._rounds_in_series, self._pilot_size)
        return -(-self._pilot_size // self._block) * self._block

    def _has_pilot(self, rounds: Sequence[Round]) -> bool:
        return all(
            number >= (self._series_pilot if claim.goal.kind == "variability" else self._pilot_size)
            for claim, number in zip(self._intervals, self._interval_numbers(rounds), strict=True)
        ) and all(min(numbers) >= self._pilot_size for numbers in self._difference_numbers(rounds))

    def _pilot(self, rounds: Sequence[Round]) -> _Pilot:
        key = (len(rounds), *self._interval_numbers(rounds), *self._difference_numbers(rounds))
        if key not in self._kept:
            intervals = tuple(claim.forecast(claim.vector(self._values, rounds)) for claim in self._intervals)
            found = differences.forecasts(self._differences, self._values, rounds)
            self._kept[key] = _Pilot(len(rounds), intervals, tuple(found))
        return self._kept[key]

    def _fresh_rounds(self, pilot: _Pilot) -> int:
        """How many rounds what the pilot asks for takes."""
        most = self._most - pilot.rounds
        sizes = [
            most
            if forecast.size is None
            else forecast.size * (self._rounds_in_series if claim.goal.kind == "variability" else 1)
            for claim, forecast in zip(self._intervals, pilot.intervals, strict=True)
        ]
        sizes += [most if forecast.size is None else forecast.size for forecast in pilot.differences]
        whole = self._rounds_in_series if self._by_series else self._block
        return -(-max(sizes) // whole) * whole

    def _is_out_of_reach(self, pilot: _Pilot) -> bool:
        """Whether an interval would take far more than there is; a difference may turn out large, and then takes few."""
        most = self._most // (self._rounds_in_series if self._by_series else 1)
        return any(forecast.is_far_beyond(most) for forecast in pilot.intervals)

    def _is_full(self, fresh: Sequence[Round], pilot: _Pilot) -> bool:
        intervals = zip(pilot.intervals, self._interval_numbers(fresh), strict=True)
        pairs = zip(pilot.differences, self._difference_numbers(fresh), strict=True)
        return all(one.size is not None and number >= one.size for one, number in intervals) and all(
            one.size is not None and min(numbers) >= one.size for one, numbers in pairs
        )

    def _judged(self, fresh: Sequence[Round], pilot: _Pilot, rounds: int) -> _Verdicts:
        values = self._values
        claims = [
            claim.judged(claim.vector(values, fresh), values.level, forecast.size)
            for claim, forecast in zip(self._intervals, pilot.intervals, strict=True)
        ]
        wanted = [forecast.size for forecast in pilot.differences]
        verdicts, correction = (
            differences.judged(self._differences, values, fresh, wanted) if wanted else ([], "")
        )
        return _Verdicts("judged", (*claims, *verdicts), rounds, correction)

    def _unjudged(self, rounds: Sequence[Round], pilot: _Pilot | None) -> Iterator[ClaimState]:
        """Claims with their numbers alone; `rounds` are those of the stage that runs."""
        level = self._values.level
        for place, number in enumerate(self._interval_numbers(rounds)):
            forecast = pilot.intervals[place] if pilot else Forecast(None)
            yield self._intervals[place].unjudged(level, number, forecast.size, forecast.note)
        for place, numbers in enumerate(self._difference_numbers(rounds)):
            forecast = pilot.differences[place] if pilot else Forecast(None)
            yield self._differences[place].unjudged(level, numbers, forecast.size, forecast.note)

    def _interval_numbers(self, rounds: Sequence[Round]) -> list[int]:
        return [claim.number(self._values, rounds) for claim in self._intervals]

    def _difference_numbers(self, rounds: Sequence[Round]) -> list[tuple[int, int]]:
        return [claim.numbers(self._values, rounds) for claim in self._differences]

    # Looks after every round

    def _every_round(self, rounds: Sequence[Round], told: Told | None) -> _Verdicts:
        values = self._values
        claims: list[ClaimState] = []
        for place, claim in enumerate(self._intervals):
            if told is not None:
                told("judging claims", place, len(self._intervals))
            claims.append(
                self._courses[place].after(values, rounds)
                if place in self._courses
                else claim.at_any_time(claim.vector(values, rounds), values.level)
            )
        verdicts, correction = (
            differences.at_any_time(self._differences, values, rounds) if self._differences else ([], "")
        )
        sizes = [claim.wanted for claim in (*claims, *verdicts) if claim.wanted is not None]
        forecast = (
            min(max(*sizes, len(rounds)), self._most) if len(sizes) == len((*claims, *verdicts)) else None
        )
        far = any(course.is_far_beyond(self._most) for course in self._courses.values())
        return _Verdicts("looking", (*claims, *verdicts), forecast, correction, out_of_reach=far)


def _columns(
    claim: IntervalClaim, factors: Mapping[str, Level], workloads: KnownWorkloads | None
) -> Callable[[], ControlColumns | None] | None:
    """What makes the control variates of a claim; None where it is looked at without."""
    metric, kind = claim.goal.metric, claim.goal.stop.controls
    if workloads is None or kind == "none":
        return None
    return lambda: control_columns(metric, kind, factors, workloads)
