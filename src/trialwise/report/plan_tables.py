"""Tables of what was requested and how it was carried out: objectives, design, environment, failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.context import PlanSummary
from trialwise.analysis.exclusions import Answer, ChangedAnswer
from trialwise.analysis.results import Analysis
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import Cell, Name, Table, table_of
from trialwise.report.numbers import ABSENT, Number, counted
from trialwise.report.tables import moment
from trialwise.store.records import Session


def objective_table(analysis: Analysis) -> Table:
    """Return the parameters of each metric, as in TriScale's Table 2."""
    return table_of(
        key="objectives",
        caption="Objectives of each metric (TriScale, Table 2)",
        titles=(
            "metric",
            "measure",
            "better",
            "converges",
            "conf. %",
            "tol. %",
            "KPI percentile",
            "KPI conf. %",
            "bound",
            "score percentile",
            "score conf. %",
        ),
        rows=tuple(row for index in range(len(analysis.metrics)) for row in _objectives(analysis, index)),
        numeric={4, 5, 6, 7, 9, 10},
    )


def _objectives(analysis: Analysis, index: int) -> Iterator[tuple[Cell, ...]]:
    metric, at = analysis.metrics[index].metric, f"/metrics/{index}/metric"
    measure = metric.measure if isinstance(metric.measure, str) else f"p{metric.measure:.10g}"
    begin = (metric.name, measure, metric.better or ABSENT)
    steady, score = metric.convergence, metric.variability
    test: tuple[Cell, ...] = ("no", ABSENT, ABSENT)
    if steady is not None:
        parts = (("confidence", steady.confidence), ("tolerance", steady.tolerance))
        test = ("yes", *(Number(value, f"{at}/convergence/{name}") for name, value in parts))
    end: tuple[Cell, ...] = (ABSENT, ABSENT)
    if score is not None:
        parts = (("percentile", score.percentile), ("confidence", score.confidence))
        end = tuple(Number(value, f"{at}/variability/{name}") for name, value in parts)
    if not metric.kpis:
        yield (*begin, *test, ABSENT, ABSENT, ABSENT, *end)
    for place, kpi in enumerate(metric.kpis):
        here = f"{at}/kpis/{place}"
        asked = (
            Number(kpi.percentile, f"{here}/percentile"),
            Number(kpi.confidence, f"{here}/confidence"),
            kpi.bound,
        )
        yield (*begin, *test, *asked, *end)


def design_table(analysis: Analysis) -> Table | None:
    """Return the parameters of the experiment; None for a table of measurements, which has none."""
    plan = analysis.plan
    if plan is None:
        return None
    rows: list[tuple[Cell, ...]] = [
        ("rounds in a series", Number(plan.rounds, "/plan/rounds")),
        ("series", Number(plan.series, "/plan/series")),
        ("runtime of a trial, stated", _duration(plan.runtime)),
        ("runtime of a trial, median as measured", _duration(plan.median_runtime)),
        ("span of a series", "back to back" if plan.span is None else duration_text(plan.span)),
        ("order of trials", f"{plan.order} in each round, seed {analysis.seed}"),
        *_further(plan),
    ]
    return table_of("design", "Design of the experiment", ("parameter", "value"), tuple(rows))


def _further(plan: PlanSummary) -> Iterator[tuple[Cell, ...]]:
    yield (
        "robustness: extreme values that intervals can leave out",
        Number(plan.robustness, "/plan/robustness"),
    )
    yield (
        "warm-up trials of each treatment, before each series",
        Number(plan.warmup_trials, "/plan/warmup_trials"),
    )
    yield "start of a trial that is cut", duration_text(plan.warmup) if plan.warmup else "nothing"
    yield f"trial ({plan.kind})", Name(plan.command)
    if plan.reset:
        yield "reset", Name(plan.reset)
    for name, text in plan.services.items():
        yield f"service {name}", Name(text)
    for name, levels in plan.factors.items():
        yield f"factor {name}", ", ".join(map(str, levels))


def population_table(analysis: Analysis) -> Table | None:
    """Return the populations of the sampled factors; None without such factors."""
    rows: list[tuple[Cell, ...]] = []
    for place, found in enumerate(analysis.populations):
        at = f"/populations/{place}"
        source = (
            "the list in the file"
            if found.origin in ("", "list")
            else found.origin
            if found.size is not None
            else "a range"
        )
        size: Cell = (
            Number(found.size, f"{at}/size") if found.size is not None else f"{found.low:g} to {found.high:g}"
        )
        rows.append((found.factor, source, size, Number(found.drawn, f"{at}/drawn")))
    columns = ("factor", "drawn from", "values", "different values in finished trials")
    return table_of("populations", "Factors drawn for each round", columns, tuple(rows)) if rows else None


