"""Claims that the same seeds give the same: trial by trial against the original, bit by bit, without statistics.

A trial is the same as one of the original if treatment, series, round and seed are; the seed follows from the others and from that of
the experiment. What does not repeat in one trial refutes the claim. What repeats in all of them holds for the trials that were run.
Numbers repeat with all samples that they are computed from; what is printed and written repeats byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from trialwise.analysis.claims.reproduction import NOT_COMPARABLE, NOT_REPRODUCED, Reproduced, Word
from trialwise.analysis.claims.results import ClaimResult, Verdict
from trialwise.analysis.claims.treatments import claimed_metrics, claimed_treatments
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import StatedClaim
from trialwise.late import pl
from trialwise.numbers import counted
from trialwise.visible import visible

_SAME = ("metric", "treatment", "round")
"""What tells a number of a trial from the others, where the experiment's seed is the same."""
_TRIAL = ("treatment", "round")
_METHOD = "each number, or what was written, with that of the same trial of the original, bit by bit"
_UNSEEN = "only a re-run with the same seeds can show it: `trialwise verify` makes one"
_STREAMS = ("stdout", "stderr")


def judge_identical(trials: TrialSet, claim: StatedClaim, level: float) -> ClaimResult:
    """Return that the trials alone do not decide it.

    Raises
    ------
    AnalysisError
        A metric or treatment does not exist, no trial has a value, or none kept what is said to be written.
    """
    metrics, written = claimed_metrics(trials, claim), _written(claim)
    number = max(_numbers(trials, claim)["trial"].n_unique() if metrics else 0, _kept(trials, claim))
    if not number:
        raise AnalysisError(f"{trials.name}: no trial of these has a value")
    return ClaimResult(
        id=claim.id,
        text=claim.text,
        kind=claim.kind,
        data=claim.data or "",
        metric=", ".join([*metrics, *map(visible, written)]),
        subject="what differs in a re-run with the same seeds",
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
        n=(number,),
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
    bytes_of = _contents_of_both(claim, original, rerun)
    known = differing.select(("metric:" + pl.col("metric")).alias("what"), *_TRIAL)
    others = bytes_of.filter(pl.col("differs")).join(known, on=["what", *_TRIAL], how="anti")
    parts = bytes_of.filter(pl.col("differs").is_null())
    trials = pl.concat([both.select(_TRIAL), bytes_of.select(_TRIAL)]).n_unique()
    number = differing.height + others.height
    verdict: Verdict = (
        "contradicted" if number else "supported" if trials and parts.is_empty() else "undecided"
    )
    words: dict[Verdict, Word] = {"contradicted": NOT_REPRODUCED, "supported": "reproduced"}
    lacking = "a part of what was written was not kept" if trials else "no trial of the original ran again"
    return Reproduced(
        id=claim.id,
        word=words.get(verdict, NOT_COMPARABLE if trials else "too few trials yet"),
        here=replace(
            here,
            verdict=verdict,
            estimate=float(number) if trials else None,
            n=(trials,),
            reason=lacking if verdict == "undecided" else "",
        ),
        change=None,
        is_factor=False,
        expected=None,
        why="; ".join(_said(both, differing, bytes_of, others, parts, trials)),
    )


def _numbers(trials: TrialSet, claim: StatedClaim) -> pl.DataFrame:
    names, wanted = claimed_metrics(trials, claim), claimed_treatments(trials, claim)
    own = trials.table.filter(pl.col("metric").is_in(names) & pl.col("treatment").is_in(wanted))
    return own.select(*_SAME, "trial", "value").drop_nulls("value")


def _bits(values: pl.Series) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(values.to_numpy(), dtype=np.float64).view(np.int64)


# What was written


def _written(claim: StatedClaim) -> tuple[str, ...]:
    return () if claim.identical is None else claim.identical.written


def _kept(trials: TrialSet, claim: StatedClaim) -> int:
    """Return the number of trials that kept something of each kind that is said to be written; 0 if nothing is."""
    if not _written(claim):
        return 0
    if trials.contents is None:
        raise AnalysisError(
            f"{trials.name}: holds numbers alone, and identical has written",
            hint="name an experiment directory in [data]",
        )
    found = trials.contents.filter(pl.col("treatment").is_in(claimed_treatments(trials, claim)))
    names = found["what"].unique().to_list()
    for each in _written(claim):
        if not any(_means(each, name) for name in names):
            hint = (
                "programs only have outputs"
                if each in _STREAMS
                else f'add keep = ["{each}"] to [trial], and measure again'
            )
            raise AnalysisError(f"{trials.name}: no trial kept {visible(each)}", hint=hint)
    return found.select(_TRIAL).n_unique()


def _means(asked: str, what: str) -> bool:
    """Return True if a part of a trial is one that was asked for by name or pattern."""
    if asked in _STREAMS:
        return what == asked
    return what.startswith("file:") and fnmatchcase(what.removeprefix("file:"), asked)


def _contents_of_both(claim: StatedClaim, original: TrialSet, rerun: TrialSet) -> pl.DataFrame:
    """Return the parts that a claim is about of the trials that both have, and whether they differ; null: not kept whole."""
    if original.contents is None or rerun.contents is None:
        return pl.DataFrame(
            schema={"what": pl.String, "treatment": pl.String, "round": pl.String, "differs": pl.Boolean}
        )
    metrics = {f"metric:{name}" for name in claimed_metrics(original, claim)}
    names = {*original.contents["what"].unique().to_list(), *rerun.contents["what"].unique().to_list()}
    asked = [name for name in names if name in metrics or any(_means(each, name) for each in _written(claim))]
    wanted = claimed_treatments(original, claim)
    ran = original.contents.select(_TRIAL).unique().join(rerun.contents.select(_TRIAL).unique(), on=_TRIAL)
    sides = [
        trials.contents.filter(pl.col("what").is_in(asked) & pl.col("treatment").is_in(wanted))
        .join(ran, on=_TRIAL)
        .with_columns(there=pl.lit(value=True))
        for trials in (rerun, original)
        if trials.contents is not None
    ]
    both = sides[0].join(sides[1], on=["what", *_TRIAL], how="full", coalesce=True, suffix="_original")
    alone = pl.col("there").is_null() | pl.col("there_original").is_null()
    differs = pl.when(alone).then(statement=True).otherwise(pl.col("sha256") != pl.col("sha256_original"))
    return both.select("what", *_TRIAL, differs.alias("differs")).sort("what", *_TRIAL)


def _said(
    both: pl.DataFrame,
    differing: pl.DataFrame,
    bytes_of: pl.DataFrame,
    others: pl.DataFrame,
    parts: pl.DataFrame,
    trials: int,
) -> Iterator[str]:
    """Say what differs, the first of each kind by name, or how much was compared."""
    if not differing.is_empty():
        first = differing.row(0, named=True)
        yield (
            f"{differing.height} of {counted(both.height, 'number')} differ: {first['metric']} of {first['treatment']} in round "
            f"{first['round']} is {first['value']!r} here and {first['value_there']!r} there"
        )
    if not others.is_empty():
        first = others.row(0, named=True)
        yield (
            f"{others.height} of {counted(bytes_of.height, 'part')} that trials reported or wrote differ: {_part(first['what'])} of "
            f"{first['treatment']} in round {first['round']}"
        )
    if not parts.is_empty():
        first = parts.row(0, named=True)
        yield f"{counted(parts.height, 'part')} not compared, of which the middle was not kept, as {_part(first['what'])}"
    if differing.is_empty() and others.is_empty():
        written = bytes_of.filter(~pl.col("what").str.starts_with("metric:")).height
        files = [counted(written, "output or file", "outputs and files")] if written else []
        numbers = [counted(both.height, "number")] if both.height or not written else []
        yield f"{' and '.join((*numbers, *files))} of {counted(trials, 'trial')} compared bit by bit"


def _part(what: str) -> str:
    kind, _, name = what.partition(":")
    return f"samples of {name}" if kind == "metric" else visible(name or kind)
