"""Many flow lists through the fluid model at once, against one by one."""

from pathlib import Path

import numpy as np
import pytest

from trialwise import _core
from trialwise import statistics as st
from trialwise.errors import PlanError
from trialwise.experiment.model import Metric
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SimulationSource
from trialwise.store.kept_means import NAME, KeptMeans
from trialwise.trials import drawn_means
from trialwise.trials.drawn_flows import duration_of, flow_list
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.fluid_lists import FluidLists
from trialwise.trials.list_statistics import ListControls, level_of, statistic_of
from trialwise.trials.simulating import filled
from trialwise.trials.simulation import trial_of
from trialwise.trials.simulation_samples import chosen_flows
from trialwise.trials.workloads import KnownWorkloads

TEXT = """
[experiment]
name = "lists"
seed = 3
[factors]
scheme = ["dctcp", "hpcc"]
load = ["30%", "60%"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = { sizes = "websearch", load = "{load}", duration = "20ms" }
warmup = "2ms"
[metrics.p90]
quantity = "fct"
measure = "p90"
estimand = "pooled"
[metrics.mean_fct]
quantity = "fct"
estimand = "pooled"
[metrics.small]
quantity = "slowdown"
estimand = "per_trial"
sizes = "0B..100kB"
[metrics.peak_queue]
[design]
rounds = 10
"""
FACTORS = {"scheme": "hpcc", "load": "30%"}
SEEDS = np.arange(300, dtype=np.uint64)
FEW = 400
"""Lists that means are over in tests."""


@pytest.fixture(autouse=True)
def few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_means, "MAX_LISTS", FEW)


def experiment_of(text: str = TEXT):
    return parse_experiment(text, Path("lists.toml"))


def metric_of(name: str) -> Metric:
    return next(metric for metric in experiment_of().metrics if metric.name == name)


@pytest.fixture(scope="module")
def trial():
    return filled(trial_of(experiment_of()), FACTORS)


@pytest.fixture(scope="module")
def drawn(trial):
    """Lists, one after the other, and their completion times in seconds."""
    fabric = open_fabric(trial, Path())
    lists = [flow_list(trial.workload, fabric, Path(), seed) for seed in SEEDS.tolist()]
    times = [
        _core.fluid(fabric, each, controller="hpcc") / 1e12 if len(each["src"]) else np.empty(0)
        for each in lists
    ]
    assert any(not len(each["src"]) for each in lists)  # by chance, at one flow in the mean
    return lists, times


def chosen(trial, source: SimulationSource, drawn) -> list[np.ndarray]:
    lists, times = drawn
    return [
        of_list[chosen_flows(source, trial, flows, duration_of(trial.workload, flows))]
        for flows, of_list in zip(lists, times, strict=True)
    ]


@pytest.mark.parametrize("source", [SimulationSource("fct"), SimulationSource("fct", "0B..100kB", "all")])
def test_statistics_are_those_of_each_list_alone(trial, drawn, source: SimulationSource) -> None:
    expected = chosen(trial, source, drawn)
    summaries = ["count", "sum", ("above", 1e-4), None, 0.9, ("linear", 0.9)]
    statistics = [statistic_of(source, trial, summary) for summary in summaries]
    found = FluidLists(trial, Path()).table(SEEDS, statistics).found
    for row, samples in zip(found, expected, strict=True):
        some = [
            np.mean(samples),
            st.trial_quantile(samples, 90),
            st.trial_quantile(samples, 90, "linear"),
        ] if samples.size else [np.nan] * 3  # fmt: skip
        wanted = [samples.size, samples.sum(), (samples > 1e-4).sum(), *some]
        np.testing.assert_allclose(row, wanted, rtol=1e-12)


def test_features_are_number_bytes_and_largest(trial, drawn) -> None:
    sizes = [each["size_bytes"] for each in drawn[0]]
    wanted = [(len(each), each.sum(), each.max(initial=0)) for each in sizes]
    np.testing.assert_array_equal(FluidLists(trial, Path()).table(SEEDS, []).features, wanted)


def test_slowdown_is_over_the_ideal_time_of_trials(trial, drawn) -> None:
    flows = next(each for each in drawn[0] if len(each["src"]) > 1)
    at = [each is flows for each in drawn[0]].index(True)
    source = SimulationSource("slowdown", phase="all")
    (found,) = FluidLists(trial, Path()).samples(SEEDS[at : at + 1], statistic_of(source, trial, None))
    ideal = _core.simulate(open_fabric(trial, Path()), flows, controller="hpcc").ideal_ps / 1e12
    np.testing.assert_allclose(found, drawn[1][at] / ideal, rtol=1e-12)


