"""Every sample of other tools' files is read as its `expected.json` says."""

import json
import math
from pathlib import Path

import pytest

from trialwise.readers.content import read_content
from trialwise.readers.register import readers, recognised, recognised_folder

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats"
WAITING = {
    "asv", "catch2", "criterion", "csv",
    "junit", "libtest-bench", "numpy",
    "ordersage", "summaries",
}  # fmt: skip
"""Tools that nothing reads yet."""
NOT_IN_FILE = {"stat_r3.csv"}
"""Samples whose unit names a number of runs that the tool did not write."""


def samples():
    if not SHARED.is_dir():
        return [pytest.param(None, None, marks=pytest.mark.skip(reason="needs ../shared"))]
    return [
        pytest.param(file.parent / name, sample, id=f"{file.parent.name}/{name}")
        for file in sorted(SHARED.glob("*/expected.json"))
        if file.parent.name not in WAITING
        for name, sample in json.loads(file.read_text())["samples"].items()
    ]


@pytest.mark.parametrize(("path", "expected"), samples())
def test_a_sample_is_read_as_expected(path, expected):
    reader, content = opened(path)
    assert reader.name == expected["format"]
    reading = reader.reading(content)
    assert reading.unit == expected["unit_of_replication"] or path.name in NOT_IN_FILE
    assert {note.code for note in reading.notes} >= set(expected["warnings"])
    for treatment in expected["treatments"]:
        check(reading, treatment)
    for name, n in expected.get("samples_inside", {}).items():
        inside = [row.samples for row in reading.rows if row.samples is not None]
        assert isinstance(n, str) or (name, n) in {(each.name, len(each.values)) for each in inside}
    if "errors" in expected:
        assert [row.value for row in reading.rows if row.metric == "errors"] == [expected["errors"]]


def opened(path):
    """Return the reader and the content of a file, or of a folder that is one result."""
    if path.is_dir():
        return recognised_folder(path)
    content = read_content(path)
    return recognised(content), content


def check(reading, wanted):
    """Find the rows of a treatment and metric, and compare all that is expected of them."""
    levels = {
        name: "/".join(level) if isinstance(level, list) else str(level)
        for name, level in wanted["treatment"].items()
        if level is not None
    }
    rows = [row for row in reading.rows if row.treatment == levels and row.metric == wanted["metric"]]
    assert rows, (
        levels,
        wanted["metric"],
        sorted({(str(row.treatment), row.metric) for row in reading.rows}),
    )
    assert {row.unit for row in rows} == {wanted["unit"]}
    assert {row.better or "unknown" for row in rows} == {wanted["better"] or "unknown"}
    values = [row.value for row in rows if row.value is not None and row.status != "aggregated"]
    if "n_units" in wanted:
        assert len(values) == wanted["n_units"]
        values = list(rows[0].samples.values) if rows[0].samples else []
    if "values" in wanted:
        assert values == pytest.approx(wanted["values"], rel=1e-9)
    if wanted.get("n") is not None and "values" in wanted:
        assert len(values) == wanted["n"]
    if "failed" in wanted:
        assert sum(row.status == "failed" for row in rows) == wanted["failed"]
    if "mean" in wanted:
        found = [row.value for row in rows if row.value is not None]
        assert math.fsum(found) / len(found) == pytest.approx(wanted["mean"], rel=1e-9)
    if "relative_sd_of_mean" in wanted:
        found = [row.summary.error / row.value for row in rows]
        assert found == pytest.approx([wanted["relative_sd_of_mean"]], rel=1e-9)
    if "percentiles" in wanted:
        found = {f"{percent:g}": value for percent, value in rows[0].summary.percentiles.items()}
        assert found | wanted["percentiles"] == pytest.approx(found, rel=1e-9)
    if "sd" in wanted:
        assert [row.summary.deviation for row in rows] == pytest.approx([wanted["sd"]], rel=1e-9)


def test_each_format_is_declared_once():
    names = [reader.name for reader in readers()]
    assert len(names) == len(set(names))


def test_no_sample_is_taken_by_two_readers():
    for case in samples():
        if (path := case.values[0]) is not None:
            if path.is_dir():
                continue
            content = read_content(path)
            assert len([reader.name for reader in readers() if reader.fits(content)]) == 1, path
