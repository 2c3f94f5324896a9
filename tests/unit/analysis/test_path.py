"""The analysis of path trials against packets made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import quantile_test

from path_directory import LATE, analyse_paths, drawn, steady, write_paths
from trialwise.analysis.path.analysing import convergence_time, pooled, typical
from trialwise.analysis.path.packets import Course, TrialNumbers, bin_width, flow_series, trial_numbers
from trialwise.analysis.path.results import PathAnalysis, PathFacts, PathScheme
from trialwise.analysis.results import Analysis
from trialwise.experiment.trials import PathFlow
from trialwise.measurement.packets import joined


def path_of(analysis: Analysis) -> PathAnalysis:
    assert analysis.path is not None
    return analysis.path


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two schemes on two paths, two flows, a KPI on each metric; trial 3 is not valid."""
    folder = tmp_path_factory.mktemp("asked") / "results"
    return analyse_paths(write_paths(folder, rates=("12Mbit/s", "24Mbit/s"), flows=2, invalid=(3,)))


def medians_of(tmp_path: Path, rounds: int) -> Analysis:
    return analyse_paths(write_paths(tmp_path / "results", rounds=rounds, kpi=False))


# One trial


def test_the_flows_of_a_trial_are_measured_over_their_own_time() -> None:
    packets = joined([steady(0.01, 0.03), steady(0.01, 0.05, start=1.0, flow=2, lost=20)])
    flows = [PathFlow("a"), PathFlow("b", start=1.0)]
    found = trial_numbers(packets, Course(flows, warmup=0.0, ended=2.0))
    assert found.flows[0].throughput == pytest.approx(1.2)
    assert found.flows[1].throughput == pytest.approx(1.2 * 0.8)
    assert [flow.delay for flow in found.flows] == pytest.approx([30, 50])
    assert [flow.loss for flow in found.flows] == pytest.approx([0, 20])
    assert found.together.throughput == pytest.approx((200 + 80) * 1500 * 8e-6 / 2)
    assert found.together.loss == pytest.approx(100 * 20 / 300)
    assert found.fairness == pytest.approx(1.8**2 / (2 * (1 + 0.8**2)))
    assert found.packets == 280


def test_the_start_that_is_cut_does_not_count() -> None:
    packets = joined([steady(0.01, 0.5, stop=1.0, lost=50), steady(0.01, 0.03, start=1.0)])
    found = trial_numbers(packets, Course([PathFlow("a")], warmup=1.0, ended=2.0)).flows[0]
    assert (found.throughput, found.delay, found.loss) == pytest.approx((1.2, 30, 0))


def test_a_flow_that_ended_before_the_cut_says_nothing() -> None:
    flows = [PathFlow("a"), PathFlow("b", stop=0.5)]
    found = trial_numbers(steady(0.01, 0.03), Course(flows, warmup=1.0, ended=2.0))
    assert np.isnan(found.flows[1].throughput)
    assert found.flows[0].throughput == pytest.approx(1.2)


def test_flows_that_do_not_run_have_no_results() -> None:
    flows = [PathFlow("none"), PathFlow("b"), PathFlow("none"), PathFlow("d", direction="downlink")]
    back = steady(0.02, 0.03, flow=4)
    back.direction[:] = 1
    packets = joined([steady(0.01, 0.03, flow=2), back])
    found = trial_numbers(packets, Course(flows, warmup=0.0, ended=2.0))
    assert [flow.throughput for flow in found.flows] == pytest.approx([1.2, 0.6])
    assert [flow.share for flow in found.flows] == [1, 1]  # each is alone in its direction
    assert found.fairness == pytest.approx(1.8**2 / (2 * (1.2**2 + 0.6**2)))


def test_the_share_counts_after_the_cut_and_the_convergence_from_the_last_start() -> None:
    first = [steady(0.02, 0.03, stop=6), steady(0.01, 0.03, start=6, stop=12)]
    packets = joined([*first, steady(0.01, 0.03, start=1, stop=12, flow=2)])
    flows = [PathFlow("a"), PathFlow("b", start=1.0)]
    found = trial_numbers(packets, Course(flows, warmup=6.0, ended=12.0))
    assert [flow.share for flow in found.flows] == pytest.approx([1, 1])
    assert [flow.convergence for flow in found.flows] == [
        5,
        5,
    ]  # before 6 s one has twice as much as the other


