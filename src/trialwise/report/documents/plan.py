"""What `trialwise plan` says: how many trials there are, what asks for them, their order and the time they take."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from trialwise.analysis.stopping.wanted import wanted_text
from trialwise.design.budget import Budget, Fit
from trialwise.design.splitting import Split
from trialwise.design.stopping import StoppingPlan
from trialwise.design.summary import LaneSummary, PlanSummary, TrialSummary
from trialwise.design.timing import how_to_know
from trialwise.experiment.amendable import WORDS
from trialwise.experiment.model import Experiment
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Outcome,
    Piece,
    Table,
    Text,
    Verdict,
    joined,
    table_of,
)
from trialwise.report.many import MOST_ROWS
from trialwise.report.numbers import ABSENT, Number, counted, given
from trialwise.rules import RULES

ROUNDS_SHOWN = 2
TREATMENTS_SHOWN = 12


def document(
    summary: PlanSummary, experiment: Experiment, *, whole_order: bool, surroundings: Sequence[str] = ()
) -> Document:
    """Return the sizes of a plan, then what asks for them; of its order the first rounds, or the whole.

    `surroundings` are sentences on the variables that trials get.
    """
    evidence = (
        *_changes(summary),
        *_beside_the_answer(summary, experiment),
        *_stopping(summary.stopping, len(summary.treatments)),
        *_objectives(summary),
        *(Note((warning,), "warning") for warning in summary.warnings),
        *_treatments(summary, experiment),
        *_flows(summary),
        *_services(summary, experiment),
        *_workers(summary, experiment),
        *_orders(summary, is_whole=whole_order),
        *_time(summary, experiment),
        *_budget(summary.budget),
        *_splits(summary.splits),
        *_forecasts(summary, experiment.design.max_trials),
        *_levels(summary),
        *(Note((Name(text),)) for text in surroundings),
    )
    return Document("plan", Verdict(_outcome(summary), _answer(summary)), evidence)


def _answer(summary: PlanSummary) -> Text:
    number = len(summary.treatments)
    most = "at most " if summary.stopping else ""
    sizes = f"{_series(summary.series)} × {counted(summary.rounds, 'round')} × {counted(number, 'treatment')}"
    trials = counted(summary.series * summary.rounds * number, "trial")
    return (Name(summary.name), f": {most}{sizes} = {trials}", *_fit(summary.budget))


def _changes(summary: PlanSummary) -> Iterator[Block]:
    """Say in which keys the file differs from the one that the directory began with, and what would follow."""
    if summary.changes:
        yield table_of(
            "changes",
            "Changed since the experiment began",
            ("key", "was", "is", "what follows"),
            tuple(
                (
                    Name(each.key),
                    Name(each.then) if each.then else ABSENT,
                    Name(each.now) if each.now else ABSENT,
                    WORDS[each.effect],
                )
                for each in summary.changes
            ),
            remarks={3},
        )


def _fit(budget: Budget | None) -> Text:
    if budget is None:
        return ()
    return ("; fits into " if budget.fits else "; does not fit into ", _seconds(budget.seconds))


def _outcome(summary: PlanSummary) -> Outcome:
    if summary.budget is not None:
        return "good" if summary.budget.fits else "bad"
    return "plain" if all(each.served for each in summary.objectives) else "open"


def _beside_the_answer(summary: PlanSummary, experiment: Experiment) -> Iterator[Note]:
    if experiment.trial.traits.shares_processes:
        processes = counted(summary.series * len(summary.treatments), "process", "processes")
        yield Note((f"trials share one process for each treatment and series: {processes}",), is_aside=True)
    if summary.warmup_rounds:
        rounds = counted(summary.warmup_rounds, "warm-up round")
        yield Note((f"and {rounds} before each series, not counted",), is_aside=True)


def _stopping(stopping: StoppingPlan | None, treatments: int) -> Iterator[Block]:
    """Say when an experiment ends by itself, and how long that takes at least and at most."""
    if stopping is None:
        return
    of = f" of each of {treatments} treatments" if treatments > 1 and stopping.unit == "trials" else ""
    budget = (" (budget ", _seconds(stopping.budget), ")") if stopping.budget else ()
    yield Heading(("Stops by itself",))
    yield Items(
        (
            (f"at least {stopping.least} {stopping.unit}{of}", *_after_comma(stopping.least_seconds)),
            (f"at most {stopping.most} {stopping.unit}{of}", *_after_comma(stopping.most_seconds), *budget),
            *((f"{'and' if place else 'stops when'} {what}",) for place, what in enumerate(stopping.stops_when)),
            (RULES[stopping.looks].plan.format(pilot=stopping.pilot),),
        ),
        most=None,
    )  # fmt: skip


def _after_comma(seconds: float | None) -> Text:
    return () if seconds is None else (", ", _seconds(seconds))


def _seconds(seconds: float | None, pointer: str = "") -> Number:
    return Number(seconds, pointer, kind="duration")


def _objectives(summary: PlanSummary) -> Iterator[Table]:
    rows = [
        (
            Name(each.metric),
            each.text,
            _amount(each.needs, each.unit),
            "decides" if each.decides else "",
            "" if each.served else Verdict("bad", ("not enough",)),
        )
        for each in summary.objectives
    ]
    if rows:
        titles = ("metric", "objective", "needs", "", "")
        table = table_of("objectives", "What the objectives need", titles, rows, remarks={3, 4})
        yield replace(table, most=MOST_ROWS)


def _treatments(summary: PlanSummary, experiment: Experiment) -> Iterator[Table]:
    rows = tuple(
        (Name(each.name), "" if each.seconds is None else _seconds(each.seconds, f"/treatments/{at}/seconds"))
        for at, each in enumerate(summary.treatments)
    )
    drawn = tuple(
        (
            Name(each.name),
            f": drawn for each round from {counted(len(each.values), 'value')} of {each.origin}",
        )
        if each.values
        else (Name(each.name), f": drawn for each round from {each.origin}")
        for each in experiment.drawn_factors
    )
    columns = (Column("treatment"), Column("" if summary.time is None else "a trial", is_numeric=True))
    yield Table("treatments", ("Treatments",), columns, rows, drawn, most=TREATMENTS_SHOWN)


def _services(summary: PlanSummary, experiment: Experiment) -> Iterator[Table]:
    """Yield what runs beside the trials, in the order in which it starts."""
    rounds = summary.series * (summary.rounds + summary.warmup_rounds)
    starts = {"series": summary.series, "round": rounds, "trial": rounds * len(summary.treatments)}
    rows = [
        (
            Name(each.name),
            Name(shlex.join(each.start)),
            each.lifetime,
            str(starts[each.lifetime]),
            Name(each.ready.text),
            duration_text(each.ready.timeout),
        )
        for each in experiment.services
    ]
    if rows:
        titles = ("service", "command", "for each", "starts", "ready by", "after at most")
        yield table_of("services", "Services beside the trials", titles, rows, {3})


def _flows(summary: PlanSummary) -> Iterator[Block]:
    if not summary.flows:
        return
    rows = tuple(
        (
            Name(each.treatment or "all"),
            ("about ", Number(each.expected, f"/flows/{at}/expected", kind="count"), " in a trial"),
            "" if each.offered is None else each.offered.text,
        )
        for at, each in enumerate(summary.flows)
    )
    columns = (Column("treatment"), Column("flows"), Column("offered"))
    yield Table("flows", ("Flows",), columns, rows, most=TREATMENTS_SHOWN)
    for caution in dict.fromkeys(text for each in summary.flows for text in each.cautions):
        yield Note((caution,), "warning")


def _workers(summary: PlanSummary, experiment: Experiment) -> Iterator[Block]:
    if experiment.workers.allocate is not None:
        yield Heading(("Workers",))
        text = "as many as workers.allocate will name; each runs the whole plan in an order of its own"
        yield Items(((text,),))
    if not summary.lanes:
        return
    number, total = len(summary.lanes), sum(lane.trial_count for lane in summary.lanes)
    each = f"each of {number} runs the whole plan in an order of its own: {counted(total, 'trial')}"
    rows = tuple(
        (Name(lane.worker), f"{lane.first} to {lane.last}", str(lane.trial_count), str(lane.seed))
        for lane in summary.lanes
    )
    columns = (Column("worker"), Column("numbers"), Column("trials", True), Column("seed", True))
    yield Table("workers", ("Workers",), columns, rows, ((each,),) if number > 1 else (), most=None)


def _orders(summary: PlanSummary, *, is_whole: bool) -> Iterator[Block]:
    yield _order(summary, summary, is_whole=is_whole)
    for lane in summary.lanes:
        if lane.seed != summary.seed:
            yield _order(summary, lane, is_whole=is_whole)


def _order(summary: PlanSummary, part: PlanSummary | LaneSummary, *, is_whole: bool) -> Table:
    """Return the trials of the plan, or of what one worker runs, in their order."""
    where = () if isinstance(part, PlanSummary) else (" on ", Name(part.worker))
    caption = ("Order", *where, f" (seed {part.seed})")
    if part.trials is None:
        return Table("order", caption, (), (), ((f"{part.trial_count} trials are too many to lay out",),))
    shown = part.trials if is_whole else part.trials[: ROUNDS_SHOWN * TREATMENTS_SHOWN]
    cells = [_trial(each, summary) for each in shown]
    wanted = {
        "start": summary.span is not None,
        "seed": is_whole,
        "order": summary.order == "fixed+random",
        "after": any(each.predecessor for each in shown),
    }
    names = [name for name in cells[0] if wanted.get(name, True)] if cells else []
    further = part.trial_count - len(shown)
    more = ((f"and {further} more (--order shows them all)",),) if further > 0 else ()
    numeric = ("trial", "series", "seed", *([] if any(each.warmup for each in shown) else ["round"]))
    columns = tuple(Column(name, name in numeric) for name in names)
    rows = tuple(tuple(row[name] for name in names) for row in cells)
    return Table("order", caption, columns, rows, (*more, (f"{summary.order}: {summary.conclusion}",)), None)


def _trial(trial: TrialSummary, summary: PlanSummary) -> Mapping[str, Cell]:
    fixed = {name for treatment in summary.treatments for name in treatment.factors}
    drawn = [f"{name}={level_text(value)}" for name, value in trial.factors.items() if name not in fixed]
    return {
        "trial": str(trial.number),
        "series": str(trial.series),
        "round": f"warm-up {trial.round}" if trial.warmup else str(trial.round),
        "start": "then" if trial.start is None else _seconds(trial.start),
        "seed": str(trial.seed),
        "order": trial.order,
        "treatment": Name(f"{trial.treatment} ({', '.join(drawn)})" if drawn else trial.treatment),
        "after": Name(trial.predecessor or ""),
    }


def _time(summary: PlanSummary, experiment: Experiment) -> Iterator[Block]:
    yield Heading(("Time",))
    if (between := experiment.design.between) is not None:
        yield Note((f"trials run between {between.text} only: the time outside of it comes on top",))
    time = summary.time
    if time is None:
        yield Items(((f"not known; {how_to_know(experiment)}",),))
        return
    core = " on one core" if experiment.trial.traits.computed else ""
    origin = "as [trial] runtime states" if time.origin == "runtime" else "as trials took that were run"
    span = () if summary.span is None else (" (span ", _seconds(summary.span, "/span"), ")")
    at_once = f", all {len(summary.lanes)} workers running at once" if len(summary.lanes) > 1 else ""
    takes = "takes at most " if summary.stopping else "takes "
    yield Items(
        (
            ("a round takes ", _seconds(time.round_seconds, "/time/round_seconds"), f"{core}, {origin}"),
            ("a series takes ", _seconds(time.series_seconds, "/time/series_seconds"), *span),
            (f"the experiment {takes}", _seconds(time.total_seconds, "/time/total_seconds"), f"{core}{at_once}"),
        )
    )  # fmt: skip


# A budget


def _budget(budget: Budget | None) -> Iterator[Block]:
    """Yield whether the experiment fits, how much of it does, and what would make the rest fit."""
    if budget is None:
        return
    yield Heading(("Budget of ", _seconds(budget.seconds, "/budget/seconds")))
    needed = (": ", _seconds(budget.needed_seconds, "/budget/needed_seconds"), " are needed")
    yield Items((("fits" if budget.fits else "does not fit", *needed), _what_fits(budget)))
    if budget.fits:
        return
    rows = [
        (Name(fit.metric), f"{fit.text}: {_amount(fit.amount, fit.unit)}", Verdict("good" if fit.fits else "bad", _verdict(fit)))
        for fit in (*budget.kpis, *budget.scores)
    ]  # fmt: skip
    if rows:
        yield table_of("fits", "Objectives in the budget", ("metric", "objective", ""), rows)
    changes = [
        (f"{_series(change.series)} × {counted(change.rounds, 'round')}", _seconds(change.seconds), change.what)
        for change in budget.changes
    ]  # fmt: skip
    if changes:
        yield table_of("changes", "To stay within it, one of", ("plan", "takes", "change"), changes)


def _what_fits(budget: Budget) -> Text:
    rounds = counted(budget.rounds, "round")
    if budget.fits:
        return (f"{rounds} in each of {_series(budget.series)} would fit",)
    if not budget.rounds:
        return (f"not one round fits into each of {_series(budget.series)}",)
    span = () if budget.span is None else (", each in a span of ", _seconds(budget.span, "/budget/span"))
    return (f"{_series(budget.series)} of {rounds} fit", *span)


def _verdict(fit: Fit) -> Text:
    if fit.fits:
        return ("fits",)
    nearest: list[tuple[Piece, ...]] = []
    if fit.largest_confidence is not None:
        nearest.append((given(fit.largest_confidence), " confidence"))
    if fit.most_extreme_percentile is not None:
        level = given(fit.objective.confidence)
        nearest.append(("p", given(fit.most_extreme_percentile, ""), " at ", level))
    return ("does not fit; at most ", *joined(nearest, " or ")) if nearest else ("does not fit",)


def _splits(splits: Sequence[Split]) -> Iterator[Table]:
    """Yield the best series and rounds for the mean of each metric and treatment."""
    if not splits:
        return
    titles = (
        "metric",
        "treatment",
        "between series",
        "between rounds",
        "best",
        "the mean then, ± at 95 %",
        "from",
    )
    rows = [
        (
            Name(split.metric),
            Name(split.treatment),
            _part(split.between_series, split.unit),
            _part(split.between_rounds, split.unit),
            f"{_series(split.series)} × {counted(split.rounds, 'round')}",
            Number(split.half_width, f"/splits/{at}/half_width", split.unit, digits=2),
            counted(split.trials, "trial"),
        )
        for at, split in enumerate(splits)
    ]  # fmt: skip
    table = table_of("splits", "How to spend it between series and rounds", titles, rows, {2, 3, 5})
    notes = dict.fromkeys(
        (Name(each.metric), " ", Name(each.treatment), f": {each.note}") for each in splits if each.note
    )
    yield Table(table.key, table.caption, table.columns, table.rows, tuple(notes), None)


def _part(value: float | None, unit: str) -> Cell:
    return "not known" if value is None else Number(value, unit=unit, digits=3)


def _forecasts(summary: PlanSummary, most: int) -> Iterator[Block]:
    lines: list[Text] = []
    for each in summary.forecasts:
        name = (Name(each.metric), " ", Name(each.subject), f": {each.what} {each.asked}: ")
        if each.known:
            lines.append((*name, f"known after {each.wanted} trials already"))
        elif each.note:
            lines.append((*name, each.note))
        else:
            wanted = wanted_text(each.wanted, each.wanted_low, each.wanted_high, each.level)
            lines.append((*name, wanted, f" ! max_trials is {most:,}" if each.beyond else ""))
    if lines:
        yield Heading(("Forecast",))
        yield Items(tuple(lines), most=None)


def _levels(summary: PlanSummary) -> Iterator[Block]:
    """Tell how trials and lists of engines are shared out, and what that gains."""
    if not summary.levels:
        return
    from trialwise.report.estimation_tables import expected_gain  # takes Polars

    rows: list[tuple[Cell, ...]] = []
    notes: list[Text] = []
    for each in summary.levels:
        for level in each.levels:
            lists = "all that are drawn" if level.lists is None else Number(level.lists)
            seconds = Number(level.seconds, unit="s", digits=3) if level.seconds else "next to nothing"
            cells = (seconds, Number(level.variance, digits=3), lists)
            rows.append((Name(each.metric), Name(each.treatment), level.name, *cells))
        left = f"; left out, since they do not pay: {', '.join(each.dropped)}" if each.dropped else ""
        spent = sum(level.seconds * (level.lists or 0) for level in each.levels[1:])
        taken = (
            f"; the lists take about {duration_text(round(spent))} before the first trial"
            if spent >= 1
            else ""
        )
        gain = expected_gain(each.gain)
        notes.append(
            (Name(each.metric), " ", Name(each.treatment), f": expected gain in time {gain}{taken}{left}")
        )
    pilots = {each.pilot for each in summary.levels}
    caption = f"Levels (a pilot of {' and '.join(map(str, sorted(pilots)))} lists; lists for as many trials as the first row says)"
    titles = ("metric", "treatment", "level", "seconds a list", "variance", "lists")
    table = table_of("levels", caption, titles, rows, {3, 4, 5})
    yield Table(table.key, table.caption, table.columns, table.rows, tuple(notes), None)


def _amount(number: int, unit: str) -> str:
    """Return a number of rounds or series, such as "1 round" or "2 series"."""
    return counted(number, "round") if unit == "rounds" else _series(number)


def _series(number: int) -> str:
    return counted(number, "series", "series")
