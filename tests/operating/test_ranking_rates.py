"""How often rank sets, the set of the best and the Pareto set hold: METHODS g."""

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.statistics.comparing.pairwise import better_p_values

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [400, pytest.param(4000, marks=pytest.mark.soak)])
COUNT, N = 15, 10
NOISE = {
    "normal": lambda random, n, at: random.normal(size=n),
    "lognormal": lambda random, n, at: (random.lognormal(0, 0.5, n) - np.exp(0.125)) / 0.604,
    "bimodal": lambda random, n, at: random.choice([-0.95, 0.95], n) + 0.312 * random.normal(size=n),
    "unequal": lambda random, n, at: (1 + at % 3) * random.normal(size=n),
}
MEANS = {
    "equal": np.zeros(COUNT),
    "clusters": np.repeat([0.0, 2.0, 4.0], 5),
    "spread": np.linspace(0, 5, COUNT),
}
noises = pytest.mark.parametrize("noise", NOISE)


def groups(random, means, noise):
    return {str(at): mean + NOISE[noise](random, N, at) for at, mean in enumerate(means)}


def true_ranks(means):
    """Best and worst rank of each, higher being better; those that are equal share theirs."""
    return {
        str(at): (1 + int(np.sum(means > mean)), COUNT - int(np.sum(means < mean)))
        for at, mean in enumerate(means)
    }


def holds(found, true):
    return all(found[name][0] <= best and worst <= found[name][1] for name, (best, worst) in true.items())


def uncorrected(drawn):
    """Ranks from every pair at 5 % by itself."""
    wins = better_p_values(list(drawn.values()), 1) <= 0.025
    beaten, beating = wins.sum(axis=0), wins.sum(axis=1)
    return {name: (1 + beaten[at], COUNT - beating[at]) for at, name in enumerate(drawn)}


@repeated
@noises
@pytest.mark.parametrize("layout", MEANS)
def test_all_rank_sets_hold_together_and_the_best_is_kept(layout, noise, repetitions):
    random = np.random.default_rng([1, *layout.encode(), *noise.encode()])
    means = MEANS[layout]
    true, best = true_ranks(means), {str(at) for at in np.flatnonzero(means == means.max())}
    held = kept = 0
    for _ in range(repetitions):
        found = st.rank_sets(groups(random, means, noise))
        held += holds(found, true)
        kept += np.mean([name in found.best for name in best])
    assert held / repetitions >= 0.92
    assert kept / repetitions >= 0.93


@repeated
def test_without_correction_most_rankings_are_wrong(near, repetitions):
    """.20 with equal means and .37 in clusters."""
    random = np.random.default_rng(2)
    for layout, expected in (("equal", 0.20), ("clusters", 0.37)):
        true = true_ranks(MEANS[layout])
        held = [holds(uncorrected(groups(random, MEANS[layout], "normal")), true) for _ in range(repetitions)]
        assert near(np.mean(held), expected, repetitions, slack=0.03)


@repeated
def test_rank_sets_are_narrow_where_means_are_apart(repetitions):
    """Clusters four standard deviations apart are told from each other, and nothing within them is."""
    random = np.random.default_rng(3)
    means = np.repeat([0.0, 4.0, 8.0], 5)
    true = true_ranks(means)
    found = [dict(st.rank_sets(groups(random, means, "normal"))) for _ in range(repetitions)]
    assert np.mean([one == true for one in found]) >= 0.9


METRICS = {"throughput": "higher", "delay": "lower"}


def front_of(points):
    """Indices of points that no other is at least as good as in both, and better in one."""
    return {
        at
        for at, (x, y) in enumerate(points)
        if not any(a >= x and b <= y and (a > x or b < y) for a, b in points)
    }


def measured(random, points, noise):
    return {
        str(at): {"throughput": x + NOISE[noise](random, N, at), "delay": y + NOISE[noise](random, N, at)}
        for at, (x, y) in enumerate(points)
    }


