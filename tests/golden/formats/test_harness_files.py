"""What pytest-benchmark wrote here (`make_harnesses.py`): JUnit's file alone tells that a test failed after it was measured."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content, read_content
from trialwise.readers.register import recognised

DATA = Path(__file__).parent / "data"


def read(name):
    content = read_content(DATA / name)
    reader = recognised(content)
    assert reader is not None
    return reader.reading(content)


def test_rounds_are_samples_of_one_process():
    written = json.loads((DATA / "pytest-benchmark/suite.json").read_text())["benchmarks"]
    reading = read("pytest-benchmark/suite.json")
    assert [dict(row.treatment) for row in reading.rows] == [
        {"benchmark": "test_sum", "n": "10"},
        {"benchmark": "test_sum", "n": "1000"},
        {"benchmark": "test_bad"},
    ]
    for row, each in zip(reading.rows, written, strict=True):
        assert row.samples is not None
        assert len(row.samples.values) == each["stats"]["rounds"]
        assert row.value == pytest.approx(sum(row.samples.values) / len(row.samples.values))
    assert {note.code for note in reading.notes} >= {"failed_not_marked", "one_unit", "within_process"}


def test_the_table_that_pytest_benchmark_computed_has_the_means_of_its_files():
    """It was made of one file, and of a copy of it."""
    written = json.loads((DATA / "pytest-benchmark/suite.json").read_text())["benchmarks"]
    found = read("pytest-benchmark/compared.csv")
    for each in written:
        levels = {"benchmark": each["name"].partition("[")[0]}
        levels |= {name: str(level) for name, level in (each["params"] or {}).items()}
        own = [row for row in found.rows if row.treatment == levels]
        assert [row.value for row in own] == pytest.approx([each["stats"]["mean"]] * 2)
        assert {(row.metric, row.unit, row.better, row.status) for row in own} == {
            ("time", "s", "lower", "aggregated")
        }
        for row in own:
            assert row.summary is not None
            assert row.summary.n == each["stats"]["rounds"]
            assert row.summary.deviation == pytest.approx(each["stats"]["stddev"])
    assert len(found.rows) == 2 * len(written)
    assert {note.code for note in found.notes} >= {"aggregated_only", "failed_not_marked"}


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("name,min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations", True),
        ("name,param:n,median", True),
        ("name,mean,rounds,iterations", True),
        ("name,mean,stddev", False),
        ("name,mean,rounds,iterations,host", False),
        ("name,rounds,iterations", False),
    ],
)
def test_a_table_with_other_columns_is_not_one_of_pytest_benchmark(header, known):
    line = "test_a.py::test_b," + ",".join("1" for _ in header.split(",")[1:])
    reader = recognised(Content(Path("x.csv"), f"{header}\n{line}\n".encode()))
    assert (reader is not None and reader.name == "pytest-benchmark-csv") == known


def test_junit_tells_what_failed_and_what_was_skipped():
    rows = {row.treatment["test"].partition("::")[2]: row for row in read("junit/suite.xml").rows}
    assert [rows[name].status for name in ("test_sum[10]", "test_bad", "test_skipped")] == [
        "finished",
        "failed",
        "finished",
    ]
    assert (rows["test_bad"].value, rows["test_skipped"].value, rows["test_skipped"].reason) == (
        None,
        None,
        "skipped: no device",
    )


def test_rows_of_google_benchmark_that_failed_end_early_but_are_whole():
    """A row with an error has no cells of counters."""
    found = read("google-benchmark/errors.csv")
    failed = {(row.treatment["arg1"], row.reason) for row in found.rows if row.status == "failed"}
    assert failed == {("64", "bad")}
    assert "partial" not in {note.code for note in found.notes}


def test_benchmarks_of_catch2_are_summaries_and_a_failed_check_is_named():
    """The values are those that the file tells, in nanoseconds."""
    found = read("catch2/suite.xml")
    told = ET.parse(DATA / "catch2/suite.xml").getroot().iter("BenchmarkResults")  # noqa: S314  our own file
    for row, each in zip(found.rows, told, strict=True):
        mean = each.find("mean")
        assert row.treatment["benchmark"] == each.get("name")
        if mean is None:
            assert (row.status, row.value, row.reason) == ("failed", None, "no device")
            continue
        assert row.status == "aggregated"
        assert row.value == pytest.approx(float(mean.get("value", "")) * 1e-9)
        assert row.summary is not None
        assert row.summary.n == 20
        assert row.summary.interval == pytest.approx(
            [float(mean.get(name, "")) * 1e-9 for name in ("lowerBound", "upperBound")]
        )
    assert "a check failed beside what was measured, in a failed check" in [note.text for note in found.notes]


def test_runs_of_hyperfine_2_are_those_of_its_file():
    """Each metric of each run is what `measurements` tells; a run that failed has no value in any metric."""
    told = json.loads((DATA / "hyperfine/runs.json").read_text())["results"]
    found = read("hyperfine/runs.json")
    assert (found.version, found.unit, found.named) == ("2.0.0", "run (one process)", ("n",))
    names = {"time_wall_clock": "time", "memory_peak_resident": "memory"}
    expected = {
        (each["name"], str(number), names.get(key, key)): (
            one["value"],
            {"second": "s", "byte": "byte"}[one["unit"]],
        )
        for each in told
        for number, run in enumerate(each["measurements"])
        for key, one in run.items()
        if key != "exit_code" and not run["exit_code"]
    }
    rows = {
        (row.treatment["command"], row.levels["process"].rpartition("/")[2], row.metric): (
            row.value,
            row.unit,
        )
        for row in found.rows
        if row.status == "finished"
    }
    assert rows == expected
    assert {row.better for row in found.rows} == {"lower"}
    (failed,) = (row for row in found.rows if row.status == "failed")
    assert (failed.treatment["n"], failed.levels["process"], failed.metric) == ("2", "/results/1/1", "time")
    assert (failed.value, failed.reason) == (None, "exit code 1")
    notes = {note.code: note.text for note in found.notes}
    assert notes["failed_units"].startswith("1 of 6 ")
    assert "order_blocked" in notes


def test_the_table_of_hyperfine_2_has_the_means_of_its_file_in_the_units_of_its_columns():
    told = json.loads((DATA / "hyperfine/runs.json").read_text())["results"]
    rows = {(row.treatment["command"], row.metric): row for row in read("hyperfine/metrics.csv").rows}
    for each in told:
        for key, metric in (("time_wall_clock", "time"), ("memory_peak_resident", "memory")):
            row, summary = rows.pop((each["name"], metric)), each["summary"][key]
            assert row.value == pytest.approx(summary["mean"])
            assert row.summary is not None
            assert row.summary.deviation == pytest.approx(summary["stddev"])
            assert (row.status, row.better) == ("aggregated", "lower")
    assert not rows


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, "neither runs nor means"),
        ({"measurements": 3}, "no list of runs"),
        ({"measurements": [{"exit_code": 0}]}, "no time_wall_clock"),
        ({"measurements": [{"time_wall_clock": {"value": 1}}]}, "unit of time_wall_clock is missing"),
        (
            {"measurements": [{"time_wall_clock": {"value": 1, "unit": unit}} for unit in ("ms", "s")]},
            "not the same in all runs",
        ),
    ],
)
def test_other_measurements_than_those_of_hyperfine_2_are_refused(change, error):
    document = {"results": [{"command": "a", **change}]}
    content = Content(Path("x.json"), json.dumps(document).encode())
    reader = recognised(content)
    assert reader is not None
    with pytest.raises(AnalysisError, match=error):
        reader.reading(content)


@pytest.mark.parametrize("version", ["1", "2"])
def test_runs_that_failed_are_counted_among_runs_and_not_among_values(version):
    """Two of three runs failed; memory is of the third alone."""
    runs = [(1.0, 4, 0), (2.0, 5, 3), (3.0, 6, None)]
    entry = {
        "1": {
            "times": [time for time, _, _ in runs],
            "memory_usage_byte": [size for _, size, _ in runs],
            "exit_codes": [code for _, _, code in runs],
            "mean": 2,
        },
        "2": {
            "measurements": [
                {
                    "time_wall_clock": {"value": time, "unit": "second"},
                    "memory_peak_resident": {"value": size, "unit": "byte"},
                    "exit_code": code,
                }
                for time, size, code in runs
            ]
        },
    }[version]
    content = Content(Path("x.json"), json.dumps({"results": [{"command": "a", **entry}]}).encode())
    reader = recognised(content)
    assert reader is not None
    found = reader.reading(content)
    assert [(row.metric, row.value) for row in found.rows if row.value] == [("time", 1), ("memory", 4)]
    assert [row.reason for row in found.rows if row.reason] == ["exit code 3", "a signal ended it"]
    assert next(note.text for note in found.notes if note.code == "failed_units").startswith("2 of 3 ")


def test_the_tree_of_divan_gives_names_and_the_lines_below_a_time_are_of_the_same_benchmark():
    """The medians are those that the file shows, in nanoseconds, and decimal units of bytes."""
    rows = read("divan/sums.txt").rows
    found = {(*row.treatment.values(), row.metric): row for row in rows}
    times = {key[0]: row.value for key, row in found.items() if row.metric == "time"}
    assert times["sums::plain"] == pytest.approx(12.48e-9)
    assert times["sums::sum::1000"] == pytest.approx(136.7e-9)
    assert times["sums::grouped::made::Vec<u8>"] == pytest.approx(0.445e-9)
    assert "sums::grouped::ignored" not in times
    assert found["sums::grouped::threaded", "2", "time"].value == pytest.approx(6.606e-9)
    beside = {row.metric: row for row in rows if row.treatment["benchmark"] == "sums::fill::4096"}
    assert {name: row.value for name, row in beside.items()} == pytest.approx(
        {
            "time": 42.69e-9,
            "throughput": 95.94e9,
            "max alloc": 1,
            "max alloc bytes": 4096,
            "alloc": 1,
            "alloc bytes": 4096,
        }
    )
    assert beside["time"].summary is not None
    assert (beside["time"].summary.n, beside["throughput"].better) == (100, "higher")
    assert {row.status for row in rows} == {"aggregated"}


def test_a_table_of_divan_that_was_cut_says_so():
    content = read_content(DATA / "divan/sums.txt")
    cut = Content(content.path, content.data[: content.data.index(b"95.94")])
    reader = recognised(cut)
    assert reader is not None
    found = reader.reading(cut)
    assert found.rows[-1].treatment == {"benchmark": "sums::fill::4096"}
    assert "partial" in {note.code for note in found.notes}
