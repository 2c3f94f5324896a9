"""What `trialwise look` says: for each tool what was understood, the answer, and what the data cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.looking import Answer, Measured, MetricSeen, Seen
from trialwise.analysis.unit_words import units_text
from trialwise.numbers import first_of
from trialwise.readers.gathering import Unread
from trialwise.readers.records import ERRORS
from trialwise.readers.register import statistic_of
from trialwise.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import Estimate, Number, counted, estimate
from trialwise.report.units import Scale, scale

_MOST = 8
"""Rows of a table: a look is one screen."""
_METRICS = 3
_NAMED = 10
_LEVELS = 4


def document(
    seen: Sequence[Seen],
    unread: Sequence[Unread],
    copies: Sequence[tuple[str, str]],
    proposal: str = "",
    why: str = "",
) -> Document:
    """Return the first answer, each group with its values and its limits, what was not read, and what to type next.

    `proposal` is a command; `why` says what keeps every command from the same paths.
    """
    blocks = [
        block
        for place, group in enumerate(seen)
        for block in _group(group, f"/groups/{place}", several=len(seen) > 1)
    ]
    return Document(
        "look",
        Verdict(
            "plain",
            _sentence(seen[0], "/groups/0") if len(seen) == 1 else (f"{len(seen)} kinds of results.",),
        ),
        (*blocks, *_unread(unread, copies), *_next(proposal, why)),
        (Note((_method(seen),)),),
    )


def _sentence(seen: Seen, at: str) -> Text:
    """Return the answer in the first metric that has one; the number of failed requests alone is none."""
    for place, metric in enumerate(seen.metrics):
        if metric.answers and metric.metric != ERRORS:
            text = _answer(metric, metric.answers[0], f"{at}/metrics/{place}/answers/0")
            more = len(metric.answers) - 1
            told: Text = (f" ({counted(more, 'further comparison')} below)",) if more else ()
            return (*text, *_elsewhere(seen, metric), *told, *_but(seen), ".")
    refusal = seen.metrics[0].refusal if seen.metrics else "no value"
    return (f"No comparison: {refusal}", *_but(seen), ".")


def _elsewhere(seen: Seen, first: MetricSeen) -> Text:
    """Return in how many other metrics the same treatment is the best; where it is undecided, how many are decided."""
    others = [each for each in seen.metrics if each is not first and each.metric != ERRORS]
    if not others:
        return ()
    told = first.answers[0]
    decided = [
        any(
            answer.decided
            and (not told.decided or (answer.subject, answer.best) == (told.subject, told.best))
            for answer in each.answers
        )
        for each in others
    ]
    what = "best, too, in" if told.decided else "decided in"
    return (f"; {what} {sum(decided) or 'none'} of {counted(len(others), 'other metric')}",)


def _but(seen: Seen) -> Text:
    """Return what failed within trials, whose rates and times contain it: it belongs to the answer."""
    measured = [each for metric in seen.metrics if metric.metric != ERRORS for each in metric.treatments]
    if not seen.errors or not any(each.n for each in measured):
        return ()
    more = len(seen.errors) - 1
    return ("; ", Name(seen.errors[0]), f" (and in {counted(more, 'more file')}, below)" if more else "")


def _answer(metric: MetricSeen, answer: Answer, at: str) -> Text:
    """Return "NAME has the lowest time: -12 % (-18 to -6) against OTHER"."""
    word = "highest" if metric.better == "higher" else "lowest"
    about: Text = (Name(answer.subject), ": ") if answer.subject else ()
    change = Estimate(
        Number(answer.change, f"{at}/change", "%", sign=True, digits=2),
        Number(answer.low, f"{at}/low", "%", "down", sign=True, digits=2),
        Number(answer.high, f"{at}/high", "%", "up", sign=True, digits=2),
    )
    n = str(answer.n[0]) if answer.n[0] == answer.n[1] else f"{answer.n[1]} and {answer.n[0]}"
    best: Text = (
        Name(answer.best),
        f" has the {word} ",
        Name(metric.metric),
        ": ",
        change,
        " against ",
        Name(answer.other),
    )
    if answer.decided:
        return (*about, *best, f", n = {n}")
    bill = (
        f"; {units_text(answer.more, answer.level, 'more ')} of each would decide 5 %" if answer.more else ""
    )
    return (*about, "undecided: ", *best, f", n = {n}{bill}")


def _group(seen: Seen, at: str, *, several: bool) -> Iterator[Block]:
    version = f" {', '.join(seen.versions)}" if seen.versions else ""
    yield Heading((Name(f"{seen.tool}{version}"), f", {counted(seen.files, 'file')}"))
    yield Note(_understood(seen), is_aside=True)
    if len(seen.errors) > 1 or several:
        yield Items(tuple((Name(text),) for text in seen.errors), most=4)
    if several:
        decided = any(answer.decided for metric in seen.metrics for answer in metric.answers[:1])
        yield Note(_sentence(seen, at), "claim" if decided else "refusal")
    for place, metric in enumerate(seen.metrics[:_METRICS]):
        yield _table(metric, f"{at}/metrics/{place}", statistic_of(seen.format))
        if len(metric.answers) > 1:
            yield Items(
                tuple(
                    _answer(metric, answer, f"{at}/metrics/{place}/answers/{number}")
                    for number, answer in enumerate(metric.answers)
                ),
                most=_MOST,
            )
    if len(seen.metrics) > _METRICS:
        names = [metric.metric for metric in seen.metrics[_METRICS:]]
        yield Note(("and ", Name(first_of(names, _NAMED))), is_aside=True)
    if seen.left_out:
        yield Heading(("Left out",))
        yield Items(tuple((Name(text),) for text in seen.left_out), most=4)
    if seen.cannot:
        yield Heading(("What these data cannot say",))
        yield Items(tuple((Name(text),) for text in seen.cannot), most=6)


def _understood(seen: Seen) -> Text:
    factors = "; ".join(f"{name} ({_levels(levels)})" for name, levels in seen.factors.items())
    told = [f"{name} follows {first}" for name, first in seen.follows.items()]
    told += [f"factors from names: {seen.pattern}"] if seen.pattern else []
    parts = [
        f"unit of replication: {seen.unit}",
        *((f"factors: {factors}",) if factors else ()),
        *told,
        f"order {seen.order}",
    ]
    return (Name("; ".join(parts)),)


def _levels(levels: Sequence[str]) -> str:
    shown = ", ".join(levels[:_LEVELS])
    return f"{shown}, … {len(levels)}" if len(levels) > _LEVELS else shown


def _table(metric: MetricSeen, at: str, statistic: str) -> Table:
    size = scale((each.mean for each in metric.treatments), metric.unit)
    better = f", {metric.better} is better" if metric.better else ""
    has_failed = any(each.failed for each in metric.treatments)
    is_bounded = any(each.low is not None for each in metric.treatments)
    columns = (
        Column("treatment"),
        Column("n", is_numeric=True),
        *((Column("failed", is_numeric=True),) if has_failed else ()),
        Column(
            f"{'mean' if is_bounded else statistic}{size.heading}{' (95 %)' if is_bounded else ''}",
            is_numeric=True,
        ),
    )
    rows = tuple(
        _row(metric, place, at, size, has_failed=has_failed) for place in range(len(metric.treatments))
    )
    return Table(metric.metric, (Name(metric.metric), better), columns, rows, most=_MOST)


def _row(metric: MetricSeen, place: int, at: str, size: Scale, *, has_failed: bool) -> tuple[Cell, ...]:
    each, own = metric.treatments[place], f"{at}/treatments/{place}"
    failed = (Number(each.failed, f"{own}/failed", kind="count"),) if has_failed else ()
    return (
        Name(each.treatment if each.treatment != "-" else "all"),
        Number(each.n, f"{own}/n", kind="count"),
        *failed,
        _mean(each, own, size),
    )


def _mean(each: Measured, at: str, size: Scale) -> Cell:
    if each.low is None:
        return size.number(each.mean, f"{at}/mean")
    places = (f"{at}/mean", f"{at}/low", f"{at}/high")
    return estimate(each.mean, each.low, each.high, power=size.power, pointers=places)


def _unread(unread: Sequence[Unread], copies: Sequence[tuple[str, str]]) -> Iterator[Block]:
    lines: list[Text] = [(Name(each.path), ": ", Name(each.why)) for each in unread]
    lines += [(Name(path), " is a copy of ", Name(first), ", and counts once") for path, first in copies]
    if lines:
        yield Heading(("Not read",))
        yield Items(tuple(lines), most=4)


def _next(proposal: str, why: str) -> Iterator[Block]:
    if why:
        yield Note((f"next: {why}",), is_aside=True)
    if proposal:
        yield Note(("next: ", Code(f"trialwise {proposal}")), is_aside=True)


def _method(seen: Sequence[Seen]) -> str:
    methods = dict.fromkeys(
        answer.method for group in seen for metric in group.metrics for answer in metric.answers
    )
    if not methods:
        return "Means of trials; no test."
    return f"Intervals: 95 % for all pairs of a metric together; {'; '.join(methods)}. n counts units of replication."
