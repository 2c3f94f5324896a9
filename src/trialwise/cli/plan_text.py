"""A plan in words, as `trialwise plan` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trialwise.analysis.stopping.sentences import wanted_text
from trialwise.cli.budget_text import amount, budget_lines
from trialwise.cli.text import columns
from trialwise.design.splitting import Split
from trialwise.design.stopping import StoppingPlan
from trialwise.design.summary import ForecastSummary, PlanSummary, TrialSummary
from trialwise.design.timing import how_to_know
from trialwise.experiment.model import Experiment
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import about, counted, write
from trialwise.report.terminal_table import Line
from trialwise.rules import RULES

ROUNDS_SHOWN = 2
TREATMENTS_SHOWN = 12


def plan_lines(summary: PlanSummary, experiment: Experiment, *, whole_order: bool) -> Iterator[Line]:
    """All that is shown of a plan; of its order the first rounds, or the whole."""
    number = len(summary.treatments)
    most = "at most " if summary.stopping else ""
    yield (
        f"{summary.name}: {most}{amount(summary.series, 'series')} × {counted(summary.rounds, 'round')} × "
        f"{counted(number, 'treatment')} = {counted(summary.series * summary.rounds * number, 'trial')}"
    )
    if experiment.shares_processes:
        processes = counted(summary.series * number, "process", "processes")
        yield f"trials share one process for each treatment and series: {processes}"
    if summary.warmup_rounds:
        yield f"and {counted(summary.warmup_rounds, 'warm-up round')} before each series, not counted"
    if summary.stopping:
        yield from _section("Stops by itself", _stopping_lines(summary.stopping, number))
    yield from _objectives(summary)
    yield from _section("Warnings", (f"  ! {warning}" for warning in summary.warnings))
    yield from _section("Treatments", _treatments(summary, experiment))
    yield from _section("Flows", _flows(summary))
    order = _order(summary, summary.trials, summary.trial_count, whole=whole_order)
    yield from _section(f"Order (seed {summary.seed})", order)
    yield from _section("Workers", _workers(summary, experiment))
    for lane in (each for each in summary.lanes if each.seed != summary.seed):
        order = _order(summary, lane.trials, lane.trial_count, whole=whole_order)
        yield from _section(f"Order on {lane.worker} (seed {lane.seed})", order)
    yield from _section("Time", _time(summary, experiment))
    if summary.budget:
        yield from _section(
            f"Budget of {duration_text(summary.budget.seconds)}", budget_lines(summary.budget)
        )
        yield from _section("How to spend it between series and rounds", _splits(summary.splits))
    yield from _section("Forecast", _forecast_lines(summary.forecasts, experiment.design.max_trials))


def _forecast_lines(forecasts: Sequence[ForecastSummary], most: int) -> Iterator[str]:
    for each in forecasts:
        name = f"  {each.metric} {each.subject}: {each.what} {each.asked}"
        if each.known:
            yield f"{name}: known after {each.wanted} trials already"
            continue
        if each.note:
            yield f"{name}: {each.note}"
            continue
        beyond = f" ! max_trials is {most:,}" if each.beyond else ""
        yield f"{name}: {wanted_text(each.wanted, each.wanted_low, each.wanted_high, each.level)}{beyond}"


def _stopping_lines(stopping: StoppingPlan, treatments: int) -> Iterator[str]:
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
    for place, what in enumerate(stopping.stops_when):
        yield f"  {'       and' if place else 'stops when'} {what}"
    yield f"  {RULES[stopping.looks].plan.format(pilot=stopping.pilot)}"


def _splits(splits: Sequence[Split]) -> Iterator[Line]:
    """The best series and rounds for the mean of each metric and treatment."""
    if not splits:
        return
    rows = [["metric", "treatment", "between series", "between rounds", "best", "the mean then", "from"]]
    for split in splits:
        unit = f" {split.unit}" if split.unit else ""
        between = [
            "not known" if part is None else f"{about(part)}{unit}"
            for part in (split.between_series, split.between_rounds)
        ]
        best = f"{amount(split.series, 'series')} × {counted(split.rounds, 'round')}"
        width, trials = f"±{write(split.half_width, digits=2)}{unit} at 95 %", counted(split.trials, "trial")
        rows.append([split.metric, split.treatment, *between, best, width, trials])
    yield columns(rows)
    yield from dict.fromkeys(f"  {each.metric} {each.treatment}: {each.note}" for each in splits if each.note)


def _section(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    content = list(lines)
    if content:
        yield from ("", title, *content)


def _objectives(summary: PlanSummary) -> Iterator[Line]:
    rows = [
        [
            each.metric,
            each.text,
            amount(each.needs, each.unit),
            "decides" if each.decides else "",
            "" if each.served else "not enough",
        ]
        for each in summary.objectives
    ]
    yield from _section("What the objectives need", [columns(rows, has_heading=False)] if rows else [])


def _treatments(summary: PlanSummary, experiment: Experiment) -> Iterator[Line]:
    rows = [
        [each.name, "" if each.seconds is None else duration_text(each.seconds)]
        for each in summary.treatments[:TREATMENTS_SHOWN]
    ]
    yield columns(rows, has_heading=False)
    if (further := len(summary.treatments) - len(rows)) > 0:
        yield f"  and {further} more (--json has them all)"
    for factor in experiment.drawn_factors:
        origin = f"{len(factor.values)} values of {factor.origin}" if factor.values else factor.origin
        yield f"  {factor.name}: drawn for each round from {origin}"


def _flows(summary: PlanSummary) -> Iterator[Line]:
    shown = summary.flows[:TREATMENTS_SHOWN]
    yield columns(
        [
            [
                each.treatment or "all",
                f"about {each.expected:.0f} in a trial",
                "" if each.offered is None else each.offered.text,
            ]
            for each in shown
        ]
    )
    for caution in dict.fromkeys(text for each in summary.flows for text in each.cautions):
        yield f"  ! {caution}"


def _workers(summary: PlanSummary, experiment: Experiment) -> Iterator[Line]:
    if experiment.workers.allocate is not None:
        yield "  as many as workers.allocate will name; each runs the whole plan in an order of its own"
    if not summary.lanes:
        return
    number, total = len(summary.lanes), sum(lane.trial_count for lane in summary.lanes)
    if number > 1:
        yield f"  each of {number} runs the whole plan in an order of its own: {counted(total, 'trial')}"
    rows = [
        [lane.worker, f"{lane.first} to {lane.last}", f"{lane.trial_count}", f"{lane.seed}"]
        for lane in summary.lanes
    ]
    yield columns([["worker", "numbers", "trials", "seed"], *rows])


def _order(
    summary: PlanSummary, trials: Sequence[TrialSummary] | None, count: int, *, whole: bool
) -> Iterator[Line]:
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
    yield columns([names, *([row[name] for name in names] for row in rows)])
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


def _time(summary: PlanSummary, experiment: Experiment) -> Iterator[str]:
    time = summary.time
    if time is None:
        yield f"  not known; {how_to_know(experiment)}"
        return
    core = " on one core" if experiment.is_simulated else ""
    origin = "as [trial] runtime states" if time.origin == "runtime" else "as trials took that were run"
    yield f"  a round takes {duration_text(time.round_seconds)}{core}, {origin}"
    yield f"  a series takes {duration_text(time.series_seconds)}" + (
        "" if summary.span is None else f" (span {duration_text(summary.span)})"
    )
    at_once = f", all {len(summary.lanes)} workers running at once" if len(summary.lanes) > 1 else ""
    takes = "takes at most" if summary.stopping else "takes"
    yield f"  the experiment {takes} {duration_text(time.total_seconds)}{core}{at_once}"
