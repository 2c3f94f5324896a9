"""What is told apart in the files of benchmark harnesses: failures from zeros, summaries from values, and units by row."""

import json
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised, recognised_folder


def read(told, name="results"):
    """Read a document or a text as a file."""
    data = told if isinstance(told, bytes) else (told if isinstance(told, str) else json.dumps(told)).encode()
    content = Content(Path(name), data)
    reader = recognised(content)
    assert reader is not None
    return reader.reading(content)


def values(reading, metric, **treatment):
    return [
        row.value
        for row in reading.rows
        if row.metric == metric and all(row.treatment.get(key) == level for key, level in treatment.items())
    ]


def codes(reading):
    return {note.code for note in reading.notes}


# Google Benchmark


def google(*rows, **context):
    return {"context": {"executable": "x", **context}, "benchmarks": list(rows)}


def run(name, **more):
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "real_time": 2.0,
        "cpu_time": 1.0,
        "time_unit": "ns",
        **more,
    }


def test_zeros_of_a_failed_google_benchmark_are_no_values():
    failed = run("a", error_occurred=True, error_message="no device", real_time=0.0, cpu_time=0.0)
    reading = read(google(run("a"), failed, run("b", skipped=True, skip_message="no GPU")))
    assert values(reading, "real_time", benchmark="a") == [2e-9, None]
    assert [row.reason for row in reading.rows if row.status == "failed" and row.metric == "cpu_time"] == [
        "no device",
        "no GPU",
    ]


def test_the_unit_of_google_benchmark_is_that_of_the_row():
    reading = read(google(run("a", time_unit="ns"), run("b", time_unit="us"), run("c", time_unit="ms")))
    assert values(reading, "real_time") == pytest.approx([2e-9, 2e-6, 2e-3])


def test_summaries_without_a_kind_are_known_by_their_names():
    """Files of old versions have no run_type; a benchmark may be called like a summary."""
    rows = [
        {"name": name, "real_time": 1.0, "cpu_time": 1.0, "time_unit": "s"}
        for name in ("a", "a", "a_mean", "a_cv", "of_mean")
    ]
    reading = read(google(*rows))
    assert values(reading, "real_time") == [1.0, 1.0, 1.0]
    assert {row.treatment["benchmark"] for row in reading.rows} == {"a", "of_mean"}
    assert "aggregates_skipped" in codes(reading)


def test_means_keep_their_counters_and_fits_are_no_values():
    rows = [
        {
            "name": f"BM/8_{kind}",
            "run_name": "BM/8",
            "run_type": "aggregate",
            "aggregate_name": kind,
            "repetitions": 3,
        }
        | {"real_time": 2.0, "cpu_time": 1.0, "time_unit": "us", "items_per_second": 7.0, "k": 4.0}
        for kind in ("mean", "stddev")
    ]
    fit = {"name": "BM_BigO", "run_name": "BM", "run_type": "aggregate", "aggregate_name": "BigO"}
    reading = read(
        google(
            *rows, fit | {"cpu_coefficient": 2.0, "real_coefficient": 2.0, "big_o": "N", "time_unit": "us"}
        )
    )
    assert {row.metric for row in reading.rows} == {"real_time", "cpu_time", "items_per_second", "k"}
    assert values(reading, "k") == [4.0]
    assert "1 row is a summary of others and is left out" in [note.text for note in reading.notes]


def test_names_of_google_benchmarks_are_split():
    reading = read(google(run("f/8/depth:2/x/manual_time/threads:4")))
    assert reading.rows[0].treatment == {
        "benchmark": "f",
        "arg1": "8",
        "arg2": "x",
        "depth": "2",
        "threads": "4",
        "options": "manual_time",
    }
    assert reading.rows[0].metric == "real_time"


def test_failed_rows_of_google_benchmark_csv_are_empty():
    header = "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message,hits"
    text = f'{header}\n"a",10,5,4,us,,100,,,,3\n"b",,,,,,,,true,"no device",\n"a",10,7,4,us,,90,,,,2\n'
    reading = read(text)
    assert values(reading, "real_time") == pytest.approx([5e-6, None, 7e-6])
    assert values(reading, "hits") == [3.0, 2.0]
    assert [row.reason for row in reading.rows if row.status == "failed"] == ["no device", "no device"]


