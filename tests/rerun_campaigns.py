"""Simulated campaigns of a claim on a ratio, measured by its authors and again on another machine, at the looks of `verify`."""

from __future__ import annotations

import numpy as np
import polars as pl

from claims_data import trials as made
from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.looks import KICK_ROUNDS, Look, at_looks, next_share, rounds_for, stages
from trialwise.analysis.claims.reproduction import Reproduced
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.claims import Amount, StatedClaim, StatedRatio
from trialwise.experiment.file.values import Extent

LEVELS = {"of": {"scheme": "a"}, "to": {"scheme": "b"}}
CV = 0.05
SCALE = np.sqrt(np.log1p(CV**2))


def claim(**said) -> StatedClaim:
    """The claim that the ratio is at least 1.2, with a tolerance of 15 %; or another one."""
    said = said or {"ratio": StatedRatio(**LEVELS, at_least=Amount(1.2))}
    return StatedClaim(id="C1", text="x", metric="delay", tolerance=Extent(15, relative=True), **said)


def campaign(
    rng: np.random.Generator, ratio: float, n: int, *, slower: float = 1.0, spread: float = 0.0
) -> TrialSet:
    """Log-normal times of two sides on one host, which is slower by a factor, and off in the ratio by its spread."""
    off = rng.normal(0, spread) if spread else 0.0
    return made(
        a=slower * ratio * np.exp(off + rng.normal(0, SCALE, n)), b=slower * np.exp(rng.normal(0, SCALE, n))
    )


def with_rounds(trials: TrialSet) -> TrialSet:
    """Name rounds as the ledger of one series does."""
    rounds = ("1." + (pl.col("round").cast(pl.Int64) + 1).cast(pl.String)).alias("round")
    return trials.replaced(trials.table.with_columns(rounds), "")


def looks_of(planned: int, first: int | None = None) -> list[Look]:
    """The looks that `verify` takes until the planned rounds are there."""
    taken: list[Look] = []
    for rounds in (*([first] if first else []), *stages(planned)):
        if share := next_share(taken, rounds, planned):
            taken.append(Look("C1", rounds, share))
    return taken


def measured_again(rng: np.random.Generator, ratio: float, *, slower: float = 1.2) -> Reproduced:
    """The verdict on the claim of authors who measured 1.3, on a machine where the ratio is another, after all planned looks."""
    stated, original = claim(), campaign(rng, 1.3, 20)
    planned = rounds_for(stated, original, judge_claim(original, stated, 0.95)) or 20
    rerun = with_rounds(campaign(rng, ratio, max(planned, KICK_ROUNDS), slower=slower))
    looks = looks_of(planned, min(KICK_ROUNDS, planned))
    found = at_looks(stated, original, rerun, looks, 0.95, same_kind=False)
    assert found is not None
    return found[0]
