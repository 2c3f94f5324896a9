"""Claims that the same seeds give the same numbers: trial by trial against the original, bit by bit, without statistics.

A trial is the same as one of the original if treatment, series, round and seed are; the seed follows from the others and from that of
the experiment. What does not repeat in one trial refutes the claim. What repeats in all of them holds for the trials that were run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from trialwise.analysis.claims.reproduction import NOT_REPRODUCED, Reproduced, Word
from trialwise.analysis.claims.results import ClaimResult, Verdict
from trialwise.analysis.claims.treatments import claimed_metrics, claimed_treatments
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import StatedClaim
from trialwise.numbers import counted

_SAME = ("metric", "treatment", "round")
"""What tells a number of a trial from the others, where the experiment's seed is the same."""
_METHOD = "each number with that of the same trial of the original, bit by bit"
_UNSEEN = "only a re-run with the same seeds can show it: `trialwise verify` makes one"


def judge_identical(trials: TrialSet, claim: StatedClaim, level: float) -> ClaimResult:
    """Return that the trials alone do not decide it.

    Raises
    ------
    AnalysisError
        A metric or treatment does not exist, or no trial has a value.
    """
    numbers = _numbers(trials, claim)
    if numbers.is_empty():
        raise AnalysisError(f"{trials.name}: no trial of these has a value")
    return ClaimResult(
        id=claim.id,
        text=claim.text,
        kind=claim.kind,
        data=claim.data or "",
        metric=", ".join(claimed_metrics(trials, claim)),
        subject="numbers that differ in a re-run with the same seeds",
        verdict="undecided",
        unit="",
        bound_unit="",
        at_least=None,
        at_most=0.0,
        estimate=None,
        low=None,
        high=None,
        confidence=200 * level - 100,
        level=100 * level,
        n=(numbers["trial"].n_unique(),),
        replication="trial",
        method=_METHOD,
        reason=_UNSEEN,
        more=None,
        tolerance="",
        figure=claim.figure or "",
    )


def same_numbers(claim: StatedClaim, original: TrialSet, rerun: TrialSet, level: float) -> Reproduced:
    """Compare a re-run that has the seed of the original with it, over the trials that both have.

    Raises
    ------
    AnalysisError
        As `judge_identical`.
    """
    here = judge_identical(original, claim, level)
    both = _numbers(rerun, claim).join(_numbers(original, claim), on=_SAME, suffix="_there").sort(*_SAME)
    differing = both.filter(pl.Series(_bits(both["value"]) != _bits(both["value_there"]), dtype=pl.Boolean))
    verdict: Verdict = "contradicted" if differing.height else "supported" if both.height else "undecided"
    words: dict[Verdict, Word] = {"contradicted": NOT_REPRODUCED, "supported": "reproduced"}
    return Reproduced(
        id=claim.id,
        word=words.get(verdict, "too few trials yet"),
        here=replace(
            here,
            verdict=verdict,
            estimate=float(differing.height) if both.height else None,
            n=(both["trial"].n_unique(),),
            reason="" if both.height else "no trial of the original ran again",
        ),
        change=None,
        is_factor=False,
        expected=None,
        why=_said(both, differing),
    )


def _numbers(trials: TrialSet, claim: StatedClaim) -> pl.DataFrame:
    names, wanted = claimed_metrics(trials, claim), claimed_treatments(trials, claim)
    own = trials.table.filter(pl.col("metric").is_in(names) & pl.col("treatment").is_in(wanted))
    return own.select(*_SAME, "trial", "value").drop_nulls("value")


def _bits(values: pl.Series) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(values.to_numpy(), dtype=np.float64).view(np.int64)


def _said(both: pl.DataFrame, differing: pl.DataFrame) -> str:
    if differing.is_empty():
        return f"{counted(both.height, 'number')} of {counted(both['trial'].n_unique(), 'trial')} compared bit by bit"
    first = differing.row(0, named=True)
    return (
        f"{differing.height} of {counted(both.height, 'number')} differ: {first['metric']} of {first['treatment']} in round "
        f"{first['round']} is {first['value']!r} here and {first['value_there']!r} there"
    )
