"""The tables of Pantheon's replication walkthrough come out of `trialwise compare --paper`, row by row.

The walkthrough prints rounded means and standard deviations and not the runs. For each of its tables two Pantheon folders are made of
which the runs have just these, so that what is printed must be the same up to what rounding leaves open.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from document_text import piped
from trialwise.analysis.comparison.comparing import PAPER_MARGIN, CompareOptions, compare
from trialwise.exchange.result_files import read_trials
from trialwise.report.documents.compare import PAPER_HEAD, paper_document

PRINTED = Path(__file__).resolve().parents[2] / "examples" / "walkthrough" / "printed"
SIDES = {
    "nepal": (0, 0),
    "once": (0, 1),
    "once-with-loss": (1, 1),
    "once-with-queue": (2, 1),
    "ten-with-loss": (4, 1),
}
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


@pytest.mark.parametrize("name", SIDES)
def test_the_printed_results_that_we_ship(name):
    """Every number of a side of a table stands in its file as it is printed."""
    table, side = SIDES[name]
    rows = list(csv.DictReader((PRINTED / f"{name}.csv").read_text().splitlines()))
    printed = [(row[0], row[1 + side], row[4 + side], row[7 + side]) for row in tables()[table]]
    assert [(row["scheme"], row["n"], row["mean"], row["population_sd"]) for row in rows] == printed


def test_verdicts_on_the_ten_emulated_runs():
    """Ten runs in Nepal against ten emulated ones: Welch's tests by SciPy from the printed numbers, Holm over all 39."""
    a, b = (read_trials(PRINTED / f"{name}.csv") for name in ("nepal", "ten-with-loss"))
    found = compare(a, b, CompareOptions(margin=PAPER_MARGIN))
    words = {(row.treatment.removeprefix("scheme="), row.metric.name): row.verdict for row in found.rows}
    assert len(words) == 39
    same = {"saturator", "koho_cc", "greg_saturator"}
    assert {
        scheme
        for (scheme, metric), word in words.items()
        if (metric, word) == ("pantheon_throughput", "equivalent")
    } == same
    assert words["sprout", "pantheon_delay"] == "equivalent"
    assert words["copa", "pantheon_throughput"] == words["verus", "pantheon_throughput"] == "different"
    row = next(
        row for row in found.rows if (row.treatment, row.metric.name) == ("scheme=sprout", "pantheon_delay")
    )
    spread = [np.hypot((sd + 0.005) * (10 / 9) ** 0.5, 0.005 * (10 / 3) ** 0.5) for sd in (0.56, 0.52)]
    lower = stats.ttest_ind_from_stats(
        54.03, spread[1], 10, 0.9 * 57.12, 0.9 * spread[0], 10, equal_var=False, alternative="greater"
    )
    assert row.difference is not None
    assert row.difference.p_equivalent == pytest.approx(lower.pvalue)
    lines = piped(paper_document(found)).splitlines()
    assert "6 of 39 rows replicate within the margin (δ = 10 % of A): 6 different, 27 undecided" in lines
