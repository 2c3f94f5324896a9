"""Which factors matter: terms, simple effects, comparisons, parts, levels of inference, and what is wrong in the data."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from effects_data import normal, trial_set
from trialwise import statistics as st
from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
from trialwise.analysis.effects.paper import PaperOptions, paper_effects
from trialwise.analysis.effects.table import SampleSeries
from trialwise.analysis.effects.trials import factor_trials
from trialwise.analysis.trial_set import MetricFacts
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Extent
from trialwise.wording.effects import sentence

FLAVOURS = {"flavour": ["none", "log", "full"], "load": [1, 10]}


def analysed(trials, **options):
    return analyse_effects(factor_trials(trials), EffectsOptions(**options))


def only(found):
    (one,) = found.results
    return one


def slower_when_loaded(levels):
    return 8.0 if levels["flavour"] == "full" and levels["load"] == 10 else 0.0


def test_ordinary_terms_are_those_of_statsmodels():
    trials = trial_set(
        FLAVOURS, normal(1, slower_when_loaded), skip=lambda levels, trial: trial == levels["load"] % 4
    )
    found = only(analysed(trials, method="ordinary"))
    frame = pd.DataFrame(
        [
            {**trials.treatments[treatment], "delay": value}
            for treatment, value in zip(trials.table["treatment"], trials.table["value"], strict=True)
        ]
    )
    fitted = smf.ols("delay ~ C(flavour, Sum) * C(load, Sum)", frame).fit()
    table = anova_lm(fitted, typ=3)
    for term, name in zip(
        found.terms, ["C(flavour, Sum)", "C(load, Sum)", "C(flavour, Sum):C(load, Sum)"], strict=True
    ):
        assert term.f == pytest.approx(table["F"][name], rel=1e-9)
        assert term.p_value == pytest.approx(table["PR(>F)"][name], rel=1e-6)
        assert term.sum_sq == pytest.approx(table["sum_sq"][name], rel=1e-9)


def test_p_values_are_corrected_over_terms_metrics_and_parts():
    metrics = [MetricFacts("delay"), MetricFacts("loss")]
    trials = trial_set(FLAVOURS, normal(2), metrics=metrics)
    found = analysed(trials, by=("load",))
    p_values = [term.p_value for one in found.results for term in one.terms]
    assert len(p_values) == 4
    assert found.family == "Holm over all 4 metrics × parts × terms"
    smallest = min(p_values)
    adjusted = {term.p_value: term.p_adjusted for one in found.results for term in one.terms}
    assert adjusted[smallest] == pytest.approx(min(1, 4 * smallest))


def test_simple_effects_and_comparisons_follow_an_interaction():
    found = analysed(
        trial_set(FLAVOURS, normal(3, slower_when_loaded)), base={"flavour": "none"}, margin=Extent(3, True)
    )
    one = only(found)
    assert {term.term for term in one.terms if term.matters} == {"flavour", "load", "flavour:load"}
    by_load = {row.at["load"]: row for row in one.simple if row.factor == "flavour"}
    assert not by_load["1"].matters
    assert by_load["10"].matters
    words = {
        (row.level, row.at.get("load")): row.verdict for row in one.comparisons if row.factor == "flavour"
    }
    assert words["log", None] == "equivalent"
    assert words["full", "10"] == "different"
    assert words["full", "1"] == "equivalent"
    assert found.verdict == "factors matter"
    assert "flavour" in sentence(found)


def test_levels_are_averaged_equally_and_compared_as_two_samples():
    trials = trial_set(FLAVOURS, normal(4, slower_when_loaded))
    one = only(analysed(trials))
    row = next(
        row for row in one.comparisons if (row.factor, row.level, dict(row.at)) == ("flavour", "full", {})
    )
    sides = [
        np.mean(
            [trials.of("delay", f"flavour={flavour} load={load}")["value"].to_numpy() for load in (1, 10)],
            axis=0,
        )
        for flavour in ("none", "full")
    ]
    expected = st.difference(*sides)
    assert (row.difference, row.low, row.high) == pytest.approx(
        (expected.welch.estimate, expected.welch.low, expected.welch.high)
    )
    assert row.n == (5, 5)


def test_nothing_that_matters_is_shown_only_within_a_margin():
    trials = trial_set(FLAVOURS, normal(5), n=12)
    assert analysed(trials).verdict == "undecided"
    within = analysed(trials, margin=Extent(3, True))
    assert within.verdict == "no factor matters"
    assert {row.verdict for row in only(within).comparisons} == {"equivalent"}
    narrow = analysed(trials, margin=Extent(0.5, False))
    assert narrow.verdict == "undecided"
    assert any((row.more or 0) > 0 and row.more_seconds for row in only(narrow).comparisons)


def test_the_margin_of_the_experiment_is_used_and_another_overrides_it():
    trials = trial_set(FLAVOURS, normal(6), metrics=[MetricFacts("delay", margin=Extent(3, True))])
    assert analysed(trials).margins == {"delay": "3 %"}
    assert analysed(trials, margin=Extent(1, False)).margins == {"delay": "1"}
    both = {"margin": Extent(1, False), "margins": {"delay": Extent(2, True)}}
    assert analysed(trials, **both).margins == {"delay": "2 %"}


def test_where_boots_vary_each_gives_one_value_and_sides_are_paired():
    one = only(analysed(trial_set(FLAVOURS, normal(7, boot_spread=10), boots=4)))
    assert (one.level, one.n, one.n_trials) == ("boot", 24, 120)
    assert {cell.n for cell in one.cells} == {4}
    row = one.comparisons[0]
    assert row.paired
    assert row.n == (4, 4)
    # What boots have in common cancels out.
    assert row.high - row.low < 4


def test_one_boot_for_each_treatment_is_no_inference():
    trials = trial_set({"flavour": ["none", "full"]}, normal(8), boots=2, skip=lambda levels, trial: False)
    own = trials.table.filter(
        (trials.table["boot"] == "h/0") == (trials.table["treatment"] == "flavour=none")
    )
    one = only(analysed(type(trials)(trials.name, trials.metrics, trials.treatments, own)))
    assert one.verdict == "no inference"
    assert one.refusal == "each treatment ran in one boot; repeat every treatment in at least two boots"


def test_one_trial_of_each_treatment_is_no_inference():
    found = analysed(trial_set(FLAVOURS, normal(9), n=1))
    assert only(found).refusal.startswith("each treatment ran in one trial; repeat")
    assert found.verdict == "undecided"
    assert sentence(found).startswith("No inference")


@pytest.mark.parametrize(("method", "n"), [("welch", 30), ("ordinary", 31), ("freedman_lane", 31)])
def test_a_treatment_with_one_trial_is_named_and_the_rest_is_computed(method, n):
    def single(levels, trial):
        return levels == {"flavour": "full", "load": 10} and trial > 0

    one = only(analysed(trial_set(FLAVOURS, normal(10), n=6, skip=single), method=method, permutations=99))
    terms = {term.term: term for term in one.terms}
    assert not one.refusal
    assert terms["flavour"].f > 0
    if method == "welch":
        assert "flavour=full load=10, which shows no spread" in one.notes[0]
        assert any("no trial at flavour=full, load=10" in note for note in one.notes)
    assert one.n == n
    reasons = {row.reason for row in one.comparisons if row.verdict == "no inference"}
    assert all("trials" in reason or "two" in reason for reason in reasons)


def test_empty_cells_are_named():
    def missing(levels, trial):
        return levels == {"flavour": "full", "load": 10}

    one = only(analysed(trial_set(FLAVOURS, normal(11), skip=missing)))
    interaction = one.terms[-1]
    assert not math.isnan(interaction.f)
    assert any("flavour:load: no trial at flavour=full, load=10" in note for note in one.notes)
    refused = [row for row in one.comparisons if row.verdict == "no inference"]
    assert {row.factor for row in refused} == {"flavour", "load"}
    assert "did not run at every level" in refused[0].reason


def average_by_hand(cells_a, cells_b, level=0.95):
    """Difference of means of cells' means, its bounds and degrees of freedom (Welch 1947, Satterthwaite 1946)."""
    cells = [(-1 / len(cells_a), cell) for cell in cells_a] + [(1 / len(cells_b), cell) for cell in cells_b]
    shares = [weight**2 * np.var(cell, ddof=1) / len(cell) for weight, cell in cells]
    df = sum(shares) ** 2 / sum(
        share**2 / (len(cell) - 1) for share, (_, cell) in zip(shares, cells, strict=True)
    )
    estimate = sum(weight * np.mean(cell) for weight, cell in cells)
    reach = stats.t.ppf((1 + level) / 2, df) * sum(shares) ** 0.5
    return estimate, estimate - reach, estimate + reach, df


