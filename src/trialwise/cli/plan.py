"""`trialwise plan`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trialwise.analysis.stopping.sentences import wanted_text
from trialwise.cli.output import print_json
from trialwise.cli.text import columns, say
from trialwise.design.budget import Budget, Fit
from trialwise.design.lanes import Lane
from trialwise.design.pilot import measured_times
from trialwise.design.splitting import Column, Split
from trialwise.design.stopping import StoppingPlan, pilot_rounds
from trialwise.design.summary import PlanSummary, TrialSummary, plan_json, summarise
from trialwise.design.timing import TrialTimes, stated_times
from trialwise.errors import PlanError, TrialError
from trialwise.execution.state import State
from trialwise.execution.workers.address import addresses, split_names, with_workers
from trialwise.experiment.against_itself import without_stops
from trialwise.experiment.model import (
    DrawnFactor,
    Experiment,
    Factor,
    PathTrial,
    Reset,
    SimulationTrial,
    Trial,
    Workers,
)
from trialwise.experiment.path_building import in_folder
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.quantity import duration_text, seconds
from trialwise.experiment.reading import read_experiment
from trialwise.experiment.simulation import in_folder as simulation_in_folder

ROUNDS_SHOWN = 2
TREATMENTS_SHOWN = 12


def plan(
    experiment: Path,
    /,
    *,
    order: bool = False,
    budget: str | None = None,
    pilot: bool = False,
    workers: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    json: bool = False,
) -> int:
    """Show what an experiment needs, its order, its schedule and the time it takes.

    For each metric the smallest number of rounds and series that its objectives need, what decides, what is doubtful,
    the treatments, their order, and the time that all of it takes.

    For example:

    ```text
    trialwise plan experiment.toml
    trialwise plan experiment.toml --order        # every trial
    trialwise plan experiment.toml --pilot        # time each treatment once
    trialwise plan experiment.toml --budget 2h    # what fits into two hours
    trialwise plan x.results --budget 2h          # at the pace of its trials, split between series and rounds as they vary
    trialwise plan experiment.toml --workers ssh://node1,ssh://node2
    ```

    Exit codes: 0 the plan was shown, whether it fits into the budget or not; 2 the experiment file is wrong; 4 a trial
    of the pilot failed.

    Parameters
    ----------
    experiment
        The experiment file, or the directory of an experiment that has begun.
    order
        Show every trial in its order, not only the first two rounds.
    budget
        Time into which the experiment should fit, such as 90min, 2h or "1d 12h".
    pilot
        Run each treatment once, on this machine and in a temporary directory, to see how long it takes.
    workers
        WORKER[,WORKER…]: plan for these instead of those of the file, as `trialwise run` would take them. Nobody is reached.
    json
        Print the plan as JSON (format trialwise.plan/1, see `trialwise schema plan`), every trial included.
    """
    limit = None if budget is None else _budget(budget)
    loaded, times, lanes = _begun(experiment) if experiment.is_dir() else _stated(experiment)
    tables = _tables(experiment) if limit is not None and experiment.is_dir() else None
    if names := split_names(workers):
        loaded, lanes = with_workers(loaded, names), ()
    addresses(loaded.workers.use)
    forecasts: tuple[str, ...] = ()
    if pilot:
        times, forecasts = _pilot(loaded)
    shown = None if json or order else ROUNDS_SHOWN
    summary = summarise(loaded, times=times, budget=limit, rounds_shown=shown, lanes=lanes, tables=tables)
    if json:
        print_json(plan_json(summary))
    else:
        say(_text(summary, loaded, whole_order=order))
        if forecasts:
            say(_section("Forecast", iter(forecasts)))
    return 0


def _budget(text: str) -> float:
    try:
        found = seconds(text)
    except ValueError as error:
        raise PlanError(f"--budget {text}: {error}") from error
    if found <= 0:
        raise PlanError(f"--budget {text}: must be above 0")
    return found


# Times


Known = tuple[Experiment, TrialTimes | None, Sequence[Lane]]
"""An experiment, how long its trials take, and its lanes where it has begun with some."""


def _stated(file: Path) -> Known:
    experiment = read_experiment(file)
    return experiment, stated_times(experiment), ()


def _begun(directory: Path) -> Known:
    from trialwise import study
    from trialwise.execution.lanes import has_lanes, lanes

    experiment, _, ledger = study.open_directory(directory)
    measured = measured_times(experiment, ledger.trials())
    known = lanes(ledger) if has_lanes(ledger) else ()
    ledger.close()
    return experiment, measured or stated_times(experiment), known


def _tables(directory: Path) -> Mapping[tuple[str, str], Mapping[str, Column]]:
    """The trials of an experiment directory by metric and treatment; none where no trial has a value yet."""
    from trialwise import study

    return study.nested_values(directory)


def _pilot(experiment: Experiment) -> tuple[TrialTimes, tuple[str, ...]]:
    """Run the first rounds in a temporary directory: how long trials take, and what they forecast for each claim.

    One round, or, of simulated trials, which cost little, as many as the first look takes.
    """
    rounds = pilot_rounds(experiment)
    from trialwise import study
    from trialwise.experiment.writing import write_experiment
    from trialwise.trials.temporary import vanishing_folder

    with vanishing_folder("trialwise-pilot-") as folder:
        file = folder / "experiment.toml"
        file.write_text(write_experiment(_shortened(experiment, rounds)))
        result = study.run(file, folder / "results")
        if result.ending.word == "interrupted":
            raise KeyboardInterrupt
        _, _, ledger = study.open_directory(result.directory)
        rows = ledger.trials()
        ledger.close()
        forecasts = tuple(_forecasts(study.state(result.directory), experiment.design.max_trials))
    failed = [f"{row.treatment}: {row.reason}" for row in rows if row.status != "finished"]
    if failed:
        raise TrialError("the pilot failed\n" + "\n".join(failed), hint="mend the trial and try again")
    times = measured_times(experiment, rows)
    if times is None:
        raise TrialError(f"the pilot ended without a trial: {result.ending.text}")
    return times, forecasts


def _forecasts(state: State, most: int) -> Iterator[str]:
    """How many trials each claim is expected to take in all, by its first look."""
    for claim in state.stopping.claims if state.stopping else ():
        name = f"  {claim.metric} {claim.subject}: {claim.what} {claim.asked}"
        if claim.state != "open":
            yield f"{name}: known after {claim.n[0]} trials already"
            continue
        beyond = f" ! max_trials is {most:,}" if claim.wanted is None or claim.wanted > most else ""
        yield f"{name}: {wanted_text(claim.wanted, claim.wanted_low, claim.wanted_high, claim.level)}{beyond}"


def _shortened(experiment: Experiment, rounds: int) -> Experiment:
    """The first rounds, at once and here, of the same experiment in another folder; one round has no claims to judge."""
    if rounds == 1:
        experiment = without_stops(experiment)
    return dataclasses.replace(
        experiment,
        factors=tuple(_anywhere(factor) for factor in experiment.factors),
        trial=_in_folder(experiment.trial, experiment.folder),
        reset=_reset_in_folder(experiment.reset, experiment.folder),
        design=dataclasses.replace(experiment.design, rounds=rounds, series=1, span=None, warmup_trials=0),
        workers=Workers(),
    )


def _anywhere(factor: Factor) -> Factor:
    """The factor without the file that it is drawn from."""
    drawn = isinstance(factor, DrawnFactor) and factor.values
    return dataclasses.replace(factor, origin="list") if drawn else factor


def _in_folder(trial: Trial, folder: Path) -> Trial:
    if isinstance(trial, SimulationTrial):
        return simulation_in_folder(trial, folder)
    if not isinstance(trial, PathTrial):
        return dataclasses.replace(trial, directory=str(folder / trial.directory))
    return dataclasses.replace(
        trial,
        path=trial.path if isinstance(trial.path, str) else in_folder(trial.path, folder),
        named_paths=tuple((name, in_folder(settings, folder)) for name, settings in trial.named_paths),
        scheme_folders=tuple(str(folder / name) for name in trial.scheme_folders),
    )


def _reset_in_folder(reset: Reset | None, folder: Path) -> Reset | None:
    """The reset with the folders that it empties and copies where they are."""
    if reset is None or reset.directory is None:
        return reset
    template = None if reset.template is None else str(folder / reset.template)
    return dataclasses.replace(reset, directory=str(folder / reset.directory), template=template)


# What is shown


def _text(summary: PlanSummary, experiment: Experiment, *, whole_order: bool) -> Iterator[str]:
    number = len(summary.treatments)
    most = "at most " if summary.stopping else ""
    yield (
        f"{summary.name}: {most}{_amount(summary.series, 'series')} × {_count(summary.rounds, 'round')} × "
        f"{_count(number, 'treatment')} = {_count(summary.series * summary.rounds * number, 'trial')}"
    )
    if experiment.shares_processes:
        processes = _count(summary.series * number, "process", "processes")
        yield f"trials share one process for each treatment and series: {processes}"
    if summary.warmup_rounds:
        yield f"and {_count(summary.warmup_rounds, 'warm-up round')} before each series, not counted"
    if summary.stopping:
        yield from _section("Stops by itself", stopping_lines(summary.stopping, number))
    yield from _objectives(summary)
    yield from _section("Warnings", (f"  ! {warning}" for warning in summary.warnings))
    yield from _section("Treatments", _treatments(summary, experiment))
    yield from _section("Flows", _flows(summary, experiment))
    order = _order(summary, summary.trials, summary.trial_count, whole=whole_order)
    yield from _section(f"Order (seed {summary.seed})", order)
    yield from _section("Workers", _workers(summary, experiment))
    for lane in (each for each in summary.lanes if each.seed != summary.seed):
        order = _order(summary, lane.trials, lane.trial_count, whole=whole_order)
        yield from _section(f"Order on {lane.worker} (seed {lane.seed})", order)
    yield from _section("Time", _time(summary))
    if summary.budget:
        yield from _section(
            f"Budget of {duration_text(summary.budget.seconds)}", _budget_text(summary.budget)
        )
        yield from _section("How to spend it between series and rounds", _splits(summary.splits))


def stopping_lines(stopping: StoppingPlan, treatments: int) -> Iterator[str]:
    """Say when an experiment ends by itself, and how long that takes at least and at most."""
    least, most = (
        f"{number} {stopping.unit}"
        + (f" of each of {treatments} treatments" if treatments > 1 and stopping.unit == "trials" else "")
        + ("" if seconds is None else f", {duration_text(seconds)}")
        for number, seconds in (
            (stopping.least, stopping.least_seconds),
            (stopping.most, stopping.most_seconds),
        )
    )
    yield f"  at least {least}"
    yield f"  at most {most}" + (f" (budget {duration_text(stopping.budget)})" if stopping.budget else "")
    yield f"  stops when {'; and '.join(stopping.stops_when)}"
    yield f"  {_LOOKS[stopping.looks].format(stopping.pilot)}"


_LOOKS = {
    "two-stage": "looks twice: a pilot of {} forecasts how many fresh ones are run, and these are judged once",
    "geometric": "looks at growing numbers of trials, each a tenth more; each claim ends at its first narrow look",
    "anytime": "looks after every round, by bounds that hold at all looks together",
    "cceval": "looks after every round by CCEval's rule, whose intervals hold less often than they say",
}


def _splits(splits: Sequence[Split]) -> Iterator[str]:
    """The best series and rounds for the mean of each metric and treatment."""
    if not splits:
        return
    rows = [["metric", "treatment", "between series", "between rounds", "best", "the mean then", "from"]]
    for split in splits:
        unit = f" {split.unit}" if split.unit else ""
        between = [
            "not known" if part is None else f"{part:.3g}{unit}"
            for part in (split.between_series, split.between_rounds)
        ]
        best = f"{_amount(split.series, 'series')} × {_count(split.rounds, 'round')}"
        width, trials = f"±{split.half_width:.2g}{unit} at 95 %", _count(split.trials, "trial")
        rows.append([split.metric, split.treatment, *between, best, width, trials])
    yield from columns(rows)
    yield from dict.fromkeys(f"  {each.metric} {each.treatment}: {each.note}" for each in splits if each.note)


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    content = list(lines)
    if content:
        yield from ("", title, *content)


def _objectives(summary: PlanSummary) -> Iterator[str]:
    rows = [
        [
            each.metric,
            each.text,
            _amount(each.needs, each.unit),
            "decides" if each.decides else "",
            "" if each.served else "not enough",
        ]
        for each in summary.objectives
    ]
    yield from _section("What the objectives need", columns(rows))


def _treatments(summary: PlanSummary, experiment: Experiment) -> Iterator[str]:
    rows = [
        [each.name, "" if each.seconds is None else duration_text(each.seconds)]
        for each in summary.treatments[:TREATMENTS_SHOWN]
    ]
    yield from columns(rows)
    if (further := len(summary.treatments) - len(rows)) > 0:
        yield f"  and {further} more (--json has them all)"
    for factor in experiment.drawn_factors:
        origin = f"{len(factor.values)} values of {factor.origin}" if factor.values else factor.origin
        yield f"  {factor.name}: drawn for each round from {origin}"


def _flows(summary: PlanSummary, experiment: Experiment) -> Iterator[str]:
    """How many flows simulated trials have in the mean; a treatment that cannot be simulated is refused."""
    if not isinstance(experiment.trial, SimulationTrial):
        return
    from trialwise.study import check_samples
    from trialwise.trials.simulation import flows_by_treatment

    drawn = {trial.treatment: trial.factors for trial in reversed(summary.trials or ())}
    shown = [each for each in summary.treatments if each.name in drawn][:TREATMENTS_SHOWN]
    factors = [drawn[each.name] for each in shown]
    expected = flows_by_treatment(experiment, factors)
    check_samples(experiment, factors)
    rows = [
        [each.name or "all", f"about {number:.0f} in a trial"]
        for each, number in zip(shown, expected, strict=True)
    ]
    yield from columns(rows)


def _workers(summary: PlanSummary, experiment: Experiment) -> Iterator[str]:
    if experiment.workers.allocate is not None:
        yield "  as many as workers.allocate will name; each runs the whole plan in an order of its own"
    if not summary.lanes:
        return
    number, total = len(summary.lanes), sum(lane.trial_count for lane in summary.lanes)
    if number > 1:
        yield f"  each of {number} runs the whole plan in an order of its own: {_count(total, 'trial')}"
    rows = [
        [lane.worker, f"{lane.first} to {lane.last}", f"{lane.trial_count}", f"{lane.seed}"]
        for lane in summary.lanes
    ]
    yield from columns([["worker", "numbers", "trials", "seed"], *rows])


def _order(
    summary: PlanSummary, trials: Sequence[TrialSummary] | None, count: int, *, whole: bool
) -> Iterator[str]:
    if trials is None:
        yield f"  {count} trials are too many to lay out"
        return
    most = len(trials) if whole else ROUNDS_SHOWN * TREATMENTS_SHOWN
    yield f"  {summary.order}: {summary.conclusion}"
    shown = trials[:most]
    names = [
        *("trial", "series", "round"),
        *(["start"] if summary.span else []),
        *(["seed"] if whole else []),
        *(["order"] if summary.order == "fixed+random" else []),
        "treatment",
        *(["after"] if any(trial.predecessor for trial in shown) else []),
    ]
    rows = [_cells(trial, summary) for trial in shown]
    yield from columns([names, *([row[name] for name in names] for row in rows)])
    if (further := count - len(rows)) > 0:
        yield f"  and {further} more (--order shows them all)"


def _cells(trial: TrialSummary, summary: PlanSummary) -> dict[str, str]:
    fixed = {name for treatment in summary.treatments for name in treatment.factors}
    drawn = [f"{name}={level_text(value)}" for name, value in trial.factors.items() if name not in fixed]
    return {
        "trial": str(trial.number),
        "series": str(trial.series),
        "round": f"warm-up {trial.round}" if trial.warmup else str(trial.round),
        "start": "then" if trial.start is None else duration_text(trial.start),
        "seed": str(trial.seed),
        "order": trial.order,
        "after": trial.predecessor or "",
        "treatment": f"{trial.treatment} ({', '.join(drawn)})" if drawn else trial.treatment,
    }


def _time(summary: PlanSummary) -> Iterator[str]:
    time = summary.time
    if time is None:
        yield '  not known; write runtime = "10s" into [trial], or run a pilot with --pilot'
        return
    origin = "as [trial] runtime states" if time.origin == "runtime" else "as trials took that were run"
    yield f"  a round takes {duration_text(time.round_seconds)}, {origin}"
    yield f"  a series takes {duration_text(time.series_seconds)}" + (
        "" if summary.span is None else f" (span {duration_text(summary.span)})"
    )
    at_once = f", all {len(summary.lanes)} workers running at once" if len(summary.lanes) > 1 else ""
    takes = "takes at most" if summary.stopping else "takes"
    yield f"  the experiment {takes} {duration_text(time.total_seconds)}{at_once}"


# Budget


def _budget_text(budget: Budget) -> Iterator[str]:
    if budget.fits:
        yield f"  fits: {duration_text(budget.needed_seconds)} are needed"
        yield f"  {_count(budget.rounds, 'round')} in each of {_amount(budget.series, 'series')} would fit"
        return
    yield f"  does not fit: {duration_text(budget.needed_seconds)} are needed"
    span = "" if budget.span is None else f", each in a span of {duration_text(budget.span)}"
    yield (
        f"  {_amount(budget.series, 'series')} of {_count(budget.rounds, 'round')} fit{span}"
        if budget.rounds
        else f"  not one round fits into each of {_amount(budget.series, 'series')}"
    )
    rows = [[fit.metric, _need(fit), _verdict(fit)] for fit in (*budget.kpis, *budget.scores)]
    yield from columns(rows)
    if budget.changes:
        yield "  To stay within it, one of:"
    changes = [
        [
            f"{_amount(change.series, 'series')} × {_count(change.rounds, 'round')}",
            duration_text(change.seconds),
            change.what,
        ]
        for change in budget.changes
    ]
    yield from columns(changes, indent=4)


def _need(fit: Fit) -> str:
    return f"{fit.text}: {_amount(fit.amount, fit.unit)}"


def _verdict(fit: Fit) -> str:
    if fit.fits:
        return "fits"
    nearest = [
        *([f"{fit.largest_confidence:g} % confidence"] if fit.largest_confidence is not None else []),
        *(
            [f"p{fit.most_extreme_percentile:g} at {fit.objective.confidence:g} %"]
            if fit.most_extreme_percentile is not None
            else []
        ),
    ]
    return f"does not fit; at most {' or '.join(nearest)}" if nearest else "does not fit"


def _amount(number: int, unit: Literal["rounds", "series"]) -> str:
    return _count(number, "round") if unit == "rounds" else _count(number, "series", "series")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