# pytest-benchmark


def pytest_benchmark(name, data, rounds, **more):
    stats = {"mean": 2.0, "stddev": 0.5, "rounds": rounds, "iterations": 1, "data": data}
    return {
        "machine_info": {},
        "benchmarks": [{"name": name, "fullname": f"t.py::{name}", "stats": stats, **more}],
    }


@pytest.mark.parametrize("data", [[1.0, 3.0], [1.0, "...", 3.0], None, []])
def test_rounds_that_are_not_all_there_are_a_summary(data):
    reading = read(pytest_benchmark("test_a", data, 3))
    assert [row.status for row in reading.rows] == ["aggregated"]
    assert reading.rows[0].summary.n == 3
    assert "aggregated_only" in codes(reading)


def test_the_address_of_an_object_is_no_level():
    params = {"o": "UNSERIALIZABLE[<object object at 0x7f3e105a58a0>]"}
    stats = {"rounds": 1, "mean": 1.0, "data": [1.0]}
    reading = read(
        {"machine_info": {}, "benchmarks": [{"name": "test_p[obj]", "params": params, "stats": stats}]}
    )
    assert [dict(row.treatment) for row in reading.rows] == [{"benchmark": "test_p", "param": "obj"}]


def test_parameters_in_the_name_count_only_without_others():
    assert read(pytest_benchmark("test_a[x-1]", [2.0], 1)).rows[0].treatment == {
        "benchmark": "test_a",
        "param1": "x",
        "param2": "1",
    }
    named = read(pytest_benchmark("test_a[x-1]", [2.0], 1, params={"k": "x-1", "l": [1]}))
    assert named.rows[0].treatment == {"benchmark": "test_a", "k": "x-1", "l": "[1]"}


# pyperf


@pytest.mark.parametrize("date", ["2026-01-01 00:00:00", "0001-01-01 00:00:00"])
def test_a_duration_of_any_size_leaves_the_values_of_pyperf(date):
    run = {"metadata": {"name": "a", "date": date, "duration": 10**400}, "values": [1.0, 3.0]}
    reading = read({"benchmarks": [{"runs": [run]}], "version": "1.0"})
    assert [(row.value, row.end) for row in reading.rows] == [(2.0, None)]


# go test


GO = "pkg: p\nBenchmarkA-2\t100\t57.5 ns/op\t3.5 hits/op\nBenchmarkA-2\t100\t58.5 ns/op\t3.5 hits"


@pytest.mark.parametrize(
    ("end", "hits"), [("", [3.5]), ("/", [3.5]), ("/op", [3.5, 3.5]), ("/op\n", [3.5, 3.5])]
)
def test_a_unit_that_was_cut_is_no_metric(end, hits):
    reading = read(GO + end)
    assert {row.metric for row in reading.rows} == {"ns/op", "hits/op"}
    assert values(reading, "hits/op") == hits
    assert ("partial" in codes(reading)) == (len(hits) == 1)


def test_output_of_a_benchmark_stands_between_its_name_and_its_result():
    told = "pkg: p\nBenchmarkA-2 \t hello\nseed: 5\n     100\t 5.0 ns/op\t 3 B/op\nBenchmarkA-2 \tx     100\t 6.0 ns/op\n"
    reading = read(told + "BenchmarkB-2\t10\t7.0 ns/op\nPASS\n")
    assert values(reading, "ns/op", benchmark="A", pkg="p", gomaxprocs="2") == [5.0, 6.0]
    assert values(reading, "ns/op", benchmark="B") == [7.0]
    assert values(reading, "B/op") == [3.0]
    assert not any("seed" in row.treatment for row in reading.rows)


def test_numbers_that_are_none_lose_no_others():
    reading = read("BenchmarkA-2\t10\t7.0 ns/op\tNaN hits\t+Inf rate\n")
    assert values(reading, "ns/op") == [7.0]
    assert values(reading, "hits") == values(reading, "rate") == [None]
    assert "not_finite" in codes(reading)


