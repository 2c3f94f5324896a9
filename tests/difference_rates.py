"""How often what is said of two samples is wrong, by simulation; prints the table of docs/concepts/statistics.md.

Run with `.venv/bin/python tests/difference_rates.py`; seeds are fixed.
"""

import sys
from dataclasses import dataclass

import numpy as np

from trialwise.statistics.comparing.shift import shift_between
from trialwise.statistics.comparing.verdicts import NONE, Margin, claims_of
from trialwise.statistics.comparing.welch import contrast, two_sided
from trialwise.statistics.estimates.moments import Moments
from trialwise.statistics.sequential.forecast import trials_to_decide

BILLS = [(5, 1.0, None), (10, 1.5, None), (20, 1.0, None), (5, 0.0, 1.5), (10, 0.0, 2.2), (20, 2.0, 3.0)]
"""Trials of a pilot; the difference and the margin, in standard errors of the pilot's."""
MEAN = 20.0
SIZES = [(5, 5), (10, 10), (20, 20), (30, 30), (10, 30)]


def lognormal(sigma):
    mean, deviation = np.exp(sigma**2 / 2), np.sqrt(np.exp(sigma**2) * (np.exp(sigma**2) - 1))
    return lambda random, size: (np.exp(sigma * random.normal(size=size)) - mean) / deviation


def bimodal(random, size):
    return (random.choice([-1.0, 1.0], size=size) + 0.3 * random.normal(size=size)) / np.sqrt(1.09)


def outliers(random, size):
    """One value in ten is from five times the spread."""
    spread = np.where(random.random(size) < 0.1, 5.0, 1.0)
    return spread * random.normal(size=size) / np.sqrt(3.4)


@dataclass(frozen=True)
class Kind:
    """How values vary; mean 0 and standard deviation 1, times the spread on the second side."""

    draw: object
    spread: float = 1.0
    alarms: float = 0.08


def normal(random, size):
    return random.normal(size=size)


KINDS = {
    "normal": Kind(normal, alarms=0.06),
    "lognormal .5": Kind(lognormal(0.5)),
    "lognormal 1": Kind(lognormal(1.0)),
    "bimodal": Kind(bimodal),
    "three times the spread": Kind(normal, spread=3.0),
    "outliers": Kind(outliers),
}


def samples(kind, sizes, repetitions, *, shift=0.0, seed=1):
    random = np.random.default_rng([seed, *sizes])
    a = MEAN + KINDS[kind].draw(random, (repetitions, sizes[0]))
    b = MEAN + shift + KINDS[kind].spread * KINDS[kind].draw(random, (repetitions, sizes[1]))
    return a, b


def judged(a, b, margin, alpha=0.05):
    """Which rows are different, and which equivalent."""
    claims = claims_of(Moments.of(a), Moments.of(b), margin or NONE)
    different = claims.different <= alpha
    return different, (claims.equivalent <= alpha) & ~different & (margin is not None)


def coverage(kind, sizes, repetitions):
    """Shares in which Welch's difference and Fieller's ratio hold the truth."""
    first, second = (Moments.of(part) for part in samples(kind, sizes, repetitions, shift=1.0))
    held = two_sided(contrast(first, second, offset=1.0)) > 0.05
    ratio = two_sided(contrast(first, second, slope=(MEAN + 1) / MEAN)) > 0.05
    return held.mean(), ratio.mean()


def shift_coverage(kind, sizes, repetitions):
    """The share in which Hodges and Lehmann's interval holds the shift."""
    a, b = samples(kind, sizes, repetitions, shift=1.0, seed=2)
    found = [shift_between(second, first, 0.95) for first, second in zip(a, b, strict=True)]
    return np.mean([one.low <= 1 <= one.high for one in found])


def at_the_margin(kind, sizes, repetitions, *, relative, sign):
    """Shares of "different" and of "equivalent" where the difference is just the margin: both are wrong."""
    spread = KINDS[kind].spread
    margin = Margin(0.075 * spread, relative=True) if relative else Margin(1.5 * spread, relative=False)
    pair = samples(kind, sizes, repetitions, shift=sign * 1.5 * spread, seed=5)
    return tuple(part.mean() for part in judged(*pair, margin))


def bill_decides(kind, case, judged_as, pilots):
    """The share of follow-ups that decide."""
    n, errors, margin = case
    error = np.sqrt((1 + KINDS[kind].spread ** 2) / n)
    allowed = None if margin is None else Margin(margin * error, relative=False)
    return follow_ups(kind, n, errors * error, allowed, judged_as, pilots=pilots).sum()


def follow_ups(kind, n, shift, margin, judged_as, *, pilots, follow=40):
    """Shares of (different, equivalent) of the follow-ups of each undecided pilot; what the bill is decides their length."""
    a, b = samples(kind, (n, n), 40 * pilots, shift=shift, seed=7)
    random = np.random.default_rng([8, n])
    undecided = np.flatnonzero(~np.logical_or(*judged(a, b, margin)))[:pilots]
    assert undecided.size == pilots
    rates = []
    for x, y in zip(a[undecided], b[undecided], strict=True):
        needed = trials_to_decide(Moments.of(x), Moments.of(y), margin, 0.05, judged_as)
        if needed is None:
            continue
        rows = follow if needed < 500 else 6
        new_x = MEAN + KINDS[kind].draw(random, (rows, needed))
        new_y = MEAN + shift + KINDS[kind].spread * KINDS[kind].draw(random, (rows, needed))
        if judged_as == "pooled":
            new_x = np.hstack([np.tile(x, (rows, 1)), new_x])
            new_y = np.hstack([np.tile(y, (rows, 1)), new_y])
        rates.append([part.mean() for part in judged(new_x, new_y, margin)])
    assert len(rates) >= 0.8 * pilots
    return np.mean(rates, axis=0)


def row(kind, repetitions, pilots):
    """One line of the table: the worst of all sizes and sides."""
    covered = [coverage(kind, sizes, repetitions) for sizes in SIZES]
    alarms = max(judged(*samples(kind, sizes, repetitions), None)[0].mean() for sizes in SIZES)
    wrong = [
        at_the_margin(kind, sizes, repetitions, relative=relative, sign=sign)
        for sizes in ((10, 10), (30, 30))
        for relative in (False, True)
        for sign in (-1, 1)
    ]
    shift = "-"
    if KINDS[kind].spread == 1:
        shift = f"{min(shift_coverage(kind, sizes, repetitions) for sizes in SIZES):.3f}"
    cells = [*(f"{worst:.3f}" for worst in np.min(covered, axis=0)), shift, f"{alarms:.3f}"]
    cells += [f"{worst:.3f}" for worst in np.max(wrong, axis=0)]
    for way in ("fresh", "pooled"):
        cells.append(f"{min(bill_decides(kind, case, way, pilots) for case in BILLS):.2f}")
        same = [follow_ups(kind, n, 0.0, None, way, pilots=pilots)[0] for n in (5, 10, 20)]
        cells.append(f"{max(same):.3f}")
    return f"| {kind} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for name in KINDS:
        sys.stdout.write(row(name, 20_000, 300) + "\n")
        sys.stdout.flush()