def cells_of(trials, factor, level):
    table = trials.table.with_columns(
        pl.col("treatment").str.contains(f"{factor}={level}( |$)").alias("side")
    ).filter("side")
    return [part["value"].to_numpy() for part in table.partition_by("treatment", maintain_order=True)]


@pytest.mark.parametrize(
    "counts",
    [
        {("none", 1): 4},
        {("none", 1): 2, ("none", 10): 10, ("full", 1): 7},
        {("none", 10): 3, ("full", 10): 3},
        {("full", 1): 2, ("full", 10): 2, ("none", 10): 9},
    ],
)
def test_averages_take_unequal_numbers_of_trials(counts):
    trials = trial_set(
        FLAVOURS,
        normal(12),
        n=10,
        skip=lambda levels, trial: trial >= counts.get((levels["flavour"], levels["load"]), 10),
    )
    one = only(analysed(trials, base={"flavour": "none"}, margin=Extent(1.0, False)))
    by_name = {(row.factor, row.level): row for row in one.comparisons if not row.at}
    row = by_name["flavour", "full"]
    a, b = cells_of(trials, "flavour", "none"), cells_of(trials, "flavour", "full")
    expected = average_by_hand(a, b)
    assert (row.difference, row.low, row.high, row.df) == pytest.approx(expected)
    assert row.n == (min(map(len, a)), min(map(len, b)))
    assert row.uneven
    assert row.method.startswith("Welch of averages")
    _, low, high, _ = average_by_hand(a, b, 0.9)
    assert (row.p_equivalent <= 0.05) == (low > -1 and high < 1)


