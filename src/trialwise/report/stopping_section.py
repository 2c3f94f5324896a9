"""What the report says of when to stop: why the experiment ended, and what is known of each claim that it waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.stopping.results import ClaimState, StoppingState
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import Table, table_of
from trialwise.report.numbers import ABSENT, counted, percent
from trialwise.report.section import Line, Part, Section, marks_counted, part
from trialwise.report.units import Scale, scale
from trialwise.rules import RULES

_COLUMNS = (
    "claim", "asked", "state", "estimate", "low", "high", "±", "±, asked", "n", "forecast", "looks", "level",
    "confidence", "estimand", "convention", "method",
)  # fmt: skip


def stopping_section(state: StoppingState, lifts: str | None) -> Section:
    """The section of a state; `lifts` says what to do about claims that are not decided."""
    lines = [_line(claim) for claim in state.claims]
    return Section(
        verdict=f"Stopped: {state.reason}." if state.reason else f"Goes on: {_phase(state)}.",
        look="fine" if state.decided else "",
        facts=" · ".join(_facts(state)),
        notes=(f"verdicts hold together: {state.correction}",) if state.correction else (),
        warnings=state.warnings,
        parts=(*_next(lifts), *part("Claims", lines, marks_counted(lines), more="; the table has all")),
        tables=(claim_table(state.claims),),
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


def _next(lifts: str | None) -> Iterator[Part]:
    return part("To know more", [Line(lifts)]) if lifts else iter(())


def _known(claim: ClaimState) -> str:
    return claim.verdict or "narrow" if claim.state == "decided" else claim.state


def _line(claim: ClaimState) -> Line:
    pieces = [f"{claim.metric} {claim.subject}: {claim.what} {claim.asked}"]
    if claim.low is not None and claim.high is not None:
        shown = _scale(claim)
        bounds = f"{shown.write(claim.estimate)} ({shown.write(claim.low, 'down')} to {shown.write(claim.high, 'up')})"
        pieces.append(f"{bounds} {shown.unit}".rstrip())
    of = claim.level if claim.level == "series" else f"{claim.level}s"
    known = [f"forecast {text}"] if (text := _forecast(claim)) else []
    known += [counted(claim.looks, "look")] if claim.looks else []
    pieces.append(f"n = {_number(claim)} {of}" + (f" ({', '.join(known)})" if known else ""))
    pieces += [percent(claim.confidence), *_how(claim)]
    note = f"; {claim.note}" if claim.note else ""
    return Line(", ".join(pieces) + note, "claim" if claim.state == "decided" else "refusal", _known(claim))


def _scale(claim: ClaimState) -> Scale:
    return scale((claim.estimate, claim.low, claim.high, claim.width), claim.unit)


def _forecast(claim: ClaimState) -> str:
    """How many units are forecast, with the interval where there is one; empty where nothing is."""
    if claim.wanted is None:
        return ""
    bounded = claim.wanted_low is not None and claim.wanted_high is not None
    return f"{claim.wanted}" + (f" ({claim.wanted_low} to {claim.wanted_high})" if bounded else "")


def _how(claim: ClaimState) -> Iterator[str]:
    """By which rule, and of what: the estimand, and the convention of a percentile of samples."""
    if claim.method:
        yield claim.method
    if claim.estimand:
        yield claim.estimand.replace("_", " ")
    if claim.convention:
        yield claim.convention.replace("_", " ")


def _number(claim: ClaimState) -> str:
    return " and ".join(map(str, claim.n))


def claim_table(claims: Sequence[ClaimState]) -> Table:
    """A row for each claim."""
    return table_of(
        key="stopping",
        caption="What the experiment waits for; bounds of each claim at its confidence",
        titles=_COLUMNS,
        rows=tuple(_cells(claim) for claim in claims),
        numeric=range(3, 11),
        remarks={14, 15},
    )


def _cells(claim: ClaimState) -> tuple[str, ...]:
    shown = _scale(claim)
    return (
        f"{claim.metric}{shown.heading}, {claim.subject}",
        f"{claim.what} {claim.asked}",
        _known(claim),
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
    )
