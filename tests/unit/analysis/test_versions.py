"""Two versions in turns: what the looks ask for, what a gate lets pass, and how often both are wrong."""

from pathlib import Path

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.analysis.versions.gate import judged_outcome, together
from trialwise.analysis.versions.looks import AbPlan, PilotThenFresh
from trialwise.experiment.ab_experiment import (
    margin_of,
    metric_of,
    switch_command,
    two_versions,
    worktree_command,
)
from trialwise.experiment.model import Extent, Metric
from trialwise.experiment.placeholders import fill
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.sources import ResourceSource
from trialwise.experiment.writing import write_experiment
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow

TIME = Metric("time", ResourceSource("wall"), better="lower")
MARGIN = Extent(3.0, relative=True)
PLAN = AbPlan(pilot=20, most=1000, confidence=95.0, margin=MARGIN)


def row(version, round_, *, warmup=False):
    return TrialRow(
        number=1, attempt=1, treatment=f"version={version}", factors={"version": version}, series=1,
        round=round_, position=1, order="random", seed=1, warmup=warmup, planned_start=None, status="finished",
    )  # fmt: skip


def run(looks, base, head):
    """Feed rounds until the rule stops; why, and how many ran."""
    for number, values in enumerate(zip(base, head, strict=True), 1):
        if reason := looks.reason_to_stop():
            return reason, number - 1
        for version, value in zip(("base", "head"), values, strict=True):
            looks.add(row(version, number), {"resource:wall": Samples(np.array([value]))})
    return looks.reason_to_stop(), len(base)


def values(seed, mean, n=1000, spread=3.0):
    return np.random.default_rng(seed).normal(mean, spread, n)


@pytest.mark.parametrize("head", [80, 120])
def test_a_large_difference_is_decided_by_the_pilot(head):
    looks = PilotThenFresh([TIME], PLAN)
    assert run(looks, values(1, 100), values(2, head)) == (
        "the pilot of 20 trials of each version decides",
        20,
    )


def test_what_the_pilot_leaves_open_takes_the_fresh_trials_that_it_asks_for():
    looks = PilotThenFresh([TIME], PLAN)
    base, head = values(1, 100, spread=6.0), values(2, 102, spread=6.0)
    reason, rounds = run(looks, base, head)
    pilot = st.difference(base[:20], head[:20], confidence=97.5, margin=3, relative=True)
    assert (looks.fresh, rounds) == (pilot.trials_needed, 20 + pilot.trials_needed)
    assert reason == f"all {rounds} trials of each version have run"


def test_a_number_that_was_set_before_has_no_look():
    looks = PilotThenFresh([TIME], AbPlan(20, 1000, 95.0, MARGIN, fixed=30))
    assert run(looks, values(1, 100), values(2, 200)) == ("all 30 trials of each version have run", 30)


def test_warm_ups_do_not_count():
    looks = PilotThenFresh([TIME], PLAN)
    for number in range(1, 41):
        for version in ("base", "head"):
            looks.add(row(version, number, warmup=True), {"resource:wall": Samples(np.array([1.0]))})
    assert looks.reason_to_stop() is None
    assert not looks.looked


def test_a_version_that_always_fails_ends_it():
    looks = PilotThenFresh([TIME], PLAN)
    for number in range(1, 4):
        looks.add(row("base", number), {"resource:wall": Samples(np.array([1.0]))})
        looks.add(row("head", number), None)
    assert looks.reason_to_stop() == "every trial of head failed"


@pytest.mark.parametrize(
    ("head", "better", "outcome"),
    [
        (120, "lower", "worse"),
        (120, "higher", "fine"),
        (80, "lower", "fine"),
        (80, "higher", "worse"),
        (80, None, "worse"),
        (100, "lower", "fine"),
        (97.2, "lower", "fine"),  # not worse, whether it is better by the margin or not
        (97.2, "higher", "undecided"),
        (102.8, "lower", "undecided"),
    ],
)
def test_what_may_pass(head, better, outcome):
    noise = values(5, 0, n=30, spread=1.0)
    found = st.difference(100 + noise, head + noise[::-1], margin=3, relative=True)
    assert judged_outcome(found.verdict, found, better) == outcome