def test_one_missing_trial_leaves_the_verdicts_of_averages():
    """41 of 42 trials say what 42 said, and the levels without a missing trial are judged as they were."""
    missing = only(
        analysed(
            trial_set(
                FLAVOURS,
                normal(12),
                n=7,
                skip=lambda levels, trial: trial == 6 and levels == {"flavour": "full", "load": 10},
            ),
            margin=Extent(3.0, False),
        )
    )
    whole = only(analysed(trial_set(FLAVOURS, normal(12), n=7), margin=Extent(3.0, False)))
    assert [row.verdict for row in missing.comparisons] == [row.verdict for row in whole.comparisons]
    assert [row.uneven for row in missing.comparisons] == [
        row.level in {"full", "10"} for row in missing.comparisons
    ]
    assert not any(row.uneven for row in whole.comparisons)


def test_an_average_over_a_treatment_with_one_trial_names_it():
    found = analysed(
        trial_set(
            FLAVOURS,
            normal(12),
            skip=lambda levels, trial: trial > 0 and levels == {"flavour": "full", "load": 10},
        ),
        method="ordinary",
    )
    refused = [row.reason for row in only(found).comparisons if row.verdict == "no inference"]
    assert refused
    assert all(
        "flavour=full" in reason and "load=10" in reason and "two trials or more of each" in reason
        for reason in refused
    )