def session_table(analysis: Analysis) -> Table | None:
    """Return the runs of the runner; None for a table of measurements."""
    rows = tuple(
        _session(session.record, f"/sessions/{place}/record")
        for place, session in enumerate(analysis.sessions)
    )
    columns = (
        "session",
        "began (UTC)",
        "ended (UTC)",
        "ending",
        "environment",
        "worker",
        "boot",
        "Trialwise",
    )
    return table_of("sessions", "Sessions of the runner", columns, rows) if rows else None


def _session(session: Session, at: str) -> tuple[Cell, ...]:
    return (
        Number(session.number, f"{at}/number"),
        moment(session.started),
        moment(session.ended),
        session.ending or "cut off",
        Number(session.epoch, f"{at}/epoch"),
        session.worker,
        session.boot,
        session.version,
    )


def environment_tables(analysis: Analysis) -> list[Table]:
    """Return the environment recorded by each session."""
    return [
        table_of(
            f"environment-{session.record.number}",
            f"Environment of session {session.record.number}",
            ("what", "value"),
            tuple((name, value) for name, value in _flat(session.environment)),
        )
        for session in analysis.sessions
        if session.environment
    ]


def _flat(facts: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested facts: `cpu.model`, `cpu.cores`."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")  # type: ignore[arg-type]
        elif isinstance(value, list):
            yield f"{prefix}{name}", ", ".join(map(str, value))  # type: ignore[arg-type]
        else:
            yield f"{prefix}{name}", ABSENT if value is None else str(value)


def trials_text(analysis: Analysis) -> str:
    """Write the number of trials, and of those planned if some have not run."""
    waiting = analysis.counts.get("planned", 0)
    if not waiting:
        return counted(analysis.planned, "trial")
    return f"{analysis.planned - waiting} of {counted(analysis.planned, 'planned trial')}"


def failure_table(analysis: Analysis, most: int | None = None) -> Table | None:
    """Return the attempts without a result, only the first `most`; None if all gave one."""
    rows = tuple(
        (
            str(found.number) if found.attempt == 1 else f"{found.number} (attempt {found.attempt})",
            Name(found.treatment),
            found.series,
            str(found.round),
            found.status,
            found.reason or ABSENT,
            ABSENT if found.exit_code is None else str(found.exit_code),
            found.log or ABSENT,
        )
        for found in analysis.failures[:most]
    )
    columns = ("trial", "treatment", "series", "round", "status", "reason", "exit code", "log")
    if not rows:
        return None
    title = "Attempts that gave no result"
    if (number := len(analysis.failures)) > len(rows):
        title += f": the first {len(rows)} of {number:,}; trialwise analyze --json has all"
    return table_of("failures", title, columns, rows, remarks={6, 7})


def change_table(analysis: Analysis, most: int | None = None) -> Table | None:
    """Return what was changed after the experiment had begun, only the first `most`; None if nothing was."""
    rows = tuple(
        (
            moment(each.time),
            each.kind,
            each.about or ABSENT,
            Name(each.who) if each.who else ABSENT,
            each.because or ABSENT,
        )
        for each in analysis.changes[:most]
    )
    if not rows:
        return None
    title = "What was changed after the experiment had begun"
    if (number := len(analysis.changes)) > len(rows):
        title += f": the first {len(rows)} of {number:,}; trialwise analyze --json has all"
    return table_of("changes", title, ("when (UTC)", "change", "of", "by", "because"), rows, remarks={4})


def exclusion_table(analysis: Analysis, most: int | None = None) -> Table | None:
    """Return the answers that change with the trials that were left out, other verdicts first, only the first `most`; None if none."""
    found = sorted(enumerate(analysis.exclusions), key=lambda each: not each[1].is_other_verdict)
    if not found:
        return None
    rows = [
        (
            Name(each.metric),
            Name(each.what),
            Name(each.treatment),
            each.series or ABSENT,
            *_answer(each, each.without, f"/exclusions/{place}/without"),
            *_answer(each, each.with_them, f"/exclusions/{place}/with_them"),
        )
        for place, each in found[:most]
    ]
    columns = (
        "metric",
        "answer",
        "treatment",
        "series",
        "n",
        "without",
        "is",
        "n with them",
        "with them",
        "would be",
    )
    other = sum(each.is_other_verdict for each in analysis.exclusions)
    title = f"With the trials that were left out: {other} of {counted(len(found), 'answer')} would have another verdict"
    if len(found) > len(rows):
        title += f"; the first {len(rows)}, trialwise analyze --json has all"
    return table_of("exclusions", title, columns, rows, {4, 5, 7, 8})


def _answer(changed: ChangedAnswer, answer: Answer | None, at: str) -> tuple[Cell, ...]:
    """Return the number of trials, the value and the verdict of an answer."""
    if answer is None:
        return ABSENT, ABSENT, ABSENT
    value = ABSENT if answer.value is None else (Number(answer.value, f"{at}/value", changed.unit),)
    return (Number(answer.n, f"{at}/n", kind="count"),), value, answer.verdict


def _duration(seconds: float | None) -> str:
    return ABSENT if seconds is None else duration_text(seconds)