@repeated
@noises
def test_the_front_is_always_inside_and_the_front_of_means_loses_some(noise, repetitions):
    """Random fronts, spread over 1 to 3 standard deviations; the front of means loses a true member in 27 to 50 %."""
    random = np.random.default_rng([4, *noise.encode()])
    inside = lost = sizes = true_sizes = 0
    for repetition in range(repetitions):
        points = [tuple(point) for point in (1 + repetition % 3) * random.normal(size=(COUNT, 2))]
        true = {str(at) for at in front_of(points)}
        found = st.pareto_set(measured(random, points, noise), METRICS)
        inside += true <= found
        lost += not true <= found.front_of_means
        sizes += len(found)
        true_sizes += len(true)
    assert inside / repetitions >= 0.99
    assert 0.2 <= lost / repetitions <= 0.6
    assert true_sizes < sizes < 12 * repetitions


@repeated
def test_at_worst_each_of_the_front_is_kept_and_the_whole_front_where_that_was_asked(repetitions):
    """Worst case: all on the front, throughput nearly alike and delays far apart, so that throughput alone decides."""
    random = np.random.default_rng(5)
    points = [(1e-9 * at, 100.0 * at) for at in range(COUNT)]
    assert len(front_of(points)) == COUNT
    each = whole_by_each = whole = 0
    for _ in range(repetitions):
        drawn = measured(random, points, "normal")
        found = st.pareto_set(drawn, METRICS)
        each += len(found) / COUNT
        whole_by_each += len(found) == COUNT
        whole += len(st.pareto_set(drawn, METRICS, holds="front")) == COUNT
    assert each / repetitions >= 0.95
    assert 0.6 <= whole_by_each / repetitions < 0.92
    assert whole / repetitions >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / repetitions)


@repeated
def test_three_metrics_keep_the_front(repetitions):
    random = np.random.default_rng(6)
    metrics = {**METRICS, "loss": "lower"}
    inside = 0
    for _ in range(repetitions):
        points = random.normal(size=(8, 3))
        true = {
            str(at)
            for at in range(8)
            if not any(
                points[by, 0] > points[at, 0] and (points[by, 1:] < points[at, 1:]).all() for by in range(8)
            )
        }
        drawn = {
            str(at): {name: points[at, k] + random.normal(size=N) for k, name in enumerate(metrics)}
            for at in range(8)
        }
        inside += true <= st.pareto_set(drawn, metrics)
    assert inside / repetitions >= 0.98


def on_shared_workloads(random, points, share):
    """Metrics of trials that met the same workloads: of each one's variance `share` is the workload's, the same for all treatments."""
    rounds = {name: random.normal(size=N) for name in METRICS}

    def noisy(name):
        return np.sqrt(share) * rounds[name] + np.sqrt(1 - share) * random.normal(size=N)

    return {
        str(at): {name: mean + noisy(name) for name, mean in zip(METRICS, point, strict=True)}
        for at, point in enumerate(points)
    }


@repeated
def test_pairs_keep_the_front_and_leave_out_more(repetitions):
    """Where nine tenths of the variance is the workload's: of 15 treatments with 3.3 on the front 4.9 are kept, unpaired 8.5."""
    random = np.random.default_rng(7)
    inside, paired, unpaired = 0, 0, 0
    for repetition in range(repetitions):
        points = [tuple(point) for point in (1 + repetition % 3) * random.normal(size=(COUNT, 2))]
        drawn = on_shared_workloads(random, points, 0.9)
        found = st.pareto_set(drawn, METRICS, paired=True)
        inside += {str(at) for at in front_of(points)} <= found
        paired += len(found)
        unpaired += len(st.pareto_set(drawn, METRICS))
    assert inside / repetitions >= 0.98
    assert paired < 0.7 * unpaired


@repeated
def test_at_worst_pairs_keep_each_of_the_front(repetitions):
    """The worst case of the unpaired set, with workloads that are shared: each of the front is kept as often as said."""
    random = np.random.default_rng(8)
    points = [(1e-9 * at, 100.0 * at) for at in range(COUNT)]
    kept = [
        len(st.pareto_set(on_shared_workloads(random, points, 0.9), METRICS, paired=True)) / COUNT
        for _ in range(repetitions)
    ]
    assert 0.95 <= np.mean(kept) < 0.995
