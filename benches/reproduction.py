"""How often `trialwise verify` is right: verdicts on a ratio that is measured again on a machine that is 20 % slower.

The authors' trials have a ratio of 1.3 (20 a side, log-normal, 5 %); they claim that it is at least 1.2. Each re-run has the rounds
that `verify` plans, and is judged at its looks. Where the ratio is 1.2 or less, the claim is false or on its bound. Coverage
is that of the prediction interval at 95 % for a re-run of 10 rounds, with and without a declared spread from host to host.

Run: .venv/bin/python benches/reproduction.py [campaigns]. The result is kept in benches/results/reproduction.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from measuring import write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from rerun_campaigns import CV, HOLDING, QuickCampaigns, measured_again
from trialwise.analysis.claims.reproduction import Effect, effect_of, prediction_interval

SEED = 20_261_127
COMPARED = 50
"""Campaigns of a false claim that are judged by `verify` itself as well."""
QUICK = 100
"""Campaigns of a false claim, whose rate may be near that which is allowed, for one of the others."""


def rate(what: str, count: int, number: int, allowed: str) -> dict[str, object]:
    """A share with its exact interval."""
    low, high = binomtest(count, number).proportion_ci(0.95)
    return {
        "what": what,
        "share": round(count / number, 4),
        "low_95": round(low, 4),
        "high_95": round(high, 4),
        "n": number,
        "wanted": allowed,
    }


def verdicts(ratio: float, number: int) -> list[str]:
    rng = np.random.default_rng(SEED)
    return [measured_again(rng, ratio).word for _ in range(number)]


def holding(ratio: float, runs: int) -> int:
    """Campaigns in which a false claim holds, by the quick way; it has to agree with `verify` in the first ones."""
    rng, quick = np.random.default_rng(SEED), QuickCampaigns()
    found = [quick.holds(rng, ratio) for _ in range(runs)]
    assert found[:COMPARED] == [word in HOLDING for word in verdicts(ratio, COMPARED)]
    return sum(found)


def covered(spread: float, number: int) -> int:
    """Re-runs that lie where the original predicts them; both hosts are off by the spread that is declared."""
    rng = np.random.default_rng(SEED)
    scale = np.sqrt(np.log1p(CV**2))

    def effect(slower: float) -> Effect:
        off = rng.normal(0, spread) if spread else 0.0
        sides = [
            slower * size * np.exp(rng.normal(shift, scale, 10)) for size, shift in ((1.3, off), (1.0, 0.0))
        ]
        found = effect_of(sides, logarithms=True)
        assert found is not None
        return found

    count = 0
    for _ in range(number):
        low, high = prediction_interval(effect(1.0), 10, 0.95, spread)
        count += low <= effect(1.2).estimate <= high
    return count


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    right = verdicts(1.3, number)
    rows = [
        rate("true claim (1.3): reproduced", right.count("reproduced"), number, ">= 0.90"),
        rate("true claim (1.3): not reproduced", right.count("not reproduced"), number, "<= 0.05"),
    ]
    rows += [
        rate(f"false claim ({ratio}): holds", holding(ratio, QUICK * number), QUICK * number, "<= 0.05")
        for ratio in (1.2, 1.1)
    ]
    rows += [
        rate(
            f"prediction interval, spread {spread:.0%}", covered(spread, 10 * number), 10 * number, ">= 0.95"
        )
        for spread in (0.0, 0.03)
    ]
    write("reproduction", rows)


if __name__ == "__main__":
    main()
