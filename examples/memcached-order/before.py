"""Medians of each test by whether another one had run before it, anywhere in the round, from the rounds in random order.

Usage: before.py DIRECTORY TEST

`trialwise order` asks what ran right before a trial. What fills a server's memory stays until the server is restarted, so here
the question is whether TEST had run at all since then.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from statistics import median

ROWS = """
SELECT trial.treatment, value.source, earlier.number IS NOT NULL, value.value
FROM trial JOIN value USING (number, attempt)
LEFT JOIN trial AS earlier
  ON earlier.series = trial.series AND earlier.round = trial.round AND earlier.position < trial.position
  AND earlier.status = 'finished' AND earlier.treatment = ?
WHERE trial."order" = 'random' AND trial.status = 'finished' AND value.source LIKE 'stdout|json:/%'
ORDER BY trial.treatment, value.source
"""


def main() -> None:
    """Print a line for each test and metric: medians and numbers of trials, without and with TEST before."""
    directory, culprit = Path(sys.argv[1]), f"test={sys.argv[2]}"
    found: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    with sqlite3.connect(f"file:{directory / 'ledger.sqlite'}?mode=ro", uri=True) as ledger:
        for treatment, source, after, value in ledger.execute(ROWS, [culprit]):
            parts = found.setdefault((treatment, source.rpartition("/")[2]), ([], []))
            parts[1 if after else 0].append(value)
    print(f"{'':22} {'not yet':>16} {'already':>16}  ({culprit})")
    for (treatment, metric), parts in found.items():
        if all(parts):
            cells = " ".join(f"{median(part):10.4g} (n={len(part):2})" for part in parts)
            print(f"{treatment.removeprefix('test='):10} {metric:10} {cells}")


if __name__ == "__main__":
    main()