def test_times_of_trials_that_did_not_converge_are_longer_than_any() -> None:
    inf, nan = np.inf, np.nan
    most = convergence_time([3, 1, 2, 4, 5, inf, nan])
    assert most is not None
    assert (most.n, most.converged, most.median, most.low, most.high) == (6, 5, 3.5, 1, None)
    even = convergence_time([3, inf])
    assert even is not None
    assert (even.n, even.converged, even.median) == (2, 1, None)
    never = convergence_time([inf] * 8)
    assert never is not None
    assert (never.n, never.converged, never.median, never.low, never.high) == (8, 0, None, None, None)
    assert convergence_time([nan]) is None


def test_bins_hold_what_arrived_in_them_and_gaps_are_no_numbers() -> None:
    packets = joined([steady(0.01, 0.03, stop=0.5), steady(0.01, 0.06, start=1.0, stop=2.0)])
    found = flow_series(packets, 1, PathFlow("a"), 2.0)
    assert found.throughput == pytest.approx([1.2] * 5 + [0] * 5 + [1.2] * 10)
    assert found.delay_median[:5] == pytest.approx([30] * 5)
    assert np.isnan(found.delay_low[5:10]).all()
    assert found.delay_high[10:] == pytest.approx([60] * 10)


@pytest.mark.parametrize(
    ("runtime", "width"), [(3, 0.1), (15, 0.1), (30, 0.2), (60, 0.5), (3600, 30.0), (1e6, 1e6 / 150)]
)
def test_a_trial_has_150_bins_at_most(runtime: float, width: float) -> None:
    assert bin_width(runtime) == width
    assert runtime / width <= 150 + 1e-9


# The plane


def test_the_region_of_kpis_is_the_quadrant_that_they_bound(asked: Analysis) -> None:
    path = path_of(asked)
    assert [plane.factors for plane in path.planes] == [{"rate": "12Mbit/s"}, {"rate": "24Mbit/s"}]
    assert [plane.names for plane in path.planes] == [("cubic", "bbr")] * 2
    known = {found.metric.name: found for found in asked.metrics}
    for region in (region for plane in path.planes for region in plane.regions):
        throughput, delay = (
            next(kpi for kpi in known[name].kpis if kpi.treatment == region.treatment)
            for name in ("throughput", "delay")
        )
        assert region.kind == "kpi"
        assert region.throughput is not None
        assert region.delay is not None
        assert throughput.result is not None
        assert delay.result is not None
        assert (region.throughput.low, region.throughput.high) == (throughput.result.value, None)
        assert (region.delay.low, region.delay.high) == (None, delay.result.value)
        assert region.joint == 50
        assert region.descriptive == (throughput.descriptive or delay.descriptive)


def test_without_kpis_it_is_the_rectangle_of_the_medians(tmp_path: Path) -> None:
    analysis = medians_of(tmp_path, 9)
    known = {found.metric.name: found for found in analysis.metrics}
    region = path_of(analysis).planes[0].regions[0]
    for name, side in (("throughput", region.throughput), ("delay", region.delay)):
        values = [trial.value for trial in known[name].trials if trial.treatment == region.treatment]
        reference = quantile_test(values, p=0.5).confidence_interval(0.975)
        assert side is not None
        assert (side.low, side.high) == pytest.approx((reference.low, reference.high))
        assert side.point == pytest.approx(np.median(values))
    assert (region.joint, region.n) == (95, 9)
    assert "Bonferroni" in region.method


def test_with_too_few_trials_there_is_no_region_and_it_says_what_lifts_that(tmp_path: Path) -> None:
    region = path_of(medians_of(tmp_path, 6)).planes[0].regions[0]
    assert (region.delay, region.throughput, region.joint) == (None, None, None)
    assert (region.n, region.needed) == (6, 7)
    assert "needs 7 trials; there are 6" in (region.note or "")


def test_a_trial_that_is_not_valid_is_seen_and_counts_nowhere(asked: Analysis) -> None:
    path = path_of(asked)
    shown = [trial for plane in path.planes for trial in plane.trials if trial.reason]
    assert [(trial.number, trial.reason) for trial in shown] == [(3, LATE)]
    treatment = next(found for found in path.treatments if found.treatment == shown[0].treatment)
    assert (treatment.trials, treatment.invalid) == (7, 1)
    assert {flow.throughput.n for flow in treatment.flows} == {7}
    assert sum(len(known.trials) for known in path.distributions) == 31
    assert next(series for series in path.series if series.number == 3).reason == LATE