def test_packages_that_failed_are_named():
    told = "pkg: a\nBenchmarkA-2\t10\t7.0 ns/op\nPASS\nok  \ta\t1.0s\nFAIL\tb [build failed]\nFAIL\nFAIL\tc\t0.1s\n"
    said = [note.text for note in read(told).notes]
    assert "go test failed for b (build failed), c: benchmarks may be missing" in said


def test_it_is_said_that_the_last_line_has_no_end():
    said = [note.text for note in read(GO + "/op").notes]
    assert "the last line has no end: if the file was cut there, its last value may be wrong" in said
    assert not any("has no end" in note.text for note in read(GO + "/op\n").notes)


@pytest.mark.parametrize(
    "end",
    [
        "panic: boom\n\ngoroutine 1 [running]:\nmain.x()\nexit status 2\nFAIL\tp\t0.1s\n",
        "BenchmarkB-2   \tfatal error: all goroutines are asleep - deadlock!\nexit status 2\nFAIL\tp\t0.1s\n",
        "*** Test killed with quit: ran too long (1s).\nFAIL\tp\t1.1s\n",
    ],
)
def test_benchmarks_before_a_panic_are_read_and_it_is_said(end):
    reading = read(f"pkg: p\nBenchmarkA-2\t100\t60 ns/op\n{end}")
    assert values(reading, "ns/op", benchmark="A") == [60.0]
    (said,) = [note.text for note in reading.notes if note.code == "partial"]
    assert said.startswith("the file ends early: the program failed: ")


# JMH


def jmh(benchmark="a.B.c", mode="avgt", params=None, metric=None, **more):
    metric = metric or {
        "score": 1.0,
        "scoreError": "NaN",
        "scoreUnit": "us/op",
        "rawData": [[1.0, 3.0], [5.0]],
    }
    names = {"jmhVersion": "1.37", "benchmark": benchmark, "mode": mode, "forks": 2, "params": params or {}}
    return {**names, "primaryMetric": metric, **more}


def test_a_fork_is_a_trial_and_one_name_may_have_several_modes():
    reading = read([jmh(), jmh(mode="thrpt")])
    assert values(reading, "score", mode="avgt") == [2.0, 5.0]
    assert [row.better for row in reading.rows] == ["lower", "lower", "higher", "higher"]
    assert "duplicate_names" in codes(reading)


def test_counts_of_a_histogram_weigh_its_values():
    metric = {"score": 2.5, "scoreUnit": "us/op", "rawDataHistogram": [[[[1.0, 3], [7.0, 1]], [[10.0, 4]]]]}
    assert values(read([jmh(mode="sample", metric=metric)]), "score") == [
        pytest.approx((3 * 1 + 7 + 4 * 10) / 8)
    ]


def test_a_benchmark_that_threw_is_missing_and_named():
    reading = read([jmh("x", params={"k": "0"}), jmh("y", params={"k": "0"}), jmh("y", params={"k": "1"})])
    assert [note.text[-5:] for note in reading.notes if note.code == "missing_combinations"] == ["x k=1"]
    assert len(reading.rows) == 6


def test_secondary_metrics_lose_their_dot_and_have_no_direction():
    alloc = {"score": 8.0, "scoreUnit": "B/op", "rawData": [[8.0], ["NaN"]]}
    reading = read([jmh(secondaryMetrics={"·gc.alloc.rate.norm": alloc}, forks=0)])
    assert values(reading, "gc.alloc.rate.norm") == [8.0, None]
    assert {"not_forked", "not_finite", "direction_unknown"} <= codes(reading)


def test_parts_of_a_group_have_the_direction_of_its_mode():
    metric = {"score": 4.0, "scoreUnit": "ops/s", "rawData": [[4.0]]}
    told = {"jmhVersion": "1.37", "benchmark": "a.B.g", "mode": "thrpt", "forks": 1, "primaryMetric": metric}
    reading = read(
        [told | {"secondaryMetrics": {"get": metric, "·gc.count": metric | {"scoreUnit": "counts"}}}]
    )
    assert {row.metric: row.better for row in reading.rows} == {
        "score": "higher",
        "get": "higher",
        "gc.count": None,
    }


