"""What is said of when to stop: why the experiment ended, and what is known of each claim that it waits for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from trialwise.analysis.stopping.results import ClaimState, StoppingState
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import (
    Block,
    Cell,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
    joined,
    table_of,
)
from trialwise.report.many import MANY_METRICS, MOST_ROWS
from trialwise.report.numbers import ABSENT, Number, counted, percent
from trialwise.report.units import Scale, scale
from trialwise.rules import RULES

_COLUMNS = (
    "claim", "asked", "state", "estimate", "low", "high", "±", "±, asked", "n", "forecast", "looks", "level",
    "confidence", "estimand", "convention", "method", "note",
)  # fmt: skip


def document(state: StoppingState, lifts: str | None) -> Document:
    """Return the document of a state; `lifts` says what to do about claims that are not decided."""
    answer = f"Stopped: {state.reason}." if state.reason else f"Goes on: {_phase(state)}."
    facts = " · ".join(_facts(state))
    together = (f"Verdicts hold together: {state.correction}.",) if state.correction else ()
    return Document(
        "stopping",
        Verdict("good" if state.decided else "open", (answer,)),
        (
            *(Note((warning,), "warning") for warning in state.warnings),
            *([Heading(("To know more",)), Note((lifts,))] if lifts else ()),
            claim_table(state.claims),
        ),
        tuple(Note((text,)) for text in (facts, *together)),
    )


def _phase(state: StoppingState) -> str:
    known = len(state.claims) - len(state.open_claims)
    return f"{known} of {counted(len(state.claims), 'claim')} known"


def _facts(state: StoppingState) -> Iterator[str]:
    yield RULES[state.looks].words
    yield f"{counted(state.rounds, 'round')} of at most {state.most}"
    if state.forecast is not None:
        yield f"forecast: {counted(state.forecast, 'round')}"
    budget = "" if state.budget is None else f" of a budget of {duration_text(state.budget)}"
    yield f"{duration_text(state.seconds)} used{budget}"


def _known(claim: ClaimState) -> str:
    return claim.verdict or "narrow" if claim.state == "decided" else claim.state


def _scale(claim: ClaimState) -> Scale:
    return scale((claim.estimate, claim.low, claim.high, claim.width), claim.unit)


def _forecast(claim: ClaimState) -> str:
    """Return how many units are forecast, with the interval where there is one; empty where nothing is."""
    if claim.wanted is None:
        return ""
    bounded = claim.wanted_low is not None and claim.wanted_high is not None
    return f"{claim.wanted}" + (f" ({claim.wanted_low} to {claim.wanted_high})" if bounded else "")


def _number(claim: ClaimState) -> str:
    return " and ".join(map(str, claim.n))


def claim_table(claims: Sequence[ClaimState]) -> Table:
    """Return a row for each claim."""
    return table_of(
        key="stopping",
        caption="What the experiment waits for; bounds of each claim at its confidence",
        titles=_COLUMNS,
        rows=tuple(_cells(claim) for claim in claims),
        numeric=range(3, 11),
        remarks={14, 15, 16},
    )


def _cells(claim: ClaimState) -> tuple[Cell, ...]:
    shown = _scale(claim)
    return (
        f"{claim.metric}{shown.heading}, {claim.subject}",
        f"{claim.what} {claim.asked}",
        Verdict("good" if claim.state == "decided" else "open", (_known(claim),)),
        shown.write(claim.estimate),
        shown.write(claim.low, "down"),
        shown.write(claim.high, "up"),
        shown.write(claim.width),
        shown.write(claim.target),
        _number(claim),
        _forecast(claim) or ABSENT,
        str(claim.looks) if claim.looks else ABSENT,
        claim.level,
        percent(claim.confidence),
        claim.estimand.replace("_", " ") or ABSENT,
        claim.convention.replace("_", " ") or ABSENT,
        claim.method,
        claim.note or ABSENT,
    )


# In brief, as `run` and `status` say it


def claim_blocks(state: StoppingState, lifts: str | None) -> Iterator[Block]:
    """Yield what is known of each claim, a table for each thing that is asked of a metric, and what would lift what is open."""
    groups = [list(members) for _, members in itertools.groupby(state.claims, _asked)]
    if len(groups) <= MANY_METRICS:
        yield from (_brief_table(f"claims-{place}", members) for place, members in enumerate(groups))
    else:
        yield _brief_table_of_many(sorted(state.claims, key=lambda claim: claim.state == "decided"))
    if notes := tuple(_notes(state.claims)):
        yield Items(notes, most=None)
    yield from (Note((warning,), "warning") for warning in state.warnings)
    if lifts:
        yield Note((f"to know more: {lifts}",))


def outlook(stopping: StoppingState) -> str:
    """Return why it stopped; else how many rounds there will be, and how long the rest takes at the pace so far."""
    if stopping.reason is not None:
        return f"stopped: {stopping.reason}"
    done = f"{counted(stopping.rounds, 'round')} done"
    if stopping.forecast is None:
        return f"{done}; at most {stopping.most}, and no forecast yet"
    begin = {"pilot": "the pilot has", "looking": "about"}.get(stopping.phase, "forecast:")
    text = f"{done}; {begin} {stopping.forecast} (at most {stopping.most})"
    left = max(stopping.forecast - stopping.rounds, 0)
    if not (stopping.rounds and left):
        return text
    return f"{text}, {duration_text(stopping.seconds / stopping.rounds * left)} left"


def awaited_blocks(state: StoppingState, lifts: str | None) -> Iterator[Block]:
    """Yield the part of a longer document on what the experiment waits for."""
    yield Heading(("What the experiment waits for",))
    yield Note((outlook(state),))
    yield from claim_blocks(state, lifts)
    yield from claim_methods(state)


def claim_methods(state: StoppingState) -> Iterator[Note]:
    """Yield what the intervals of claims are, each level and rule once, and what the verdicts share."""
    judged = (claim for claim in state.claims if claim.method)
    yield from (Note((text,)) for text in dict.fromkeys(map(_how, judged)))
    if state.correction:
        yield Note((f"verdicts hold together: {state.correction}",))


def _asked(claim: ClaimState) -> tuple[str, str, str, str]:
    return claim.metric, claim.what, claim.asked, claim.level


def _brief_table(key: str, claims: Sequence[ClaimState]) -> Table:
    """Return a row for each of the claims, of which the same is asked."""
    first, level = claims[0], claims[0].level
    units = level if level == "series" else f"{level}s"
    table = table_of(
        key,
        f"{first.metric}: {first.what} {first.asked}",
        ("", "known", "interval", "±", units, "forecast", "looks"),
        tuple(map(_brief_cells, claims)),
        {3, 5, 6},
        remarks={2, 3, 5, 6},
    )
    return replace(table, caption=(Name(first.metric), f": {first.what} {first.asked}"))


def _brief_table_of_many(claims: Sequence[ClaimState]) -> Table:
    """Return a row for each claim about many metrics, those first that are open."""
    table = table_of(
        "claims",
        f"{counted(len(claims), 'claim')}",
        ("", "known", "interval", "±", "n", "forecast", "looks"),
        (
            (
                (Name(claim.metric), " ", Name(claim.subject), f": {claim.what} {claim.asked}"),
                *_brief_cells(claim)[1:],
            )
            for claim in claims
        ),
        {3, 5, 6},
        remarks={2, 3, 5, 6},
    )
    return replace(table, most=MOST_ROWS)


def _brief_cells(claim: ClaimState) -> tuple[Cell, ...]:
    bounded = claim.low is not None and claim.high is not None
    shown = scale([claim.low, claim.high] if bounded else [claim.width], claim.unit)
    is_forecast = claim.looks and claim.state == "open"
    return (
        Name(claim.subject),
        Verdict("good" if claim.state == "decided" else "open", (_known(claim),)),
        f"{shown.write(claim.low)} to {shown.with_unit(claim.high)}" if bounded else "",
        "" if claim.width is None else _width(claim, claim.width, shown),
        _units(claim),
        _forecast(claim) if is_forecast else "",
        str(claim.looks) if claim.looks else "",
    )


def _units(claim: ClaimState) -> str:
    return " and ".join(map(str, dict.fromkeys(claim.n)))


def _width(claim: ClaimState, width: float, shown: Scale) -> Text:
    """Return half an interval with the two digits that matter of it, and what part of the estimate that is."""
    found = Number(width, unit=shown.unit, power=shown.power, digits=2)
    if claim.kind == "difference" or not claim.estimate:
        return (found,)
    return (found, " (", Number(100 * width / abs(claim.estimate), unit="%", digits=2), ")")


def _notes(claims: Sequence[ClaimState]) -> Iterator[Text]:
    """Yield what is to be known of claims: each note once, with whose it is unless all have it."""
    said: dict[str, list[Text]] = {}
    for claim in claims:
        if claim.note:
            said.setdefault(claim.note, []).append((Name(claim.metric), " ", Name(claim.subject)))
    for note, whose in said.items():
        yield (note,) if len(whose) == len(claims) > 1 else (*joined(whose), f": {note}")


def _how(claim: ClaimState) -> str:
    """Return what an interval is: its level, its rule, and, where it is of simulated trials or pooled, its estimand and convention."""
    of = "; all samples pooled, trials as clusters" if claim.estimand == "pooled" else ""
    rank = f"; percentiles of samples by {claim.convention.replace('_', ' ')}" if claim.convention else ""
    return f"intervals at {percent(claim.confidence)}, {claim.method}{of}{rank}"
