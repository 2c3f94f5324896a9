"""Which trials `--only` asks for."""

from __future__ import annotations

import pytest

from trialwise.design.subset import matches, subset
from trialwise.errors import PlanError

FACTORS = [{"scheme": name, "rate": rate} for name in ("cubic", "bbr", "reno") for rate in (1, 2.5, "true")]


@pytest.mark.parametrize(
    ("texts", "count"),
    [([], 9), (["scheme=cubic"], 3), (["scheme=cubic,bbr"], 6), (["scheme=cubic", "scheme=bbr"], 6),
     (["scheme=cubic", "rate=2.5"], 1), (["rate=1,2.5"], 6), (["rate=true"], 3)],
)  # fmt: skip
def test_levels_of_a_factor_are_alternatives_and_factors_restrict_each_other(texts, count):
    wanted = subset(texts, FACTORS)
    assert sum(matches(row, wanted) for row in FACTORS) == count


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
