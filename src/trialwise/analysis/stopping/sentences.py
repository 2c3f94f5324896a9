"""Why an experiment ends, and what is still undecided, in words."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.analysis.stopping.intervals import FAR
from trialwise.analysis.stopping.results import ClaimState, StoppingState
from trialwise.analysis.stopping.wanted import wanted_text
from trialwise.analysis.unit_words import units_text
from trialwise.experiment.model import Looks
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import about, counted, significant, write
from trialwise.rules import RULES
from trialwise.statistics.sequential.sampling import MOST


def reason_text(
    claims: Sequence[ClaimState],
    *,
    looks: Looks,
    judged: bool,
    budget: float | None,
    most: int | None,
    out_of_reach: bool = False,
) -> str | None:
    """Say why the experiment ends; None while it continues.

    `judged` if the rule has finished, `budget` if it is used up, `most` if the plan is exhausted, `out_of_reach` if far more would
    be needed than is left.
    """
    known = sum(claim.state == "decided" for claim in claims)
    if known == len(claims):
        return f"everything asked for is known ({_claims(known)})"
    so_far = f"{known} of {_claims(len(claims))} known"
    if budget is not None:
        return f"the budget of {duration_text(budget)} is used up: {so_far}"
    if most is not None:
        return f"max_trials is reached ({most} rounds): {so_far}"
    if out_of_reach:
        return f"what is asked for takes over {FAR} times max_trials, at best: {so_far}"
    if not judged:
        return None
    return f"{RULES[looks].ended}: {so_far}"


def _claims(number: int) -> str:
    return counted(number, "claim")


def remedy(state: StoppingState) -> str | None:
    """Give the remedy for undecided claims, once the experiment has ended."""
    if state.decided or state.reason is None:
        return None
    if state.out_of_reach:
        return (
            "ask for a wider precision, or raise max_trials (--extend), and run the same command: it goes on from here, and nothing "
            'is lost; simulated trials may need fewer with controls = "fluid"; `rounds` in place of `stop` takes what they give'
        )
    rule = RULES[state.looks]
    if not rule.judges_once and any(claim.state == "undecided" for claim in state.claims):
        return "what is not decided, although its rule has come to its end, says why beside it"
    return rule.lifts


def open_texts(state: StoppingState) -> list[str]:
    """Return a line with the progress of each undecided claim."""
    if state.phase == "pilot":
        rarest = min(state.claims, key=lambda claim: min(claim.n), default=None)
        done, rare = (0, "") if rarest is None else (min(rarest.n), _rare(state, rarest, named=True))
        return [f"pilot: {done} of {state.forecast} rounds; then a forecast{rare}"]
    return [
        _open_text(state, claim) + ("" if state.phase == "fresh" else _rare(state, claim, named=False))
        for claim in state.open_claims
    ]


def _rare(state: StoppingState, claim: ClaimState, *, named: bool) -> str:
    """Say that less than half of the trials have the metric of a claim, which is waited for; empty if more have it."""
    number = min(claim.n)
    if 2 * number >= state.rounds:
        return ""
    who = f"{claim.metric} {claim.subject}" if named else "it"
    return f"; {who} has a value in {number} of {counted(state.rounds, 'round')} and is waited for"


def _open_text(state: StoppingState, claim: ClaimState) -> str:
    name = f"{claim.metric} {claim.subject}: {claim.what} {claim.asked}"
    if state.phase == "fresh":
        number = min(claim.n)
        if claim.wanted is None:
            return f"{name}: {claim.note or 'no forecast'}; runs to the end of the plan"
        return f"{name}: {min(number, claim.wanted)} of {units_text(claim.wanted, claim.level, 'fresh ')}"
    if claim.width is None:
        return f"{name}: open, no bounds yet"
    relative = claim.estimate and claim.kind != "difference" and claim.asked.endswith("%")
    share = 100 * claim.width / abs(claim.estimate) if relative and claim.estimate else 0.0
    wide = f"±{significant(share, 2)} %" if share else f"±{about(claim.width)} {claim.unit}".rstrip()
    forecast = f", {_wanted(claim)} are expected" if claim.looks else ""
    beside = f", {controls_text(claim)}" if claim.controls else ""
    return f"{name}: open, now {wide}{beside}{forecast}"


def controls_text(claim: ClaimState) -> str:
    """Give the widths of both intervals of a claim with control variates, in percent of its estimate if that is not 0.

    The claim has the bounds of the interval to use.
    """
    sides = (
        (claim.plain_low, claim.plain_high, "plain"),
        (claim.controlled_low, claim.controlled_high, claim.controls),
    )
    shown, unit = (100 / abs(claim.estimate), "%") if claim.estimate else (1.0, claim.unit)
    texts = [
        f"±{write(shown * (high - low) / 2, digits=2)} {unit} {name}".replace("  ", " ")
        for low, high, name in sides
        if low is not None and high is not None
    ]
    return f"{' and '.join(texts)}{_gain(claim)}"


def _gain(claim: ClaimState) -> str:
    """Describe the gain from control variates; if the plain interval is used despite less variance, say that instead."""
    used = (claim.low, claim.high)
    if used == (claim.plain_low, claim.plain_high) != (claim.controlled_low, claim.controlled_high):
        return ", the plain one is used"
    return "" if claim.gain is None else f", gain {significant(claim.gain, 3)}"


def too_many(claim: ClaimState, most: int) -> str | None:
    """Warn of a claim with a forecast beyond the available trials; None if it is not, or nothing can be forecast yet."""
    forecast = claim.wanted is not None if not claim.looks else claim.width is not None
    if claim.state != "open" or claim.kind == "difference" or not forecast:
        return None
    name = f"{claim.metric} {claim.subject}: {claim.what} {claim.asked}".replace("  ", " ")
    if claim.wanted is None:
        return f"{name} would take more than {MOST:,} {claim.level}s, and there are {most:,}: ask for a wider interval"
    if claim.wanted <= most:
        return None
    return f"{name} would take {_wanted(claim)}, and there are {most:,}: ask for a wider interval, or raise max_trials"


def _wanted(claim: ClaimState) -> str:
    return wanted_text(claim.wanted, claim.wanted_low, claim.wanted_high, claim.level)
