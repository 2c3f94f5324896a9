"""False alarms: how often the verdict is "different" although nothing differs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.calibration.results import Arrangement
from trialwise.analysis.calibration.splits import Splits, blocks_of, judged, parents_of, random_sides
from trialwise.analysis.trial_set import LEVELS, Level
from trialwise.late import pl

_DRAWS = 200
_SPLITS_OF_DRAW = 200


@dataclass(frozen=True, slots=True)
class How:
    """How trials are split, and judged."""

    arrangement: Arrangement
    level: Level
    paired: bool


def re_split(trials: pl.DataFrame, how: How, count: int, random: np.random.Generator) -> Splits:
    """Split the trials into two sides `count` times, and judge each split."""
    sides = random_sides(blocks_of(trials, how.arrangement, how.level), count, random)
    if how.arrangement == "separate":
        sides = sides[:, np.unique(trials[how.level].to_numpy(), return_inverse=True)[1]]
    values = trials["value"].to_numpy()
    return judged(values, sides, parents_of(trials, how.level), paired=how.paired)


def false_alarms(splits: Splits, confidence: float) -> st.Proportion:
    """Return the share of re-splits that are different, with its exact interval."""
    return st.proportion(_alarms(splits, confidence), splits.p_values.size, confidence=confidence)


def _alarms(splits: Splits, confidence: float) -> int:
    return int(np.sum(splits.p_values <= (1 - confidence / 100) * (1 + 1e-12)))


def other_rates(
    trials: pl.DataFrame, how: How, confidence: float, random: np.random.Generator
) -> tuple[float, float]:
    """Return the 95 % range of the rate, in percent, over bootstrap draws of blocks.

    Re-splits of the same trials agree with each other far better than with re-splits of other trials: if the trials of a round
    happen to lie on opposite sides of the mean, all re-splits have many false alarms. Resampling rounds (or boots or hosts, if those
    are the units) shows how this bench behaves in other rounds.
    """
    unit = _unit(trials, how)
    places = (
        trials.with_row_index("place").group_by(unit, maintain_order=True).agg("place")["place"].to_list()
    )
    columns = [*LEVELS[LEVELS.index(how.level) :], "round"]
    rates: list[float] = []
    for _ in range(_DRAWS):
        drawn = random.integers(len(places), size=len(places))
        rows = [place for number in drawn for place in places[number]]
        copies = pl.Series([str(copy) for copy, number in enumerate(drawn) for _ in places[number]])
        again = trials[rows].with_columns(
            pl.concat_str(copies, pl.col(name), separator=":").alias(name) for name in columns
        )
        splits = re_split(again, how, _SPLITS_OF_DRAW, random)
        rates.append(100 * _alarms(splits, confidence) / _SPLITS_OF_DRAW)
    low, high = np.quantile(rates, [0.025, 0.975])
    return float(low), float(high)


def _unit(trials: pl.DataFrame, how: How) -> str:
    if how.level not in ("process", "trial"):
        return how.level
    several = blocks_of(trials, how.arrangement, how.level).max() > 0
    return "round" if several else how.level
