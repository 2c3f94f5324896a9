"""The tables of Pantheon's replication walkthrough come out of `trialwise compare --paper`, row by row.

The walkthrough prints rounded means and standard deviations and not the runs. For each of its tables two Pantheon folders are made of
which the runs have just these, so that what is printed must be the same up to what rounding leaves open.
"""

import json
import re
from pathlib import Path

import pytest

from document_text import piped
from trialwise.analysis.comparison.comparing import compare
from trialwise.exchange.result_files import read_trials
from trialwise.report.documents.compare import PAPER_HEAD, paper_document

WALKTHROUGH = Path(__file__).resolve().parents[3] / "shared" / "papers" / "004_cebae020dc70e8ff.txt"
ROW = re.compile(
    r"\s*(\w+)\s+(\d+)\s+(\d+)\s+(.*?)\s+([\d.]+)\s+([\d.]+)\s+([+-][\d.]+)%\s+([\d.]+)\s+([\d.]+)\s+([+-][\d.]+)%"
)
KEYS = {
    "throughput (Mbit/s)": ("tput", 1),
    "95th percentile delay (ms)": ("delay", 1),
    "% loss rate": ("loss", 100),
}


def tables():
    if not WALKTHROUGH.exists():
        pytest.skip(f"{WALKTHROUGH} is not there")
    found: list[list[tuple[str, ...]]] = []
    for line in WALKTHROUGH.read_text().splitlines():
        if line.startswith("Comparison of"):
            found.append([])
        elif match := ROW.match(line):
            found[-1].append(match.groups())
    return found


def runs(n, mean, deviation):
    """Values with this mean and this deviation (n in the denominator)."""
    step = deviation * (n / 2) ** 0.5
    return [mean + step, mean - step, *[mean] * (n - 2)] if n > 1 else [mean]


def folder(path, rows, side):
    perf = {}
    for row in rows:
        scheme, n, metric = row[0], int(row[1 + side]), row[3]
        key, factor = KEYS[metric]
        for run, value in enumerate(runs(n, float(row[4 + side]), float(row[7 + side])), 1):
            flow = perf.setdefault(scheme, {}).setdefault(str(run), {"all": {}})["all"]
            flow[key] = value / factor
    path.mkdir()
    (path / "pantheon_perf.json").write_text(json.dumps(perf))
    return path


def test_every_row_of_every_table(tmp_path):
    seen = 0
    for place, rows in enumerate(tables()):
        a, b = (folder(tmp_path / f"{place}{side}", rows, side) for side in (0, 1))
        lines = piped(paper_document(compare(read_trials(a), read_trials(b)))).splitlines()
        assert re.split(r" {2,}", lines[2].strip()) == list(PAPER_HEAD)
        printed = [match.groups() for line in lines if (match := ROW.match(line))]
        assert len(printed) == len(rows)
        for ours, theirs in zip(printed, rows, strict=True):
            # Scheme, runs, metric, both means and both deviations to the last printed digit.
            assert (*ours[:6], *ours[7:9]) == (*theirs[:6], *theirs[7:9])
            mean, percent = float(theirs[4]), float(theirs[6])
            open_percent = 0.005 * (2 + abs(percent) / 100) / (mean - 0.005) * 100 + 0.01
            assert float(ours[6]) == pytest.approx(percent, abs=open_percent)
            if int(theirs[2]) == 1:
                assert ours[9] == theirs[9] == "-100.00"
            seen += 1
    assert seen == 168
