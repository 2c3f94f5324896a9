"""What is read from a harness's file is what the harness printed: recordings of `make_printed.py`."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from trialwise.readers.content import read_content
from trialwise.readers.register import recognised, recognised_folder

HERE = Path(__file__).parent / "printed"
UNITS = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6}
LINE = re.compile(r"^(\S+) +time: +\[\S+ \S+ (\S+) (\S+) \S+ \S+\]$", re.MULTILINE)
SCORE = re.compile(r"^Copy\.(\w+) +(\d+) +(\w+) +(\d+) +(\S+) ±", re.MULTILINE)
QUANTILE = re.compile(r"^Copy\.copy:p(\S+) +(\d+) +sample +(\S+)", re.MULTILINE)


def test_criterion_prints_what_its_folder_holds():
    """The slope where the number of iterations grows, else the mean."""
    reader, content = recognised_folder(HERE / "criterion/results")
    found = {"/".join(row.treatment.values()): row.value for row in reader.reading(content).rows}
    told = LINE.findall((HERE / "criterion/suite.txt").read_text())
    assert {name: pytest.approx(float(value) * UNITS[unit], rel=5e-5) for name, value, unit in told} == found
    assert len(told) == 3


def jmh():
    """Return what is read of JMH's file, and its document."""
    path = HERE / "jmh/suite.json.gz"
    content = read_content(path)
    return recognised(content).reading(content), json.loads(gzip.decompress(path.read_bytes()))


def test_jmh_prints_the_mean_of_forks():
    """Each fork has as many iterations in the modes thrpt and ss, so that the mean of all is that of forks."""
    found, _ = jmh()
    told = SCORE.findall((HERE / "jmh/suite.txt").read_text())
    equal = [each for each in told if each[2] != "sample"]
    for name, n, mode, _, score in equal:
        levels = {"benchmark": f"org.example.Copy.{name}", "n": n, "mode": mode}
        values = [row.value for row in found.rows if row.treatment == levels]
        assert len(values) == 2
        assert sum(values) / 2 == pytest.approx(float(score), abs=0.0005 + 1e-9)
    assert len(equal) == 3


def test_quantiles_of_jmh_are_those_of_all_calls_of_a_fork():
    found, document = jmh()
    printed = {(n, p): float(value) for p, n, value in QUANTILE.findall((HERE / "jmh/suite.txt").read_text())}
    for each in (entry for entry in document if entry["mode"] == "sample"):
        n = each["params"]["n"]
        forks = [
            [value for iteration in fork for value, count in iteration for _ in range(count)]
            for fork in each["primaryMetric"]["rawDataHistogram"]
        ]
        for percent in (50, 95):
            rows = [
                row for row in found.rows if row.metric == f"score_p{percent}" and row.treatment["n"] == n
            ]
            values = [row.value for row in rows]
            assert values == [np.quantile(calls, percent / 100, method="inverted_cdf") for calls in forks]
            assert {(row.unit, row.better) for row in rows} == {("us/op", "lower")}
            assert min(values) - 0.0005 <= printed[n, f"0.{percent}"] <= max(values) + 0.0005


def test_a_benchmark_of_jmh_that_threw_is_named():
    found, _ = jmh()
    (missing,) = [note.text for note in found.notes if note.code == "missing_combinations"]
    assert "org.example.Copy.fail n=1000" in missing
