"""What `trialwise profile` says of a real path: how far it moves by itself, and how many rounds that asks for."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.conditions.path import HourOfDay, PathProfile, Quantity
from trialwise.analysis.conditions.profile import length_words
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
from trialwise.report.documents.profile import changes_of_level, periods_of
from trialwise.report.numbers import ABSENT, Number, counted, given
from trialwise.statistics import RoundsNeeded

_COLUMNS = (
    "usual, p5, p95: over all rows; sd in a round: of the difference between two trials of a round; "
    "n: the differences that it rests on"
)


def document(profile: PathProfile) -> Document:
    """Return the rounds and how far the path moves, then each quantity, the hours of day, shifts, drift and periods."""
    return Document(
        "path-profile",
        Verdict("plain", _answer(profile)),
        (
            *_data(profile),
            _quantities(profile),
            *_hours(profile),
            *_moves(profile),
            *_notes(profile),
            *_design(profile),
        ),
        (Note(_method(profile)),),
    )


def _answer(profile: PathProfile) -> Text:
    place, trip = next(
        (at, one) for at, one in enumerate(profile.quantities) if one.name == "round_trip" or at == 0
    )
    at = f"/quantities/{place}"
    usual = Number(trip.usual, f"{at}/usual", trip.unit)
    low, high = Number(trip.low, f"{at}/low"), Number(trip.high, f"{at}/high", trip.unit)
    moves: Text = (
        f"The {trip.words} is usually ",
        usual,
        ", from ",
        low,
        " to ",
        high,
        " in nine rows of ten",
    )
    if trip.quietest is not None and trip.busiest is not None:
        quiet, busy = (
            Number(trip.quietest, f"{at}/quietest", trip.unit),
            Number(trip.busiest, f"{at}/busiest", trip.unit),
        )
        hours = f" at {trip.quietest_hour:02}:00", f" at {trip.busiest_hour:02}:00 (UTC)"
        moves = (*moves, "; by hour of day from ", quiet, hours[0], " to ", busy, hours[1])
    return (*moves, ". ", *_rounds(profile))


def _rounds(profile: PathProfile) -> Text:
    place = next((at for at, one in enumerate(profile.quantities) if one.name == profile.decided_by), None)
    if place is None:
        return ("The record does not say yet how many rounds the margin asks for.",)
    one = profile.quantities[place]
    if profile.rounds is None:
        reason = one.rounds.reason if one.rounds else ""
        return (f"No number of rounds will do for {one.words}: {reason}.",)
    margin = Number(one.margin, f"/quantities/{place}/margin", one.unit)
    spacing = Number(profile.spacing, "/spacing", kind="duration")
    span = Number(profile.span, "/span", kind="duration")
    rounds = Number(float(profile.rounds), "/rounds", kind="count")
    return (
        "The margin asks for ", rounds, " rounds or more, one every ", spacing, " over ", span,
        f": {one.words}, at a margin of ", margin, ", decides.",
    )  # fmt: skip


def _data(profile: PathProfile) -> Iterator[Block]:
    sent, lost = sum(profile.probes_sent), sum(profile.probes_lost)
    gap = (
        f", longest gap {length_words(profile.longest_gap)}"
        if profile.longest_gap > 2 * profile.every
        else ""
    )
    rows = f"{counted(profile.n, 'row')} of {length_words(profile.every)}"
    measured = length_words(profile.measured)
    yield Note(
        (
            Name(profile.path), ", ", Name(profile.file),
            f": {rows}, {profile.start} to {profile.end} UTC, {measured} measured{gap}; {counted(sent, 'probe')}, {lost:,} lost",
        ),
        is_aside=True,
    )  # fmt: skip


def _quantities(profile: PathProfile) -> Block:
    columns = tuple(
        Column(title, is_numeric=at > 0)
        for at, title in enumerate(
            ("quantity", "usual", "p5", "p95", "margin", "sd in a round", "rounds", "n")
        )
    )
    rows = tuple(_quantity(one, f"/quantities/{at}") for at, one in enumerate(profile.quantities))
    return Table("quantities", ("How far the path moves by itself",), columns, rows, ((_COLUMNS,),))


def _quantity(one: Quantity, at: str) -> tuple[Cell, ...]:
    return (
        one.words,
        Number(one.usual, f"{at}/usual", one.unit),
        Number(one.low, f"{at}/low"),
        Number(one.high, f"{at}/high"),
        *((ABSENT,) * 4 if one.rounds is None else _needed(one.margin, one.rounds, at)),
    )


def _needed(margin: float | None, needed: RoundsNeeded, at: str) -> tuple[Cell, ...]:
    rounds = None if needed.rounds is None else float(needed.rounds)
    return (
        Number(margin, f"{at}/margin"),
        Number(needed.deviation, f"{at}/rounds/deviation"),
        Number(rounds, f"{at}/rounds/rounds", kind="count"),
        Number(float(needed.n), f"{at}/rounds/n", kind="count"),
    )


def _hours(profile: PathProfile) -> Iterator[Block]:
    if len(profile.hours) < 2:
        return
    names = [one.name for one in profile.quantities if one.name in profile.hours[0].medians]
    words = {one.name: f"{one.words}, {one.unit}" for one in profile.quantities}
    columns = (
        Column("hour (UTC)"),
        Column("rows", is_numeric=True),
        *(Column(words[name], is_numeric=True) for name in names),
    )
    rows = tuple(_hour(hour, names, f"/hours/{at}") for at, hour in enumerate(profile.hours))
    yield Table("hours", ("Hours of day, medians",), columns, rows)


def _hour(hour: HourOfDay, names: list[str], at: str) -> tuple[Cell, ...]:
    medians = (Number(hour.medians[name], f"{at}/medians/{name}") for name in names)
    return (f"{hour.hour:02}:00", Number(float(hour.n), f"{at}/n", kind="count"), *medians)


def _moves(profile: PathProfile) -> Iterator[Block]:
    routes = counted(profile.route_changes, "row") + " with another route"
    ttls = counted(profile.ttl_changes, "change") + " of time to live"
    clocks = counted(profile.clock_steps, "step") + " of a clock"
    skew = () if profile.skew_ppm is None else ("skew ", Number(profile.skew_ppm, "/skew_ppm"), " ppm")
    yield Heading(("Route and clocks",))
    yield Items(((f"{routes}, {ttls}",), (f"{clocks}, " if skew else clocks, *skew)))
    words = {one.name: one.words for one in profile.quantities}
    for number, one in enumerate(profile.moves):
        yield Heading((words[one.value].capitalize(),))
        yield from changes_of_level(one, f"/moves/{number}")
        yield from periods_of(one, f"/moves/{number}")


def _notes(profile: PathProfile) -> Iterator[Block]:
    yield from (Note((note,), is_aside=True) for note in profile.notes)


def _design(profile: PathProfile) -> Iterator[Block]:
    if profile.design_lines:
        yield Listing(("[design]", *profile.design_lines), ("In the experiment file",))


def _method(profile: PathProfile) -> Text:
    place = next((at for at, one in enumerate(profile.quantities) if one.name == profile.decided_by), None)
    needed = None if place is None else profile.quantities[place].rounds
    if needed is None:
        return (f"n = {counted(profile.n, 'row')}",)
    seconds = length_words(profile.round_seconds)
    return (
        f"n = {needed.n:,} differences worth ", Number(needed.freedom, f"/quantities/{place}/rounds/freedom", kind="count"),
        " degrees of freedom, ", given(needed.confidence),
        f": {needed.method}; chance ", given(needed.chance),
        f"; rounds of {profile.treatments} trials that take {seconds}. What schemes vary by themselves comes on top.",
    )  # fmt: skip
