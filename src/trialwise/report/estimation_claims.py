"""Write a sentence for each estimate of simulated trials, with its numbers as LaTeX macros."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.estimation.results import Estimate, Estimation, MetricEstimate
from trialwise.report.claims import Claim, Piece
from trialwise.report.document import Name
from trialwise.report.macros import MacroNames
from trialwise.report.numbers import Basis, Number, percent
from trialwise.statistics import MeanInterval


def estimate_claims(found: Estimation, macros: MacroNames) -> Iterator[Claim]:
    """Yield for each metric and treatment a sentence on its own estimand, and on the other one and on control variates if present.

    Parameters
    ----------
    macros
        Gives unique names.
    """
    for place, one in enumerate(found.estimates):
        at = f"/estimation/estimates/{place}"
        yield _estimand(one, one.own, f"{at}/own", macros)
        if one.other is not None:
            yield _estimand(one, one.other, f"{at}/other", macros)
        if one.controlled is not None:
            yield _controlled(one, f"{at}/controlled/result", macros)


def _estimand(one: MetricEstimate, found: Estimate, at: str, macros: MacroNames) -> Claim:
    if found.estimate is None:
        pieces: list[Piece] = [*_about(one, found), f" cannot be had: {found.note}"]
        return Claim("refusal", tuple(pieces), metric=one.metric, treatment=one.treatment)
    name = macros.name(one.metric, one.treatment, found.estimand)
    basis = Basis(found.trials, found.confidence, found.method)
    convention = f", {found.convention.replace('_', ' ')}" if found.convention else ""
    pieces = [
        *_about(one, found),
        " is ",
        *_with_bounds(found, at, one.unit, basis, name, macros),
        "; n = ",
        Number(found.trials, f"{at}/trials", macro=macros.name(name, "trials")),
        " trials with ",
        Number(found.samples, f"{at}/samples", macro=macros.name(name, "samples")),
        f" samples; {found.method}{convention})." + _note(found.note),
    ]
    standing = "descriptive" if found.note else "claim"
    return Claim(standing, tuple(pieces), metric=one.metric, treatment=one.treatment)


def _note(text: str) -> str:
    """Write a note on a number as a separate sentence after it; nothing if there is no note."""
    return f" Note: {text}." if text else ""


def _about(one: MetricEstimate, found: Estimate) -> list[Piece]:
    return ["Of ", Name(one.metric), " for ", Name(one.treatment), f", the {found.what}"]


def _with_bounds(
    side: Estimate | MeanInterval, at: str, unit: str, basis: Basis, name: str, macros: MacroNames
) -> list[Piece]:
    """Write an estimate and its interval, leaving the bracket open."""
    return [
        Number(side.estimate, f"{at}/estimate", unit, "nearest", basis, name),
        f" ({percent(side.confidence)} interval ",
        Number(side.low, f"{at}/low", unit, "down", basis, macros.name(name, "low")),
        " to ",
        Number(side.high, f"{at}/high", unit, "up", basis, macros.name(name, "high")),
    ]


def _controlled(one: MetricEstimate, at: str, macros: MacroNames) -> Claim:
    if one.controlled is None:
        raise ValueError("an estimate without control variates has no sentence on them")
    result, side = one.controlled.result, one.controlled.result.controlled
    name = macros.name(one.metric, one.treatment, one.own.estimand, "controlled")
    basis = Basis(side.n, side.confidence, side.method)
    pieces: list[Piece] = [
        *_about(one, one.own),
        ", with control variates, is ",
        *_with_bounds(side, f"{at}/controlled", one.unit, basis, name, macros),
        "; n = ",
        Number(side.n, f"{at}/controlled/n", macro=macros.name(name, "trials")),
        f" trials; {side.method}; gain ",
        Number(result.gain, f"{at}/gain", macro=macros.name(name, "gain")),
        f"; to be used: {one.controlled.used})." + _note("; ".join(result.warnings)),
    ]
    standing = "claim" if result.usable else "descriptive"
    return Claim(standing, tuple(pieces), metric=one.metric, treatment=one.treatment)