def test_control_of_a_pooled_quantile_counts_what_is_beyond_its_level(trial, drawn) -> None:
    lists, metric = FluidLists(trial, Path()), metric_of("p90")
    level = level_of(metric, chosen(trial, SimulationSource("fct"), drawn))
    controls = ListControls.of(metric, trial, level, fluid=True)
    table = lists.table(SEEDS, controls.statistics)
    own = controls.values(table.features, table.found)[:, -1]
    wanted = [
        (each > level).sum() - 0.1 * each.size for each in chosen(trial, SimulationSource("fct"), drawn)
    ]
    np.testing.assert_allclose(own, wanted, atol=1e-12)
    assert abs(own.sum()) <= 1  # the level is the quantile of these lists


def test_control_of_a_pooled_mean_is_what_a_list_adds_to_it(trial, drawn) -> None:
    controls = ListControls.of(metric_of("mean_fct"), trial, 1e-3, fluid=True)
    table = FluidLists(trial, Path()).table(SEEDS, controls.statistics)
    own = controls.values(table.features, table.found)[:, -1]
    wanted = [(each - 1e-3).sum() for each in chosen(trial, SimulationSource("fct"), drawn)]
    np.testing.assert_allclose(own, wanted, atol=1e-15)


@pytest.mark.parametrize("convention", ["linear", "nearest_rank"])
@pytest.mark.parametrize("measure", ["mean", "median", "min", "max", 90.0])
def test_control_of_a_per_trial_metric_is_the_metric_of_each_list(
    trial, drawn, measure: object, convention: str
) -> None:
    source = SimulationSource("fct")
    metric = Metric("m", source, measure, convention=convention)  # pyright: ignore[reportArgumentType]
    controls = ListControls.of(metric, trial, None, fluid=True)
    table = FluidLists(trial, Path()).table(SEEDS, controls.statistics)
    values = controls.values(table.features, table.found)
    for row, samples in zip(values, chosen(trial, source, drawn), strict=True):
        if not samples.size:
            assert np.isnan(row).all()  # such a trial has no value
        elif metric.percentile is None:
            assert row[-1] == pytest.approx(st.measure_of(samples, metric.measure))
        else:
            assert row[-1] == pytest.approx(st.trial_quantile(samples, metric.percentile, metric.convention))


@pytest.mark.parametrize("kind", ["workload", "fluid"])
@pytest.mark.parametrize("name", ["p90", "mean_fct", "small", "peak_queue"])
def test_means_are_those_of_the_lists_one_by_one(kind, name: str) -> None:
    known, metric = KnownWorkloads(experiment_of()), metric_of(name)
    found = known.known_means(metric, kind, FACTORS)
    assert found is not None
    trial = filled(trial_of(experiment_of()), FACTORS)
    fabric, lists = open_fabric(trial, Path()), FluidLists(trial, Path())
    random = np.random.Generator(np.random.PCG64DXSM(seed_of(3, "known workloads")))
    random.integers(2**63, size=64, dtype=np.uint64)
    first = random.integers(2**63, size=FEW // 50, dtype=np.uint64)
    rest = random.integers(2**63, size=FEW, dtype=np.uint64)
    sizes = [flow_list(trial.workload, fabric, Path(), seed)["size_bytes"] for seed in rest.tolist()]
    features = np.array([(len(each), each.sum(), each.max(initial=0)) for each in sizes])
    statistic = statistic_of(metric.source, trial, None)  # pyright: ignore[reportArgumentType]
    modelled = name != "peak_queue"
    samples = lists.samples(rest[:FEW], statistic) if modelled else []
    has = [name != "small" or samples[at].size > 0 for at in range(FEW)]
    assert found.lists == sum(has)
    np.testing.assert_allclose(found.means[:3], features[has].mean(axis=0), rtol=1e-12)
    assert found.engines == (("fluid",) if kind == "fluid" and name != "peak_queue" else ())
    if not found.engines:
        return
    level = (
        0.0
        if name == "small"
        else level_of(metric, lists.samples(first, statistic_of(metric.source, trial, None)))
    )
    own = {
        "p90": lambda each: (each > level).sum() - 0.1 * each.size,
        "mean_fct": lambda each: (each - level).sum(),
        "small": lambda each: each.mean() if each.size else np.nan,
    }[name]
    assert found.means[3] == pytest.approx(np.nanmean([own(each) for each in samples]), rel=1e-9)


def test_any_number_of_threads_and_any_chunk_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = metric_of("p90")
    found = [
        KnownWorkloads(experiment_of(), threads=n).known_means(metric, "fluid", FACTORS) for n in (1, 2, 5)
    ]
    assert found[0] == found[1] == found[2]
    trial = filled(trial_of(experiment_of()), FACTORS)
    chunks = list(
        FluidLists(trial, Path()).chunks(SEEDS, [statistic_of(SimulationSource("fct"), trial, "sum")], 1e6)
    )
    whole = FluidLists(trial, Path()).table(SEEDS, [statistic_of(SimulationSource("fct"), trial, "sum")])
    assert len(chunks) == 15
    np.testing.assert_array_equal(np.concatenate([each.found for each in chunks]), whole.found)


def test_dear_lists_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_means, "MAX_STEPS", 10_000)
    found = KnownWorkloads(experiment_of()).known_means(metric_of("p90"), "workload", FACTORS)
    assert found is not None
    assert 2 <= found.lists < FEW


