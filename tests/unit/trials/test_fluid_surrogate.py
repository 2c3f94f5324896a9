"""The fluid surrogate and the sampled flow lists as Python sees them; the models themselves face theory in crates/simulator."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from trialwise import _core

WORKLOAD = {
    "sizes": "websearch",
    "arrivals": "poisson",
    "pattern": "one-way",
    "load": 0.3,
    "load_of": "bottleneck",
    "duration_ps": 20 * 10**9,
}
EVERYTHING = ((0, 2**63), (0, 2**63))
MEAN_FLOWS = 0.3 * 100e9 / (8 * 1_711_250) * 0.02


@pytest.fixture(scope="module")
def fabric() -> _core.Fabric:
    return _core.Fabric("dumbbell:10x10,100Gbit/s,1us")


def test_lone_flow_takes_its_ideal_time(fabric):
    flows = {
        name: np.array([value], dtype=np.int64)
        for name, value in {"flow_id": 0, "src": 0, "dst": 10, "size_bytes": 10**6, "start_ps": 5}.items()
    }
    # 6 us of delay, three transmissions of 1000 bytes, 1000 packets of 1048 bytes at 80 ps a byte.
    assert _core.fluid(fabric, flows).tolist() == [6_000_000 + 3 * 80_000 + 1048 * 1000 * 80]
    assert _core.fluid(fabric, flows, controller="hpcc")[0] == 6_240_000 + 1090 * 1000 * 80


def test_batch_is_what_numpy_makes_of_its_trials(fabric):
    statistics = [
        ("fct", None, *EVERYTHING),
        ("fct", 0.9, *EVERYTHING),
        ("throughput", 0.5, (10**6, 2**63), (0, 10 * 10**9)),
    ]
    seeds = np.arange(50, dtype=np.uint64)
    values, features = _core.surrogate_batch(fabric, seeds, statistics=statistics, **WORKLOAD)
    again, _ = _core.surrogate_batch(fabric, seeds, statistics=statistics, threads=1, **WORKLOAD)
    np.testing.assert_array_equal(values, again)
    for seed in (0, 7, 49):
        flows = _core.generate_flows(fabric, seed=seed, **WORKLOAD)
        seconds = _core.fluid(fabric, flows) / 1e12
        size = flows["size_bytes"].astype(float)
        meant = (size >= 1e6) & (flows["start_ps"] < 10 * 10**9)
        expected = [
            seconds.mean(),
            np.quantile(seconds, 0.9, method="inverted_cdf"),
            np.quantile(8 * size[meant] / seconds[meant], 0.5, method="inverted_cdf"),
        ]
        np.testing.assert_allclose(values[seed], expected, rtol=1e-12)
        np.testing.assert_allclose(features[seed], [len(size), size.sum(), size.max(), (size**2).sum(), 0])


def test_samples_are_those_of_each_trial(fabric):
    seeds = np.arange(5, dtype=np.uint64)
    values, counts = _core.surrogate_samples(
        fabric, seeds, statistic=("fct", None, (10**6, 2**63), (0, 2**63)), **WORKLOAD
    )
    for seed, found in zip(seeds.tolist(), np.split(values, np.cumsum(counts)[:-1]), strict=True):
        flows = _core.generate_flows(fabric, seed=seed, **WORKLOAD)
        np.testing.assert_array_equal(
            found, (_core.fluid(fabric, flows) / 1e12)[flows["size_bytes"] >= 10**6]
        )


def test_framing_is_that_of_the_controller(fabric):
    assert _core.surrogate_framing(fabric) == (1000, 48)
    assert _core.surrogate_framing(fabric, controller="hpcc", network=[("segment", "1500B")]) == (1500, 90)


def test_trial_without_such_flows_is_nan(fabric):
    huge = [("slowdown", None, (10**12, 2**63), (0, 2**63))]
    values, _ = _core.surrogate_batch(fabric, np.arange(3, dtype=np.uint64), statistics=huge, **WORKLOAD)
    assert np.isnan(values).all()


def test_sobol_points_estimate_the_number_of_flows_better_than_chance(fabric):
    points = qmc.Sobol(64, rng=5).random(256)
    counts = [len(_core.generate_flows_from(fabric, point, seed=1, **WORKLOAD)["src"]) for point in points]
    assert abs(np.mean(counts) - MEAN_FLOWS) < stats.poisson(MEAN_FLOWS).std() / np.sqrt(256) / 4
    np.testing.assert_array_equal(np.sort(counts), np.sort(stats.poisson(MEAN_FLOWS).ppf(points[:, 0])))


def test_weights_are_one_over_the_density(fabric):
    edges, heights = [0.0, 0.9, 1.0], [0.5, 5.5]
    flows, log_ratios = _core.generate_flows_weighted(
        fabric, edges=edges, heights=heights, seed=3, **WORKLOAD
    )
    # WebSearch has its largest tenth above 5 MB.
    expected = np.where(flows["size_bytes"] >= 5_000_000, -np.log(5.5), -np.log(0.5))
    np.testing.assert_allclose(log_ratios, expected, rtol=1e-12)


def test_switch_freezes_the_weight(fabric):
    threshold = 200_000_000
    flows, result, log_ratios, switched = _core.simulate_switching(
        fabric,
        edges=[0.0, 0.9, 1.0],
        heights=[0.5, 5.5],
        threshold_ps=threshold,
        flow_seed=3,
        controller="dctcp",
        **WORKLOAD,
    )
    ends = flows["start_ps"] + result.fct_ps
    assert switched == ends[result.fct_ps > threshold].min()
    assert np.unique(log_ratios[ends >= switched]).size == 1
    # The trial is that of its flow list, which the source gave while it ran.
    again = _core.simulate(fabric, flows, controller="dctcp")
    np.testing.assert_array_equal(again.fct_ps, result.fct_ps)


def test_other_sizes_may_overload_the_link(fabric):
    arguments = WORKLOAD | {"load": 0.9, "drawn_sizes": "lognormal:mean=8MB,sigma=1"}
    flows, _, _, _ = _core.simulate_switching(
        fabric, edges=[0.0, 1.0], heights=[1.0], threshold_ps=0, flow_seed=3, controller="dctcp", **arguments
    )
    plain = _core.generate_flows(fabric, **(WORKLOAD | {"load": 0.9}), seed=3)
    np.testing.assert_array_equal(flows["start_ps"], plain["start_ps"])
    assert flows["size_bytes"].sum() > 2 * plain["size_bytes"].sum()
    with pytest.raises(ValueError, match="lognormal"):
        _core.simulate_switching(
            fabric,
            edges=[0.0, 1.0],
            heights=[1.0],
            threshold_ps=0,
            flow_seed=3,
            controller="dctcp",
            **(arguments | {"drawn_sizes": "lognormal:8MB"}),
        )


def test_a_table_of_sizes_is_told():
    sizes, shares = _core.size_knots("websearch")
    assert (sizes[0], shares[0], shares[-1]) == (0, 0, 100)
    np.testing.assert_array_equal(_core.size_knots("", "0 0\n10 50\n30 100\n"), ([0, 10, 30], [0, 50, 100]))
    with pytest.raises(ValueError, match="no table of sizes"):
        _core.size_knots("fixed:1kB")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"statistics": [("speed", None, *EVERYTHING)]}, "fct, slowdown or throughput"),
        ({"statistics": [("fct", 99.0, *EVERYTHING)]}, "0.99"),
        ({"statistics": [("fct", ("linear", 99.0), *EVERYTHING)]}, "0.99"),
        ({"statistics": [("fct", "median", *EVERYTHING)]}, "count"),
        ({"load": 1.5}, "at most 1"),
        ({"controller": "cubicc"}, "cubic"),
    ],
)
def test_wrong_batches_are_refused(fabric, change, message):
    arguments = {"statistics": [("fct", None, *EVERYTHING)]} | WORKLOAD | change
    with pytest.raises(ValueError, match=message):
        _core.surrogate_batch(fabric, np.arange(2, dtype=np.uint64), **arguments)


def test_points_need_poisson_arrivals(fabric):
    with pytest.raises(ValueError, match="Poisson"):
        _core.generate_flows_from(fabric, np.zeros(3), seed=1, **(WORKLOAD | {"arrivals": "bursty:mean=4"}))
    with pytest.raises(ValueError, match="rise from 0 to 1"):
        _core.generate_flows_weighted(fabric, edges=[0.0, 0.5], heights=[1.0], seed=1, **WORKLOAD)
