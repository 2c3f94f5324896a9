"""Levels of positions: common to all treatments, and each treatment's own."""

import numpy as np
import pytest

from trialwise.statistics.order.positions import PositionLevels, exchangeable, own_levels, position_blocks


def test_common_levels_are_found_in_the_scale_of_each_treatment():
    random = np.random.default_rng(1)
    rows = random.permuted(np.tile(np.arange(4), (200, 1)), axis=1).ravel()
    places = np.tile(np.arange(4.0), 200)
    scales, profile = np.array([1.0, 10, 100, 0.1]), np.array([6.0, 0, 0, 2])
    values = 50 + scales[rows] * (random.normal(size=rows.size) + profile[places.astype(int)])
    levels, differ, later = PositionLevels(rows, places).of(values)
    assert differ
    assert later
    for code, scale in enumerate(scales):
        own = rows == code
        assert levels[own].mean() == pytest.approx(0, abs=1e-9 * scale)
        found = [levels[own & (places == place)].mean() / scale for place in range(4)]
        assert np.array(found) - found[1] == pytest.approx(profile, rel=0.2, abs=0.4)


def test_a_cold_start_alone_is_no_difference_of_later_positions():
    random = np.random.default_rng(2)
    rows = random.permuted(np.tile(np.arange(5), (30, 1)), axis=1).ravel()
    places = np.tile(np.arange(5.0), 30)
    values = random.normal(size=rows.size) + 9 * (places == 0)
    assert PositionLevels(rows, places).of(values)[1:] == (True, False)


def test_what_never_varies_has_no_level():
    rows, places = np.tile([0, 1, 2], 20), np.tile([0.0, 1, 2], 20)
    values = np.where(rows == 1, 7.0, np.random.default_rng(3).normal(size=60))
    assert not PositionLevels(rows, places).of(values)[0][rows == 1].any()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_blocks_keep_the_ends_and_leave_none_empty(count):
    places = np.arange(float(count))
    for block in position_blocks(places):
        assert (np.diff(block) >= 0).all()
        assert set(block.tolist()) == set(range(int(block.max()) + 1))
        if block.max() >= 2:
            assert (block == 0).sum() == 1
            assert (block == block.max()).sum() == 1
    assert block.max() == 0


def test_a_treatment_has_levels_of_its_own_where_it_needs_them():
    places = np.repeat(np.arange(6), 4)
    noise = np.random.default_rng(4).normal(size=24)
    fixed = np.column_stack([np.ones(24), places - 2.5])
    assert own_levels(noise + 5 * (places == 3), fixed, places).shape == (24, 5)
    assert own_levels(noise + 5 * places, fixed, places).shape == (24, 0)
    assert own_levels(np.zeros(24), fixed, places).shape == (24, 0)


def test_exchanged_residuals_have_the_spread_of_errors_in_each_block():
    """In a block of two groups of a model a third of five errors' squares is lost; exchanged, they have four fifths again."""
    random = np.random.default_rng(5)
    block, group = np.repeat([0, 1], 5), np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
    errors = random.normal(size=(20_000, 10))
    counts = np.bincount(group)[group]
    means = np.stack([errors[:, group == code].mean(axis=1) for code in range(3)], axis=1)[:, group]
    squares = np.mean([exchangeable(row, 1 / counts, block) ** 2 for row in errors - means], axis=0)
    assert squares[:5].sum() == pytest.approx(4, rel=0.03)
    assert squares[5:].sum() == pytest.approx(4, rel=0.03)
