"""Harm of one flow to another: cases by hand, SciPy's tests at its bounds, coverage of its interval, and what has no number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind
from statsmodels.stats.multitest import multipletests

from trialwise.analysis.path.harm import harm_of
from trialwise.analysis.path.results import Harm, HarmCell
from trialwise.analysis.results import MetricAnalysis
from trialwise.analysis.trial_columns import TrialMetric, Trials
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.trials import PathTrial
from trialwise.report.path_sentences import harm_lead

FILE = """
[experiment]
name = "harm"
[factors]
scheme = ["a", "b"]
beside = ["none", "a", "b"]
{factors}
[trial]
kind = "path"
flows = [{{ scheme = "{{scheme}}" }}, {{ scheme = "{{beside}}", start = "5s" }}{flows}]
runtime = "20s"
path = {{ rate = "12Mbit/s", delay = "20ms" }}
{metrics}
"""
THROUGHPUT = '[metrics.throughput]\nflow = 1\nmeasure = "mean"\n{margin}'
DELAY = '[metrics.delay]\nflow = 1\nmeasure = "p95"\n{margin}'
Values = Mapping[tuple[str, str], Sequence[float]]
"""The values of the trials of the flow's scheme, beside another."""


@cache
def parsed(text: str) -> Experiment:
    return parse_experiment(text, Path("experiment.toml"))


def told(
    *given: Values,
    metrics: Sequence[str] = (THROUGHPUT,),
    margin: str = "",
    factors: str = "",
    flows: str = "",
) -> Harm | str | None:
    text = FILE.format(
        metrics="\n".join(metric.format(margin=margin) for metric in metrics), factors=factors, flows=flows
    )
    experiment = parsed(text)
    assert isinstance(experiment.trial, PathTrial)
    treatments = {
        f"{scheme} beside {other}": {"scheme": scheme, "beside": other}
        for values in given
        for scheme, other in values
    }
    found = [
        MetricAnalysis(metric, Trials.of(trials(values)), (), (), ())
        for metric, values in zip(experiment.metrics, given, strict=True)
    ]
    return harm_of(experiment, experiment.trial, found, treatments)


def trials(values: Values) -> Iterator[TrialMetric]:
    for (scheme, other), numbers in values.items():
        for place, value in enumerate(numbers, 1):
            levels = {"scheme": scheme, "beside": other}
            yield TrialMetric(
                place, 1, f"{scheme} beside {other}", levels, "1", place, 1, None, 1,
                None if np.isnan(value) else value, None, None,
            )  # fmt: skip


def harm(*given: Values, metrics: Sequence[str] = (THROUGHPUT,), margin: str = "") -> Harm:
    found = told(*given, metrics=metrics, margin=margin)
    assert isinstance(found, Harm)
    return found


def cell(*given: Values, metrics: Sequence[str] = (THROUGHPUT,), margin: str = "") -> HarmCell:
    (found,) = harm(*given, metrics=metrics, margin=margin).cells
    return found


ALONE, BESIDE = [10.0, 12.0, 11.0, 11.5], [5.0, 7.0, 6.5]


def test_where_more_is_better_harm_is_what_is_lost_of_alone() -> None:
    found = cell({("a", "none"): ALONE, ("a", "b"): BESIDE})
    assert (found.metric, found.name, found.other) == ("throughput", "a", "b")
    assert (found.alone, found.beside, found.n) == ("a beside none", "a beside b", (4, 3))
    assert found.means == pytest.approx((11.125, 18.5 / 3))
    assert found.harm == pytest.approx((11.125 - 18.5 / 3) / 11.125)
    assert (found.verdict, found.than_itself) == ("harms", "")
    for end in (found.low, found.high):
        assert end is not None
        test = ttest_ind(BESIDE, (1 - end) * np.array(ALONE), equal_var=False)
        assert test.pvalue == pytest.approx(0.05)
    assert found.p_value == pytest.approx(ttest_ind(ALONE, BESIDE, equal_var=False).pvalue)


def test_where_less_is_better_harm_is_what_is_added_of_beside() -> None:
    alone, beside = [30.0, 32.0, 31.0], [60.0, 70.0, 66.0, 61.0]
    found = cell({("a", "none"): alone, ("a", "b"): beside}, metrics=(DELAY,))
    assert found.harm == pytest.approx((64.25 - 31) / 64.25)
    assert found.verdict == "harms"
    for end in (found.low, found.high):
        assert end is not None
        assert ttest_ind(alone, (1 - end) * np.array(beside), equal_var=False).pvalue == pytest.approx(0.05)


