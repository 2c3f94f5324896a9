"""All treatments of one experiment against each other: the numbers of `compare` on two sides, judged as one family."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.comparison.between import between_treatments
from trialwise.analysis.comparison.comparing import compare
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.experiment.model import Extent
from trialwise.statistics.comparing.holm import holm


def trials(means, n=20, boots=1):
    rng = np.random.default_rng(3)
    cells = [
        ("time", f"k={name}", rng.normal(mean, 1), "h", f"h/{turn % boots}", "h/", f"{name}{turn}", f"{name}{turn}",
         "1", f"1.{turn}", None, 2.0)
        for name, mean in means.items() for turn in range(n)
    ]  # fmt: skip
    return TrialSet(
        "bench",
        {"time": MetricFacts("time", "ms", "lower", Extent(3, relative=True))},
        {f"k={name}": {"k": name} for name in means},
        pl.DataFrame(cells, schema=SCHEMA, orient="row"),
    )


MEANS = {"a": 100, "b": 100, "c": 110}


def test_each_pair_has_the_numbers_of_compare_and_all_are_one_family():
    bench = trials(MEANS)
    found = between_treatments(bench, list(combinations(bench.treatments, 2)))
    assert found.comparison is not None
    rows = found.comparison.rows
    assert list(found.pairs) == [row.treatment for row in rows]
    alone = []
    for row in rows:
        a, b = (selected(bench, {"k": [name.removeprefix("k=")]}) for name in found.pairs[row.treatment])
        alone += compare(a, b).rows
    for row, single in zip(rows, alone, strict=True):
        assert row.difference == single.difference
        assert row.summary == single.summary
    assert [row.p_adjusted for row in rows] == pytest.approx(holm([row.p_adjusted for row in alone]))
    assert [row.verdict for row in rows] == ["equivalent", "different", "different"]
    assert [row.direction for row in rows] == [None, "worse", "worse"]
    assert found.comparison.correction == "Holm over 3 differences"
    assert found.ranking is not None
    assert [place.treatment for place in found.ranking.metrics[0].treatments][-1] == "k=c"


def test_pairs_share_what_they_nest_in():
    found = between_treatments(trials(MEANS, boots=4), [("k=a", "k=b")])
    assert found.comparison is not None
    [row] = found.comparison.rows
    assert (row.units.level, row.units.paired, len(row.units.a)) == ("boot", True, 4)


def test_a_treatment_without_a_value_has_no_pair():
    found = between_treatments(trials(MEANS), [("k=a", "k=gone"), ("k=a", "k=b")])
    assert found.comparison is not None
    assert [row.treatment for row in found.comparison.rows] == ["k=b against k=a"]


def test_one_trial_on_a_side_is_no_inference_and_says_so():
    found = between_treatments(trials(MEANS, n=1), [("k=a", "k=b")])
    assert found.comparison is not None
    [row] = found.comparison.rows
    assert row.verdict == "no inference"
    assert "no inference from one trial on each side" in row.reason
    assert found.ranking is None
