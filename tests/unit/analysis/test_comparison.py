"""Two sides with verdicts: matching, families, refusals, bills."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy import stats

from document_text import piped
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.comparison.gate import gate_of
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.environments import facts_of
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.comparison_json import comparison_document
from trialwise.experiment.model import Extent
from trialwise.report.comparison_words import change_of, claim_p_of, difference_of, ratio_of
from trialwise.report.documents import compare as compare_words
from trialwise.report.render.latex import latex_file
from trialwise.report.render.markdown import markdown
from trialwise.wording.gate import sentence

MARGIN = Extent(3.0, relative=True)


def cells_of(metric, treatment, value, boot, trial, seconds):
    return (metric, treatment, float(value), "host", boot, boot, trial, trial, "1", "1.1", None, seconds)


def trial_set(name, cells, *, treatments=None, metrics=("time",), unit="s", boot="boot"):
    """A set from (metric, treatment) to its values."""
    rows = [
        cells_of(metric, treatment, value, boot, f"{name}{treatment}{i}", 2.0)
        for (metric, treatment), values in cells.items()
        for i, value in enumerate(values)
    ]
    known = treatments or {treatment: {} for _, treatment in cells}
    facts = {metric: MetricFacts(metric, unit, "lower") for metric in metrics}
    return TrialSet(name, facts, known, pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def draw(seed, mean, n=20, spread=1.0):
    return np.random.default_rng(seed).normal(mean, spread, n)


def test_the_three_words():
    a = trial_set(
        "A", {("time", "x"): draw(1, 100), ("time", "y"): draw(2, 100), ("time", "z"): draw(3, 100, 5, 20)}
    )
    b = trial_set(
        "B", {("time", "x"): draw(4, 120), ("time", "y"): draw(5, 100), ("time", "z"): draw(6, 100, 5, 20)}
    )
    found = compare(a, b, CompareOptions(margin=MARGIN))
    assert {row.treatment: row.verdict for row in found.rows} == {
        "x": "different",
        "y": "equivalent",
        "z": "undecided",
    }
    by_name = {row.treatment: row for row in found.rows}
    assert by_name["x"].direction == "worse"
    assert by_name["y"].more == 0
    assert by_name["z"].more > 0
    # A trial of either side takes 2 s.
    assert by_name["z"].more_seconds == pytest.approx(4.0 * by_name["z"].more)
    assert found.correction == "Holm over 3 differences"
    assert found.counts == {"different": 1, "equivalent": 1, "undecided": 1, "no inference": 0}


def test_one_trial_on_a_side_is_no_inference_and_the_rest_is_judged():
    a = trial_set("A", {("time", "x"): draw(1, 100), ("time", "y"): draw(2, 100)})
    b = trial_set("B", {("time", "x"): [100.0], ("time", "y"): draw(5, 100)})
    found = compare(a, b, CompareOptions(margin=MARGIN))
    one, other = found.rows
    assert (one.verdict, one.difference, one.more) == ("no inference", None, None)
    assert "20 and 1 trials" in one.reason
    assert one.summary.percent_difference_deviation == -100
    assert other.verdict == "equivalent"


def test_what_only_one_side_has_is_named():
    a = trial_set(
        "A",
        {("time", "x"): [1, 2], ("size", "x"): [1, 2], ("time", "y"): [1, 2], ("size", "y"): [1, 2]},
        metrics=("time", "size"),
    )
    b = trial_set(
        "B", {("time", "x"): [1, 2], ("time", "z"): [1, 2], ("size", "z"): [1, 2]}, metrics=("time", "size")
    )
    found = compare(a, b)
    assert {(one.kind, one.name, one.side) for one in found.one_sided} == {
        ("treatment", "y", "A"),
        ("treatment", "z", "B"),
        ("cell", "size of x", "A"),
    }
    assert [(row.treatment, row.metric.name) for row in found.rows] == [("x", "time")]


def test_mixed_units_are_not_compared():
    a = trial_set("A", {("time", "x"): draw(1, 100)}, unit="s")
    b = trial_set("B", {("time", "x"): draw(2, 100)}, unit="ms")
    (row,) = compare(a, b).rows
    assert row.verdict == "no inference"
    assert "one side is in s, the other in ms" in row.reason


def test_nothing_in_common_is_an_error():
    a = trial_set("A", {("time", "x"): [1, 2], ("time", "y"): [1, 2]})
    with pytest.raises(AnalysisError, match="no treatment in common"):
        compare(a, trial_set("B", {("time", "z"): [1, 2]}))
    with pytest.raises(AnalysisError, match="no metric in common"):
        compare(a, trial_set("B", {("size", "x"): [1, 2], ("size", "y"): [1, 2]}, metrics=("size",)))


def test_two_sides_of_one_treatment_each_belong_together():
    found = compare(
        trial_set("A", {("time", "old"): draw(1, 5)}), trial_set("B", {("time", "new"): draw(2, 9)})
    )
    assert found.rows[0].verdict == "different"


def test_treatments_match_by_levels_and_not_by_the_order_of_factors():
    a = trial_set("A", {("time", "f=1 g=2"): draw(1, 5)}, treatments={"f=1 g=2": {"f": 1, "g": 2}})
    b = trial_set(
        "B",
        {("time", "g=2 f=1"): draw(2, 9), ("time", "g=3 f=1"): draw(3, 9)},
        treatments={"g=2 f=1": {"g": 2, "f": 1}, "g=3 f=1": {"g": 3, "f": 1}},
    )
    found = compare(a, b)
    assert [row.treatment for row in found.rows] == ["f=1 g=2"]


def test_sides_are_cut_out_of_one_set():
    treatments = {
        f"scheme={s} queue={q}": {"scheme": s, "queue": q} for s in ("cubic", "bbr") for q in (10, 100)
    }
    cells = {("time", name): draw(i, 10 + 5 * ("bbr" in name)) for i, name in enumerate(treatments)}
    whole = trial_set("all", cells, treatments=treatments)
    found = compare(selected(whole, {"scheme": ["cubic"]}), selected(whole, {"scheme": ["bbr"]}))
    assert (found.a, found.b) == ("scheme=cubic", "scheme=bbr")
    assert {row.treatment: row.verdict for row in found.rows} == {
        "queue=10": "different",
        "queue=100": "different",
    }
    with pytest.raises(AnalysisError, match="scheme has no level 'reno'"):
        selected(whole, {"scheme": ["reno"]})
    with pytest.raises(AnalysisError, match="no factor 'shceme'"):
        selected(whole, {"shceme": ["reno"]})


def test_boots_that_both_sides_share_are_pairs():
    rng = np.random.default_rng(3)
    rows = {"A": [], "B": []}
    for boot in range(5):
        base = rng.normal(100, 20)
        for side, shift in (("A", 0.0), ("B", 2.0)):
            rows[side] += [
                cells_of("time", "x", base + shift + rng.normal(0, 0.1), f"b{boot}", f"{side}{boot}{i}", None)
                for i in range(4)
            ]
    a, b = (
        TrialSet(
            name, {"time": MetricFacts("time")}, {"x": {}}, pl.DataFrame(found, schema=SCHEMA, orient="row")
        )
        for name, found in rows.items()
    )
    (row,) = compare(a, b).rows
    assert (row.units.level, row.units.paired, row.difference.n) == ("boot", True, (5, 5))
    assert row.verdict == "different"
    assert row.more_seconds is None


@pytest.mark.parametrize("margin", [None, MARGIN])
def test_there_is_a_bill_only_where_a_margin_says_what_is_to_be_decided(margin):
    """Noise around two means that hardly differ: without a margin more trials would settle nothing that was asked."""
    a = trial_set("A", {("time", "x"): draw(3, 100, 5, 20)})
    b = trial_set("B", {("time", "x"): draw(6, 99.9, 5, 20)})
    (row,) = compare(a, b, CompareOptions(margin=margin)).rows
    assert row.verdict == "undecided"
    assert (row.more is None, row.more_seconds is None) == (margin is None, margin is None)
    assert "further trials" not in row.reason


@pytest.mark.parametrize(
    ("mean", "spread", "margin", "claim"),
    [
        (100.0, 1.0, MARGIN, "within the margin"),
        (120.0, 1.0, MARGIN, "beyond the margin"),
        (101.0, 0.1, None, "any difference"),
    ],
)
def test_a_p_value_names_the_claim_that_it_is_evidence_for(mean, spread, margin, claim):
    """By SciPy: the p-value beside a claim is that of Welch's test of its negation."""
    first, second = draw(1, 100, 20, spread), draw(2, mean, 20, spread)
    a, b = trial_set("A", {("time", "x"): first}), trial_set("B", {("time", "x"): second})
    (row,) = compare(a, b, CompareOptions(margin=margin)).rows
    assert row.claim == claim
    if margin is None:
        assert row.p_adjusted == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue)
    told = claim_p_of(row)
    assert told.startswith(claim.replace("the margin", "δ") + ": ")


