from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trialwise.statistics.pooled.phase_randomization import (
    Noise,
    certain,
    circle,
    normal_rows,
    normal_scores,
    reached_correlations,
    rearranged,
    residuals,
)
from trialwise.statistics.time.harmonics import (
    DAY,
    WEEK,
    Candidate,
    design,
    name_of,
    orthonormal,
    strengths,
    visible,
    waves,
)
from trialwise.statistics.time.noise_spectra import frequencies_of, noise_spectra, power
from trialwise.statistics.time.timegrid import TimeGrid


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def drawn(grid, noise, count, rng):
    """Normal series of a noise, with its variance."""
    rows = normal_rows(grid, noise.correlations(circle(grid)), count, rng)
    return np.sqrt(noise.red + noise.white) * rows


def two_hourly(days, kept=1.0, seed=0):
    present = generator(seed).random(int(days * 12)) < kept
    present[[0, -1]] = True
    index = np.flatnonzero(present)
    return TimeGrid(7200.0, index, np.zeros(index.size), regular=True)


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.6, 0.95])
def test_red_noise_has_the_correlation_of_its_gaps(rho):
    grid = TimeGrid(1.0, np.array([0, 1, 2, 5, 9]), np.zeros(5), regular=True)
    rows = drawn(grid, Noise(rho), 40_000, generator(1))
    gaps = np.abs(np.subtract.outer(grid.index, grid.index))
    np.testing.assert_allclose(np.cov(rows.T), rho ** gaps.astype(float), atol=0.03)


def test_surrogates_hold_the_values_of_the_data():
    grid = two_hourly(28, 0.8)
    values = (generator(2).random(grid.index.size) < 0.1).astype(float)
    blocks = list(rearranged(grid, certain(Noise(0.5)), values, 9000, generator(2)))
    assert [block.shape[1] for block in blocks] == [grid.index.size] * len(blocks)
    assert sum(block.shape[0] for block in blocks) == 9000 > max(block.shape[0] for block in blocks)
    assert {tuple(sorted(row)) for block in blocks for row in block[:20]} == {tuple(sorted(values))}


def test_surrogates_of_white_noise_are_permutations_alike_likely():
    """Two 1s among six values: 15 places of theirs, by χ² of 14 degrees of freedom."""
    grid = TimeGrid(1.0, np.arange(6), np.zeros(6), regular=True)
    values = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    rows = np.concatenate(list(rearranged(grid, certain(Noise(0.0)), values, 15_000, generator(9))))
    _, counts = np.unique(rows @ 2 ** np.arange(6), return_counts=True)
    assert counts.size == 15
    assert stats.chi2.sf(np.sum((counts - 1000) ** 2 / 1000), 14) > 0.001


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_correlations_of_two_values_are_those_of_the_bivariate_normal_distribution(share):
    """Of numbers above a threshold: the probability that both are, by SciPy's bivariate normal distribution."""
    ordered = np.r_[np.zeros(round(1000 * (1 - share))), np.ones(round(1000 * share))]
    threshold = stats.norm.isf(share)
    for normal in (-0.4, 0.2, 0.6, 0.9):
        both = stats.multivariate_normal([0, 0], [[1, normal], [normal, 1]]).cdf([-threshold, -threshold])
        wanted = (both - share**2) / (share - share**2)
        assert reached_correlations(ordered).normal(np.array(wanted)) == pytest.approx(normal, abs=0.01)


def test_correlations_of_normal_values_are_their_own():
    ordered = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    wanted = np.array([-0.9, -0.3, 0.0, 0.5, 0.99, 1.0])
    np.testing.assert_allclose(reached_correlations(ordered).normal(wanted), wanted, atol=0.003)


@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_rearranged_values_keep_the_memory_that_is_asked_for(rho):
    grid = TimeGrid(1.0, np.arange(3000), np.zeros(3000), regular=True)
    values = generator(10).poisson(0.3, 3000).astype(float)
    values -= values.mean()
    rows = np.concatenate(list(rearranged(grid, certain(Noise(rho)), values, 200, generator(11))))
    for lag in (1, 2, 4):
        found = np.mean(rows[:, lag:] * rows[:, :-lag]) / np.mean(values**2)
        assert found == pytest.approx(rho**lag, abs=0.02)


MIXED = [
    Noise(-0.3),
    Noise(0.0),
    Noise(0.9),
    Noise(0.99, red=0.3, white=0.7),
    Noise(0.999, red=2.0, white=1.0),
]


@pytest.mark.parametrize("noise", MIXED)
def test_the_spectrum_of_a_noise_after_a_regression_is_what_simulation_shows(noise):
    grid = two_hourly(28, 0.8)
    basis = design(grid.times, [Candidate(DAY, 5), Candidate(WEEK, 3)])
    frequencies = frequencies_of(grid)
    noises = noise_spectra(grid, basis, frequencies)
    seen = power(grid, residuals(drawn(grid, noise, 3000, generator(3)), basis), frequencies)
    place = int(noises.fit(seen.mean(axis=0, keepdims=True)).places[0])
    ratio = seen.mean(axis=0) / noises.spectrum(place)
    found = noises.noises[place]
    if found.correlation == pytest.approx(noise.correlation):
        # 3,000 rows: each frequency within 1/√3000, and the shares of a list within some percent
        assert np.quantile(ratio / ratio.mean(), [0.02, 0.98]) == pytest.approx([1, 1], abs=0.12)
    assert found.correlation == pytest.approx(noise.correlation, abs=0.06)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_single_series_look_like_the_noise_that_they_are(rho):
    grid = two_hourly(28, 0.8)
    basis = design(grid.times, [Candidate(DAY, 5), Candidate(WEEK, 3)])
    frequencies = frequencies_of(grid)
    noises = noise_spectra(grid, basis, frequencies)
    rows = power(grid, residuals(drawn(grid, Noise(rho), 60, generator(4)), basis), frequencies)
    # Noise in which next to nothing is red, or forgets within a value, is white.
    fit = noises.fit(rows)
    felt = [noises.shares[at] * noises.noises[at].correlation for at in fit.places]
    assert np.median(felt) == pytest.approx(rho, abs=0.1)


