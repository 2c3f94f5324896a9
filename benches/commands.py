"""How often `trialwise ab` says something wrong of three or five commands, over both of its looks together.

Times are lognormal with a coefficient of variation of 5 % around their mean, so that a pilot of 20 trials at the default margin of 3 %
is mostly undecided and both looks count. The looks are those of `ab`: each a family of differences from the first command, at 97.5 %;
the second has as many fresh trials as the pilot forecasts, at most 1,000. Wrong is a run of which any verdict contradicts the truth:
different where commands are equal, equivalent where they differ by the margin. `ab` promises at most 5 % of each run.

Run: .venv/bin/python benches/commands.py [RUNS]. The result is kept in benches/results/commands.json, with intervals of 95 % (Clopper
and Pearson 1934).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from measuring import write
from trialwise import statistics as st
from trialwise.analysis.versions.gate import judged_outcome

PILOT, MOST, EACH, CV = 20, 1000, 97.5, 0.05
MARGIN = 0.03
TRUTHS = {
    "all equal": lambda others: [0.0] * others,
    "all slower by the margin": lambda others: [MARGIN] * others,
    "one slower by the margin": lambda others: [MARGIN, *[0.0] * (others - 1)],
}


def looked(
    rng: np.random.Generator, shifts: Sequence[float], trials: int
) -> list[tuple[str, str, int | None]]:
    """Draw and judge trials of each command; verdicts, what the gate makes of them, and the trials needed."""
    sigma = np.sqrt(np.log1p(CV**2))
    base, *others = ((1 + shift) * rng.lognormal(-(sigma**2) / 2, sigma, trials) for shift in (0.0, *shifts))
    found = {
        number: st.difference(base, values, confidence=EACH, margin=100 * MARGIN, relative=True)
        for number, values in enumerate(others)
    }
    members = st.difference_family(found).members.values()
    return [
        (member.verdict, judged_outcome(member.verdict, member.difference, "lower"), member.trials_needed)
        for member in members
    ]


def answered(rng: np.random.Generator, shifts: Sequence[float]) -> tuple[list[str], int]:
    """Return the verdicts that are reported, and after which look."""
    pilot = looked(rng, shifts, PILOT)
    needed = [bill for _, outcome, bill in pilot if outcome == "undecided"]
    if not needed:
        return [verdict for verdict, *_ in pilot], 1
    known = [bill for bill in needed if bill is not None]
    fresh = max(known) if len(known) == len(needed) else MOST
    later = looked(rng, shifts, max(2, min(fresh, MOST - PILOT)))
    if fresh >= PILOT or all(outcome != "undecided" for _, outcome, _ in later):
        return [verdict for verdict, *_ in later], 2
    return [verdict for verdict, *_ in pilot], 2


def is_wrong(verdict: str, shift: float) -> bool:
    """Say whether a verdict contradicts the truth."""
    return verdict == ("equivalent" if shift else "different")


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rows: list[dict[str, object]] = []
    for commands in (3, 5):
        for truth, shifts_of in TRUTHS.items():
            rng = np.random.default_rng([20260101, commands, len(rows)])
            shifts = shifts_of(commands - 1)
            found = [answered(rng, shifts) for _ in range(runs)]
            wrong = sum(any(map(is_wrong, verdicts, shifts)) for verdicts, _ in found)
            second = sum(look == 2 for _, look in found)
            decided = sum("undecided" not in verdicts for verdicts, _ in found)
            low, high = binomtest(wrong, runs).proportion_ci(0.95)
            rows.append(
                {
                    "commands": commands,
                    "truth": truth,
                    "runs": runs,
                    "wrong_percent": round(100 * wrong / runs, 1),
                    "low": round(100 * low, 1),
                    "high": round(100 * high, 1),
                    "second_look_percent": round(100 * second / runs),
                    "decided_percent": round(100 * decided / runs),
                }
            )
    write("commands", rows)
    print(f"load {os.getloadavg()[0]:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
