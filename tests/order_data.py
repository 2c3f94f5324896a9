"""Made-up experiments whose carry-over is known: rounds balanced for carry-over, each treatment with a scale of its own."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from trialwise.analysis.order.trials import OrderTrials


@dataclass(frozen=True)
class Made:
    """Arguments of `carry_over`, and the pairs that were planted: (treatment, predecessor)."""

    values: np.ndarray
    treatments: list[str]
    rounds: np.ndarray
    positions: np.ndarray
    planted: set[tuple[str, str]]
    lasting: set[tuple[str, str]]
    """Pairs (treatment, earlier) of which the one is slower for the rest of the round once the other has run."""

    @property
    def arguments(self):
        return self.values, self.treatments, self.rounds, self.positions


def williams(treatments):
    """Rows in which every treatment follows every other once (even numbers; Williams 1949)."""
    zigzag = [
        place // 2 + 1 if place % 2 else (treatments - place // 2) % treatments for place in range(treatments)
    ]
    return (np.array(zigzag) + np.arange(treatments)[:, None]) % treatments


def made(
    seed,
    *,
    treatments=6,
    rounds=24,
    culprits=1,
    lasting=0,
    effect=5.0,
    drift=0.0,
    slope=0.0,
    shared=0.0,
    lost=0,
    balanced=True,
    noise="normal",
):
    """An experiment, balanced by one square throughout, by "squares" of their own or not.

    Effect, drift (first to last round), slope (for a position) and shared are in standard deviations."""
    rng = np.random.default_rng(seed)
    rows = _orders(rng, treatments, rounds, balanced=balanced)
    names = [f"t{place}" for place in range(treatments)]
    while (
        len(planted := {tuple(rng.choice(treatments, 2, replace=False)) for _ in range(culprits)}) < culprits
    ):
        pass
    errors = _noise(rng, rows.shape, noise) + shared * rng.normal(size=(rounds, 1))
    errors += drift * np.linspace(0, 1, rounds)[:, None] + slope * np.arange(treatments)
    for treatment, predecessor in planted:
        errors[:, 1:][(rows[:, 1:] == treatment) & (rows[:, :-1] == predecessor)] += effect
    stays = {tuple(rng.choice(treatments, 2, replace=False)) for _ in range(lasting)}
    for treatment, earlier in stays:
        errors[(rows == treatment) & (np.cumsum(rows == earlier, axis=1) > 0)] += effect
    scales = 10 ** rng.uniform(-1, 2, treatments)
    values = (scales * rng.uniform(10, 30, treatments))[rows] + scales[rows] * errors
    positions, turns = np.meshgrid(np.arange(treatments), np.arange(rounds))
    values, keep = values.ravel(), np.ones(rows.size, dtype=bool)
    gone = rng.choice(rows.size, lost, replace=False)
    values[gone[::2]] = np.nan
    keep[gone[1::2]] = False
    return Made(
        values[keep],
        [names[place] for place in rows.ravel()[keep]],
        turns.ravel()[keep],
        positions.ravel()[keep],
        {(names[treatment], names[predecessor]) for treatment, predecessor in planted},
        {(names[treatment], names[earlier]) for treatment, earlier in stays},
    )


def _orders(rng, treatments, rounds, *, balanced):
    if balanced == "squares":
        return np.vstack(
            [rng.permutation(treatments)[williams(treatments)] for _ in range(rounds // treatments)]
        )
    if not balanced:
        return rng.permuted(np.tile(np.arange(treatments), (rounds, 1)), axis=1)
    rows = np.vstack([williams(treatments)] * (rounds // treatments))
    rng.shuffle(rows)
    return rng.permutation(treatments)[rows]


def _noise(rng, shape, kind):
    if kind == "exponential":
        return rng.exponential(size=shape) - 1
    return rng.standard_t(3, size=shape) / np.sqrt(3) if kind == "heavy" else rng.normal(size=shape)


def fixed_and_random(seed, *, rounds=40, treatments=4, metrics=1, shift=0.0, noise="normal"):
    """Trials of rounds in fixed and random order in turns; `shift` moves t0 in fixed order (level 100, deviation 1)."""
    rng = np.random.default_rng(seed)
    fixed = np.arange(rounds) % 2 == 0
    random = rng.permuted(np.tile(np.arange(treatments), (rounds, 1)), axis=1)
    rows = np.where(fixed[:, None], np.arange(treatments), random)
    draw = {
        "normal": lambda: 100 + rng.normal(size=rows.shape),
        "lognormal": lambda: 100 * np.exp(0.3 * rng.normal(size=rows.shape)),
        "bimodal": lambda: 100 + rng.normal(size=rows.shape) + 8 * (rng.random(rows.shape) < 0.4),
    }[noise]
    parts = [
        _table(f"m{place}", rows, fixed, draw() + shift * (fixed[:, None] & (rows == 0)))
        for place in range(metrics)
    ]
    return OrderTrials("made up", pl.concat(parts), (), 0, ())


def _table(metric, rows, fixed, values):
    rounds, treatments = rows.shape
    turns = np.repeat(np.arange(rounds), treatments)
    return pl.DataFrame(
        {
            "line": np.arange(rows.size),
            "metric": metric,
            "group": "",
            "family": metric,
            "treatment": np.char.add("t", rows.ravel().astype(str)),
            "order": np.repeat(np.where(fixed, "fixed", "random"), treatments),
            "worker": "",
            "round": turns.astype(str),
            "turn": turns,
            "position": np.tile(np.arange(treatments, dtype=float), rounds),
            "value": values.ravel(),
            "follows": True,
        }
    )


def named(result, level=0.05):
    """The pairs whose corrected p-value is at most the level."""
    return {(pair.treatment, pair.predecessor) for pair in result.pairs if pair.p_value <= level}