def test_jmh_csv_holds_a_summary():
    header = '"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit","Param: n"'
    row = read(f'{header}\n"a.b","thrpt",1,15,100.0,2.5,"ops/us",10\n').rows[0]
    assert (row.treatment, row.value, row.better) == (
        {"benchmark": "a.b", "n": "10", "mode": "thrpt"},
        100.0,
        "higher",
    )
    assert (row.summary.n, row.summary.interval, row.summary.level) == (15, (97.5, 102.5), 0.999)


# BenchmarkDotNet


def test_only_results_of_launches_are_values_of_benchmark_dotnet():
    def took(mode, stage, launch, operations, nanoseconds):
        place = {"IterationMode": mode, "IterationStage": stage, "LaunchIndex": launch}
        return {**place, "Operations": operations, "Nanoseconds": nanoseconds}

    measurements = [
        took("Overhead", "Actual", 1, 10, 9.0), took("Workload", "Pilot", 1, 2, 999.0), took("Workload", "Actual", 1, 10, 60.0),
        took("Workload", "Result", 1, 10, 50.0), took("Workload", "Result", 1, 10, 70.0), took("Workload", "Result", 2, 10, 90.0),
    ]  # fmt: skip
    names = {"Namespace": "N", "Type": "T", "Method": "M", "Parameters": "N=10, K=a"}
    benchmark = {**names, "Statistics": {"OriginalValues": [5.0]}, "Measurements": measurements}
    document = {
        "HostEnvironmentInfo": {"BenchmarkDotNetVersion": "0.13.5"},
        "Benchmarks": [benchmark, {"Type": "T", "Method": "Bad"}],
    }
    reading = read(document)
    assert values(reading, "time", benchmark="N.T.M", N="10", K="a") == pytest.approx([6e-9, 9e-9])
    assert [row.treatment for row in reading.rows if row.status == "failed"] == [{"benchmark": "T.Bad"}]


# criterion and libtest


def criterion(folder, name, sample, slope=None, **identity):
    place = folder / name / "new"
    place.mkdir(parents=True)
    (place / "benchmark.json").write_text(
        json.dumps({"group_id": "g", "function_id": None, "value_str": None, **identity})
    )
    (place / "sample.json").write_text(json.dumps(sample))
    estimate = None if slope is None else {"point_estimate": slope}
    (place / "estimates.json").write_text(json.dumps({"mean": {"point_estimate": 1.0}, "slope": estimate}))


def test_criterion_gives_the_slope_of_linear_samples_and_the_mean_of_flat_ones(tmp_path):
    criterion(
        tmp_path,
        "a_b",
        {"sampling_mode": "Linear", "iters": [1.0, 2.0], "times": [30.0, 40.0]},
        20.0,
        group_id="a/b",
    )
    criterion(
        tmp_path, "c", {"sampling_mode": "Flat", "iters": [2.0, 2.0], "times": [30.0, 50.0]}, value_str="7"
    )
    criterion(tmp_path, "d", [[1.0], [4.0]])
    (tmp_path / "report").mkdir()
    reader, content = recognised_folder(tmp_path)
    reading = reader.reading(content)
    assert [(dict(row.treatment), row.value) for row in reading.rows] == [
        ({"group": "a/b"}, pytest.approx(20e-9)),
        ({"group": "g", "value": "7"}, pytest.approx(20e-9)),
        ({"group": "g"}, pytest.approx(4e-9)),
    ]  # fmt: skip
    assert reading.rows[0].samples.values == pytest.approx([30e-9, 20e-9])


def test_a_damaged_benchmark_of_criterion_loses_no_other(tmp_path):
    criterion(tmp_path, "a", {"iters": [1.0], "times": [4.0]})
    criterion(tmp_path, "b", {"iters": [], "times": []})
    reader, content = recognised_folder(tmp_path)
    reading = reader.reading(content)
    assert len(reading.rows) == 1
    assert "partial" in codes(reading)