def test_constant_metrics_and_factors_with_one_level():
    metrics = [MetricFacts("delay"), MetricFacts("errors")]
    noise = normal(13)
    trials = trial_set(
        {"flavour": ["none", "full"], "kernel": ["6.1"]},
        lambda levels, boot, trial, metric: 3 if metric == "errors" else noise(levels, boot, trial, metric),
        metrics=metrics,
    )
    found = analysed(trials)
    assert "kernel is 6.1 in all trials" in found.notes[0]
    delay, errors = found.results
    assert delay.factors == ("flavour",)
    assert errors.refusal == "all 10 values of errors are 3: there is nothing to explain"
    with pytest.raises(AnalysisError, match="no factor has two levels"):
        analysed(trial_set({"kernel": ["6.1"]}, normal(14)))


def test_five_factors_are_refused_with_a_way_out():
    names = {name: ["a", "b"] for name in "vwxyz"}
    one = only(analysed(trial_set(names, normal(15), n=2)))
    assert "hold some with --by" in one.refusal
    held = analysed(trial_set(names, normal(15), n=2), by=("z",))
    assert [dict(one.part) for one in held.results] == [{"z": "a"}, {"z": "b"}]
    assert not any(one.refusal for one in held.results)


def test_wrong_names():
    trials = trial_set(FLAVOURS, normal(16))
    for options, words in [
        ({"by": ("rate",)}, "no factor 'rate'"),
        ({"by": ("flavour", "load")}, "none is left"),
        ({"base": {"rate": "1"}}, "no factor 'rate'"),
        ({"base": {"load": "7"}}, "load has no level '7'"),
    ]:
        with pytest.raises(AnalysisError, match=words):
            analysed(trials, **options)


def test_levels_are_numbers_in_order_or_as_the_experiment_has_them():
    trials = trial_set({"load": [100, 9, 20], "flavour": ["none", "full"]}, normal(17))
    given = factor_trials(trials, {"flavour": ["full", "none"]})
    assert given.levels == {"load": ("9", "20", "100"), "flavour": ("full", "none")}
    assert analyse_effects(given).base == {"load": "9", "flavour": "full"}


def series_of(trials, samples):
    return [
        SampleSeries(metric, treatment, trial, samples(place))
        for place, (metric, treatment, trial) in enumerate(
            trials.table.select("metric", "treatment", "trial").iter_rows()
        )
    ]


def test_the_papers_procedure_step_by_step():
    trials = trial_set(FLAVOURS, normal(18), n=1)
    generator = np.random.default_rng(19)
    skewed = [generator.lognormal(0.1 * place, 1, 300) for place in range(6)]
    series = series_of(trials, lambda place: skewed[place])
    (one,) = paper_effects(factor_trials(trials), series, PaperOptions(permutations=199, seed=3)).results
    assert (one.n, one.n_trials, len(one.turns), one.normal) == (1800, 6, 6, False)
    by_hand = {
        "y": np.concatenate(skewed),
        "flavour": np.repeat(["none", "none", "log", "log", "full", "full"], 300),
        "load": np.repeat(["1", "10"] * 3, 300),
    }
    expected = st.anova(by_hand, "y", ["flavour", "load"], method="raw_permutation", permutations=199, seed=3)
    assert [row.f for row in one.terms] == pytest.approx([row.f for row in expected.rows])
    assert [row.p_value for row in one.terms] == [row.p_value for row in expected.rows]
    assert one.turns[0].p_value == st.turning_points(skewed[0]).p_value
    assert (
        one.breusch_pagan_p
        == st.assumptions(by_hand, "y", ["flavour", "load"]).breusch_pagan_original.p_value
    )
    tukey = st.posthoc(by_hand, "y", ["flavour", "load"], method="tukey")
    assert [pair.p_value for pair in one.pairs] == pytest.approx([row.p_value for row in tukey.rows])