def test_a_peak_that_does_not_count_leaves_the_noise_that_is_beside_it():
    grid = two_hourly(28)
    frequencies = frequencies_of(grid)
    basis = design(grid.times, [])
    noises = noise_spectra(grid, basis, frequencies)
    rows = drawn(grid, Noise(0.0), 1, generator(8)) + 2 * np.sin(2 * np.pi * grid.times / (4 * DAY))
    spectrum = power(grid, residuals(rows, basis), frequencies)
    peak = np.array([spectrum[0].argmax()])
    assert noises.like(spectrum).noises[0].correlation > 0.5
    assert noises.shares[noises.fit(spectrum, peak).places[0]] < 0.2


def test_normal_scores_depend_on_ranks_certain():
    values = generator(5).normal(size=200)
    np.testing.assert_allclose(normal_scores(np.exp(values * 50)), normal_scores(values))
    assert np.std(normal_scores(values)) == pytest.approx(1, abs=0.02)


def test_partial_strength_is_the_share_that_a_reference_regression_gives():
    rng = generator(6)
    grid = two_hourly(21, 0.7, seed=6)
    t, scores = grid.times, rng.normal(size=grid.index.size)
    scores += np.sin(2 * np.pi * t / DAY)
    candidates = [Candidate(DAY, 2), Candidate(WEEK, 1)]

    def unexplained(*periods):
        columns = [np.ones_like(t), t / t[-1]]
        columns += [wave(2 * np.pi * t / period) for period in periods for wave in (np.cos, np.sin)]
        return np.linalg.lstsq(np.column_stack(columns), scores)[1][0]

    everything = unexplained(DAY, DAY / 2, WEEK)
    expected = [1 - everything / unexplained(WEEK), 1 - everything / unexplained(DAY, DAY / 2)]
    np.testing.assert_allclose(strengths(t, scores, candidates), expected, rtol=1e-9)


def test_power_is_the_lomb_scargle_periodogram_without_gaps():
    signal = pytest.importorskip("scipy.signal")
    grid = TimeGrid(0.5, np.arange(200), np.zeros(200), regular=True)
    values = generator(7).normal(size=200)
    values -= values.mean()
    frequencies = frequencies_of(grid)
    at = np.arange(4, 396, 4) - frequencies.first
    at = at[at >= 0]
    hertz = (at + frequencies.first) / (frequencies.length * grid.cell)
    assert frequencies.length == 800
    reference = signal.lombscargle(grid.times, values, 2 * np.pi * hertz)
    np.testing.assert_allclose(
        power(grid, values[None, :], frequencies)[0, at], 200 * reference, rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("days", "seconds", "harmonics"),
    [(28, DAY, 5), (1.5, DAY, None), (2, DAY, 3), (13, WEEK, None), (14, WEEK, 3)],
)
def test_what_can_be_seen(days, seconds, harmonics):
    found = visible(Candidate(seconds, 6 if seconds == DAY else 3), two_hourly(days))
    assert (found and found.harmonics) == harmonics


def test_a_day_cannot_be_seen_in_daily_data():
    assert visible(Candidate(DAY, 6), TimeGrid(DAY, np.arange(100), np.zeros(100), regular=True)) is None


def test_names_need_the_resolution():
    assert name_of(DAY * 1.01, 0.02 / DAY) == "day"
    assert name_of(DAY * 1.01, 0.001 / DAY) is None
    assert name_of(DAY * 1.2, 1 / DAY) is None


@pytest.mark.parametrize("noise", MIXED)
def test_what_noise_has_along_columns_is_what_simulation_shows(noise):
    grid = two_hourly(28, 0.8)
    basis = design(grid.times, [Candidate(WEEK, 3)])
    columns = orthonormal(waves(grid.times, Candidate(DAY, 2)), basis)
    noises = noise_spectra(
        grid, design(grid.times, [Candidate(DAY, 5), Candidate(WEEK, 3)]), frequencies_of(grid)
    )
    rows = drawn(grid, noise, 4000, generator(12))
    left = residuals(rows, design(grid.times, [Candidate(DAY, 5), Candidate(WEEK, 3)]))
    seen = np.sum((rows @ columns) ** 2, axis=1).mean() / np.mean(left**2)
    ratio = noise.white / (noise.red + noise.white)
    near = [
        at
        for at, one in enumerate(noises.noises)
        if one.correlation == pytest.approx(noise.correlation)
        and one.white / (one.red + one.white) == pytest.approx(ratio, abs=0.1)
    ]
    assert near
    expected = noises.along(grid, columns)[near]
    assert expected.min() * 0.95 <= seen <= expected.max() * 1.05
