"""Formats whose files may hold millions of rows are read into columns: the same rows as one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialwise.exchange.readings import trial_set
from trialwise.readers.blocks import parts
from trialwise.readers.content import Content
from trialwise.readers.formats import google_benchmark
from trialwise.readers.records import Reading, Row
from trialwise.readers.register import recognised


def read(document: object) -> Reading:
    content = Content(Path("x.json"), json.dumps(document).encode())
    reader = recognised(content)
    assert reader is not None
    return reader.reading(content)


def google(**changed: Any) -> dict[str, Any]:
    """Two benchmarks with three repetitions each, in turns, a counter of one of them, and summaries."""
    runs = [
        {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "repetition_index": run,
            "iterations": 1000 * (run + 1),
            "real_time": 2 + run,
            "cpu_time": 1.5 * run,
            "time_unit": "us",
            "label": "of" if run else "",
            **({"bytes_per_second": 1e9 + run, "hits": run} if "/8" in name else {}),
        }
        for run in range(3)
        for name in ("BM/8/k:2", "BM/64/real_time")
    ]
    mean = {**runs[0], "run_type": "aggregate", "aggregate_name": "mean", "name": "BM/8/k:2_mean"}
    runs[3] |= changed
    return {"context": {"library_version": "1.9"}, "benchmarks": [*runs, mean]}


def test_rows_of_google_benchmark_are_the_same_in_columns(monkeypatch: pytest.MonkeyPatch):
    found = read(google())
    assert parts(found.rows)[0] == ()
    monkeypatch.setattr(google_benchmark, "_plain_runs", lambda _: None)
    single = read(google())
    assert parts(single.rows)[1] == ()
    assert sorted(map(repr, found.rows)) == sorted(map(repr, single.rows))
    assert (found.notes, found.facts, found.version) == (single.notes, single.facts, single.version)
    a, b = (trial_set([each], "x") for each in (found, single))
    order = ["metric", "treatment", "trial"]
    assert a.table.sort(order).equals(b.table.sort(order))
    assert (a.metrics, a.treatments) == (b.metrics, b.treatments)
    assert list(a.metrics) == ["cpu_time", "real_time", "bytes_per_second", "hits"]


@pytest.mark.parametrize(
    "changed",
    [
        {"error_occurred": True, "error_message": "no"},
        {"time_unit": "ns"},
        {"run_type": ""},
        {"real_time": None},
        {"run_name": "other", "run_type": "aggregate", "aggregate_name": "mean"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_is_no_column_is_read_row_by_row(changed: dict[str, Any]):
    found = read(google(**changed))
    assert parts(found.rows)[1] == ()
    times = [
        row.value
        for row in found.rows
        if row.metric == "real_time"
        and row.treatment == {"benchmark": "BM", "arg1": "64", "options": "real_time"}
    ]
    expected = {"error_occurred": None, "time_unit": 3e-9, "run_type": 3e-6, "real_time": None}
    if "run_name" not in changed:
        assert times == [
            2e-6,
            pytest.approx(expected[next(iter(changed))], rel=1e-12)
            if expected[next(iter(changed))]
            else None,
            4e-6,
        ]


def runs_of_pyperf(**changed: Any) -> dict[str, Any]:
    """Two benchmarks with runs on two hosts, one of which was for calibration."""
    runs: list[dict[str, Any]] = [
        {
            "metadata": {
                "date": f"2026-01-01 00:00:0{run}",
                "duration": 0.5 * run,
                "hostname": f"h{run % 2}",
            },
            "values": [1.5 + run, 2.5, 3.0][: run % 3 + 1],
        }
        for run in range(5)
    ]
    runs[1] |= changed
    calibration = {"metadata": {"boot_time": "2026-01-01 00:00:00"}, "warmups": [[1, 0.1]]}
    benchmarks = [
        {"metadata": {"name": "a", "boot_time": "2025-12-31 00:00:00"}, "runs": [calibration, *runs]},
        {"metadata": {"unit": "byte"}, "runs": runs[2:]},
    ]
    return {"version": "1.0", "metadata": {"perf_version": "2.8"}, "benchmarks": benchmarks}


def test_runs_of_pyperf_are_the_same_in_columns():
    found, single = read(runs_of_pyperf()), read(runs_of_pyperf(metadata={"name": "a", **RUN}))
    assert (len(parts(found.rows)[0]), len(parts(single.rows)[0])) == (0, 5)
    assert sorted(map(said, found.rows)) == sorted(map(said, single.rows))
    assert (found.notes, found.facts, found.version) == (single.notes, single.facts, single.version)
    a, b = (trial_set([each], "x") for each in (found, single))
    order = ["metric", "treatment", "trial"]
    assert a.table.sort(order).drop("process", "trial").equals(b.table.sort(order).drop("process", "trial"))
    assert a.table["process"].n_unique() == b.table["process"].n_unique() == 8
    assert a.table["trial"].n_unique() == a.table.height == 15


RUN = {"date": "2026-01-01 00:00:01", "duration": 0.5, "hostname": "h1"}


def said(row: Row) -> str:
    return repr(replace(row, levels=dict(sorted(row.levels.items()))))


@pytest.mark.parametrize("values", [[1, 2.5], ["1.0", 2.5]], ids=["whole", "text"])
def test_values_of_pyperf_that_are_no_doubles_are_made_doubles(values: list[Any]):
    (row,) = [
        row
        for row in read(runs_of_pyperf(values=values)).rows
        if "2.5" in str(row.samples) and row.where.endswith("0/runs/2")
    ]
    assert row.samples is not None
    assert row.samples.values == [1.0, 2.5]
    assert row.value == 1.75


def test_values_of_pyperf_without_a_mean_are_missing():
    document = json.dumps(runs_of_pyperf(values=[0, 1])).replace("[0, 1]", "[1e999, -1e999]")
    content = Content(Path("x.json"), document.encode())
    reader = recognised(content)
    assert reader is not None
    found = reader.reading(content)
    assert [row.value for row in found.rows][1] is None
    assert "not_finite" in {note.code for note in found.notes}
