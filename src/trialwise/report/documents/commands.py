"""What `trialwise ab` says of commands: which is faster, by how much, and what was done to know it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.versions.course import Course
from trialwise.analysis.versions.results import DEFAULT_PLACE, Outcome, VersionsResult
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import counted, interval, with_bounds
from trialwise.report.comparison_words import direction_of, is_time
from trialwise.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
    joined,
)
from trialwise.report.documents.ab import MEANINGS, bill, failed_note, margin_of
from trialwise.report.numbers import Number, estimate_of, given
from trialwise.visible import cell_width

_LONGEST = 28
"""Cells of a command in a sentence; a longer one loses its middle."""
_FAST = 0.005
"""Seconds below which the start of a process is much of what is measured."""
_FAILS = (
    "a trial fails where its command does not end with 0 ('command || true' lets it) or prints more than 64 MiB "
    "('command > /dev/null' drops it)"
)
_TOO_FAST = "under 5 ms, the start of a process is much of the time: what the commands do themselves may differ by more than that"


@dataclass(frozen=True, slots=True)
class _Judged:
    """A row of the comparison with its place, its outcome, and its command as sentences name it."""

    at: int
    row: ComparisonRow
    outcome: Outcome
    name: Name


def document(found: VersionsResult) -> Document:
    """Return which command is faster in a sentence, a row for each, and what it rests on."""
    names = named(found.commands)
    judged = tuple(_judged(found, names))
    answer = _answer(found, judged, Name(names[0]))
    return Document("ab", answer, tuple(_evidence(found, judged)), tuple(_method(found, judged)))


def named(commands: Sequence[str]) -> list[str]:
    """Return the commands as sentences name them: shortened, or by their numbers where that makes two the same."""
    short = [_short(command) for command in commands]
    return short if len(set(short)) == len(short) else [f"command {n}" for n, _ in enumerate(short, 1)]


def _short(command: str) -> str:
    text = " ".join(command.split())
    half = _LONGEST // 2
    text = text if cell_width(text) <= _LONGEST else f"{text[: half - 1]}…{text[-half:]}"
    return f"'{text}'" if " " in text else text


def _judged(found: VersionsResult, names: Sequence[str]) -> Iterator[_Judged]:
    rows = found.comparison.rows if found.comparison else ()
    place = dict(zip(found.versions, names, strict=True))
    for at, (row, outcome) in enumerate(zip(rows, found.outcomes, strict=True)):
        yield _Judged(at, row, outcome, Name(place.get(row.treatment, names[-1])))


# The answer


def _answer(found: VersionsResult, judged: Sequence[_Judged], first: Name) -> Verdict:
    if not judged:
        return Verdict("open", (f"No verdict: too few trials have a value ({found.ending}).",))
    several = len(found.commands) > 2
    text = _ranked(judged, first) if several else _of_two(judged, first)
    if not found.failed:
        return Verdict(MEANINGS[found.outcome], text)
    return Verdict("bad", (f"{counted(found.failed, 'trial')} failed. By the others: ", *text))


def _of_two(judged: Sequence[_Judged], first: Name) -> Text:
    return (*joined((_told(one, first) for one in judged), "; "), ".")


def _ranked(judged: Sequence[_Judged], first: Name) -> Text:
    """Return the best by its mean with its change, and the names of the others by their verdicts, for the first metric."""
    metric = judged[0].row.metric.name
    own = sorted((one for one in judged if one.row.metric.name == metric), key=_place)
    best, *others = own
    groups: dict[str, list[Name]] = {}
    if not _is_better(best):
        others = own
    for one in others:
        groups.setdefault(_group(one), []).append(one.name)
    lists = [(f"{title}: ", *joined(names)) for title, names in groups.items()]
    better = "faster" if is_time(best.row) else "better"
    head = _told(best, first) if _is_better(best) else (f"None is shown to be {better} than ", first)
    return (*joined([head, *lists], "; "), ".")


def _is_better(one: _Judged) -> bool:
    return one.row.direction == "better"


def _place(one: _Judged) -> float:
    """Return what sorts rows from the best mean to the worst."""
    mean = one.row.summary.means[1]
    return -mean if one.row.metric.better == "higher" else mean


def _group(one: _Judged) -> str:
    if one.row.verdict == "different":
        return _word(one)
    return "the same within the margin" if one.row.verdict == "equivalent" else "undecided"


def _word(one: _Judged) -> str:
    """Return the verdict in a word: of times faster or slower, of other metrics better, worse or different."""
    if one.row.verdict == "equivalent":
        return "the same"
    if one.row.verdict != "different":
        return "not worse" if one.outcome == "fine" else one.row.verdict
    return direction_of(one.row) or "different"


def _told(one: _Judged, first: Name) -> Text:
    """Return the change of a command against the first in a sentence, with its interval, level and n."""
    row = one.row
    margin = margin_of(row)
    if row.difference is None:
        return (one.name, f": {row.reason}")
    if row.verdict == "different":
        return (*_by_how_much(one, first), " ", *_interval(one, signed=False))
    interval = (" ", *_change(one), " ", *_interval(one, signed=True))
    if row.verdict == "equivalent":
        same = "take the same time" if is_time(one.row) else f"have the same {row.metric.name}"
        return (one.name, " and ", first, f" {same} within ", margin, ":", *interval)
    if one.outcome == "fine":
        worse = "slower" if is_time(one.row) else f"worse in {row.metric.name}"
        return (one.name, f" is not {worse} than ", first, " by ", margin, ":", *interval)
    return ("Undecided whether ", one.name, " and ", first, " differ by ", margin, ":", *interval)


def _by_how_much(one: _Judged, first: Name) -> Text:
    size, _, _ = _texts(one, signed=False)
    rises = one.row.difference is not None and one.row.difference.welch.estimate > 0
    if is_time(one.row):
        return (one.name, f" is {_word(one)}: {size} % {'more' if rises else 'less'} time than ", first)
    name = one.row.metric.name
    return (one.name, f" is {_word(one)}: {name} {size} % {'higher' if rises else 'lower'} than with ", first)


def _change(one: _Judged) -> Text:
    value, _, _ = _texts(one, signed=True)
    return (f"{one.row.metric.name} {value} %",)


def _texts(one: _Judged, *, signed: bool) -> tuple[str, str, str]:
    """Return the change in percent of the first and its bounds; unsigned, as the size of a rise or a fall."""
    difference = one.row.difference
    if difference is None:
        return ("", "", "")
    ends = (difference.percent.estimate, difference.percent.low, difference.percent.high)
    if not signed and difference.welch.estimate < 0:
        ends = (-ends[0], -ends[2], -ends[1])
    return with_bounds(*ends, sign=signed)


def _interval(one: _Judged, *, signed: bool) -> Text:
    difference = one.row.difference
    if difference is None:
        return ()
    level = given(difference.confidence)
    a, b = one.row.summary.n
    count = f"n = {a} each" if a == b else f"n = {a} and {b}"
    if not difference.percent.bounded:
        return ("(no bounds in percent at ", level, f": the first mean may be 0, {count})")
    _, low, high = _texts(one, signed=signed)
    return ("(", level, f" interval {low} to {high} %, {count})")


# The evidence


def _evidence(found: VersionsResult, judged: Sequence[_Judged]) -> Iterator[Block]:
    if judged:
        several = len({one.row.metric.name for one in judged}) > 1
        columns = [Column("command"), *([Column("metric")] if several else [])]
        mean = "mean" if several else judged[0].row.metric.name
        columns += [Column(mean, is_numeric=True), Column("change", is_numeric=True), Column("verdict")]
        rows = tuple(_rows(found, judged, several=several))
        yield Table("ab", (), tuple(columns), rows, most=None)
    reasons = tuple(_reasons(judged))
    if reasons:
        yield Items(reasons)
    if found.failed:
        yield Note((_FAILS,), is_aside=True)
        yield failed_note(found)


def _rows(found: VersionsResult, judged: Sequence[_Judged], *, several: bool) -> Iterator[tuple[Cell, ...]]:
    commands = dict(zip(found.versions, found.commands, strict=True))
    for metric in dict.fromkeys(one.row.metric.name for one in judged):
        own = [one for one in judged if one.row.metric.name == metric]
        between = (Name(metric),) if several else ()
        yield (Name(found.commands[0]), *between, _mean(own[0], 0), "", "")
        for one in own:
            command = commands.get(one.row.treatment, found.commands[-1])
            change = estimate_of(
                one.row.difference.percent if one.row.difference else None,
                f"/comparison/rows/{one.at}/difference/percent",
                "%",
                sign=True,
            )
            verdict = Verdict(MEANINGS[one.outcome], (_word(one),))
            yield (Name(command), *between, _mean(one, 1), change, verdict)


def _mean(one: _Judged, side: int) -> Number:
    place = f"/comparison/rows/{one.at}/summary/means/{side}"
    return Number(one.row.summary.means[side], place, one.row.metric.unit)


def _reasons(judged: Sequence[_Judged]) -> Iterator[Text]:
    for one in judged:
        row = one.row
        if row.reason and (row.verdict == "no inference" or one.outcome == "undecided"):
            yield (one.name, f": {row.reason}", *bill(row))
    times = [mean for one in judged if is_time(one.row) for mean in one.row.summary.means]
    if times and min(times) < _FAST:
        yield (_TOO_FAST,)


# What was done


def _method(found: VersionsResult, judged: Sequence[_Judged]) -> Iterator[Block]:
    if judged:
        yield Note(_done(found, judged), is_aside=True)
        looked = tuple(_looked(found.courses))
        if looked:
            yield Note(looked, is_aside=True)
    budget = "" if found.budget is None else f" (budget {duration_text(found.budget)})"
    going_on = "" if found.complete else "; the same command goes on"
    yield Note((f"ended: {found.ending}{budget}{going_on}",), is_aside=True)
    yield _kept(found.directory)


def _kept(directory: str) -> Note:
    """Say where trials stand, and what shows and what deletes them; a folder of another name may hold more than them."""
    pair = Path(directory)
    place = pair.parent if pair.parent.name == DEFAULT_PLACE else pair
    show, delete = Code(f"trialwise report {place}"), Code(f"rm -r {place}")
    return Note(
        ("every trial is kept in ", Name(str(place)), ": ", show, " draws them, ", delete, " deletes them"),
        is_aside=True,
    )


def _done(found: VersionsResult, judged: Sequence[_Judged]) -> Text:
    """Say how trials were ordered, and by what method and margin they were judged, where one was."""
    comparison = found.comparison
    order = f"beyond timing: order random within each of {counted(max(judged[0].row.summary.n), 'round')}"
    row = next((one.row for one in judged if one.row.difference), None)
    if row is None or row.difference is None:
        return (order,)
    error = given(100 - found.confidence)
    looks = {"all": "one judgement", "pilot": "the first of two looks", "fresh": "the second of two looks"}
    family = f", {comparison.correction}" if comparison and len(comparison.rows) > 1 else ""
    return (
        f"{order}; {row.difference.method}; verdict by a margin of ",
        margin_of(row),
        ", wrong in at most ",
        error,
        f" of such comparisons ({looks[found.stage]}{family})",
    )


def _looked(courses: Sequence[Course]) -> Iterator[str]:
    """Yield what was found of drift and of positions, in percent of the mean over all rounds or positions."""
    for course in courses:
        parts = [
            f"{what} {value} % ({interval(low, high)})"
            for what, trend in (
                (f"drift over all {course.rounds} rounds", course.drift),
                ("last against first in a round", course.position),
            )
            if trend is not None
            for value, low, high in [with_bounds(trend.estimate, trend.low, trend.high, sign=True)]
        ]
        if parts:
            yield f"looked at {course.metric}: {', '.join(parts)}; 95 % intervals"
