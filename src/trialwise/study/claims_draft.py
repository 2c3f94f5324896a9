"""A draft of claims for data that are there: what they support, with a tolerance that a repetition of this size could meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor, isfinite, log10, sqrt
from pathlib import Path

from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.results import ClaimResult
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import FORMAT, StatedClaim, StatedRatio
from trialwise.experiment.toml_writing import Value, toml_value
from trialwise.numbers import counted
from trialwise.study.sources import is_ours

_MOST_METRICS, _MOST_OTHERS = 6, 5
_LEVEL = 0.95


def draft(trials: TrialSet, data: Mapping[str, Value]) -> str:
    """Return the text of a file of claims: each other treatment against the first, by the ratio of the means.

    Parameters
    ----------
    data
        The keys of [data].

    Raises
    ------
    AnalysisError
        There is one treatment only.
    """
    base, *others = trials.treatments
    if not others:
        raise AnalysisError(
            f"{trials.name}: there is one treatment, and nothing to compare it with",
            hint="write claims with value, kpi or every by hand: docs/how-to/state-claims.md",
        )
    lines = [
        f"# A draft from {counted(len(trials.treatments), 'treatment')}: what these data support at {100 * _LEVEL:g} %.",
        "# The paths under [data] start at the folder of this file. Write the sentences as your paper has them, and delete",
        "# what it does not claim. Claims that are chosen because the data support them are supported more often by chance.",
        f"format = {toml_value(FORMAT)}",
        "",
        "[data]",
        *(f"{name} = {toml_value(value)}" for name, value in data.items()),
    ]
    number = 0
    for facts in list(trials.metrics.values())[:_MOST_METRICS]:
        for other in others[:_MOST_OTHERS]:
            number += 1
            lines += ["", *_claim(trials, facts, base, other, f"C{number}")]
    left = len(trials.metrics) - _MOST_METRICS, len(others) - _MOST_OTHERS
    if max(left) > 0:
        lines += [
            "",
            f"# Not drafted: {counted(max(left[0], 0), 'more metric')}, {counted(max(left[1], 0), 'more treatment')}.",
        ]
    return "\n".join(lines) + "\n"


def _claim(trials: TrialSet, facts: MetricFacts, base: str, other: str, name: str) -> Iterator[str]:
    said = StatedRatio(of=dict(trials.treatments[other]), to=dict(trials.treatments[base]))
    claim = StatedClaim(id=name, text=name, metric=facts.name, ratio=said)
    try:
        found = judge_claim(trials, claim, _LEVEL)
    except AnalysisError as error:
        yield f"# {facts.name} of {other} against {base}: {error.message}"
        return
    bound = _bound(found)
    if bound is None or found.estimate is None:
        why = found.reason or "the interval of the ratio holds 1"
        yield f"# {facts.name} of {other} against {base}: nothing to claim: {why}"
        return
    key, value = bound
    tolerance = _tolerance(found, facts)
    side = f"of = {toml_value(trials.treatments[other])}, to = {toml_value(trials.treatments[base])}"
    yield f"# The ratio is {found.estimate:.4g}, n = {' and '.join(map(str, found.n))}; {found.method}."
    yield "[[claim]]"
    yield f"id = {toml_value(name)}"
    sentence = f"{facts.name} of {other} is {key.replace('_', ' ')} {value:g} times that of {base}"
    yield f"text = {toml_value(sentence)}"
    yield f"metric = {toml_value(facts.name)}"
    yield f"ratio = {{ {side}, {key} = {value:g} }}"
    larger = ", or the margin" if facts.margin else ""
    yield f"# Half the 90 % prediction interval of a repetition of the same size{larger}, at least 1 %."
    yield f"tolerance = {toml_value(f'{tolerance:g}%')}"


def _bound(found: ClaimResult) -> tuple[str, float] | None:
    """Return the bound that the interval supports, away from 1 and to as few digits as that takes."""
    for digits in range(2, 5):
        if found.high is not None and found.high < 1 and (value := _rounded(found.high, digits, up=True)) < 1:
            return "at_most", value
        if found.low is not None and found.low > 1 and (value := _rounded(found.low, digits, up=False)) > 1:
            return "at_least", value
    return None


def _rounded(value: float, digits: int, *, up: bool) -> float:
    step = 10.0 ** (floor(log10(abs(value))) - digits + 1)
    return float(f"{(ceil if up else floor)(value / step) * step:.{digits + 1}g}")


def _tolerance(found: ClaimResult, facts: MetricFacts) -> float:
    """Return the larger of the margin and half the prediction interval in percent, at least 1: values may not vary at all."""
    if found.low is None or found.high is None or not found.estimate or not isfinite(found.high - found.low):
        raise AssertionError("a bound has an interval")
    half = 100 * sqrt(2) * (found.high - found.low) / 2 / abs(found.estimate)
    margin = facts.margin.value if facts.margin and facts.margin.relative else 0.0
    return float(max(ceil(max(half, margin)), 1))


def data_of(path: Path) -> dict[str, Value]:
    """Return the keys of [data]: the file of claims stands beside a directory or a file, and in a folder of result files."""
    if path.is_file():
        return {"files": [path.name]}
    return {"directory": path.resolve().name} if is_ours(path) else {"files": ["*"]}