def test_baselines_of_criterion_are_named_and_read_where_their_folders_are(tmp_path):
    for name, time in (("new", 10.0), ("base", 20.0), ("old", 30.0)):
        folder = tmp_path / "criterion" / "g" / name
        folder.mkdir(parents=True)
        (folder / "benchmark.json").write_text('{"group_id": "g"}')
        (folder / "sample.json").write_text(
            json.dumps({"sampling_mode": "Flat", "iters": [2.0], "times": [time]})
        )
    reader, content = recognised_folder(tmp_path / "criterion")
    reading = reader.reading(content)
    assert values(reading, "time") == pytest.approx([5e-9])
    assert any(note.text.endswith("read if their folders are named: old") for note in reading.notes)
    reader, content = recognised_folder(tmp_path / "criterion" / "g" / "old")
    assert values(reader.reading(content), "time", group="g", baseline="old") == pytest.approx([15e-9])


def test_what_criterion_prints_has_its_throughput_with_the_high_time_first():
    reading = read(
        "fill/loop/100           time:   [68.921 ns 86.658 ns 102.13 ns]\n"
        "                        thrpt:  [979.17 Kelem/s 1.1540 Melem/s 1.4509 Melem/s]\n"
        "                 change:\n                        time:   [-1.2% +0.1% +1.3%] (p = 0.9 > 0.05)\n"
        "a name that is long\n                        time:   [1.0000 µs 2.0000 µs 3.0000 µs]\n"
        "                        thrpt:  [1.0000 MiB/s 2.0000 MiB/s 3.0000 MiB/s]\n"
    )
    assert values(reading, "time") == pytest.approx([86.658e-9, 2e-6])
    assert values(reading, "throughput") == pytest.approx([1.154e6, 2 * 2**20])
    assert reading.rows[1].summary.interval == pytest.approx((0.97917e6, 1.4509e6))


def test_commas_of_libtest_are_thousands():
    reading = read(
        "test a::b     ... bench:   1,234,567.25 ns/iter (+/- 2,358) = 9768 MB/s\ntest c ... FAILED\ntest d ... ignored\n"
    )
    assert values(reading, "time", benchmark="a::b") == pytest.approx([1234567.25e-9])
    assert values(reading, "throughput") == [9768e6]
    assert [row.treatment["benchmark"] for row in reading.rows if row.status == "failed"] == ["c"]


# asv


def test_asv_multiplies_parameters_and_tells_failed_from_skipped(tmp_path):
    machine = tmp_path / "m"
    machine.mkdir()
    known = {
        "f": {"param_names": ["n", "k"], "type": "time", "unit": "seconds", "version": "1"},
        "version": 2,
    }
    (tmp_path / "benchmarks.json").write_text(json.dumps(known))
    (machine / "machine.json").write_text("{}")
    row = [[1.0, None, float("nan"), 4.0], [["1", "2"], ["'a'", "'b'"]], "1", 1000, 2.0]
    (machine / "abc-env.json").write_text(
        json.dumps({"commit_hash": "abc", "params": {"machine": "m"}, "results": {"f": row}})
    )
    reader, content = recognised_folder(tmp_path)
    rows = reader.reading(content).rows
    assert [(each.treatment["n"], each.treatment["k"], each.value, each.status) for each in rows] == [
        ("1", "'a'", 1.0, "finished"), ("1", "'b'", None, "failed"), ("2", "'a'", None, "finished"), ("2", "'b'", 4.0, "finished"),
    ]  # fmt: skip
    assert (rows[0].start, rows[0].end, rows[2].reason) == (1.0, 3.0, "skipped")


def test_what_asv_prints_is_rounded():
    reading = read(
        "· Running 2 total benchmarks\n[ 50.00%] ··· b.time_x        11.1±0.01μs\n[ 75.00%] ··· b.time_y   failed\n"
    )
    assert values(reading, "time") == pytest.approx([11.1e-6, None])
    assert {"rounded", "aggregated_only", "failed_units"} <= codes(reading)


# XML