def test_resampling_warns_and_normal_samples_are_not_permuted():
    trials = trial_set({"flavour": ["none", "full"]}, normal(20), n=1)
    generator = np.random.default_rng(21)
    samples = [generator.normal(size=100) for _ in range(2)]
    series = series_of(trials, lambda place: samples[place])
    plain = paper_effects(factor_trials(trials), series, PaperOptions())
    drawn = paper_effects(factor_trials(trials), series, PaperOptions(resample=True))
    assert plain.warning == ""
    assert drawn.warning == st.RESAMPLING_WARNING
    assert plain.results[0].permutations is None
    assert plain.results[0].terms[0].f != drawn.results[0].terms[0].f
    assert plain.verdict == "undecided"


def test_trials_with_one_value_are_the_series_of_their_treatment():
    trials = trial_set({"flavour": ["none", "full"]}, normal(22), n=20)
    values = trials.table["value"].to_numpy()
    found = paper_effects(
        factor_trials(trials), series_of(trials, lambda place: values[place : place + 1]), PaperOptions()
    )
    assert [turn.n for turn in found.results[0].turns] == [20, 20]
    assert found.worth.startswith("Each trial has one value here")


def test_processes_that_hold_one_treatment_each_are_the_units_and_are_averaged_over_the_other_factors():
    (one,) = analysed(trial_set(FLAVOURS, normal(21), n=30, in_process=5)).results
    assert (one.level, one.n_trials) == ("process", one.n * 5)
    averaged = [row for row in one.comparisons if not row.at]
    assert averaged
    assert all(row.n == (6, 6) for row in averaged)


def test_one_process_of_each_treatment_is_no_inference():
    (one,) = analysed(trial_set(FLAVOURS, normal(22), n=5, in_process=5)).results
    assert one.refusal.startswith(
        "each treatment ran in one process; repeat every treatment in at least two processes"
    )
    assert "more series" in one.refusal


def test_a_treatment_of_which_one_trial_makes_most_of_the_variance_is_named():
    def with_one_far_off(levels, boot, trial, metric):
        far = levels["flavour"] == "full" and levels["load"] == 10 and trial == 0
        return 60.0 if far else 10 + trial / 20

    found = only(analysed(trial_set(FLAVOURS, with_one_far_off, n=40)))
    assert [note for note in found.notes if "variance" in note] == [
        (
            "delay of flavour=full load=10: the largest trial makes 97 % of the variance (skewness 6.0): "
            "intervals and tests of the mean may be wrong more often than they say"
        )
    ]


def test_the_interval_of_a_mean_of_two_numbers_is_no_narrower_than_the_exact_one():
    def rare(levels, boot, trial, metric):
        return float(trial < (1 if levels["flavour"] == "log" else 5))

    found = only(analysed(trial_set(FLAVOURS, rare, n=20)))
    (cell, *_) = [cell for cell in found.cells if cell.levels == ("log", "1")]
    exact = stats.binomtest(1, 20).proportion_ci(0.95, method="exact")
    assert cell.low <= exact.low
    assert cell.high >= exact.high


def test_the_answer_names_what_matters_where_no_level_can_be_judged_by_the_margin():
    trials = trial_set(
        FLAVOURS,
        normal(5, lambda levels: 8.0 if levels["flavour"] == "full" else 0.0),
        skip=lambda levels, trial: levels["load"] == 10 and levels["flavour"] != "none",
    )
    found = analysed(trials, base={"flavour": "none"}, margin=Extent(3, True))
    assert {row.verdict for row in only(found).comparisons} == {"no inference"}
    assert "flavour" in [term.term for term in only(found).terms if term.matters]
    assert found.verdict == "undecided"
    assert "flavour matters, but no level can be judged by the margin" in sentence(found)
    assert "no factor" not in sentence(found)
    assert "would let" not in sentence(found)


def test_the_base_that_nobody_chose_is_named_with_how_to_choose():
    trials = trial_set(FLAVOURS, normal(4))
    chosen = analysed(trials, base={"flavour": "log"})
    assert [note for note in chosen.notes if "--base" in note] == [
        "compared with the first level of each factor, load=1; --base FACTOR=LEVEL chooses another"
    ]
    assert not any("--base" in note for note in analysed(trials, base={"flavour": "log", "load": "10"}).notes)
