"""What `trialwise profile` says: which periods condition data have, and the span that suits a series."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.conditions.profile import Component, Profile, length_words
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import Number, counted, decimals, given, p_text
from trialwise.report.terminal_plot import correlogram_lines


def document(profile: Profile, *, has_sketch: bool = True) -> Document:
    """Return the span, then what was measured, shifts and drift, the periods, the autocorrelation.

    `has_sketch` asks for the autocorrelation in characters, where no figure shows it.
    """
    return Document(
        "profile",
        Verdict("plain", (_answer(profile),)),
        (
            *_data(profile), *changes_of_level(profile), *periods_of(profile),
            *(_sketch(profile) if has_sketch else ()), *_span(profile),
        ),
        (Note((f"n = {profile.n}, ", given(profile.confidence), f": {profile.how}")),),
    )  # fmt: skip


def _answer(profile: Profile) -> str:
    moved = bool(profile.shifts or profile.drift)
    side_by_side = "no span averages out a level that changes: run treatments side by side, in rounds"
    if profile.span_words is not None:
        names = [period.words for period in profile.periods]
        cycles = f" of {' and '.join(names)}" if names else ""
        span = f"A series of {profile.span_words} holds whole cycles{cycles}"
        return f"{span}, but {side_by_side}." if moved else f"{span}."
    return (
        f"{side_by_side[0].upper()}{side_by_side[1:]}."
        if moved
        else "Any span will do: nothing asks for one."
    )


def _data(profile: Profile) -> Iterator[Block]:
    when = f"{profile.start} to {profile.end}, " if profile.start else ""
    each = f"every {length_words(profile.spacing).removeprefix('1 ')}"
    has_gap = profile.longest_gap > 1.5 * profile.spacing
    gap = f", longest gap {length_words(profile.longest_gap)}" if has_gap else ""
    values = f": {counted(profile.n, 'value')}, {when}{length_words(profile.duration)}, one {each}{gap}"
    yield Note(
        (Name(profile.value), " over ", Name(profile.time), ", ", Name(profile.file), values), is_aside=True
    )
    yield from (Note((note,), is_aside=True) for note in profile.notes)


def changes_of_level(profile: Profile, at: str = "") -> Iterator[Block]:
    """Yield the level shifts and the drift of a profile that stands at `at` in the JSON document."""
    if not profile.level:
        return
    yield Heading(("Level",))
    yield Items((*_changes(profile, at), (profile.level,)))


def _changes(profile: Profile, at: str) -> Iterator[Text]:
    if not profile.shifts and profile.drift is None:
        yield ("no level shift and no drift found",)
    for number, shift in enumerate(profile.shifts):
        place = f"{at}/shifts/{number}"
        before, after = Number(shift.before, f"{place}/before"), Number(shift.after, f"{place}/after")
        medians = (": median ", before, " before, ", after, " after, ")
        yield (f"level shift at {shift.words}", *medians, *p_text(shift.p_value, f"{place}/p_value"))
    if profile.drift is not None:
        shape = ", not along a line, " if profile.drift.bent else ", "
        size = Number(profile.drift.change, f"{at}/drift/change")
        p_value = p_text(profile.drift.p_value, f"{at}/drift/p_value")
        yield ("drift of ", size, f" from the first to the last value{shape}", *p_value)


def periods_of(profile: Profile, at: str = "") -> Iterator[Block]:
    """Yield the periods of a profile that stands at `at` in the JSON document."""
    untested = tuple((f"not tested: {each.reason}",) for each in profile.untested)
    if not profile.periods:
        tested = ", ".join(f"a {name}" for name in profile.tested)
        searched = f" (tested: {tested}; any other was searched for)" if tested else ""
        yield Heading(("Periods",))
        yield Items(((f"none found{searched}",), *untested))
        return
    columns = (Column("period"), Column("strength", is_numeric=True), Column("p", is_numeric=True))
    rows = tuple(_period(period, f"{at}/periods/{number}") for number, period in enumerate(profile.periods))
    yield Table("periods", ("Periods",), columns, rows, (*_corrections(profile), *untested))


def _period(period: Component, at: str) -> tuple[Cell, ...]:
    return (
        period.words,
        Number(period.strength, f"{at}/strength", digits=2),
        Number(period.p_value, f"{at}/p_value", kind="p_value"),
    )


def _corrections(profile: Profile) -> Iterator[Text]:
    for correction in dict.fromkeys(period.correction for period in profile.periods):
        names = ", ".join(period.words for period in profile.periods if period.correction == correction)
        yield (f"{names}: {correction}",)


def _sketch(profile: Profile) -> Iterator[Block]:
    found = profile.autocorrelation
    lines = tuple(correlogram_lines(found, [period.seconds for period in profile.periods]))
    if lines:
        marks = "; ▲ periods found" if profile.periods else ""
        threshold = decimals(found.threshold, 2)
        yield Listing(
            lines, (f"Autocorrelation (█ beyond ±1.95/√n = ±{threshold}, ░ within{marks})",), indent=0
        )


def _span(profile: Profile) -> Iterator[Block]:
    if profile.span_line is not None:
        yield Listing(("[design]", profile.span_line), ("In the experiment file",))
