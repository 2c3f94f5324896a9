"""What the commands say of estimates after a small simulation has run."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import in_process
from browser import CHROMIUM, too_wide
from simulation_directory import run_simulation
from trialwise.store.samples import read_many, read_samples, write_samples

TRIALWISE = str(Path(sys.executable).parent / "trialwise")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_simulation(tmp_path_factory.mktemp("small"))


def trialwise(*arguments: str | Path) -> str:
    done = in_process.trialwise(*arguments, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_analysis_names_the_estimand(directory: Path) -> None:
    said = trialwise("analyze", directory)
    assert "p90 of all samples (95 %, nearest rank" in said
    assert "mean over trials of each one's mean" in said
    document = json.loads(trialwise("analyze", directory, "--json", "--controls", "fluid"))
    first = document["estimation"]["estimates"][0]
    assert (first["own"]["estimand"], first["own"]["trials"]) == ("pooled", 30)
    assert first["controlled"]["kind"] == "fluid"


def test_comparison_pairs_unless_told_otherwise(directory: Path) -> None:
    sides = ("--a", "scheme=dctcp", "--b", "scheme=hpcc", "--json")
    paired = json.loads(trialwise("compare", directory, *sides))
    assert all(row["paired"] and row["pairing"]["n"] == 30 for row in paired["rows"])
    assert "met the same flows" in str(paired["notes"])
    apart = json.loads(trialwise("compare", directory, *sides, "--unpaired"))
    assert not any(row["paired"] or row["pairing"] for row in apart["rows"])


def test_report_has_a_section(directory: Path, tmp_path: Path) -> None:
    trialwise("report", directory, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="estimates">Estimates</h2>' in page
    for key in ("estimates-p90", "slowdowns", "duration-0", "phases"):
        assert f'"{key}"' in page


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
def test_tables_fit_on_printed_paper(directory: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    trialwise("report", directory, "--out", page)
    # A4 between its margins (180 mm, 680 pixels) as a screen with the rules for print; browsers shrink what is a little wider.
    page.write_text(
        page.read_text().replace("@media print", "@media all").replace("max-width: 820px", "max-width: 0")
    )
    assert too_wide(page, 760, 1, "#table-estimates table, #table-controls table").startswith(
        "760 px: 0 too wide"
    )


def test_unknown_controls_are_refused(directory: Path) -> None:
    command = [TRIALWISE, "analyze", str(directory), "--controls", "load"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "fluid" in done.stderr + done.stdout


def test_many_files_are_read_as_one_by_one(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    names = [f"{place}.parquet" for place in range(1200)]
    for name in names[:1100]:
        pl.DataFrame({"value": random.normal(size=random.integers(0, 4))}).write_parquet(tmp_path / name)
    for name in names[1100:]:  # these have times
        write_samples(tmp_path / name, random.normal(size=3), np.arange(3.0))
    wanted = [(name, 1, 1, "s") for name in names]
    for name, (values, times) in zip(names, read_many(tmp_path, wanted), strict=True):
        alone, at = read_samples(tmp_path / name, 1, 1, "s")
        np.testing.assert_array_equal(values, alone)
        assert (times is None) == (at is None)
