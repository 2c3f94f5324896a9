"""Shifts of level, blocks and drift: sums of squares by brute force, critical values of the literature, what is found."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from trialwise.statistics.pooled.phase_randomization import normal_scores, residuals
from trialwise.statistics.tests.level_shifts import FAMILIES, _best, _scan, find_shifts, recurrence
from trialwise.statistics.time.harmonics import DAY, STRAIGHT, WEEK, Baseline, Candidate, design, orthonormal
from trialwise.statistics.time.seasonality import seasonality
from trialwise.statistics.time.timegrid import TimeGrid


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def gappy(n=60, seed=1):
    present = generator(seed).random(n) > 0.2
    present[[0, -1]] = True
    index = np.flatnonzero(present)
    return TimeGrid(7200.0, index, np.zeros(index.size), regular=True)


def unexplained(y, *columns):
    return float(np.linalg.lstsq(np.column_stack(columns), y)[1][0])


@pytest.mark.parametrize("baseline", [STRAIGHT, Baseline((50_000.0,)), Baseline((), bent=True)])
def test_sums_of_squares_are_those_of_regressions(baseline):
    grid = gappy()
    t, y = grid.times, generator(2).normal(size=grid.index.size)
    calendar = [Candidate(DAY, 2)]
    basis = design(t, calendar, baseline)
    scan = _scan(grid, basis, baseline)
    best = _best(scan, residuals(y, basis)[None, :])
    line = t / t[-1]
    beside = [np.ones_like(t), line, *(t >= at for at in baseline.shifts)]
    beside += [wave(2 * np.pi * k * t / DAY) for k in (1, 2) for wave in (np.cos, np.sin)]
    beside += [line**2, line**3] if baseline.bent else []
    rest = unexplained(y, *beside)
    single = {at: rest - unexplained(y, *beside, t >= t[scan.starts[at]]) for at in range(scan.starts.size)}
    pairs = {
        (a, b): rest - unexplained(y, *beside, t >= t[scan.starts[a]], t >= t[scan.starts[b]])
        for a, b in combinations(scan.knots.tolist(), 2)
    }
    assert best.squares[0, 0] == pytest.approx(max(single.values()))
    assert best.squares[0, 1] == pytest.approx(max(pairs.values()))
    assert int(best.places[0][0]) == max(single, key=single.__getitem__)
    assert tuple(int(place[0]) for place in best.places[1:]) == max(pairs, key=pairs.__getitem__)
    if not baseline.bent:
        assert best.squares[0, 2] == pytest.approx(rest - unexplained(y, *beside, line**2, line**3))


def test_the_largest_single_shift_in_white_noise_has_the_law_of_andrews():
    """Andrews 1993, Table I, one parameter, π₀ = 0.15: 7.17, 8.85 and 12.35 at 10, 5 and 1 %; corrected 2003: 7.12, 8.68, 12.16."""
    n = 400
    grid = TimeGrid(1.0, np.arange(n), np.zeros(n), regular=True)
    scan = _scan(grid, orthonormal(np.ones((n, 1))), STRAIGHT)
    inner = (scan.starts >= 0.15 * n) & (scan.starts <= 0.85 * n)
    rows = generator(3).normal(size=(6000, n))
    rows -= rows.mean(axis=1, keepdims=True)
    sums = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1][:, scan.starts]
    largest = (sums**2 / scan.sizes)[:, inner].max(axis=1)
    assert np.quantile(largest, [0.9, 0.95, 0.99]) == pytest.approx([7.12, 8.68, 12.16], rel=0.07)


def series(kind, seed, n=400):
    """Values of one record, and where its level shifts."""
    rng = generator(seed)
    y, place = rng.normal(size=n), np.arange(n)
    if kind == "shift":
        return y + 3 * (place >= 130), [130]
    if kind == "block":
        return y + 3 * ((place >= 150) & (place < 260)), [150, 260]
    if kind == "stairs":
        return y + 4 * (place >= 100) + 4 * (place >= 300), [100, 300]
    return y, []


@pytest.mark.parametrize(
    ("kind", "seed"), [("shift", 1), ("shift", 2), ("block", 2), ("block", 4), ("stairs", 1), ("stairs", 2)]
)
def test_shifts_are_found_where_they_are(kind, seed):
    y, places = series(kind, seed)
    found = seasonality(np.arange(400) * 7200.0, y)
    assert [shift.seconds / 7200 for shift in found.shifts] == pytest.approx(places, abs=4)
    assert found.periods == ()
    assert found.drift is None
    assert all(shift.p_value <= 0.01 for shift in found.shifts)
    first = found.shifts[0]
    assert first.after - first.before == pytest.approx(4 if kind == "stairs" else 3, abs=0.5)


def test_a_drift_is_told_with_its_size():
    y, _ = series("none", 4)
    t = np.arange(400) * 7200.0
    found = seasonality(t, y + 3 * t / t[-1])
    assert found.shifts == ()
    assert found.drift.change == pytest.approx(3, abs=0.6)
    assert not found.drift.bent
    assert found.periods == ()


def test_a_drift_that_bends_is_no_shift_and_no_period():
    y, _ = series("none", 5)
    t = np.arange(400) * 7200.0
    found = seasonality(t, y + 8 * (t / t[-1]) ** 2)
    assert found.drift.bent
    assert found.drift.change == pytest.approx(8, abs=1.5)
    assert found.periods == ()


def test_day_and_week_are_found_beside_a_shift_and_a_drift():
    t = np.arange(504) * 7200.0
    wave = np.sin(2 * np.pi * t / DAY) + np.sin(2 * np.pi * t / WEEK)
    y = generator(6).normal(size=504) + wave + 4 * (t > 0.6 * t[-1]) + 2 * t / t[-1]
    found = seasonality(t, y)
    assert [period.name for period in found.periods] == ["day", "week"]
    assert len(found.shifts) == 1
    assert found.span == WEEK


def test_a_record_that_only_shifts_leaves_nothing_to_search():
    t = np.arange(300) * 7200.0
    found = seasonality(t, 1.0 * (t > 0.5 * t[-1]))
    assert found.periods == ()
    assert [shift.seconds for shift in found.shifts] == [t[150]]


def test_too_few_values_for_a_shift():
    grid = TimeGrid(1.0, np.arange(20), np.zeros(20), regular=True)
    scores = normal_scores(generator(7).normal(size=20))
    found = find_shifts(grid, scores, [], alpha=0.01, surrogates=199, seed=np.random.SeedSequence(1))
    assert found.baseline.shifts == ()
    assert set(FAMILIES) == {"shift", "block", "bend"}


def test_the_paper_looks_for_no_shift():
    y, _ = series("shift", 1)
    found = seasonality(np.arange(400) * 7200.0, y, method="paper")
    assert (found.shifts, found.drift, found.level_tested) == ((), None, False)


def test_edges_of_a_wave_recur_and_shifts_at_any_times_do_not():
    grid = TimeGrid(1.0, np.arange(400), np.zeros(400), regular=True)
    noise = np.random.default_rng(6).normal(size=400)

    def found(edges, sizes):
        values = 20 * np.sum(
            [size * (grid.times >= edge) for edge, size in zip(edges, sizes, strict=True)], axis=0
        )
        return recurrence(grid, values + noise, Baseline(shifts=tuple(edges)))

    up, down = [40.0, 140.0, 241.0, 340.0], [70.0, 171.0, 270.0, 371.0]
    assert found(up, [1] * 4) == pytest.approx(100, abs=1)
    assert found(sorted(up + down), [1, -1] * 4) == pytest.approx(100, abs=1)
    assert found([40.0, 140.0, 340.0, 440.0 - 60], [1] * 4) is None
    assert found(up[:3], [1] * 3) is None, "two distances that are alike may be chance"
    assert found(up, [1, -1, 1, -1]) is None, "of each direction one distance"


def test_shifts_at_any_times_stay_shifts():
    times = np.arange(400.0)
    levels = np.select([times < 60, times < 150, times < 200, times < 330], [0, 5, 8, 3], 7)
    found = seasonality(times, levels + np.random.default_rng(7).normal(size=400))
    assert [shift.seconds for shift in found.shifts] == pytest.approx([60, 150, 200, 330], abs=2)
    assert found.periods == ()
