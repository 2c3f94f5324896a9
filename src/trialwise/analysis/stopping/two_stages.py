"""Two stages: a pilot, a forecast of the trials that the claims need, and one verdict on fresh trials (Stein 1945, Cox 1952)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from trialwise.analysis.stopping import differences
from trialwise.analysis.stopping.differences import DifferenceClaim
from trialwise.analysis.stopping.intervals import Forecast, IntervalClaim
from trialwise.analysis.stopping.results import ClaimState, Phase, Verdicts
from trialwise.analysis.stopping.values import Round, RoundValues
from trialwise.design.sizing import Sizing, block_of
from trialwise.design.stopping import pilot_size, series_pilot
from trialwise.experiment.model import Experiment
from trialwise.experiment.stopping import stops_by_series


@dataclass(frozen=True, slots=True)
class _Pilot:
    """The rounds of the pilot, and the requirement for each interval and each difference."""

    rounds: int
    intervals: tuple[Forecast, ...]
    differences: tuple[Forecast, ...]


class TwoStages:
    """The rule over the claims of an experiment; it reads the current values of the trials when called."""

    def __init__(
        self,
        experiment: Experiment,
        sizing: Sizing,
        intervals: Sequence[IntervalClaim],
        differences: Sequence[DifferenceClaim],
        values: RoundValues,
    ) -> None:
        self._experiment = experiment
        self._sizing = sizing
        self._family = differences
        self._by_series = stops_by_series(experiment)
        self._block = block_of(experiment)
        self._most = sizing.series * sizing.rounds
        self._pilot_size = pilot_size(experiment)
        self._series_pilot = series_pilot(experiment) if self._by_series else 0
        self._rounds_in_series = sizing.rounds
        self._intervals = intervals
        self._differences = differences
        self._values = values
        self._kept: dict[tuple[object, ...], _Pilot] = {}

    def without(self, treatments: Collection[str]) -> TwoStages:
        """Return the rule over the claims that are not about these treatments, at the level of the whole family."""
        intervals = [claim for claim in self._intervals if claim.treatment not in treatments]
        kept = [claim for claim in self._differences if not {claim.a, claim.b}.intersection(treatments)]
        rule = TwoStages(self._experiment, self._sizing, intervals, kept, self._values)
        rule._family = self._family
        return rule

    def after(self, rounds: Sequence[Round], looks: Sequence[int], *, ended: bool) -> Verdicts:
        """Return the state after these rounds; `looks` are the allowed numbers of rounds for a look, `ended` if no rounds follow."""
        # The lower limits of both searches only save work: nothing is complete before.
        likely = (look for look in looks if look >= self._pilot_size)
        end = next((look for look in likely if self._has_pilot(rounds[:look])), None)
        if end is None:
            return Verdicts("pilot", tuple(self._unjudged(rounds, None)), self._pilot_rounds())
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
            return Verdicts(phase, claims, min(end + wanted, self._most), out_of_reach=far)
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
            found = differences.forecasts(self._differences, self._values, rounds, len(self._family))
            self._kept[key] = _Pilot(len(rounds), intervals, tuple(found))
        return self._kept[key]

    def _fresh_rounds(self, pilot: _Pilot) -> int:
        """Return the number of rounds that the pilot's requirement takes."""
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
        """Return True if an interval needs far more than is available; a difference may be large and then needs few."""
        most = self._most // (self._rounds_in_series if self._by_series else 1)
        return any(forecast.is_far_beyond(most) for forecast in pilot.intervals)

    def _is_full(self, fresh: Sequence[Round], pilot: _Pilot) -> bool:
        intervals = zip(pilot.intervals, self._interval_numbers(fresh), strict=True)
        pairs = zip(pilot.differences, self._difference_numbers(fresh), strict=True)
        return all(one.size is not None and number >= one.size for one, number in intervals) and all(
            one.size is not None and min(numbers) >= one.size for one, numbers in pairs
        )

    def _judged(self, fresh: Sequence[Round], pilot: _Pilot, rounds: int) -> Verdicts:
        values = self._values
        claims = [
            claim.judged(claim.vector(values, fresh), values.level, forecast.size)
            for claim, forecast in zip(self._intervals, pilot.intervals, strict=True)
        ]
        sizes = {
            id(claim): forecast.size
            for claim, forecast in zip(self._differences, pilot.differences, strict=True)
        }
        wanted = [sizes.get(id(claim)) for claim in self._family]
        judged, correction = differences.judged(self._family, values, fresh, wanted) if sizes else ([], "")
        verdicts = (
            [state for claim, state in zip(self._family, judged, strict=True) if id(claim) in sizes]
            if sizes
            else []
        )
        return Verdicts("judged", (*claims, *verdicts), rounds, correction)

    def _unjudged(self, rounds: Sequence[Round], pilot: _Pilot | None) -> Iterator[ClaimState]:
        """Yield claims with their numbers only; `rounds` are those of the current stage."""
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