def test_a_benchmark_of_catch2_failed_where_its_test_case_succeeded():
    reading = read(
        '<Catch2TestRun name="x" catch2-version="3.5"><TestCase name="t"><BenchmarkResults name="bad"><failed message="no device"/>'
        '</BenchmarkResults><BenchmarkResults name="a" samples="20"><mean value="250" lowerBound="240" upperBound="270" ci="0.95"/>'
        '<standardDeviation value="10"/></BenchmarkResults><OverallResult success="true"/></TestCase></Catch2TestRun>'
    )
    assert [(row.status, row.value, row.reason) for row in reading.rows] == [
        ("failed", None, "no device"), ("aggregated", pytest.approx(250e-9), ""),
    ]  # fmt: skip
    assert reading.rows[1].summary.deviation == pytest.approx(10e-9)


JUNIT = (
    '<testsuites><testsuite timestamp="2026-01-01T00:00:00+00:00"><testcase classname="c" name="a" time="1,234.500"/>'
    '<testsuite><testcase name="b" time="0.1"><skipped message="no device"/></testcase><testcase name="d"/></testsuite>'
    '<testcase name="e" time="0.2"><error message="boom"/></testcase></testsuite></testsuites>'
)


def test_times_of_junit_have_commas_and_skipped_tests_no_time():
    rows = {row.treatment["test"]: row for row in read(JUNIT).rows}
    assert {name: (row.value, row.status) for name, row in rows.items()} == {
        "c::a": (1234.5, "finished"), "b": (None, "finished"), "d": (None, "finished"), "e": (None, "failed"),
    }  # fmt: skip
    assert rows["c::a"].start == 1767225600.0


def test_a_test_of_junit_that_was_cut_off_passed_not():
    """A failure stands inside its test: half a test looks like one that passed."""
    for end in range(JUNIT.index('<error message="boom"'), JUNIT.index("boom") + 8):
        reading = read(JUNIT[:end])
        assert {row.treatment["test"] for row in reading.rows} == {"c::a", "b", "d"}
        assert "partial" in codes(reading)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_in_every_encoding(encoding):
    text = (
        '<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "b">]><testsuites><testcase name="&a;"/></testsuites>'
    )
    data = text.encode(encoding)
    content = Content(Path("x.xml"), data)
    reader = recognised(content)
    if reader is not None:
        with pytest.raises(AnalysisError, match="document type"):
            reader.reading(content)


# Continuous benchmarking


def test_the_direction_of_a_custom_list_is_in_its_name_alone():
    told = [{"name": "a", "unit": "MB/s", "value": 2}]
    assert read(told, "customBiggerIsBetter.json").rows[0].better == "higher"
    assert read(told, "custom_smaller.json").rows[0].better == "lower"
    unknown = read(told, "out.json")
    assert unknown.rows[0].better is None
    assert "direction_unknown" in codes(unknown)


def test_the_history_of_a_page_is_read_from_its_script():
    bench = {"name": "a", "unit": "ns/iter", "value": 12}
    runs = [
        {"commit": {"id": each, "timestamp": "x"}, "date": date, "tool": "cargo", "benches": [bench]}
        for each, date in (("c1", 1000), ("c2", 2000))
    ]
    reading = read(
        "window.BENCHMARK_DATA = " + json.dumps({"lastUpdate": 1, "repoUrl": "", "entries": {"s": runs}})
    )
    assert [(row.treatment["commit"], row.start, row.order, row.better) for row in reading.rows] == [
        ("c1", 1.0, 0, "lower"),
        ("c2", 2.0, 1, "lower"),
    ]


def test_bencher_has_bounds():
    reading = read(
        {"a": {"latency": {"value": 5.0, "lower_value": 4.0, "upper_value": 6.0}, "own": {"value": 1}}}
    )
    assert [(row.metric, row.value, row.unit, row.better) for row in reading.rows] == [
        ("latency", 5.0, "ns", "lower"),
        ("own", 1.0, "", None),
    ]


# Cut files


def test_json_that_was_cut_keeps_what_is_whole():
    text = json.dumps(google(run("a"), run("b"), run("c")))
    place = text.index('"c"')
    reading = read(text[: place + 40])
    assert {row.treatment["benchmark"] for row in reading.rows} == {"a", "b"}
    assert "partial" in codes(reading)
