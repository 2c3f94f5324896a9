"""What `trialwise runtime` says: how long trials must be, by pilots or, of simulated trials, by the flows of each duration."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trialwise.analysis.estimation.results import DurationAdvice, DurationStep, Estimate
from trialwise.analysis.estimation.transients import growth_words
from trialwise.analysis.runtime.advising import rounded_up
from trialwise.analysis.runtime.results import PilotNeed, RuntimeAdvice
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Piece,
    Table,
    Text,
    Verdict,
    pieces,
)
from trialwise.report.figures.estimation_points import made_of, stable_value
from trialwise.report.numbers import Number, counted, estimate, estimate_of, given
from trialwise.report.units import Scale, scale

_PILOTS = (
    Column("pilot"),
    Column("needs", is_numeric=True),
    Column("verdict"),
    Column("drift", is_numeric=True),
    Column("start-up", is_numeric=True),
    Column("measure"),
    Column("samples", is_numeric=True),
    Column("over", is_numeric=True),
)
_MAX_PILOTS = 12
_LEGEND = (
    "per trial: mean of each trial's own value; pooled: of all flows; few flows: the first over the second, a bias of few flows; "
    "transient: the second over that of the stable phase, of trials put together as warm-up and cool-down weigh at their duration"
)


def document(advice: RuntimeAdvice, *, has_tables: bool = True) -> Document:
    """Return the runtime, what decided, what to write into the experiment file, what each pilot or metric asks for.

    Without `has_tables` where figures show what simulated trials of each duration give.
    """
    answer = Verdict("plain" if advice.runtime is not None else "open", tuple(_answer(advice)))
    reason = Note((Name(advice.file), f": {advice.reason}"), is_aside=True)
    if advice.durations:
        evidence, method = (
            _durations(advice, has_tables=has_tables),
            _method_of_durations(advice, has_tables=has_tables),
        )
    else:
        evidence, method = _pilots(advice), _method_of_pilots(advice)
    return Document("runtime", answer, (reason, *_lines(advice), *evidence), tuple(method))


def _answer(advice: RuntimeAdvice) -> Iterator[str]:
    subject = "A simulated trial" if advice.durations else "A trial"
    startup = (
        f"the first {_length(advice.startup, advice.unit)} are start-up to cut"
        if advice.startup
        else "no start-up is to be cut"
    )
    if advice.runtime is None:
        yield "No duration can be given" if advice.durations else f"No runtime can be given; {startup}"
    elif advice.durations:
        yield f"{subject} needs {rounded_up(advice.runtime)}"
    else:
        yield f"{subject} needs {_length(advice.runtime, advice.unit)}; {startup}"
    yield "."


def _length(value: float, unit: str) -> str:
    """Return a length that suffices: rounded up."""
    return rounded_up(value) if unit == "s" else f"{math.ceil(value - 1e-9)} samples"


def _lines(advice: RuntimeAdvice) -> Iterator[Block]:
    if advice.runtime is not None and advice.unit == "samples":
        yield Note(("name the times with ", Code("--time"), " to have seconds"), is_aside=True)
    if advice.runtime_line:
        lines = [line for line in (advice.runtime_line, advice.warmup_line) if line]
        yield Listing(("[trial]", *lines), ("In the experiment file",))


# Pilots


def _pilots(advice: RuntimeAdvice) -> Iterator[Block]:
    order = [] if advice.decided_by is None else [advice.decided_by]
    order += [place for place in range(len(advice.pilots)) if place not in order]
    rows = tuple(_pilot(advice.pilots[place], advice.unit, f"/pilots/{place}") for place in order)
    yield Table("pilots", ("Pilots",), _PILOTS, rows, most=_MAX_PILOTS)
    notes = (*((f"not judged: {reason}",) for reason in advice.skipped), *((note,) for note in advice.notes))
    if notes:
        yield Items(notes)


def _pilot(pilot: PilotNeed, unit: str, at: str) -> tuple[Cell, ...]:
    of = (" of ", Name(pilot.treatment)) if pilot.treatment != "-" else ()
    measure = pilot.measure if isinstance(pilot.measure, str) else ("p", Number(pilot.measure, kind="given"))
    places = (f"{at}/drift", f"{at}/drift_low", f"{at}/drift_high")
    ends = (pilot.drift, pilot.drift_low, pilot.drift_high)
    return (
        (Name(pilot.metric), *of, ", trial ", Name(pilot.trial)),
        "no runtime" if pilot.runtime is None else _plain_length(pilot.runtime, unit, f"{at}/runtime"),
        pilot.verdict,
        estimate(*ends, unit="%", power=-2, sign=True, pointers=places),
        _plain_length(pilot.startup, unit, f"{at}/startup") if pilot.startup else "none",
        measure,
        Number(pilot.n, f"{at}/n"),
        _plain_length(pilot.duration, unit, f"{at}/duration"),
    )


def _plain_length(value: float, unit: str, at: str) -> Number:
    return Number(value, at, kind="duration") if unit == "s" else Number(round(value), at, "samples")


def _method_of_pilots(advice: RuntimeAdvice) -> Iterator[Block]:
    first = advice.pilots[0]
    levels = (
        (" tolerance ", first.tolerance),
        (", confidence ", first.confidence),
        (", power ", first.power),
    )
    told = [piece for words, value in levels for piece in (words.lstrip(), given(value))]
    yield Note((*told, f": {advice.how}"))


# Simulated trials


def _durations(advice: RuntimeAdvice, *, has_tables: bool) -> Iterator[Block]:
    for at, found in enumerate(advice.durations):
        yield from _duration(found, f"/durations/{at}", has_table=has_tables)
    if advice.skipped or advice.notes:
        yield Items(
            (*((f"not judged: {reason}",) for reason in advice.skipped), *((note,) for note in advice.notes))
        )


def _duration(found: DurationAdvice, at: str, *, has_table: bool) -> Iterator[Block]:
    trials = (
        f": {found.what}; {counted(found.trials, 'trial')} of {duration_text(found.duration)}, tolerance "
    )
    title = (*_subject(found), trials, given(found.tolerance))
    yield Heading(title)
    yield Note(("phases: ", *_phases(found)), is_aside=True)
    ends = [end for step in found.steps for each in (step.per_trial, step.pooled) for end in _ends(each)]
    shown = scale(ends, found.unit)
    if has_table:
        rows = [
            _step(step, found.duration, shown, f"{at}/steps/{place}")
            for place, step in enumerate(found.steps)
        ]
        yield Table(f"duration-{at.rpartition('/')[2]}", (), _columns(shown), tuple(rows))
    yield from (Note((sentence,), is_aside=True) for sentence in found.sentences)
    if (stable := stable_value(found)) is not None:
        value = Number(stable, unit=shown.unit, power=shown.power)
        yield Note(("the flows of the stable phase alone: ", value), is_aside=True)
    yield Note((f"advice: {found.reason}",), is_aside=True)


def _subject(found: DurationAdvice) -> Text:
    return (
        (Name(found.metric),)
        if found.treatment == "-"
        else (Name(found.metric), " of ", Name(found.treatment))
    )


def _columns(shown: Scale) -> tuple[Column, ...]:
    return (
        Column("duration", is_numeric=True),
        Column("made of"),
        Column("trials", is_numeric=True),
        Column("flows", is_numeric=True),
        Column(f"per trial{shown.heading}", is_numeric=True),
        Column(f"pooled{shown.heading}", is_numeric=True),
        Column("few flows", is_numeric=True),
        Column("transient", is_numeric=True),
    )


def _step(step: DurationStep, whole: float, shown: Scale, at: str) -> tuple[Cell, ...]:
    return (
        Number(step.duration, f"{at}/duration", kind="duration"),
        made_of(step, whole),
        Number(step.trials, f"{at}/trials"),
        Number(step.flows_per_trial, f"{at}/flows_per_trial", digits=3),
        estimate_of(step.per_trial, f"{at}/per_trial", power=shown.power),
        estimate_of(step.pooled, f"{at}/pooled", power=shown.power),
        estimate_of(step.small_sample, f"{at}/small_sample", "%", sign=True),
        Number(step.transient, f"{at}/transient", "%", sign=True, digits=2),
    )


def _ends(found: Estimate | None) -> tuple[float | None, ...]:
    return () if found is None else (found.estimate, found.low, found.high)


def _phases(found: DurationAdvice) -> Iterator[Piece]:
    if found.warmup_end is None:
        yield f"no stable phase: {growth_words(found.growth)}"
        return
    yield from (f"warm-up to {duration_text(found.warmup_end)} (", *_share(found.warmup_share), " of flows)")
    if found.cooldown is not None:
        stable = duration_text(found.duration - found.cooldown)
        yield from (f", stable to {stable} (", *_share(found.stable_share), ")")
        yield from (f", cool-down of {duration_text(found.cooldown)} (", *_share(found.cooldown_share), ")")
    yield f", the last flow ends {duration_text(found.drain)} after no more begin; {growth_words(found.growth)}"


def _share(share: float | None) -> Text:
    return pieces(Number(share, unit="%", power=-2, digits=2))


def _method_of_durations(advice: RuntimeAdvice, *, has_tables: bool) -> Iterator[Block]:
    if has_tables:
        yield Note((_LEGEND,))
    yield Note((given(advice.durations[0].confidence), f": {advice.how}"))
