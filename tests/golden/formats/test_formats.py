"""Every sample of other tools' files is read as its `expected.json` says."""

import json
import math
from pathlib import Path

import pytest

from trialwise.readers.content import read_content
from trialwise.readers.register import readers, recognised, recognised_folder, recognised_table

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats"
NOT_IN_FILE = {"stat_r3.csv"}
"""Samples whose unit names a number of runs that the tool did not write."""


def samples():
    if not SHARED.is_dir():
        return [pytest.param(None, None, marks=pytest.mark.skip(reason="needs ../shared"))]
    return [
        pytest.param(file.parent / name, sample, id=f"{file.parent.name}/{name}")
        for file in sorted(SHARED.glob("*/expected.json"))
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
        folder = recognised_folder(path)
        assert folder is not None
        return folder
    content = read_content(path)
    reader = recognised(content) or recognised_table(content)
    assert reader is not None
    return reader, content


def check(reading, wanted):
    """Find the rows of a treatment and metric, and compare all that is expected of them."""
    levels = {
        name: "/".join(level) if isinstance(level, list) else str(level)
        for name, level in wanted["treatment"].items()
        if level is not None
    }
    metric = wanted.get("metric", "value")
    rows = [row for row in reading.rows if row.treatment == levels and row.metric == metric]
    assert rows, (levels, metric, sorted({(str(row.treatment), row.metric) for row in reading.rows}))
    assert {row.unit for row in rows} == {wanted.get("unit", "unknown")}
    assert {row.better or "unknown" for row in rows} == {wanted.get("better") or "unknown"}
    values = values_of(rows, wanted)
    if "values" in wanted:
        assert values == pytest.approx(wanted["values"], rel=1e-9)
        assert wanted.get("n") in (None, len(values))
    if "failed" in wanted:
        assert sum(row.status == "failed" for row in rows) == wanted["failed"]
    if "mean" in wanted:
        found = values or [row.value for row in rows if row.value is not None]
        assert math.fsum(found) / len(found) == pytest.approx(wanted["mean"], rel=1e-9)
    check_summary(rows, wanted)


def values_of(rows, wanted):
    """Return the values of trials, or the samples of the only one where these are listed."""
    values = [row.value for row in rows if row.value is not None and row.status != "aggregated"]
    if "n_units" not in wanted:
        return values
    assert len(values) == wanted["n_units"]
    return list(rows[0].samples.values) if "values" in wanted else values


def check_summary(rows, wanted):
    """Compare what a tool computed of values that may not be in the file."""
    for name in ("value", "result", "estimate"):
        if name in wanted:
            assert [row.value for row in rows] == pytest.approx([wanted[name]], rel=1e-9)
    if "samples" in wanted:
        assert [len(row.samples.values) if row.samples else 0 for row in rows] == [wanted["samples"]]
    if "lower" in wanted:
        assert rows[0].summary.interval == pytest.approx((wanted["lower"], wanted["upper"]), rel=1e-9)
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
        path = case.values[0]
        if isinstance(path, Path) and path.is_file():
            content = read_content(path)
            found = [reader.name for reader in readers() if reader.fits(content)]
            assert len(found) == 1 or (not found and recognised_table(content) is not None), path
