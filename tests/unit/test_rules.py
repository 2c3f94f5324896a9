"""Stopping rules are records: what they say holds of the estimators, and a further rule is a further record."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.rules import CCEVAL, GEOMETRIC, RULES, SEQUENTIAL, Judged, RuleName, judging
from trialwise.statistics.sequential.sampling import Looks

ROOT = Path(__file__).parents[2]
FILE = """
[experiment]
name = "e"
[factors]
x = [1, 2]
[trial]
command = "true {x}"
[metrics.t]
resource = "wall"
stop = { precision = "3%", of = "OF" }
[design]
looks = "RULE"
"""


def test_the_names_of_the_file_are_those_of_the_rules():
    assert get_args(RuleName) == tuple(RULES)
    assert {judged for rule in RULES.values() for judged in rule.judges} == set(get_args(Judged))


@pytest.mark.parametrize("rule", RULES)
def test_the_reference_has_the_words_of_each_rule(rule: str):
    page = (ROOT / "docs/reference/experiment-file.md").read_text()
    assert f"{rule} {RULES[rule].words}" in " ".join(page.split())


@pytest.mark.parametrize("rule", SEQUENTIAL)
def test_looks_are_where_the_record_has_them(rule: str):
    course, looks = st.SequentialMean(0.001, rule=RULES[rule].name), [0]
    rng, at = np.random.default_rng(1), list[int]()
    for number, value in enumerate(rng.gamma(2.0, 1.0, 80), 1):
        course.add(float(value))
        looks.append(course.state.looks)
        if looks[-1] > looks[-2]:
            at.append(number)
    assert at[0] == RULES[rule].start
    for before, after in pairwise(at):
        assert after == max(before + 1, int(np.ceil(before * RULES[rule].growth)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("of", ["mean", "median"])
def test_a_file_is_taken_where_the_rule_judges_what_it_asks_for(rule: str, of: str):
    text = FILE.replace("RULE", rule).replace("OF", of)
    if ("mean" if of == "mean" else "percentile") in RULES[rule].judges:
        assert parse_experiment(text, Path("e.toml")).design.looks == rule
    else:
        with pytest.raises(PlanError, match="knows a mean only"):
            parse_experiment(text, Path("e.toml"))


def test_a_further_rule_is_a_further_record(monkeypatch: pytest.MonkeyPatch):
    doubled = replace(
        CCEVAL, name="doubled", start=10, growth=2.0, share=0.5, method="{inner} of {level} from {start}"
    )
    monkeypatch.setitem(RULES, "doubled", doubled)
    looks = Looks(doubled, 5.0, relative=True, confidence=95, start=10)
    assert [looks.after(n) for n in (10, 20, 40)] == [20, 40, 80]
    assert looks.inner == 97.5
    assert looks.reach(40, 10) == pytest.approx(2.2414027276)  # qnorm(1 - 0.025 / 2), R
    assert looks.method == "97.5 % of 95 % from 10"
    assert judging("batches") == 'take looks = "geometric" or "cceval"'
    assert judging("batches", [GEOMETRIC, doubled]) == 'take looks = "geometric" or "doubled"'
