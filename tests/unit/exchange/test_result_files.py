"""Results of other tools as trials. The files of hyperfine and pyperf were recorded by these."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.comparison.sides import matched
from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_log import MergedLog, write_merged_log
from trialwise.exchange.pantheon_statistics import pantheon_statistics
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.trials_table import TrialColumns

RESULTS = Path(__file__).parent / "results"


def recorded(name):
    return json.loads((RESULTS / name).read_text())


def written(path, document):
    path.write_text(json.dumps(document))
    return path


def test_runs_of_hyperfine_are_trials():
    found = read_trials(RESULTS / "hyperfine-base.json")
    document = recorded("hyperfine-base.json")["results"]
    assert list(found.treatments) == ["size=20000", "size=60000"]
    for result, treatment in zip(document, found.treatments, strict=True):
        own = found.of("time", treatment)
        assert own["value"].to_list() == result["times"]
        assert own["value"].mean() == pytest.approx(result["mean"], rel=1e-12)
        assert own["process"].n_unique() == len(result["times"])
    assert found.metrics["time"].unit == "s"
    assert found.metrics["time"].better == "lower"
    assert any("user and system" in note for note in found.notes)


def test_failed_runs_of_hyperfine_are_left_out_and_counted():
    found = read_trials(RESULTS / "hyperfine-failed.json")
    result = recorded("hyperfine-failed.json")["results"][0]
    kept = [time for time, code in zip(result["times"], result["exit_codes"], strict=True) if code == 0]
    assert found.table["value"].to_list() == kept
    assert f"{10 - len(kept)} of 10 trials failed" in found.notes


def test_a_run_that_a_signal_ended_has_failed(tmp_path):
    document = {"results": [{"command": "x", "times": [1.0, 2.0, 3.0], "exit_codes": [0, None, 0]}]}
    assert read_trials(written(tmp_path / "x.json", document)).table["value"].to_list() == [1.0, 3.0]


def test_the_memory_of_runs_is_a_metric_of_the_same_trials():
    found = read_trials(RESULTS / "hyperfine-memory.json")
    results = recorded("hyperfine-memory.json")["results"]
    assert found.of("memory")["value"].to_list() == [
        value for result in results for value in result["memory_usage_byte"]
    ]
    assert found.metrics["memory"].unit == "B"
    assert found.of("memory")["trial"].to_list() == found.of("time")["trial"].to_list()


def test_commands_of_one_name_are_told_apart_and_summaries_are_no_trials(tmp_path):
    same = {"command": "x", "times": [1.0], "exit_codes": [0]}
    document = {"results": [same, same, {"command": "y", "mean": 3.0}]}
    found = read_trials(written(tmp_path / "x.json", document))
    assert found.table["treatment"].to_list() == ["command=x place=1", "command=x place=2"]
    assert any("command=y: only a summary" in note for note in found.notes)


def test_values_of_pyperf_nest_in_processes_boots_and_hosts():
    found = read_trials(RESULTS / "pyperf-base.json")
    document = recorded("pyperf-base.json")
    assert list(found.treatments) == ["benchmark=sort", "benchmark=sum"]
    for benchmark, treatment in zip(document["benchmarks"], found.treatments, strict=True):
        runs = [run["values"] for run in benchmark["runs"] if "values" in run]
        own = found.of("time", treatment)
        assert own["value"].to_list() == [value for values in runs for value in values]
        assert own["process"].n_unique() == len(runs) == 6
        assert own["trial"].n_unique() == 18
    assert found.table["host"].unique().to_list() == [document["metadata"]["hostname"]]
    assert found.table["boot"].n_unique() == 1


def test_two_files_of_pyperf_of_one_boot_share_the_boot_and_no_process():
    a, b = (read_trials(RESULTS / f"pyperf-{side}.json").table for side in ("base", "head"))
    assert a["boot"].unique().to_list() == b["boot"].unique().to_list()
    assert not set(a["process"]) & set(b["process"])


@pytest.mark.parametrize(
    ("moment", "same"),
    [
        ("2026-11-22 10:56:28", True),
        ("2026-11-22 10:56:27", True),
        *(
            (f"2026-11-22 10:{second // 60:02}:{second % 60:02}", True)
            for second in range(56 * 60, 57 * 60, 3)
        ),
        ("2026-11-22 11:12:29", False),
        ("2026-11-23 10:56:29", False),
    ],
)
def test_a_boot_is_known_again_though_its_second_is_told_differently(tmp_path, moment, same):
    document = recorded("pyperf-head.json")
    document["metadata"]["boot_time"] = moment
    a, b, _ = matched(
        read_trials(RESULTS / "pyperf-base.json"), read_trials(written(tmp_path / "x.json", document))
    )
    assert (set(a.table["boot"]) == set(b.table["boot"])) is same
    assert (set(a.table["build"]) == set(b.table["build"])) is same


def test_runs_that_tell_their_boot_on_either_side_of_a_minute_ran_in_one(tmp_path):
    document = recorded("pyperf-head.json")
    for benchmark in document["benchmarks"]:
        for number, run in enumerate(benchmark["runs"]):
            run["metadata"]["boot_time"] = f"2026-11-22 10:56:{29 + number % 3}"
    found = read_trials(written(tmp_path / "x.json", document)).table
    assert found["boot"].n_unique() == found["build"].n_unique() == 1
    assert found["process"].n_unique() > 1


def test_pyperf_may_be_compressed(tmp_path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress((RESULTS / "pyperf-base.json").read_bytes()))
    assert read_trials(path).table.height == 36


# Pantheon


def perf(runs):
    return {
        scheme: {str(run): {"all": dict(zip(("tput", "delay", "loss"), row, strict=True))}
                 for run, row in enumerate(rows, 1)}
        for scheme, rows in runs.items()
    }  # fmt: skip


def test_a_pantheon_folder_by_its_perf_file(tmp_path):
    document = perf({"bbr": [(9.5, 60.0, 0.01), (9.0, 61.0, 0.02)], "vegas": [(4.0, 40.0, None)]})
    written(tmp_path / "pantheon_perf.json", document)
    written(tmp_path / "pantheon_metadata.json", {"runtime": 30, "cc_schemes": ["bbr", "vegas"]})
    found = read_trials(tmp_path)
    assert found.of("pantheon_throughput", "scheme=bbr")["value"].to_list() == [9.5, 9.0]
    assert found.of("pantheon_loss", "scheme=bbr")["value"].to_list() == [1.0, 2.0]
    assert found.of("pantheon_throughput", "scheme=bbr")["seconds"].to_list() == [30, 30]
    assert {name: facts.unit for name, facts in found.metrics.items()} == {
        "pantheon_throughput": "Mbit/s",
        "pantheon_delay": "ms",
        "pantheon_loss": "%",
    }
    assert found.notes == ("1 run is left out (run 1 of vegas: it has no loss of all flows together)",)


def merged(seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 1000, 200)).round(3)
    delays = rng.uniform(20, 40, 190).round(3)
    sizes, flows = np.full(200, 1500), np.ones(200)
    return MergedLog(
        1000.0, np.array([]), np.array([], dtype=np.int64),
        times, sizes.astype(np.int64), flows.astype(np.int64),
        (times[:190] + delays).round(3), sizes[:190].astype(np.int64), flows[:190].astype(np.int64), delays,
    )  # fmt: skip


def test_a_pantheon_folder_without_a_perf_file_is_computed_from_its_logs(tmp_path):
    for run in (1, 2, 10):
        write_merged_log(tmp_path / f"bbr_datalink_run{run}.log", merged(run))
    (tmp_path / "vegas_datalink_run1.log").write_text("this is no log\n")
    found = read_trials(tmp_path)
    rows = found.of("pantheon_delay", "scheme=bbr")
    assert rows["round"].to_list() == ["1", "2", "10"]
    assert rows["value"].to_list() == pytest.approx(
        [pantheon_statistics(merged(run)).total.delay for run in (1, 2, 10)], abs=2e-3
    )
    assert any("vegas_datalink_run1.log" in note for note in found.notes)
    assert any("computed from the logs" in note for note in found.notes)


# Tables


def test_a_table_with_hosts_and_processes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("host,process,scheme,ms\nh1,1,a,1.5\nh1,1,a,2.5\nh2,1,a,NaN\nh2,2,b,4\n")
    found = read_trials(path, TrialColumns(values=("ms",), groups=("scheme",)))
    assert list(found.treatments) == ["scheme=a", "scheme=b"]
    assert found.of("ms", "scheme=a")["value"].to_list() == [1.5, 2.5]
    assert found.of("ms", "scheme=a")["process"].n_unique() == 1
    assert found.of("ms")["host"].to_list() == ["h1", "h1", "h2"]
    assert found.notes == ("1 of 4 values of ms are missing and were left out",)


def test_rows_of_one_trial_are_its_samples(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("trial,scheme,ms\n1,a,1\n1,a,2\n1,a,9\n2,a,5\n1,b,7\n")
    columns = TrialColumns(values=("ms",), groups=("scheme",), trial="trial")
    assert read_trials(path, columns).of("ms")["value"].to_list() == [4, 5, 7]
    median = TrialColumns(values=("ms",), groups=("scheme",), trial="trial", measure="median")
    assert read_trials(path, median).of("ms")["value"].to_list() == [2, 5, 7]
    p50 = TrialColumns(values=("ms",), groups=("scheme",), trial="trial", measure=90.0)
    assert read_trials(path, p50).of("ms")["value"].to_list() == pytest.approx(
        [np.percentile([1, 2, 9], 90), 5, 7]
    )


def test_the_long_form_names_its_metrics_and_units(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "metric,unit,trial,treatment,value\n"
        "time,s,1,level=1 tool=gzip,1\ntime,s,2,level=1 tool=gzip,2\n"
        "size,B,1,level=1 tool=gzip,10\nsize,kB,2,level=1 tool=gzip,20\n"
    )
    found = read_trials(path)
    assert found.metrics["time"].unit == "s"
    assert found.treatments == {"level=1 tool=gzip": {"level": "1", "tool": "gzip"}}
    assert list(found.metrics) == ["time"]
    assert any("size stands there in B and kB" in note for note in found.notes)


def test_a_column_of_units_holds_without_one_of_metrics(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("unit,value\nms,1\nms,2\n")
    assert read_trials(path).metrics["value"].unit == "ms"
    path.write_text("unit,value\nms,1\ns,2\n")
    with pytest.raises(AnalysisError, match="no trial has a value") as caught:
        read_trials(path)
    assert "ms and s" in caught.value.hint


def test_a_row_that_says_the_same_trial_again_is_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("run,ms\n1,5\n2,6\n2,6\n3,6\n")
    found = read_trials(path, TrialColumns(values=("ms",)))
    assert found.table["value"].to_list() == [5, 6, 6]
    assert found.notes == ("1 row repeats another in every column, run included: left out",)


def test_equal_values_alone_are_no_repetition(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("scheme,ms\na,5\na,5\na,5\n")
    assert read_trials(path, TrialColumns(values=("ms",), groups=("scheme",))).table.height == 3


def test_parquet_is_a_table_too(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"host": ["a", "b"], "value": [1.0, math.nan]}).write_parquet(path)
    assert read_trials(path).table["value"].to_list() == [1.0]


# What is none


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("{", "not a complete JSON"),
        ("[1, 2]", "not a result of a known tool"),
        ('{"a": 1}', "not a result of a known tool"),
        ('{"machine_info": {}, "benchmarks": [{"stats": {}}]}', "pytest-benchmark"),
        ('{"context": {}, "benchmarks": [{"name": "x"}]}', "no trial has a value"),
        ('{"context": {}, "benchmarks": [{"name": 1}]}', "Google Benchmark"),
        ('{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}}', "1 of 1 trial failed"),
        ('{"results": [{"command": "x", "times": ["soon"]}]}', "results.0.times.0"),
        ('{"results": []}', "holds no result"),
        ('{"version": "1.0", "benchmarks": [{"runs": [{"metadata": {}}]}]}', "holds no result"),
        ('{"bbr": {"1": {"all": {"tput": "fast"}}}}', "pantheon_perf.json"),
        ("a,b\n1,2\n", "needs to know its columns"),
        ("value\n", "no row"),
        ("value\nfast\n", "line 2"),
        ("value\nNaN\n", "no trial has a value"),
    ],
)
def test_a_file_that_is_none_is_said_plainly(content, said, tmp_path):
    path = tmp_path / ("x.csv" if content[:1] not in ("{", "[") else "x.json")
    path.write_text(content)
    with pytest.raises(AnalysisError, match=said):
        read_trials(path)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(AnalysisError, match="is empty"):
        read_trials(tmp_path)
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(AnalysisError, match="neither an experiment directory nor"):
        read_trials(tmp_path)
    with pytest.raises(AnalysisError, match="no such file"):
        read_trials(tmp_path / "nowhere")
    written(tmp_path / "pantheon_metadata.json", {"runtime": 30})
    with pytest.raises(AnalysisError, match=r"no pantheon_perf\.json, and no log of a run"):
        read_trials(tmp_path)


def test_options_of_tables_are_for_tables():
    with pytest.raises(AnalysisError, match="is no table"):
        read_trials(RESULTS / "pyperf-base.json", TrialColumns(values=("x",)))


def test_a_run_of_hyperfine_tells_how_long_a_trial_takes():
    found = read_trials(RESULTS / "hyperfine-base.json").of("time")
    assert found["seconds"].to_list() == found["value"].to_list()