def test_a_flow_that_does_better_beside_another_has_negative_harm() -> None:
    found = cell({("a", "none"): BESIDE, ("a", "b"): ALONE})
    assert found.harm == pytest.approx(1 - 11.125 / (18.5 / 3))
    assert found.high is not None
    assert found.high < 0
    assert found.verdict == "helps"
    faster = cell({("a", "none"): ALONE, ("a", "b"): BESIDE}, metrics=(DELAY,))
    assert faster.verdict == "helps"


def test_all_verdicts_are_corrected_together() -> None:
    rng = np.random.default_rng(4)
    names = [("a", "none"), ("a", "a"), ("a", "b"), ("b", "none"), ("b", "a"), ("b", "b")]
    means = dict(zip(names, (10, 6, 5.2, 10, 9.6, 6), strict=True))
    one = {name: rng.normal(mean, 0.8, 6) for name, mean in means.items()}
    two = {name: rng.normal(50 - mean, 3, 6) for name, mean in means.items()}
    found = harm(one, two, metrics=(THROUGHPUT, DELAY))
    alone, itself = [], []
    for values in (one, two):
        for scheme, other in names:
            if other != "none":
                alone.append((values[scheme, "none"], values[scheme, other]))
                if other != scheme:
                    itself.append((values[scheme, scheme], values[scheme, other]))
    tests = [ttest_ind(*pair, equal_var=False).pvalue for pair in (*alone, *itself)]
    adjusted = multipletests(tests, method="holm")[1]
    assert found.family == 12
    assert [each.p_value for each in found.cells] == pytest.approx(adjusted[:8])
    decided = [each.than_itself in ("more", "less") for each in found.cells if each.than_itself]
    assert decided == list(adjusted[8:] <= 0.05)
    assert any(decided)
    assert not all(decided)


def test_more_or_less_than_by_its_own_scheme() -> None:
    values = {("a", "none"): [10.0, 10.2, 10.1], ("a", "a"): [5.0, 5.1, 5.2], ("a", "b"): [2.0, 2.1, 2.2]}
    assert [each.than_itself for each in harm(values).cells] == ["", "more"]
    kinder = values | {("a", "b"): [8.0, 8.1, 8.2]}
    assert [each.than_itself for each in harm(kinder).cells] == ["", "less"]
    slower = {key: [40 - value for value in numbers] for key, numbers in values.items()}
    assert [each.than_itself for each in harm(slower, metrics=(DELAY,)).cells] == ["", "more"]
    equal = values | {("a", "b"): [5.0, 5.1, 5.2]}
    assert [each.than_itself for each in harm(equal, margin='margin = "10%"').cells] == ["", "same"]


def test_what_is_within_the_margin_is_harmless() -> None:
    values = {("a", "none"): [10.0, 10.1, 10.2, 10.1], ("a", "b"): [9.9, 10.0, 10.1, 10.0]}
    assert cell(values).verdict == "undecided"
    assert cell(values, margin='margin = "10%"').verdict == "harmless"
    assert cell(values, margin='margin = "0.1%"').verdict == "undecided"


def test_one_trial_is_described_and_nothing_more() -> None:
    found = cell({("a", "none"): [10.0], ("a", "b"): [4.0]})
    assert found.harm == pytest.approx(0.6)
    assert (found.low, found.high, found.p_value, found.verdict) == (None, None, None, "no inference")
    assert "it takes two of each" in found.reason


def test_missing_cells_have_no_number_but_a_reason() -> None:
    values = {("a", "none"): ALONE, ("a", "a"): [], ("b", "b"): BESIDE, ("a", "b"): [np.nan, 5.0, 6.0]}
    none, alone, some = harm(values).cells
    assert (none.harm, none.verdict, none.n) == (None, "no inference", (4, 0))
    assert "4 trials alone and 0 beside" in none.reason
    assert (alone.alone, alone.harm, alone.reason) == ("", None, "its flow did not run alone")
    assert (some.n, some.harm, some.than_itself) == ((4, 2), pytest.approx(1 - 5.5 / 11.125), "no inference")


def test_a_flow_that_is_starved_loses_all() -> None:
    found = cell({("a", "none"): ALONE, ("a", "b"): [0.0, 0.0, 0.0, 0.0]})
    assert (found.harm, found.low, found.high) == pytest.approx((1, 1, 1))
    assert found.verdict == "harms"


