"""The claims that an experiment waits for, as a table for people."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from rich.console import Console

from trialwise.analysis.stopping.results import ClaimState
from trialwise.analysis.stopping.sentences import wanted_text
from trialwise.cli.text import columns, show
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import write
from trialwise.report.terminal_table import Grid
from trialwise.report.units import Scale, scale
from trialwise.study.documents import StoppingDocument

_WIDE = 100
"""Columns that a table of claims takes without folding most of its cells."""


def show_claims(console: Console, stopping: StoppingDocument, ending: str = "") -> None:
    """Print what is known of each claim, why the experiment ended, or the `ending` of this run, and what would lift what is open."""
    narrow = console.is_terminal and console.width < _WIDE
    show(console, _lines(stopping.claims) if narrow else [_table(stopping.claims)])
    judged = [claim for claim in stopping.claims if claim.method]
    for text in dict.fromkeys(_how(claim) for claim in judged):
        console.print(text, markup=False)
    if ending := ending or (f"stopped: {stopping.reason}" if stopping.reason else ""):
        console.print(ending, markup=False)
    if stopping.correction:
        console.print(f"verdicts hold together: {stopping.correction}", markup=False)
    for note in _notes(stopping.claims):
        console.print(note, markup=False)
    for warning in stopping.warnings:
        console.print(f"! {warning}", markup=False)
    if stopping.lifts:
        console.print(f"to know more: {stopping.lifts}", markup=False)


def forecast_line(stopping: StoppingDocument) -> str:
    """How many rounds there will be, and how long the rest takes at the pace so far."""
    if stopping.forecast is None:
        return f"{stopping.rounds} rounds done; at most {stopping.most}, and no forecast yet"
    phase = (
        "the pilot has"
        if stopping.phase == "pilot"
        else "about"
        if stopping.phase == "looking"
        else "forecast:"
    )
    left = max(stopping.forecast - stopping.rounds, 0)
    text = f"{stopping.rounds} rounds done; {phase} {stopping.forecast} (at most {stopping.most})"
    if stopping.rounds and left:
        text += f", {duration_text(stopping.seconds / stopping.rounds * left)} left"
    return text


def _table(claims: Sequence[ClaimState]) -> Grid:
    """A row for each claim."""
    return columns([("claim", "asked", "known", "interval", "±", "n"), *map(_cells, claims)], indent=1)


def _lines(claims: Sequence[ClaimState]) -> Iterator[str]:
    """For a narrow terminal: what is asked of a metric stands over its claims, and the number of trials below each."""
    for asked, group in itertools.groupby(
        claims, lambda claim: f"{claim.metric}: {claim.what} {claim.asked}"
    ):
        yield asked
        members = list(group)
        found = [(claim.subject, *_told(claim)) for claim in members]
        rows = [[*begin, width and f"± {width}"] for *begin, width in found]
        for line, claim in zip(columns(rows), members, strict=True):
            yield line
            yield f"    {_number(claim)}"


def _notes(claims: Sequence[ClaimState]) -> Iterator[str]:
    """What is to be known of claims: each note once, with whose it is unless all have it."""
    said: dict[str, list[str]] = {}
    for claim in claims:
        if claim.note:
            said.setdefault(claim.note, []).append(f"{claim.metric} {claim.subject}")
    for note, whose in said.items():
        yield note if len(whose) == len(claims) > 1 else f"{', '.join(whose)}: {note}"


def _how(claim: ClaimState) -> str:
    """What an interval is: its level, its rule, and, where it is of simulated trials or pooled, its estimand and convention."""
    of = "; all samples pooled, trials as clusters" if claim.estimand == "pooled" else ""
    rank = f"; percentiles of samples by {claim.convention.replace('_', ' ')}" if claim.convention else ""
    return f"intervals at {write(claim.confidence)} %, {claim.method}{of}{rank}"


def _number(claim: ClaimState) -> str:
    number = " and ".join(str(n) for n in dict.fromkeys(claim.n))
    units = claim.level if claim.level == "series" else f"{claim.level}s"
    if not claim.looks:
        return f"{number} {units}"
    looks = "1 look" if claim.looks == 1 else f"{claim.looks} looks"
    if claim.state != "open" or claim.wanted is None:
        return f"{number} {units}, {looks}"
    return (
        f"{number} of {wanted_text(claim.wanted, claim.wanted_low, claim.wanted_high, claim.level)}, {looks}"
    )


def _cells(claim: ClaimState) -> list[str]:
    return [
        f"{claim.metric} {claim.subject}",
        f"{claim.what} {claim.asked}",
        *_told(claim),
        _number(claim),
    ]


def _told(claim: ClaimState) -> tuple[str, str, str]:
    """Its state, its interval, and half the width of that."""
    known = claim.state if claim.state != "decided" else claim.verdict or "narrow"
    bounded = claim.low is not None and claim.high is not None
    shown = scale([claim.low, claim.high] if bounded else [claim.width], claim.unit)
    return (
        known,
        f"{shown.write(claim.low)} to {shown.with_unit(claim.high)}" if bounded else "",
        "" if claim.width is None else f"{_width(claim.width, shown)}{_relative(claim)}",
    )


def _width(width: float, shown: Scale) -> str:
    """A half-width in the unit of its interval, with the two digits that matter of it."""
    return f"{float(write(width * shown.factor, digits=2)):g} {shown.unit}".strip()


def _relative(claim: ClaimState) -> str:
    if claim.kind == "difference" or not claim.estimate or claim.width is None:
        return ""
    return f" ({write(100 * claim.width / abs(claim.estimate), digits=2)} %)"
