"""Every look and every stop of seeded sequences, by every rule and estimator, as `stopping_rules.json` has them.

`python tests/golden/test_stopping_rules.py` records them anew, where a rule changes on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trialwise import statistics as st

RECORDED = Path(__file__).with_name("stopping_rules.json")
RULES = ("geometric", "cceval", "anytime")
ESTIMATORS = ("mean", "pooled mean", "quantile", "blocks")
PRECISIONS = ((5.0, True), (0.6, False))
SEEDS = range(17)
MOST = 260


def sequence(estimator: str, rule: str, precision: float, relative: bool) -> Any:
    """The estimator with its options."""
    options = {"relative": relative, "rule": rule}
    match estimator:
        case "mean":
            return st.SequentialMean(precision, **options)
        case "pooled mean":
            return st.SequentialPooledMean(precision, confidence=90, **options)
        case "quantile":
            return st.SequentialQuantile(90, precision, **options)
        case _:
            return st.SequentialBlocks(st.SequentialMean(precision, start=8, **options), 4, None)


def trials(estimator: str, seed: int) -> Iterator[Any]:
    """Trials whose spread, skew and number of samples differ from seed to seed."""
    rng = np.random.default_rng(1000 + seed)
    spread = (0.5, 2.0, 6.0)[seed % 3]
    for _ in range(MOST):
        samples = int(rng.integers(1, 30))
        values = 10 + spread * rng.gamma(2.0, 0.5, samples)
        yield float(values[0]) if estimator in ("mean", "blocks") else values


def told(estimator: str, rule: str, precision: float, relative: bool, seed: int) -> list[Any]:
    """What is known at each change: trials, looks, the next look; and at the end the interval and the forecast."""
    course = sequence(estimator, rule, precision, relative)
    stops: list[int] = []
    for number, trial in enumerate(trials(estimator, seed)):
        stopped = course.add(number // 4, trial) if estimator == "blocks" else course.add(trial)
        if stopped:
            stops.append(number + 1)
            break
    state = course.state
    forecast = state.forecast
    return [
        stops,
        state.n,
        state.looks,
        state.next_look,
        [state.estimate, state.low, state.high, state.target, state.inner_confidence],
        [forecast.trials, forecast.low, forecast.high],
        state.method,
        len(state.warnings),
    ]


def cases() -> Iterator[tuple[str, str, float, bool, int]]:
    for (precision, relative), seed, rule, estimator in product(PRECISIONS, SEEDS, RULES, ESTIMATORS):
        yield estimator, rule, precision, relative, seed


def name(case: tuple[str, str, float, bool, int]) -> str:
    estimator, rule, precision, relative, seed = case
    return f"{estimator}, {rule}, {precision:g}{' %' if relative else ''}, seed {seed}"


@pytest.mark.parametrize("rule", RULES)
def test_looks_and_stops_are_those_that_were_recorded(rule: str) -> None:
    recorded = json.loads(RECORDED.read_text())
    checked = 0
    for case in cases():
        if case[1] == rule:
            found, expected = told(*case), recorded[name(case)]
            assert found[:4] == expected[:4], name(case)
            assert found[4] == pytest.approx(expected[4], rel=1e-12, nan_ok=True), name(case)
            assert found[5:] == expected[5:], name(case)
            checked += 1
    assert checked >= 100


if __name__ == "__main__":
    lines = (f" {json.dumps(name(case))}: {json.dumps(told(*case), ensure_ascii=False)}" for case in cases())
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