def test_a_flow_that_gets_nothing_alone_has_no_harm() -> None:
    found = cell({("a", "none"): [0.0, 0.0, 0.0], ("a", "b"): [1.0, 2.0, 3.0]})
    assert (found.harm, found.low, found.high) == (None, None, None)
    assert "the mean alone is 0" in found.reason


def test_a_mean_near_0_gives_no_bounds_and_says_what_lifts_that() -> None:
    found = cell({("a", "none"): [0.1, -3.0, 3.2, 0.5], ("a", "b"): [1.0, 2.0, 3.0]})
    assert (found.low, found.high) == (None, None)
    assert "no bounds: the mean alone may be 0; more or longer trials" in found.reason


def test_values_that_never_differ_have_bounds_once_they_are_enough() -> None:
    few = cell({("a", "none"): [10.0, 10.0], ("a", "b"): [5.0, 5.0]})
    assert (few.harm, few.low, few.high) == (0.5, None, None)
    assert "no trial differs from another" in few.reason
    enough = cell({("a", "none"): [10.0] * 6, ("a", "b"): [5.0] * 6})
    assert (enough.harm, enough.low, enough.high, enough.verdict) == (0.5, 0.5, 0.5, "harms")


def test_what_is_missing_is_said() -> None:
    values = {("a", "none"): ALONE, ("a", "b"): BESIDE}
    whole = told(values, metrics=('[metrics.throughput]\nmeasure = "mean"\n',))
    assert isinstance(whole, str)
    assert "add flow = 1" in whole
    of_the_other = told(values, metrics=(THROUGHPUT.replace("flow = 1", "flow = 2"),))
    assert isinstance(of_the_other, str)
    two = told(values, factors='third = ["none", "a"]', flows=', { scheme = "{third}" }')
    assert isinstance(two, str)
    assert "beside and third have the level none" in two


def test_an_experiment_without_a_flow_that_may_be_absent_has_no_harm() -> None:
    text = FILE.format(metrics=THROUGHPUT.format(margin=""), factors="", flows="").replace('"none", ', "")
    experiment = parsed(text)
    assert isinstance(experiment.trial, PathTrial)
    assert harm_of(experiment, experiment.trial, [], {}) is None


@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (10, 4), (20, 20)])
@pytest.mark.parametrize("outliers", [0.0, 0.1])
def test_the_interval_covers_the_harm(sizes: tuple[int, int], outliers: float) -> None:
    """The truth is 0.4; a trial in ten lies 3 sd lower. 600 draws: three standard errors at 95 % are 2.7 points."""
    rng = np.random.default_rng([*sizes, int(10 * outliers)])

    def drawn(mean: float, sd: float, n: int) -> list[float]:
        values = rng.normal(mean, sd, n) - 3 * sd * ((rng.random(n) < outliers) - outliers)
        return values.tolist()

    covered = 0
    for _ in range(600):
        found = cell({("a", "none"): drawn(10, 0.5, sizes[0]), ("a", "b"): drawn(6, 0.9, sizes[1])})
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.4 <= found.high
    assert covered / 600 > 0.923


def judged(name: str, other: str, verdict: str, metric: str = "throughput") -> HarmCell:
    return HarmCell(metric, name, other, "", "", (9, 9), (1.0, 1.0), 0.5, 0.4, 0.6, 0.01, verdict, 0, "")


def lead(*cells: HarmCell) -> str:
    return harm_lead(Harm("beside", (2,), 95.0, len(cells), "", cells))


def test_the_first_sentence_says_who_harms_whom():
    pairs = [(name, other) for name in "abc" for other in "abc"]
    verdicts = dict.fromkeys(pairs, "harmless") | {
        ("a", "b"): "harms",
        ("a", "c"): "harms",
        ("c", "c"): "harms",
    }
    assert (
        lead(*(judged(*pair, verdicts[pair]) for pair in pairs))
        == "throughput: b harms a, c harms a and itself"
    )
    assert lead(*(judged(*pair, "harms") for pair in pairs)) == "throughput: a, b and c harm all"
    verdicts[("a", "b")] = verdicts[("a", "c")] = verdicts[("c", "c")] = "undecided"
    found = lead(*(judged(*pair, verdicts[pair]) for pair in pairs), judged("a", "b", "harms", "delay"))
    assert found == "throughput: nobody is shown to harm another (3 of 9 undecided); delay: b harms a"
