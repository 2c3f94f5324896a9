"""The pilot of `trialwise plan --pilot`: the first rounds, run in a temporary directory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trialwise.design.pilot import measured_times
from trialwise.design.stopping import pilot_rounds
from trialwise.design.summary import ForecastSummary, LevelsSummary
from trialwise.design.timing import TrialTimes
from trialwise.errors import TrialError
from trialwise.experiment.aa_design import without_stops
from trialwise.experiment.model import Experiment, Workers
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.study import State


def run_pilot(
    experiment: Experiment,
) -> tuple[TrialTimes, tuple[ForecastSummary, ...], tuple[LevelsSummary, ...]]:
    """Run the first rounds in a temporary directory; return the duration of trials, the forecast for each claim, and levels.

    One round, or for simulated trials, which are cheap, as many as the first look needs.
    """
    from trialwise import study
    from trialwise.temporary import vanishing_folder

    rounds = pilot_rounds(experiment)
    with vanishing_folder("trialwise-pilot-") as folder:
        result = study.run_pilot(_shortened(experiment, rounds), folder / "results")
        if result.ending.reason == "interrupted":
            raise KeyboardInterrupt
        _, _, ledger = study.open_directory(result.directory)
        rows = ledger.trials()
        ledger.close()
        forecasts = tuple(_forecasts(study.state(result.directory), experiment.design.max_trials))
        levels = study.chosen_levels(result.directory, experiment)
    failed = [f"{row.treatment}: {row.reason}" for row in rows if row.status != "finished"]
    if failed:
        raise TrialError("the pilot failed\n" + "\n".join(failed), hint="mend the trial and try again")
    times = measured_times(experiment, rows)
    if times is None:
        raise TrialError(f"the pilot ended without a trial: {result.ending.text}")
    return times, forecasts, levels


def _forecasts(state: State, most: int) -> Iterator[ForecastSummary]:
    """Yield the expected total of trials of each claim, by its first look."""
    for claim in state.stopping.claims if state.stopping else ():
        known = claim.state != "open"
        guessed = not known and claim.width is not None
        yield ForecastSummary(
            metric=claim.metric,
            subject=claim.subject,
            what=claim.what,
            asked=claim.asked,
            known=known,
            wanted=claim.n[0] if known else claim.wanted,
            wanted_low=None if known else claim.wanted_low,
            wanted_high=None if known else claim.wanted_high,
            level=claim.level,
            beyond=guessed and (claim.wanted is None or claim.wanted > most),
            note="" if known or guessed else f"no forecast from {counted(claim.n[0], 'trial')}: {claim.note}",
        )


def _shortened(experiment: Experiment, rounds: int) -> Experiment:
    """Return the first rounds of the same experiment, immediate and local; one round has no claims to judge."""
    if rounds == 1:
        experiment = without_stops(experiment)
    return dataclasses.replace(
        experiment,
        design=dataclasses.replace(experiment.design, rounds=rounds, series=1, span=None, warmup_trials=0),
        workers=Workers(),
    )