def test_both_sides_are_named_where_they_hold_one_treatment_each():
    a = trial_set("./old 9", {("time", "-"): draw(3, 100, 5, 20)})
    b = trial_set("./new 9", {("time", "-"): draw(6, 100, 5, 20)})
    found = compare(a, b, CompareOptions(margin=MARGIN))
    assert sentence(found, gate_of(found)) == "undecided: time of ./new 9 against ./old 9"
    document = compare_words.document(found)
    for told in (
        piped(document),
        markdown(document),
        latex_file([compare_words.table_for_print(found)], "compare"),
    ):
        assert "./new 9 against ./old 9" in told.replace("\\", "")


def on(host, trials, **facts):
    """The trials of another host, with what is recorded of it."""
    record = {
        "machine": {"hostname": host, "load": [host], "boot_id": host},
        "processor": facts,
        "python": "3.11",
    }
    table = trials.table.with_columns(pl.lit(host).alias("host"), pl.lit(host).alias("boot"))
    return dataclasses.replace(trials, table=table, environments=(facts_of(record),))


def test_two_machines_are_described_where_inference_is_refused():
    """One host on each side: no interval and no p, but the ratio of the means, and what differs between the hosts."""
    base = on("hers", trial_set("A", {("time", "x"): [10.0, 12.0, 11.0]}), model="EPYC", cpus=2)
    head = on("mine", trial_set("B", {("time", "x"): [20.0, 24.0, 22.0]}), model="Xeon", cpus=2)
    found = compare(base, head, CompareOptions(margin=MARGIN))
    (row,) = found.rows
    assert (row.verdict, row.difference, row.p_adjusted) == ("no inference", None, None)
    assert [(one.name, one.rank, one.a, one.b) for one in found.environments] == [
        ("processor.model", 2, ("EPYC",), ("Xeon",)),
        ("machine.boot_id", 3, ("hers",), ("mine",)),
        ("machine.hostname", 11, ("hers",), ("mine",)),
    ]
    assert ratio_of(row) == "2 (these trials alone)"
    assert difference_of(row) == "11 (these trials alone)"
    document = compare_words.document(found)
    for told in (piped(document), markdown(document)):
        assert "2 (these trials alone)" in told.replace("\\", "")
        assert "processor.model: EPYC | Xeon" in told.replace("\\", "")
    document = comparison_document(found)
    first = document["environments"][0]
    assert (first["name"], first["a"], first["b"], first["known"]) == (
        "processor.model",
        ["EPYC"],
        ["Xeon"],
        True,
    )
    assert document["rows"][0]["summary"]["percent_difference"] == 100.0


def test_units_that_differ_are_not_described():
    base, head = (
        trial_set("A", {("time", "x"): [1.0, 2.0]}),
        trial_set("B", {("time", "x"): [1.0, 2.0]}, unit="ms"),
    )
    (row,) = compare(base, head).rows
    assert (ratio_of(row), difference_of(row), change_of(row)) == ("–", "–", "–")


def test_facts_of_a_hostile_environment_are_bounded():
    deep: object = "x"
    for _ in range(500):
        deep = {"a": deep}
    facts = facts_of(
        {"deep": deep, "long": "y" * 10**6, "many": {str(place): place for place in range(10**5)}}
    )
    assert len(facts) <= 2000
    assert max(map(len, facts.values())) <= 120
