"""The filter of Sprout against a second one in NumPy: dense matrices and plain loops, on recorded arrivals.

`python tests/golden/test_sprout.py` writes the file with which a test of crate congestion compares its own.
"""

from math import ceil, exp, lgamma, log
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[2] / "crates/congestion/tests/data/sprout"
PACKET, TICK = 1440, 0.02
RATES = np.linspace(0, 1000, 256)
MEANS = RATES * TICK
HORIZON, RISK = 8, 0.05


def evolution():
    """Transition probabilities in a tick: Gaussian of 200 packets/s in the root of a second, cut at four deviations."""
    sigma = 200 * np.sqrt(TICK)
    distance = RATES[None, :] - RATES[:, None]
    reach = ceil(4 * sigma / RATES[1])
    near = np.abs(np.subtract.outer(np.arange(256), np.arange(256))) <= reach
    matrix = np.where(near, np.exp(-(distance**2) / (2 * sigma**2)), 0)
    matrix[0, 0] = 0
    matrix /= matrix.sum(1, keepdims=True)
    stays = exp(-TICK)
    matrix[0] *= 1 - stays
    matrix[0, 0] = stays
    return matrix


def poisson(k):
    """Probability of k packets in a tick at each rate; k need not be whole."""
    with np.errstate(divide="ignore"):
        logs = k * np.log(MEANS[1:]) - MEANS[1:] - lgamma(k + 1)
    return np.concatenate([[float(k == 0)], np.exp(logs)])


def cumulative(matrix):
    """By horizon, rate now, and number: the probability that no more have come."""
    exactly = np.array([poisson(k) for k in range(HORIZON * 20 + 1)]).T
    totals = np.zeros_like(exactly)
    totals[:, 0] = 1
    tables = []
    for _ in range(HORIZON):
        now = np.array(
            [np.convolve(tick, rest)[: exactly.shape[1]] for tick, rest in zip(exactly, totals, strict=True)]
        )
        totals = matrix @ now
        tables.append(totals.cumsum(1))
    return tables


def forecast(probability, tables):
    """The largest number that is missed with no more than the risk, for each horizon."""
    numbers = []
    for ticks, table in enumerate(tables, 1):
        fewer = (probability @ table)[: 20 * ticks]  # fewer than 1, than 2, ...
        numbers.append(int(np.searchsorted(fewer, RISK, side="right")))
    return numbers


def ticks(arrivals):
    """What is observed in each tick: packets, and whether no more could have come."""
    last = arrivals[-1][0]
    due, was_due, place = None, False, 0
    for end in range(20_000_000, last + 1, 20_000_000):
        packets = 0
        while place < len(arrivals) and arrivals[place][0] < end:
            time, payload, following = arrivals[place]
            packets += payload / PACKET
            due = None if following is None else time + following
            place += 1
        is_due = due is not None and due <= end
        yield packets, was_due and is_due
        was_due = is_due


def second(arrivals):
    """Expected rate and forecasts after each tick."""
    matrix = evolution()
    tables = cumulative(matrix)
    exactly = np.array([poisson(k) for k in range(80)])
    probability = np.full(256, 1 / 256)
    rows = []
    for packets, is_exact in ticks(arrivals):
        probability = probability @ matrix
        if is_exact:
            probability *= poisson(packets)
        elif packets > 0:
            probability *= 1 - exactly[: int(packets)].sum(0)
        probability /= probability.sum()
        rows.append((probability @ RATES, *forecast(probability, tables)))
    return rows


def recorded():
    lines = (DATA / "arrivals.txt").read_text().splitlines()[1:]
    for time, payload, following in map(str.split, lines):
        yield int(time), int(payload), None if following == "-" else int(following) * 1_000_000


def test_what_the_crate_is_compared_with_is_what_the_second_filter_says():
    lines = (DATA / "forecasts.txt").read_text().splitlines()[1:]
    rows = second(list(recorded()))
    assert len(lines) == len(rows) > 600
    for line, (mean, *numbers) in zip(lines, rows, strict=True):
        expected, *forecasts = line.split()
        assert mean == pytest.approx(float(expected), rel=1e-9)
        assert numbers == [int(number) for number in forecasts]


def test_evolution_has_the_standard_deviation_of_the_paper():
    row = evolution()[128]
    spread = np.sqrt(row @ (RATES - RATES[128]) ** 2)
    assert spread == pytest.approx(200 * np.sqrt(TICK), rel=0.003)
    assert log(evolution()[0, 0]) == pytest.approx(-0.02)


if __name__ == "__main__":
    body = "\n".join(
        f"{mean:.12g} {' '.join(map(str, numbers))}" for mean, *numbers in second(list(recorded()))
    )
    head = "# Expected rate (packets/s), and packets forecast for one to eight ticks, after each tick: tests/golden/test_sprout.py"
    (DATA / "forecasts.txt").write_text(f"{head}\n{body}\n")
