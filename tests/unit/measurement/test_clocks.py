"""Two clocks: hull and slopes against second implementations, planted records, and input that is none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from planted_clocks import BASE, Planted
from trialwise.errors import AnalysisError
from trialwise.measurement.clocks.fitting import fit_clocks
from trialwise.measurement.clocks.floors import average_slope, floor_of, lower_hull, touching_slope
from trialwise.measurement.clocks.model import FIGURE_KINDS, ClockModel
from trialwise.measurement.clocks.probes import Probes

NONE = Probes.of([], [])
MS = 1_000_000


def points(seed: int, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 60, count))
    return times, 20e-6 * times + 1e-3 * rng.exponential(size=count)


@pytest.mark.parametrize("seed", range(5))
def test_the_hull_is_that_of_qhull(seed: int):
    times, values = points(seed)
    scaled = np.column_stack([times / 60, values / values.max()])
    hull = ConvexHull(scaled)
    below = hull.equations[:, 1] < 0
    expected = np.unique(hull.simplices[below])
    assert lower_hull(times, values).tolist() == expected.tolist()


def test_the_hull_of_equal_times_takes_the_lowest():
    floor = floor_of(np.array([0.0, 1.0, 1.0, 0.0, 2.0]), np.array([3.0, 1.0, 0.0, 2.0, 2.0]))
    assert (floor.times.tolist(), floor.values.tolist()) == ([0.0, 1.0, 2.0], [2.0, 0.0, 2.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_line_below_all_points_is_that_of_linear_programming(seed: int):
    """Moon et al.: the largest sum of a + b t with a + b t ≤ x, here with two levels and one slope."""
    parts = [points(seed), points(seed + 100)]
    sums = [times.size for times, _ in parts], sum(float(times.sum()) for times, _ in parts)
    rows = np.concatenate(
        [
            np.column_stack([np.full(t.size, place == 0), np.full(t.size, place == 1), t])
            for place, (t, _) in enumerate(parts)
        ]
    )
    limits = np.concatenate([values for _, values in parts])
    found = linprog([-sums[0][0], -sums[0][1], -sums[1]], A_ub=rows, b_ub=limits * 1e3, bounds=(None, None))
    slope = touching_slope([floor_of(*part) for part in parts])
    assert slope == pytest.approx(found.x[2] / 1e3, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_average_slope_is_that_of_quadrature(seed: int):
    parts, scales = [points(seed), points(seed + 100, 50)], [1e-3, 4e-3]

    def likely(ppm: float) -> float:
        levels = [np.min(values - ppm * 1e-6 * times) for times, values in parts]
        rows = zip(parts, levels, scales, strict=True)
        return sum(
            times.size * (level + ppm * 1e-6 * times.mean()) / scale for (times, _), level, scale in rows
        )

    best = likely(20)
    mass, moment = (
        quad(lambda ppm, power=power: ppm**power * np.exp(likely(ppm) - best), 17, 23, limit=2000)[0]
        for power in (0, 1)
    )
    found = average_slope([floor_of(*part) for part in parts], scales)
    assert found is not None
    assert found * 1e6 == pytest.approx(moment / mass, abs=2e-4)


MATRIX = [
    {"offset": offset, "skew": skew, "asymmetry": asymmetry, "loads": loads}
    for offset, skew, asymmetry, loads in itertools.product(
        (0.0, 1000.0), (0.0, 20.0, -100.0), (0.0, 0.01), (0, 1, 2)
    )
]


@pytest.mark.parametrize("given", MATRIX, ids=str)
def test_planted_clocks(given: dict[str, float]):
    planted = Planted(noise=5e-4, **given)  # pyright: ignore[reportArgumentType]
    found = fit_clocks(*planted.drawn(1), seed=1)
    assert found.changes == ()
    (piece,) = found.pieces
    assert found.skew is not None
    assert found.skew.low <= planted.skew * 1e-6 <= found.skew.high
    assert piece.offset is not None
    true = float(planted.offset_at(piece.middle))
    assert piece.offset.low <= true <= piece.offset.high
    assert piece.round_trip == pytest.approx(
        2 * BASE + planted.asymmetry, abs=4e-3 if planted.loads else 1e-4
    )
    if planted.loads < 2:
        assert abs(found.skew.value * 1e6 - planted.skew) < 0.5
    if planted.loads == 0:
        assert abs(piece.offset.value - true) <= planted.asymmetry / 2 + 50e-6


@pytest.mark.parametrize("loads", [0, 1, 2])
@pytest.mark.parametrize("skew", [0.0, 100.0, -100.0])
@pytest.mark.parametrize("size", [0.05, -0.05])
def test_a_step_of_a_clock(loads: int, skew: float, size: float):
    planted = Planted(noise=5e-4, skew=skew, step=size, loads=loads, offset=3.0)
    found = fit_clocks(*planted.drawn(2), seed=2)
    (step,) = found.changes
    assert step.kind == "clock"
    assert step.forward == pytest.approx(size, abs=5e-3)
    assert step.backward == pytest.approx(-size, abs=5e-3)
    assert step.time == pytest.approx(30, abs=3 if loads == 2 else 0.2)
    for piece in found.pieces:
        assert piece.offset is not None
        assert piece.offset.value == pytest.approx(float(planted.offset_at(piece.middle)), abs=2e-3)


@pytest.mark.parametrize("loads", [0, 1, 2])
@pytest.mark.parametrize("size", [0.015, -0.015])
def test_another_route(loads: int, size: float):
    planted = Planted(noise=5e-4, route=size, loads=loads)
    found = fit_clocks(*planted.drawn(3), seed=3)
    (change,) = found.changes
    assert (change.kind, change.backward) == ("route", 0.0)
    assert change.forward == pytest.approx(size, abs=5e-3)
    assert len(found.pieces) == 1


def test_loss_and_reordering_change_nothing():
    found = fit_clocks(*Planted(loss=0.05, reordering=True).drawn(4), seed=4)
    assert found.changes == ()
    assert found.skew is not None
    assert found.skew.value * 1e6 == pytest.approx(20, abs=0.4)


def test_one_busy_direction_does_not_spoil_the_other():
    """REAL_PATHS.md, section 3: the mean of both would be wrong by 4.5 ppm, the idle one alone is by 0.05."""
    errors = [_error(Planted(noise=5e-4, loads=1), seed) for seed in range(8)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.2


def _error(planted: Planted, seed: int) -> float:
    skew = fit_clocks(*planted.drawn(seed), seed=seed).skew
    assert skew is not None
    return skew.value * 1e6 - planted.skew


def test_a_long_record_has_pieces_that_follow_the_drift():
    """The skew goes from 10 to 30 ppm over five minutes: the offset is its integral."""
    rng = np.random.default_rng(5)
    times = np.arange(0, 300, 0.05)

    def b_less_a(at: np.ndarray) -> np.ndarray:
        return 10e-6 * at + 20e-6 * at**2 / 600

    delays = [BASE + 1e-4 * rng.exponential(size=times.size) for _ in range(2)]
    arrivals = [times + delay for delay in delays]
    forward = Probes.of(np.rint(times * 1e9), np.rint((arrivals[0] + b_less_a(arrivals[0])) * 1e9))
    backward = Probes.of(np.rint((times + b_less_a(times)) * 1e9), np.rint(arrivals[1] * 1e9))
    found = fit_clocks(forward, backward, seed=6)
    assert len(found.pieces) == 5
    slopes = [piece.skew.value * 1e6 for piece in found.pieces if piece.skew]
    assert slopes == pytest.approx([12, 16, 20, 24, 28], abs=0.6)
    at = np.arange(10, 291, 40)
    assert found.offsets((at * 1e9).astype(np.int64)) == pytest.approx(b_less_a(at), abs=1.5e-4)


def test_delays_are_those_that_were_planted():
    planted = Planted(offset=1000.0, skew=100.0, noise=5e-4, step=0.05)
    forward, backward = planted.drawn(7)
    found = fit_clocks(forward, backward, seed=7)
    for probes, way in ((forward, "forward"), (backward, "backward")):
        of_a = probes.sent if way == "forward" else probes.received
        true = (probes.received - probes.sent) / 1e9
        true -= planted.offset_at(of_a / 1e9) * (1 if way == "forward" else -1)
        delays = found.one_way(probes, way)
        waits = found.queueing(probes, way)
        known = np.isfinite(delays)
        assert np.count_nonzero(~known) <= 4
        assert delays[known] == pytest.approx(true[known], abs=5e-5)
        assert waits[known] == pytest.approx(true[known] - true[known].min(), abs=5e-5)


def test_every_figure_is_a_difference_or_absolute():
    assert set(FIGURE_KINDS.values()) == {"difference", "absolute"}
    assert FIGURE_KINDS["queueing delay"] == "difference"
    assert FIGURE_KINDS["one-way delay"] == "absolute"


def test_one_way_delay_without_its_bound_is_refused():
    forward, backward = Planted().drawn(8)
    found = fit_clocks(forward, backward, seed=8)
    with pytest.raises(
        AnalysisError, match=r"known within ±28\.\d+ ms only, and ±1 ms are asked for"
    ) as refused:
        found.one_way(forward, "forward", within=1e-3)
    assert "chrony" in str(refused.value.hint)


def test_what_others_know_narrows_the_bound():
    planted = Planted(asymmetry=0.01)
    probes = planted.drawn(9)
    true = float(planted.offset_at(30))

    def of(**given: object) -> ClockModel:
        return fit_clocks(*probes, seed=9, **given)  # pyright: ignore[reportArgumentType]

    by_chrony = of(apart=lambda _: (true - 1e-3, true + 2e-3))
    (piece,) = by_chrony.pieces
    assert piece.offset is not None
    assert (piece.offset.low, piece.offset.high) == pytest.approx((true - 1e-3, true + 2e-3))
    assert piece.offset.low <= piece.offset.value <= piece.offset.high
    assert by_chrony.bound <= 3e-3
    (symmetric,) = of(asymmetry=0.01).pieces
    assert symmetric.offset is not None
    assert symmetric.offset.low <= true <= symmetric.offset.high
    assert symmetric.offset.high - symmetric.offset.low < 0.0105
    (wrong,) = of(apart=lambda _: (0.5, 0.6)).pieces
    assert wrong.contradicted
    assert wrong.offset is not None
    assert wrong.offset.low <= true <= wrong.offset.high


def test_no_probe_at_all():
    with pytest.raises(AnalysisError, match="no probe arrived"):
        fit_clocks(NONE, NONE, seed=1)


def test_one_probe_each_way_bounds_the_offset():
    forward, backward = Probes.of([1], [1028 * MS + 1]), Probes.of([1030 * MS], [58 * MS])
    found = fit_clocks(forward, backward, seed=1)
    (piece,) = found.pieces
    assert (found.skew, found.changes) == (None, ())
    assert piece.offset is not None
    assert piece.offset.value == pytest.approx(1.0)
    assert (piece.offset.low, piece.offset.high) == pytest.approx((0.972, 1.028))


@pytest.mark.parametrize("tick", [1, 1000, 1_000_000])
def test_stamps_that_were_cut_widen_the_bound(tick: int):
    """Both clocks tell whole ticks only, and a packet takes less than one: the lowest round trip may even be below zero."""
    rng = np.random.default_rng(5)
    for apart in rng.integers(1_000_000_000, 1_005_000_000, 50).tolist():
        sent, back = (np.sort(rng.integers(0, 1_000_000_000, 40)) for _ in range(2))
        took = max(tick // 3, 400)
        forward = Probes.of(sent // tick * tick, (sent + apart + took) // tick * tick)
        backward = Probes.of((back + apart) // tick * tick, (back + took) // tick * tick)
        (piece,) = fit_clocks(forward, backward, seed=1).pieces
        assert piece.offset is not None
        assert piece.offset.low <= apart / 1e9 <= piece.offset.high
        assert piece.offset.high - piece.offset.low <= 2 * (took + 2 * tick) / 1e9 * 1.01


@pytest.mark.parametrize("count", [1, 2])
def test_few_probes_in_one_direction_only(count: int):
    probes = Probes.of(np.arange(count) * MS, np.arange(count) * MS + 28 * MS)
    for ways in ((probes, NONE), (NONE, probes)):
        found = fit_clocks(*ways, seed=1)
        assert found.skew is None
        assert found.pieces[0].offset is None
        assert found.bound == np.inf


def test_a_silent_direction_leaves_skew_and_queueing_delay():
    forward, backward = Planted(step=0.05).drawn(10)
    for probes, way in ((forward, "forward"), (backward, "backward")):
        found = fit_clocks(*((forward, NONE) if way == "forward" else (NONE, backward)), seed=10)
        assert [change.kind for change in found.changes] == ["either"]
        assert found.skew is not None
        assert found.skew.value * 1e6 == pytest.approx(20, abs=1)
        with pytest.raises(AnalysisError, match="one direction has no packets"):
            found.one_way(probes, way)
        assert found.queueing(probes, way).min() == pytest.approx(0)


def test_equal_times_are_no_rate():
    probes = Probes.of([5 * MS] * 50, [33 * MS] * 50)
    found = fit_clocks(probes, probes, seed=1)
    assert found.skew is None
    assert found.pieces[0].offset is not None


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e19])
def test_what_is_no_time_is_refused(wrong: float):
    with pytest.raises(AnalysisError, match="stamp 2 is"):
        Probes.of([0.0, wrong], [1.0, 2.0])


def test_stamps_that_do_not_belong_together_are_refused():
    with pytest.raises(AnalysisError, match="3 probes were sent and 2 received"):
        Probes.of([1, 2, 3], [1, 2])
    with pytest.raises(AnalysisError, match="one row of numbers"):
        Probes.of([[1]], [[2]])
    with pytest.raises(AnalysisError, match="one row of numbers"):
        Probes.of(["1"], [2])


def test_a_clock_that_goes_back_is_refused():
    times = np.arange(100) * 50 * MS
    jumped = np.where(np.arange(100) < 60, times, times - 3000 * MS)
    with pytest.raises(AnalysisError, match=r"the clock of the first end goes back by 2\.95 s at probe 61"):
        fit_clocks(Probes.of(jumped, times), NONE, seed=1)


def test_a_clock_that_runs_backwards_is_refused():
    times = np.arange(600) * 50 * MS
    with pytest.raises(AnalysisError, match="which no two clocks of machines do"):
        fit_clocks(Probes.of(times, times[::-1] + 28 * MS), NONE, seed=1)