def test_metrics_that_span_no_plane_say_so(tmp_path: Path) -> None:
    write_paths(tmp_path / "results", rounds=1)
    file = tmp_path / "results/experiment.toml"
    file.write_text(file.read_text().replace("[metrics.delay]", "[metrics.loss]"))
    path = path_of(analyse_paths(tmp_path / "results"))
    assert path.axes is None
    assert path.planes == ()
    assert "[metrics.delay]" in path.notes[0]


# Treatments


def test_flows_have_their_own_rows_and_one_together(asked: Analysis) -> None:
    treatment = path_of(asked).treatments[0]
    assert [flow.flow for flow in treatment.flows] == [1, 2, None]
    assert {flow.scheme for flow in treatment.flows} == {"cubic"}
    assert treatment.fairness is not None
    assert treatment.fairness.n == treatment.trials
    together = treatment.flows[2].throughput.mean
    metric = next(found for found in asked.metrics if found.metric.name == "throughput")
    values = [trial.value for trial in metric.trials if trial.treatment == treatment.treatment]
    assert together == pytest.approx(np.mean(values))


def test_the_emulator_is_judged_by_its_worst_trial(asked: Analysis) -> None:
    facts = path_of(asked).treatments[0].emulator
    assert facts.lateness_uplink == pytest.approx(0.3)
    assert facts.lateness_largest == pytest.approx(3)
    assert facts.processor == pytest.approx(10)
    assert facts.unlogged == 0


def test_typical_values_leave_out_what_is_no_number() -> None:
    found = typical([1.0, float("nan"), 3.0, 2.0])
    assert (found.n, found.mean, found.median, found.low) == (3, 2, 2, None)
    assert "needs 6" in found.note
    assert typical([float("nan")]).median is None


# Packets


def test_pooled_delays_are_those_of_all_packets_to_a_thousandth() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.exponential(scale, count) for scale, count in ((1, 500), (5, 20_000), (20, 3000))]
    trials = [
        TrialNumbers((), None, 0.0, part.size, np.quantile(part, np.linspace(0, 1, 1001))) for part in parts
    ]  # type: ignore[arg-type]
    everything = np.concatenate(parts)
    for share, delay in zip(np.linspace(0, 1, 201), pooled(trials, 200), strict=True):
        assert np.mean(everything <= delay) == pytest.approx(share, abs=0.0025)


def test_without_packets_only_the_plane_is_left(tmp_path: Path) -> None:
    path = path_of(analyse_paths(write_paths(tmp_path / "results", rounds=8, packets="drop")))
    assert path.planes[0].regions[0].delay is not None
    assert (path.series, path.distributions, path.treatments[0].flows, path.recorded) == ((), (), (), 0)
    assert any("packets were not kept" in note for note in path.notes)


def test_packets_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    write_paths(tmp_path / "results", rounds=2)
    broken = sorted((tmp_path / "results/samples").glob("*packets*"))[1]
    broken.write_bytes(b"PAR1 no")
    path = path_of(analyse_paths(tmp_path / "results"))
    assert [str(broken) in note for note in path.notes] == [True]
    assert len(path.series) == 3


def test_the_first_of_each_treatment_and_what_is_not_valid_come_first(tmp_path: Path) -> None:
    write_paths(tmp_path / "results", rounds=12, invalid=(20,))
    path = path_of(analyse_paths(tmp_path / "results"))
    assert len(path.series) == 16
    assert path.recorded == 24
    assert [series.number for series in path.series[:2]] == [1, 2]
    assert path.series[2].number == 20
    assert len(path_of(analyse_paths(tmp_path / "results", all_trials=True)).series) == 24


def test_schemes_and_paths_are_kept_as_they_were_given(tmp_path: Path) -> None:
    facts = PathFacts(schemes=(PathScheme("cubic", "TCP CUBIC", "#123456"),))
    path = path_of(analyse_paths(write_paths(tmp_path / "results", rounds=1, make=drawn), facts))
    assert path.schemes == facts.schemes
