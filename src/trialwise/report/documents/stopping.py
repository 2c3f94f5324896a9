"""What a report says of when to stop: why the experiment ended, and what is known of each claim that it waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.stopping.results import ClaimState, StoppingState
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import Cell, Document, Heading, Note, Table, Verdict, table_of
from trialwise.report.numbers import ABSENT, counted, percent
from trialwise.report.units import Scale, scale
from trialwise.rules import RULES

_COLUMNS = (
    "claim", "asked", "state", "estimate", "low", "high", "±", "±, asked", "n", "forecast", "looks", "level",
    "confidence", "estimand", "convention", "method", "note",
)  # fmt: skip


def document(state: StoppingState, lifts: str | None) -> Document:
    """The document of a state; `lifts` says what to do about claims that are not decided."""
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
    """How many units are forecast, with the interval where there is one; empty where nothing is."""
    if claim.wanted is None:
        return ""
    bounded = claim.wanted_low is not None and claim.wanted_high is not None
    return f"{claim.wanted}" + (f" ({claim.wanted_low} to {claim.wanted_high})" if bounded else "")


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
