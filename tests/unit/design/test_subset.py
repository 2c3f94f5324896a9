"""Which trials `--only` asks for."""

from __future__ import annotations

import contextlib

import pytest

from trialwise.design.subset import matches, subset
from trialwise.errors import PlanError
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow

FACTORS = [{"scheme": name, "rate": rate} for name in ("cubic", "bbr", "reno") for rate in (1, 2.5, "true")]


@pytest.mark.parametrize(
    ("texts", "count"),
    [([], 9), (["scheme=cubic"], 3), (["scheme=cubic,bbr"], 6), (["scheme=cubic", "scheme=bbr"], 6),
     (["scheme=cubic", "rate=2.5"], 1), (["rate=1,2.5"], 6), (["rate=true"], 3)],
)  # fmt: skip
def test_levels_of_a_factor_are_alternatives_and_factors_restrict_each_other(texts, count):
    wanted = subset(texts, FACTORS)
    assert sum(matches(row, wanted) for row in FACTORS) == count


def test_parts_are_alternatives():
    parts = [{"scheme": ["cubic"], "rate": [1, 2.5]}, {"scheme": ["bbr"], "rate": ["true"]}]
    wanted = subset(parts, FACTORS)
    assert [tuple(row.values()) for row in FACTORS if matches(row, wanted)] == [
        ("cubic", 1),
        ("cubic", 2.5),
        ("bbr", "true"),
    ]
    with pytest.raises(PlanError, match="no trial has the levels"):
        subset([{"scheme": ["vegas"]}], FACTORS)


def test_a_ledger_counts_the_trials_of_the_parts(tmp_path):
    trials = [
        TrialRow(at, 1, "planned", "-", factors, 1, 1, at, "random", 1, warmup=False, planned_start=None)
        for at, factors in enumerate(FACTORS, start=1)
    ]
    with contextlib.closing(Ledger.create(tmp_path / "l.sqlite", {}, trials)) as ledger:
        parts = [{"scheme": ["cubic"], "rate": [2.5]}, {"scheme": ["bbr"], "rate": ["true"]}]
        assert ledger.count(["planned"], parts) == 2
        assert ledger.count(["planned"], [{}]) == ledger.count(["planned"]) == 9
        assert ledger.next_planned(parts[1:]).factors == {"scheme": "bbr", "rate": "true"}
        assert ledger.ended(parts) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shceme=cubic", "did you mean 'scheme'"),
        ("scheme=cubik", "did you mean 'cubic'"),
        ("scheme=vegas", "known: bbr, cubic, reno"),
        ("scheme", "FACTOR=LEVEL"),
        ("scheme=", "FACTOR=LEVEL"),
    ],
)
def test_what_is_unknown_is_said_with_what_is_known(text, said):
    with pytest.raises(PlanError) as refused:
        subset([text], FACTORS)
    assert said in str(refused.value)


def test_no_trial_may_have_it_all():
    rows = [{"a": 1, "b": 1}, {"a": 2, "b": 2}]
    with pytest.raises(PlanError, match="no trial has all of that"):
        subset(["a=1", "b=2"], rows)
    with pytest.raises(PlanError, match="has no factors"):
        subset(["a=1"], [{}])
