"""Ranks, the Pareto set and the plane of one side: the library's, at the level of inference."""

import numpy as np
import polars as pl
import pytest

from comparison_data import SCHEMES, pantheon
from trialwise import statistics as st
from trialwise.analysis.comparison.ranking import rank, trials_of
from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.trials_table import TrialColumns
from trialwise.numbers import about

UP, ACROSS = "pantheon_throughput", "pantheon_delay"


@pytest.fixture(scope="module")
def side(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rank") / "p"
    return pantheon(folder, 12, 1), read_trials(folder)


def values(perf, key):
    return {f"scheme={name}": [run["all"][key] for run in runs.values()] for name, runs in perf.items()}


def test_ranks_are_those_of_the_library(side):
    perf, trials = side
    found = {one.metric: one for one in rank(trials).metrics}
    for metric, key, better in ((UP, "tput", "higher"), (ACROSS, "delay", "lower")):
        wanted = st.rank_sets(values(perf, key), better=better)
        assert {place.treatment: (place.best, place.worst) for place in found[metric].treatments} == dict(
            wanted
        )
        assert {place.treatment for place in found[metric].treatments if place.may_be_best} == wanted.best
        assert found[metric].level == "trial"


def test_the_pareto_set_is_that_of_the_library_over_all_ranked_metrics(side):
    perf, trials = side
    throughput, delay, loss = (values(perf, key) for key in ("tput", "delay", "loss"))
    groups = {
        name: {UP: throughput[name], ACROSS: delay[name], "pantheon_loss": loss[name]} for name in throughput
    }
    wanted = st.pareto_set(groups, {UP: "higher", ACROSS: "lower", "pantheon_loss": "lower"})
    found = rank(trials).pareto
    assert set(found.members) == set(wanted)
    assert found.excluded == wanted.excluded_by


def test_the_plane_has_both_means_with_intervals_that_hold_together(side):
    perf, trials = side
    plane = rank(trials).plane
    assert (plane.delay.name, plane.throughput.name) == (ACROSS, UP)
    points = {point.treatment: point for point in plane.points}
    assert len(points) == len(SCHEMES)
    wanted = st.mean_interval(values(perf, "delay")["scheme=bbr"], confidence=97.5)
    assert points["scheme=bbr"].delay == wanted
    shown = trials_of(trials, plane)["scheme=bbr"]
    assert [pair[0] for pair in shown] == values(perf, "delay")["scheme=bbr"]
    assert [pair[1] for pair in shown] == values(perf, "tput")["scheme=bbr"]


def test_more_trials_in_a_process_make_no_rank_surer(tmp_path):
    rng = np.random.default_rng(3)
    rows = ["process,scheme,value"]
    for scheme, mean in (("a", 10.0), ("b", 10.4)):
        for process in range(4):
            middle = rng.normal(mean, 1.0)
            rows += [f"{scheme}{process},{scheme},{middle + rng.normal(0, 0.01)}" for _ in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    trials = read_trials(tmp_path / "t.csv", TrialColumns(groups=("scheme",)))
    from trialwise.cli.comparison_options import told

    found = rank(*told([trials], ["lower"], [])).metrics[0]
    assert found.level == "process"
    assert [(place.n, place.best, place.worst) for place in found.treatments] == [(4, 1, 2), (4, 1, 2)]


def test_what_cannot_be_ranked_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("scheme,value,size\na,1,1\na,2,1\nb,1,1\nc,3,1\nc,5,1\n")
    from trialwise.cli.comparison_options import told

    trials = read_trials(tmp_path / "t.csv", TrialColumns(values=("value", "size"), groups=("scheme",)))
    found = rank(*told([trials], ["value=lower"], []))
    assert found.notes == ("size does not say which way is better: not ranked",)
    assert found.metrics[0].notes == ("one trial only, not ranked: scheme=b",)
    assert found.pareto is None


def on_shared_flows(rounds, treatments=("a", "b", "c"), lost=()):
    """Simulated trials by two metrics; those of one round have one name. `lost` are (treatment, round) without a value."""
    rng = np.random.default_rng(4)
    rows = []
    for turn in range(rounds):
        workload = rng.normal(0, 3, 2)
        for at, name in enumerate(treatments):
            if (name, turn) not in lost:
                unit = f"x/flows 1/{turn}"
                values = 10 + at + workload + rng.normal(0, 0.5, 2)
                rows += [
                    (metric, name, value, "", "", "", unit, unit, "1", str(turn), None, 1.0)
                    for metric, value in zip(("fct", "queue"), values, strict=True)
                ]
    return TrialSet(
        "x",
        {name: MetricFacts(name, better="lower") for name in ("fct", "queue")},
        {name: {"scheme": name} for name in treatments},
        pl.DataFrame(rows, schema=SCHEMA, orient="row"),
    )


def test_trials_that_met_the_same_flows_are_ranked_and_put_on_the_front_in_pairs():
    trials = on_shared_flows(20)
    groups = {
        name: {metric: trials.of(metric, name)["value"].to_list() for metric in trials.metrics}
        for name in trials.treatments
    }
    found = rank(trials)
    wanted = st.pareto_set(groups, {"fct": "lower", "queue": "lower"}, paired=True)
    assert set(found.pareto.members) == set(wanted) == {"a"}
    assert found.pareto.excluded == wanted.excluded_by
    assert "paired differences" in found.pareto.method
    gains = [
        st.pairing_gain(groups[a]["fct"], groups[b]["fct"]).gain
        for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
    ]
    assert found.metrics[0].notes == (
        f"pairs: the variance of differences is smaller than unpaired by the factor {about(min(gains))} to {about(max(gains))}",
    )


def test_a_round_that_lost_a_trial_is_left_out_and_the_others_stay_pairs():
    found = rank(on_shared_flows(20, lost={("b", 3), ("c", 5)}))
    said = "18 of 20 rounds have all treatments; the others are left out"
    assert [place.n for place in found.metrics[0].treatments] == [18, 18, 18]
    assert found.metrics[0].notes[0] == said
    assert "paired" in found.metrics[0].method
    assert found.pareto.notes == (said,)
    assert set(found.pareto.n.values()) == {18}
