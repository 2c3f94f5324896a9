"""How often the model of two clocks is right: the matrix of REAL_PATHS.md, section 3, and its table of errors.

`.venv/bin/python tests/operating/test_clock_rates.py` prints the table of docs/concepts/clocks.md.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from planted_clocks import Planted
from trialwise.measurement.clocks.fitting import fit_clocks
from trialwise.measurement.clocks.floors import floor_of, touching_slope
from trialwise.measurement.clocks.model import ClockModel

pytestmark = pytest.mark.operating
runs = pytest.mark.parametrize("runs", [25, pytest.param(100, marks=pytest.mark.soak)])
TABLE = {
    # Noise, probes a second, seconds: rms error and 95th percentile of the mean of both hulls, ppm, of 200 runs by others.
    (1e-4, 20, 30): (0.092, 0.18),
    (1e-4, 20, 60): (0.034, 0.065),
    (1e-4, 200, 60): (0.010, 0.021),
    (1e-3, 20, 30): (0.34, 0.72),
    (1e-3, 20, 60): (0.105, 0.197),
    (1e-3, 200, 60): (0.034, 0.064),
    (5e-3, 20, 30): (1.5, 3.3),
    (5e-3, 20, 60): (0.37, 0.79),
    (5e-3, 200, 60): (0.067, 0.145),
}


def fits(planted: Planted, runs: int = 100) -> list[ClockModel]:
    return [fit_clocks(*planted.drawn(seed), seed=seed) for seed in range(runs)]


def most(count: float, runs: int) -> bool:
    """Whether so many runs are 95 of 100, as far as so many runs tell."""
    return count >= {25: 23, 100: 95}[runs]


def errors(planted: Planted, found: list[ClockModel]) -> np.ndarray:
    """In ppm."""
    return np.array([np.nan if one.skew is None else one.skew.value * 1e6 - planted.skew for one in found])


def covered(planted: Planted, found: list[ClockModel]) -> int:
    """Runs whose interval holds the skew."""
    true = planted.skew * 1e-6
    return sum(one.skew is not None and one.skew.low <= true <= one.skew.high for one in found)


def worst(planted: Planted, one: ClockModel) -> float:
    """The largest error of a piece's offset, seconds."""
    return max(
        np.inf if piece.offset is None else abs(piece.offset.value - float(planted.offset_at(piece.middle)))
        for piece in one.pieces
    )


def bounded(planted: Planted, one: ClockModel) -> bool:
    return all(
        piece.offset is not None
        and piece.offset.low <= float(planted.offset_at(piece.middle)) <= piece.offset.high
        for piece in one.pieces
    )


EXACT = [
    Planted(offset=offset, skew=skew, asymmetry=asymmetry)
    for offset, skew, asymmetry in itertools.product((0.0, 1000.0), (0.0, -20.0, 100.0), (0.0, 0.01))
] + [
    Planted(noise=5e-4, loads=1),
    Planted(noise=5e-4, loss=0.05, reordering=True),
    Planted(noise=5e-4, route=0.015),
    Planted(noise=2e-4, step=0.05),
    Planted(noise=2e-4, step=-0.05, skew=-100.0),
]


@runs
@pytest.mark.parametrize("planted", EXACT, ids=str)
def test_the_skew_is_within_a_fifth_of_a_millionth_in_a_minute(planted: Planted, runs: int):
    found = fits(planted, runs)
    assert most(np.count_nonzero(np.abs(errors(planted, found)) <= 0.2), runs)
    assert most(covered(planted, found), runs)
    assert most(sum(bounded(planted, one) for one in found), runs)
    if not planted.loads:
        assert most(sum(worst(planted, one) <= planted.asymmetry / 2 + 50e-6 for one in found), runs)


@runs
@pytest.mark.parametrize("loads", [1, 2])
@pytest.mark.parametrize(
    "trouble", [{}, {"loss": 0.05, "reordering": True}, {"asymmetry": 0.01, "skew": -100.0}], ids=str
)
def test_loads_stay_inside_the_bounds(loads: int, trouble: dict[str, float], runs: int):
    planted = Planted(noise=5e-4, loads=loads, **trouble)  # pyright: ignore[reportArgumentType]
    found = fits(planted, runs)
    assert most(covered(planted, found), runs)
    assert most(sum(bounded(planted, one) for one in found), runs)
    assert most(sum(one.changes == () for one in found), runs)


@runs
@pytest.mark.parametrize("loads", [0, 1, 2])
@pytest.mark.parametrize("skew", [20.0, -100.0])
@pytest.mark.parametrize(
    "trouble", [{"step": 0.05}, {"step": -0.05}, {"route": 0.015}, {"route": -0.015}], ids=str
)
def test_steps_and_routes_are_told_apart_every_time(
    loads: int, skew: float, trouble: dict[str, float], runs: int
):
    planted = Planted(noise=5e-4, loads=loads, skew=skew, **trouble)  # pyright: ignore[reportArgumentType]
    kind = "clock" if planted.step else "route"
    found = fits(planted, runs)
    kinds = {tuple(change.kind for change in one.changes if abs(change.time - 30) < 4) for one in found}
    assert kinds == {(kind,)}
    assert most(sum(bounded(planted, one) for one in found), runs)


@pytest.mark.parametrize("given", TABLE, ids=str)
def test_the_mean_of_both_hulls_errs_as_others_found(given: tuple[float, float, float]):
    """Moon's line alone, in both directions: 200 runs of ours against 200 of theirs, each with its Monte Carlo error."""
    assert _mean_of_hulls(*given) == pytest.approx(TABLE[given][0], rel=0.25)


@pytest.mark.parametrize("given", [(1e-4, 20, 60), (1e-3, 20, 60)], ids=str)
def test_the_likelihood_errs_less_than_the_mean_of_both_hulls(given: tuple[float, float, float]):
    planted = Planted(noise=given[0], rate=given[1], seconds=given[2])
    found = errors(planted, fits(planted))
    assert np.sqrt(np.mean(found**2)) < TABLE[given][0]


def _mean_of_hulls(noise: float, rate: float, seconds: float, runs: int = 200) -> float:
    planted = Planted(noise=noise, rate=rate, seconds=seconds)
    found: list[float] = []
    for seed in range(runs):
        forward, backward = planted.drawn(seed)
        there = touching_slope([floor_of(forward.sent / 1e9, (forward.received - forward.sent) / 1e9)])
        back = touching_slope([floor_of(backward.received / 1e9, (backward.received - backward.sent) / 1e9)])
        assert there is not None
        assert back is not None
        found.append((there - back) / 2 * 1e6 - planted.skew)
    return float(np.sqrt(np.mean(np.square(found))))


def main() -> None:
    for noise, rate, seconds in TABLE:
        planted = Planted(noise=noise, rate=rate, seconds=seconds)
        found = np.abs(errors(planted, fits(planted)))
        hulls, here = _mean_of_hulls(noise, rate, seconds), np.sqrt(np.mean(found**2))
        words = (
            f"{noise * 1e3:g} ms",
            f"{rate}/s, {seconds} s",
            *np.round([hulls, here, np.percentile(found, 95)], 3),
        )
        sys.stdout.write(" | ".join(map(str, words)) + "\n")


if __name__ == "__main__":
    main()
