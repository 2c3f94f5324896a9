"""Effects of one factor at each level of others, to read if an interaction matters."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import one_of
from trialwise.statistics.comparing.holm import holm
from trialwise.statistics.effects.anova import DEFAULT_PERMUTATIONS, AnovaMethod, AnovaRow, anova
from trialwise.statistics.effects.factorial import MAX_FACTORS
from trialwise.statistics.frames import factor_names, labels, numbers

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from trialwise.statistics.frames import Table


@dataclass(frozen=True, slots=True)
class SimpleEffect:
    """The effect of a factor at one level of the others."""

    at: tuple[Hashable, ...]
    """A level of each of the other factors."""
    row: AnovaRow | None
    """From the one-way analysis of the trials at that level; None if there is none."""
    p_value: float
    """Corrected over all levels (Holm); NaN without a row."""
    n: int
    """Number of trials at that level."""
    reason: str
    """Why there is no row, and the remedy; empty if there is one."""


@dataclass(frozen=True, slots=True)
class SimpleEffects:
    """The effects of one factor at each level of others."""

    rows: tuple[SimpleEffect, ...]
    """In the order of each level's first trial."""
    factor: str
    at: tuple[str, ...]
    response: str
    n: int
    """Number of trials."""
    method: str


def simple_effects(
    table: Table,
    response: str,
    factor: str,
    at: Sequence[str] | str,
    *,
    method: AnovaMethod = "welch",
    permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = 0,
    confidence: float = 95,
) -> SimpleEffects:
    """Test one factor at each level of the others, from the trials at that level only.

    Parameters
    ----------
    table, response, method, permutations, seed, confidence
        As in `anova`.
    factor
        The factor to test.
    at
        The other factor, or several, for each combination of their levels that has trials.

    Raises
    ------
    StatisticsError
        As in `anova`, for errors of the table; an error at one level only is reported in its row.
    """
    names = factor_names([factor, *factor_names(at, MAX_FACTORS)], MAX_FACTORS)
    one_of(method, "method", ("welch", "ordinary", "freedman_lane", "raw_permutation"))
    values = numbers(table, response)
    read = [labels(table, name, values.size) for name in names]
    found: dict[tuple[Hashable, ...], list[int]] = {}
    for row, codes in enumerate(zip(*(codes.tolist() for codes, _ in read[1:]), strict=True)):
        levels = tuple(known[code] for code, (_, known) in zip(codes, read[1:], strict=True))
        found.setdefault(levels, []).append(row)
    rows: list[AnovaRow | str] = []
    for places in found.values():
        part = {response: values[places], factor: [read[0][1][code] for code in read[0][0][places].tolist()]}
        try:
            result = anova(
                part,
                response,
                factor,
                method=method,
                permutations=permutations,
                seed=seed,
                confidence=confidence,
            )
        except StatisticsError as error:
            rows.append(str(error))
        else:
            rows.append(result.rows[0])
    return SimpleEffects(
        rows=_corrected(found, rows),
        factor=factor,
        at=names[1:],
        response=response,
        n=values.size,
        method=f"one-way at each level, Holm over the levels; {method}",
    )


def _corrected(
    found: dict[tuple[Hashable, ...], list[int]], rows: Sequence[AnovaRow | str]
) -> tuple[SimpleEffect, ...]:
    tested = [row.p_value for row in rows if isinstance(row, AnovaRow) and not isnan(row.p_value)]
    corrected = iter(holm(tested))
    return tuple(
        SimpleEffect(levels, None, nan, len(places), row)
        if isinstance(row, str)
        else SimpleEffect(levels, row, next(corrected), len(places), "")
        for (levels, places), row in zip(found.items(), rows, strict=True)
    )
