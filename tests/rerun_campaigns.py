"""Simulated campaigns of a claim on a ratio, measured by its authors and again on another machine, at the looks of `verify`."""

from __future__ import annotations

import numpy as np
import polars as pl

from claims_data import trials as made
from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.looks import (
    KICK_ROUNDS,
    Look,
    at_looks,
    level_of,
    next_share,
    rounds_for,
    rounds_for_effect,
    stages,
)
from trialwise.analysis.claims.reproduction import Reproduced, effect_of
from trialwise.analysis.trial_set import TrialSet
from trialwise.arrays import Array
from trialwise.experiment.claims import Amount, StatedClaim, StatedRatio
from trialwise.experiment.file.values import Extent
from trialwise.statistics.comparing.fieller import ratio_of
from trialwise.statistics.estimates.moments import Pair

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
    a, b = sides(rng, ratio, n, slower=slower, spread=spread)
    return made(a=a, b=b)


def sides(
    rng: np.random.Generator, ratio: float, n: int, *, slower: float = 1.0, spread: float = 0.0
) -> tuple[Array, Array]:
    """The numbers of `campaign`, without a table."""
    off = rng.normal(0, spread) if spread else 0.0
    return slower * ratio * np.exp(off + rng.normal(0, SCALE, n)), slower * np.exp(rng.normal(0, SCALE, n))


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


HOLDING = (
    "reproduced",
    "holds, with another size",
    "holds; too few trials to compare sizes",
    "holds; sizes are not compared",
)


class QuickCampaigns:
    """Whether the claim holds in the campaigns of `measured_again`, by the same statistics without tables: a hundred times as fast."""

    def __init__(self) -> None:
        self._claim = claim()
        self._theirs = judge_claim(campaign(np.random.default_rng(0), 1.3, 20), self._claim, 0.95)

    def holds(self, rng: np.random.Generator, ratio: float, *, slower: float = 1.2) -> bool:
        """The same numbers as `measured_again` draws, and whether the first look that decides says that the claim holds."""
        effect = effect_of(sides(rng, 1.3, 20), logarithms=True)
        assert effect is not None
        planned = rounds_for_effect(self._claim, effect, self._theirs, is_factor=True) or 20
        a, b = sides(rng, ratio, max(planned, KICK_ROUNDS), slower=slower)
        for look in looks_of(planned, min(KICK_ROUNDS, planned)):
            level = 2 * level_of(0.95, look.share) - 1
            found = ratio_of(Pair.of(b[: look.rounds], a[: look.rounds]), level)
            if found.low >= 1.2 or found.high < 1.2:
                return found.low >= 1.2
        return False
