"""Allocation of a budget to hosts, boots and trials: the counts of each level that make the mean most precise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, inf, isfinite, prod, sqrt
from typing import TYPE_CHECKING

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import known_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 30
"""Largest number of units inside one of the level above, since a pilot often estimates the top level's variance as 0."""
FEWEST = 5
"""Minimum number of units of the highest level, if the budget allows."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Counts for each level, with the predicted precision and cost."""

    counts: dict[str, int]
    """Units of each level inside each unit of the level above; for the highest level, in total."""
    half_width: float
    """Predicted half-width of the t interval of the mean, in the unit of the values."""
    cost: float
    """Cost of these counts."""
    budget: float
    n: int
    """Total number of values of the lowest level."""
    confidence: float
    """In percent."""
    method: str
    note: str
    """Which limit decided instead of the formula; empty if none did."""


@dataclass(slots=True)
class _Block:
    """Adjacent levels, the lower ones with one unit in each of the upper."""

    levels: list[str]
    cost: float
    variance: float


def allocated(
    variances: Mapping[str, float | None], costs: Mapping[str, float], budget: float, *, confidence: float
) -> Allocation:
    """Compute counts for each level from variances and costs.

    The number of units inside one of the level above is sqrt(c_above / c · variance / variance_above) (Cochran 1977, section 10.6;
    Kalibera and Jones 2013, section 6), rounded to whichever side costs less for the same precision, at most 30. Levels with an
    optimum below one get one unit and are merged with the level above. The budget then buys units of the highest level; if it does
    not buy five, lower levels are reduced until it does.

    Parameters
    ----------
    variances
        From the highest level to the lowest; None for a level without an estimate, which has one unit.
    costs
        For each level the cost of one more unit by itself, 0 or more.
    budget
        Maximum total cost.
    confidence
        Of the half-width, in percent.

    Raises
    ------
    StatisticsError
        A level has no cost, a cost is negative, or the budget does not buy two units of the highest level.
    """
    spent, blocks = _blocks(variances, costs, budget)
    wanted = [1.0] + [_optimum(above, below) for above, below in pairwise(blocks)]
    sizes, capped = _rounded(blocks, wanted)
    top = _affordable(blocks, sizes, budget - spent)
    shrunk = False
    least = sum(block.cost for block in blocks)
    while top < FEWEST and _unit_cost(blocks, sizes) > least:
        _shrink(blocks, sizes)
        top, shrunk = _affordable(blocks, sizes, budget - spent), True
    if top < 2:
        raise StatisticsError(
            f"the budget of {budget:g} does not buy two of {blocks[0].levels[0]}; {spent + 2 * least:g} would"
        )
    counts = dict.fromkeys(variances, 1)
    counts |= {block.levels[0]: size for block, size in zip(blocks, [top, *sizes[1:]], strict=True)}
    variance = _variance(blocks, sizes) / top
    return Allocation(
        counts=counts,
        half_width=float(special.stdtrit(top - 1, (1 + confidence / 100) / 2)) * sqrt(variance),
        cost=spent + top * _unit_cost(blocks, sizes),
        budget=float(budget),
        n=prod(counts.values()),
        confidence=float(confidence),
        method="r = sqrt(cost above / cost * variance / variance above)",
        note=_note(blocks[0].levels[0], top, capped=capped, shrunk=shrunk),
    )


def _blocks(
    variances: Mapping[str, float | None], costs: Mapping[str, float], budget: float
) -> tuple[float, list[_Block]]:
    """Return the fixed cost, and the levels that vary, pooled so that each has one or more units in the one above."""
    known_keys(costs, "costs", tuple(variances))
    spent, blocks = 0.0, list[_Block]()
    for level, variance in variances.items():
        cost = float(costs[level]) if level in costs else -1.0
        if not 0 <= cost < inf:
            raise StatisticsError(f"the cost of {level!r} is {costs.get(level)!r}; expected a number ≥ 0")
        if variance is not None:
            blocks.append(_Block([level], cost, variance))
        elif blocks:
            blocks[-1].levels.append(level)
            blocks[-1].cost += cost
        else:
            spent += cost
    if not isfinite(budget) or sum(block.cost for block in blocks) <= 0:
        raise StatisticsError(
            f"the budget is {budget!r} and one of each level costs nothing or it is not finite"
        )
    return spent, _pooled(blocks)


def _pooled(blocks: list[_Block]) -> list[_Block]:
    pooled: list[_Block] = []
    for block in blocks:
        pooled.append(block)
        while len(pooled) > 1 and _optimum(pooled[-2], pooled[-1]) <= 1:
            last = pooled.pop()
            above = pooled.pop()
            pooled.append(
                _Block(above.levels + last.levels, above.cost + last.cost, above.variance + last.variance)
            )
    return pooled


def _optimum(above: _Block, below: _Block) -> float:
    """Return the optimal number of units of a level inside one of the level above."""
    if below.variance == 0 or above.cost == 0:
        return 0.0
    share = below.cost * above.variance
    return sqrt(above.cost * below.variance / share) if share else inf


def _rounded(blocks: list[_Block], wanted: list[float]) -> tuple[list[int], bool]:
    """Round up or down, the highest level first, to whichever costs less for the same variance."""
    sizes = [1] * len(blocks)
    for at in range(1, len(blocks)):
        best = min(wanted[at], float(MOST))
        later = [min(size, float(MOST)) for size in wanted[at + 1 :]]

        def price(size: int, at: int = at, later: list[float] = later) -> float:
            tried = [*sizes[:at], size, *later]
            return _variance(blocks, tried) * _unit_cost(blocks, tried)

        sizes[at] = min({floor(best), ceil(best)}, key=price)
    return sizes, any(size > MOST for size in wanted)


def _shrink(blocks: list[_Block], sizes: list[int]) -> None:
    """Remove one unit from the level with the smallest loss of precision per cost saved."""

    def price(at: int) -> float:
        fewer = [size - (place == at) for place, size in enumerate(sizes)]
        saved = _unit_cost(blocks, sizes) - _unit_cost(blocks, fewer)
        lost = _variance(blocks, fewer) - _variance(blocks, sizes)
        return lost / saved if saved > 0 else inf

    at = min((at for at in range(1, len(sizes)) if sizes[at] > 1), key=price)
    sizes[at] -= 1


def _variance(blocks: list[_Block], sizes: list[int] | list[float]) -> float:
    """Return the variance of the mean of one unit of the highest level."""
    total, units = 0.0, 1.0
    for block, size in zip(blocks, sizes, strict=True):
        units *= size
        total += block.variance / units
    return total


def _unit_cost(blocks: list[_Block], sizes: list[int] | list[float]) -> float:
    """Return the cost of one unit of the highest level with everything inside it."""
    total, units = 0.0, 1.0
    for block, size in zip(blocks, sizes, strict=True):
        units *= size
        total += block.cost * units
    return total


def _affordable(blocks: list[_Block], sizes: list[int], left: float) -> int:
    return floor(left / _unit_cost(blocks, sizes) * (1 + 1e-12))


def _note(highest: str, top: int, *, capped: bool, shrunk: bool) -> str:
    parts = [
        f"limited to {MOST} units inside one of the level above" if capped else "",
        f"fewer units of lower levels, for {FEWEST} of {highest}" if shrunk and top >= FEWEST else "",
        f"the budget buys {top} of {highest}; {FEWEST} or more are better" if top < FEWEST else "",
    ]
    return "; ".join(part for part in parts if part)