def test_known_workloads_draw_the_lists_of_rounds() -> None:
    experiment = experiment_of()
    found = KnownWorkloads(experiment).of_rounds(metric_of("p90"), "workload", FACTORS, [(1, 7), (2, 1)])
    trial = filled(trial_of(experiment), FACTORS)
    for row, place in zip(found, [(1, 7), (2, 1)], strict=True):
        flows = flow_list(trial.workload, open_fabric(trial, Path()), Path(), seed_of(3, "flows", *place))
        assert row[1] == flows["size_bytes"].sum()


def test_workloads_that_are_not_of_the_treatment_are_not_known() -> None:
    text = TEXT.replace('"websearch"', '"fixed:{seed}B"')
    assert KnownWorkloads(experiment_of(text)).known_means(metric_of("p90"), "fluid", FACTORS) is None


def test_a_metric_that_no_list_has_has_no_means() -> None:
    text = TEXT.replace('"0B..100kB"', '"1GB.."')
    metric = next(one for one in experiment_of(text).metrics if one.name == "small")
    assert KnownWorkloads(experiment_of(text)).known_means(metric, "workload", FACTORS) is None


def test_the_control_of_packets_has_the_window_of_the_file() -> None:
    """Against the model itself with that window, in a network that is no single bottleneck."""
    if "window_ps" not in str(_core.surrogate_batch.__text_signature__):
        pytest.skip("the core is older than these tests")
    text = TEXT.replace("dumbbell:4x4,10Gbit/s,1us", "leaf-spine:2x2x2,10Gbit/s,1us")
    text = text.replace(
        'estimand = "per_trial"\n',
        'estimand = "per_trial"\nstop = { precision = "5%", of = "mean", controls = "fluid" }\n',
    )
    text = text.replace("[metrics.p90]", 'rate_interval = "50us"\n[metrics.p90]').replace(
        "rounds = 10", 'looks = "geometric"'
    )
    experiment = experiment_of(text)
    trial = filled(trial_of(experiment), FACTORS)
    lists = FluidLists(trial, Path())
    fabric, source = open_fabric(trial, Path()), SimulationSource("fct", phase="all")
    samples = lists.samples(SEEDS[:5], statistic_of(source, trial, None))
    apart = False
    for seed, found in zip(SEEDS[:5].tolist(), samples, strict=True):
        flows = flow_list(trial.workload, fabric, Path(), seed)
        exact, coarse = (
            _core.fluid(fabric, flows, controller="hpcc", window_ps=window) / 1e12
            for window in (0, 50_000_000)
        )
        np.testing.assert_array_equal(found, coarse)
        apart = apart or not np.array_equal(exact, coarse)
    assert apart
    batch = lists.table(SEEDS[:5], [statistic_of(source, trial, "sum")]).found[:, 0]
    np.testing.assert_allclose(batch, [each.sum() for each in samples])


def test_a_workload_that_cannot_be_is_refused() -> None:
    factors = FACTORS | {"load": "150%"}
    with pytest.raises(PlanError, match="at most 1"):
        KnownWorkloads(experiment_of()).known_means(metric_of("p90"), "fluid", factors)


class TestKept:
    """Means that outlast the process."""

    def known(self, folder: Path, text: str = TEXT):
        told: list[tuple[int, int, float]] = []
        known = KnownWorkloads(experiment_of(text), KeptMeans(folder), lambda *each: told.append(each))
        return known.known_means(metric_of("p90"), "fluid", FACTORS), told

    def test_are_not_drawn_again(self, tmp_path: Path) -> None:
        first, told = self.known(tmp_path)
        assert (told[-1][:2], told[-1][2]) == ((FEW, FEW), 0)
        assert self.known(tmp_path) == (first, [])

    @pytest.mark.parametrize("text", ["", "{", '{"a": 3}'])
    def test_are_drawn_again_where_the_file_is_broken(self, tmp_path: Path, text: str) -> None:
        first, _ = self.known(tmp_path)
        (tmp_path / NAME).write_text(text)
        again, told = self.known(tmp_path)
        assert again == first
        assert told

    def test_are_of_one_workload(self, tmp_path: Path) -> None:
        first, _ = self.known(tmp_path)
        other, told = self.known(tmp_path, TEXT.replace('"20ms"', '"10ms"'))
        assert told
        assert other != first
        assert self.known(tmp_path) == (first, [])  # both are there

    def test_need_no_directory_that_can_be_written(self, tmp_path: Path) -> None:
        assert self.known(tmp_path / "missing")[0] is not None