def test_one_worse_metric_fails_all():
    assert together(["fine", "undecided", "worse"]) == "worse"
    assert together(["fine", "undecided"]) == "undecided"
    assert together(["fine", "fine"]) == "fine"
    assert together([]) == "undecided"


# The experiment


@pytest.mark.parametrize(
    ("base", "head"),
    [("sleep 1", "./prog --x=1"), ("a=1 sleep 1", "cd x && ./y"), ("awk '{print $1}' f", "echo ${HOME}")],
)
def test_commands_are_run_as_they_are_written(base, head):
    experiment = two_versions(
        "ab", Path("/nowhere"), worktree_command("x", ""), [TIME], rounds=5, warmup=1, seed=1
    )
    words = switch_command(base, head)
    for version in ("base", "head"):
        text = fill(words[2], {"version": version})
        assert f"case {version} in" in text
        assert base in text
        assert head in text
    assert parse_experiment(write_experiment(experiment), Path("/nowhere/e.toml")).design.rounds == 5


@pytest.mark.parametrize(
    ("text", "key", "better"),
    [
        ("time=wall", "resource:wall", "lower"),
        (r"rate:higher=stdout:rate (\d+)", r"stdout|pattern:rate (\d+)", "higher"),
        ("p99:lower=json:/latency/p99", "stdout|json:/latency/p99", "lower"),
        ("v:lower=csv:value", "stdout|csv:value", "lower"),
    ],
)
def test_metrics(text, key, better):
    found = metric_of(text)
    assert (found.source.key, found.better) == (key, better)


@pytest.mark.parametrize("text", ["wall", "x=", "x=speed", "x=stdout:", "x=json:/a", "1=wall"])
def test_metrics_that_are_none(text):
    with pytest.raises(ValueError, match=r"."):
        metric_of(text)


def test_margins():
    assert margin_of("3%") == Extent(3.0, relative=True)
    assert margin_of("0.25") == Extent(0.25, relative=False)
    for text in ("", "0", "-1%", "x", "inf"):
        with pytest.raises(ValueError, match="expected a percentage"):
            margin_of(text)


# Error rates


@pytest.mark.operating
@pytest.mark.parametrize("repetitions", [150, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("true", [100.0, 103.0])
def test_both_looks_together_keep_the_level(true, repetitions):
    """At no change, head is called worse; at a change of the margin, it is let pass: each in at most 5 of 100."""
    wrong = 0
    for seed in range(repetitions):
        base, head = values([seed, 1], 100, 300), values([seed, 2], true, 300)
        looks = PilotThenFresh([TIME], AbPlan(10, 300, 95.0, MARGIN))
        _, rounds = run(looks, base, head)
        outcomes = []
        for first, last in ((0, 10), (10, rounds)):
            if last - first >= 2:
                found = st.difference(
                    base[first:last], head[first:last], confidence=97.5, margin=3, relative=True
                )
                outcomes.append(judged_outcome(found.verdict, found, "lower"))
        wrong += ("worse" if true == 100.0 else "fine") in outcomes
    assert wrong / repetitions <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / repetitions)


# Several versions


def test_three_versions_run_until_each_is_decided_by_both_differences_together():
    plan = AbPlan(20, 1000, 95.0, MARGIN, versions=("base", "v2", "v3"))
    looks = PilotThenFresh([TIME], plan)
    drawn = {"base": values(1, 100), "v2": values(2, 80), "v3": values(3, 104)}
    for number in range(1, 21):
        for version, series in drawn.items():
            looks.add(row(version, number), {"resource:wall": Samples(np.array([series[number - 1]]))})
    assert looks.reason_to_stop() is None
    alone = st.difference(drawn["base"][:20], drawn["v3"][:20], confidence=97.5, margin=3, relative=True)
    # Of two differences, one is judged at half the error, so that more trials are needed than for it alone.
    assert alone.trials_needed < looks.fresh < 2 * alone.trials_needed
    assert looks.wanted() == min(20 + looks.fresh, 1000)
