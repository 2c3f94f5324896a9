"""Metrics that trials find in what a harness prints: real harnesses, and programs of our own that print as one does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from tests.system.conftest import Bench
from tests.system.test_resuming import StopAfter

from trialwise import study
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.reading import parse_experiment, read_experiment
from trialwise.experiment.results import Results
from trialwise.experiment.writing import write_experiment
from trialwise.measurement.reported import Reported
from trialwise.measurement.results import read_results
from trialwise.study.locating import opened

GO = """\
goos: linux
goarch: amd64
pkg: example.com/m
{lines}
PASS
"""


def written(
    bench: Bench, command: str, results: str, *, rounds: str = "rounds = 2", trial: str = ""
) -> Bench:
    """Write an experiment whose trials are told their number as {x}."""
    bench.file.write_text(
        f'[experiment]\nname = "bench"\n[factors]\nx = [1]\n[trial]\ncommand = {json.dumps(command)}\n{trial}\n'
        f"[results]\n{results}\n[design]\n{rounds}\n"
    )
    return bench


def go_program(bench: Bench, *trials: str, code: int = 0) -> str:
    """Write a program that prints the lines of one trial after the other, and return its command."""
    for number, lines in enumerate(trials, 1):
        (bench.folder / f"out{number}").write_text(GO.format(lines=lines))
    (bench.folder / "go.sh").write_text(f'#!/bin/sh\ncat "out$1"\nexit {code}\n')
    (bench.folder / "go.sh").chmod(0o755)
    return "./go.sh {trial} {x}"


def values(bench: Bench) -> dict[str, list[list[float]]]:
    """Return the samples of each trial by metric."""
    with opened(bench.directory) as (experiment, directory, ledger):
        from trialwise.analysis.observations import StoreObservations

        store = StoreObservations(experiment, directory, ledger)
        return {
            metric.name: [one.values.tolist() for one in store.of(metric)] for metric in experiment.metrics
        }


ENCODE = "BenchmarkEncode/size={0}-8 \t 1000\t {1} ns/op\t {2} MB/s"


def encode(*pairs: tuple[float, float]) -> str:
    """Return lines for two sizes, of which the second is ten times slower."""
    return "\n".join(
        ENCODE.format(size, time * factor, rate / factor)
        for size, factor in ((1, 1), (9, 10))
        for time, rate in pairs
    )


def test_each_benchmark_and_metric_becomes_one_of_the_experiment(bench: Bench):
    command = go_program(bench, encode((10, 800), (14, 600)), encode((11, 700), (13, 500)))
    written(bench, command, 'format = "go-bench"')
    result = bench.run()
    assert result.counts == {"finished": 2}
    assert values(bench) == {
        "Encode/size=1:MB/s": [[800.0, 600.0], [700.0, 500.0]],
        "Encode/size=1:ns/op": [[10.0, 14.0], [11.0, 13.0]],
        "Encode/size=9:MB/s": [[80.0, 60.0], [70.0, 50.0]],
        "Encode/size=9:ns/op": [[100.0, 140.0], [110.0, 130.0]],
    }
    with opened(bench.directory) as (experiment, _, _):
        found = {metric.name: (metric.unit, metric.better, metric.measure) for metric in experiment.metrics}
    assert found["Encode/size=1:MB/s"] == ("MB/s", "higher", "mean")
    assert found["Encode/size=9:ns/op"] == ("ns/op", "lower", "mean")
    files = sorted(path.name for path in (bench.directory / "samples").iterdir())
    assert len(files) == 2, "a file for each trial, not for each metric"


def test_claims_go_by_pattern_and_the_first_that_matches_counts(bench: Bench):
    command = go_program(bench, *[encode((10, 800))] * 2)
    claims = (
        '[results.metrics."*/size=9"]\nmargin = "7%"\nkpi = { percentile = 50, confidence = 75 }\n'
        '[results.metrics."*:ns/op"]\nmargin = "3%"\n'
    )
    written(bench, command, f'format = "go-bench"\n{claims}')
    bench.run()
    with opened(bench.directory) as (experiment, _, _):
        margins = {metric.name: metric.margin and metric.margin.text for metric in experiment.metrics}
        bounds = {metric.name: [kpi.bound for kpi in metric.kpis] for metric in experiment.metrics}
    assert list(margins.items()) == [
        ("Encode/size=9:MB/s", "7.0%"),
        ("Encode/size=9:ns/op", "7.0%"),
        ("Encode/size=1:ns/op", "3.0%"),
        ("Encode/size=1:MB/s", None),
    ]
    assert bounds["Encode/size=9:MB/s"] == ["lower"]
    assert bounds["Encode/size=9:ns/op"] == ["upper"]
    assert bounds["Encode/size=1:ns/op"] == []


def test_only_what_is_kept_is_there(bench: Bench):
    command = go_program(bench, *[encode((10, 800))] * 2)
    bench = written(bench, command, 'keep = ["Encode/size=9", "*1:ns/op"]')
    bench.run()
    assert list(values(bench)) == ["Encode/size=1:ns/op", "Encode/size=9:MB/s", "Encode/size=9:ns/op"]


def test_a_benchmark_that_a_trial_lacks_is_a_missing_cell_and_is_said(bench: Bench):
    decode = "BenchmarkDecode-8 \t 5\t 7 ns/op"
    command = go_program(bench, encode((10, 800)), f"{encode((11, 700))}\n{decode}", decode)
    written(bench, command, 'format = "go-bench"', rounds="rounds = 3")
    bench.run()
    found = values(bench)
    assert found["Decode:ns/op"] == [[7.0], [7.0]]
    assert found["Encode/size=1:ns/op"] == [[10.0], [11.0]]
    told = " ".join(bench.compute("analyze", bench.directory, "--full").stdout.split())
    assert "finished trials without a value: " in told
    assert "Decode:ns/op in 1 of 3" in told
    assert "Encode/size=1:ns/op in 1 of 3" in told


def refused(bench: Bench) -> str:
    """Run, and return why the last trial failed."""
    bench.run()
    return str(bench.rows("failed")[-1].reason)


def test_a_metric_that_changes_its_unit_fails_the_trial(bench: Bench):
    command = go_program(bench, "BenchmarkA-8 1 5 x", "Unit x better=lower\nBenchmarkA-8 1 5 x")
    written(bench, command, 'format = "go-bench"')
    reason = refused(bench)
    assert "A:x is in x, lower is better, and in earlier trials in x, neither lower nor higher" in reason
    assert [row.number for row in bench.rows("finished")] == [1]
    assert values(bench) == {"A:x": [[5.0]]}


def test_what_was_printed_before_a_failure_is_said(bench: Bench):
    written(bench, go_program(bench, *[encode((10, 800), (14, 600))] * 2, code=3), 'format = "go-bench"')
    reason = refused(bench)
    assert "until then the harness had printed 8 values of 4 metrics" in reason
    assert "3" in reason.split(";")[0]


def script(bench: Bench, text: str) -> str:
    (bench.folder / "program.py").write_text(text)
    return f"{sys.executable} program.py {{x}}"


PYPERF = {
    "version": "1.0",
    "metadata": {"unit": "second"},
    "benchmarks": [
        {"metadata": {"name": name}, "runs": [{"values": [1.0, 2.0], "metadata": {}}] * 2} for name in "ab"
    ],
}


def test_half_a_document_fails_the_trial_and_says_what_was_read(bench: Bench):
    text = json.dumps(PYPERF)
    written(
        bench, script(bench, f"print({text[: text.index('b', text.rindex('name'))]!r})"), 'format = "pyperf"'
    )
    reason = refused(bench)
    assert "is not complete" in reason
    assert "of 1 metric" in reason


def test_another_format_is_refused_and_named(bench: Bench):
    written(bench, script(bench, f"print({json.dumps(PYPERF)!r})"), 'format = "go-bench"')
    assert "it looks like what pyperf writes (pyperf-json)" in refused(bench)
    shutil.rmtree(bench.directory)
    written(bench, script(bench, "print('all is \\x1b[31mwell')"), 'format = "auto"')
    reason = refused(bench)
    assert "is of no format that is read here" in reason
    assert "\x1b" not in reason


def test_a_file_to_which_trials_add_is_refused(bench: Bench):
    """`pyperf --append` writes the file anew with the runs of earlier trials in it."""
    text = f"""import json, pathlib
file = pathlib.Path("out.json")
document = json.loads(file.read_text()) if file.exists() else {PYPERF!r}
if file.exists():
    for number, each in enumerate(document["benchmarks"]):
        each["runs"].append({{"values": [3.0 + number, 4.5], "metadata": {{}}}})
file.write_text(json.dumps(document))
"""
    written(bench, script(bench, text), 'format = "pyperf"\nfrom = "out.json"')
    assert "stood there before this trial" in refused(bench)
    assert len(bench.rows("finished")) == 1


def test_a_pattern_that_keeps_nothing_fails_the_trial(bench: Bench):
    written(bench, go_program(bench, *[encode((10, 800))] * 2), 'keep = ["Encod/*"]')
    assert "holds nothing that results.keep" in refused(bench)


def test_what_the_file_has_wrong_is_said_before_anything_runs(bench: Bench):
    written(bench, "true {x}", 'format = "go-bensh"')
    with pytest.raises(PlanError, match='"go-bensh" is not read; did you mean "go-bench"'):
        read_experiment(bench.file)
    written(bench, "true {x}", '[results.metrics."*"]\nvariability = { percentile = 50, confidence = 75 }')
    with pytest.raises(
        PlanError, match=r'results\.metrics\."\*"\.variability: a variability score needs a kpi'
    ):
        read_experiment(bench.file)
    bench.file.write_text('[experiment]\nname = "a"\n[trial]\ncommand = "true"\n')
    with pytest.raises(PlanError, match="metrics: missing"):
        read_experiment(bench.file)


@pytest.mark.parametrize("bound", ["", ', bound = "upper"', ', bound = "lower"'])
def test_an_experiment_with_results_is_written_as_it_was(bench: Bench, bound: str):
    claims = f'[results.metrics."a*:b"]\nstop = {{ precision = "2%" }}\nkpi = {{ percentile = 50, confidence = 75{bound} }}'
    written(bench, "true {x}", f'format = "jmh"\nfrom = "{{directory}}/o"\nkeep = ["a"]\n{claims}', rounds="")
    experiment = read_experiment(bench.file)
    again = parse_experiment(write_experiment(experiment), bench.file)
    assert replace(again, trial=experiment.trial) == experiment


STOPPING = """\
import random, sys
draw = random.Random(int(sys.argv[1]))
print('''goos: linux
pkg: m''')
for name, spread in (("Encode/a", 1.0), ("Encode/b", 2.0), ("Decode", 80.0)):
    print(f"Benchmark{name}-8 1 {100 + spread * draw.random():.6f} ns/op")
print("PASS")
"""


def test_it_stops_when_each_benchmark_of_a_pattern_is_known(bench: Bench):
    """Decode is 80 times wider than Encode/a: it alone would take hundreds of trials."""
    script(bench, STOPPING)
    claims = '[results.metrics."Encode/*"]\nstop = { precision = "0.5%", of = "mean" }'
    command = f"{sys.executable} program.py {{seed}} {{x}}"
    written(bench, command, f'format = "go-bench"\n{claims}', rounds="max_trials = 100\npilot = 10")
    bench.run()
    status = bench.status()
    claims_of = status["stopping"]["claims"]
    assert sorted(claim["metric"] for claim in claims_of) == ["Encode/a:ns/op", "Encode/b:ns/op"]
    assert {claim["state"] for claim in claims_of} == {"decided"}
    assert 12 <= len(bench.rows("finished")) < 60
    assert all(claim["width"] <= claim["target"] for claim in claims_of)


def test_a_pattern_that_nothing_matches_never_counts_as_known(bench: Bench):
    claims = '[results.metrics."Encode/*"]\nstop = { precision = "2%", of = "mean" }'
    decode = "BenchmarkDecode-8 \t 5\t 7 ns/op"
    written(bench, go_program(bench, *[decode] * 24), f"{claims}", rounds="max_trials = 24\npilot = 4")
    bench.run()
    assert len(bench.rows("finished")) == 24
    told = bench.status()["stopping"]["claims"]
    assert [(claim["metric"], claim["state"]) for claim in told] == [("Encode/*", "open")]


def test_pyperf_in_an_experiment(bench: Bench, tmp_path: Path):
    pytest.importorskip("pyperf", reason="pyperf is not installed")
    (bench.folder / "bench.py").write_text(
        "import pyperf\nrunner = pyperf.Runner(processes=2, values=3, warmups=0, loops=2)\n"
        "runner.bench_func('sort', sorted, list(range(999, 0, -1)))\nrunner.bench_func('sum', sum, list(range(999)))\n"
    )
    (bench.folder / "run.sh").write_text(
        f'#!/bin/sh\nset -e\n{sys.executable} bench.py --quiet -o "$1/out.json"\ncp "$1/out.json" "{tmp_path}/$2.json"\n'
    )
    (bench.folder / "run.sh").chmod(0o755)
    written(bench, "./run.sh {directory} {trial} {x}", 'format = "pyperf"\nfrom = "{directory}/out.json"')
    assert bench.run().counts == {"finished": 2}
    found = values(bench)
    assert list(found) == ["sort:time", "sum:time"]
    for trial in (1, 2):
        for each in json.loads((tmp_path / f"{trial}.json").read_text())["benchmarks"]:
            own = [value for run in each["runs"] for value in run.get("values", [])]
            assert len(own) == 6
            name = f"{each['metadata']['name']}:time"
            assert fmean(found[name][trial - 1]) == pytest.approx(fmean(own), rel=1e-12)


def test_go_in_an_experiment(bench: Bench):
    if shutil.which("go") is None:
        pytest.skip("there is no Go here")
    (bench.folder / "go.mod").write_text("module example.com/m\ngo 1.20\n")
    (bench.folder / "m_test.go").write_text(
        'package m\nimport ("testing"; "strings")\nvar s string\n'
        'func BenchmarkUp(b *testing.B) { b.ReportAllocs(); for i := 0; i < b.N; i++ { s = strings.ToUpper("abc") } }\n'
    )
    written(
        bench,
        "go test -bench . -benchtime 100x -count 2 -args {x}",
        'format = "go-bench"\nkeep = ["*:ns/op", "*:allocs/op"]',
        trial='timeout = "300s"',
    )
    assert bench.run().counts == {"finished": 2}
    found = values(bench)
    assert list(found) == ["Up:allocs/op", "Up:ns/op"]
    assert found["Up:allocs/op"] == [[1.0, 1.0]] * 2
    assert all(len(trial) == 2 and min(trial) > 0 for trial in found["Up:ns/op"])


def test_hyperfine_in_an_experiment(bench: Bench):
    if shutil.which("hyperfine") is None:
        pytest.skip("there is no hyperfine here")
    command = "hyperfine -N -r 3 -w 0 --export-json {directory}/out.json true echo"
    written(
        bench,
        command,
        'from = "{directory}/out.json"\nkeep = ["*:time"]',
        trial='environment = { X = "{x}" }',
    )
    assert bench.run().counts == {"finished": 2}
    assert {name: [len(trial) for trial in each] for name, each in values(bench).items()} == {
        "echo:time": [3, 3],
        "true:time": [3, 3],
    }


def test_a_run_that_is_stopped_and_resumed_stops_at_the_same_round(bench: Bench, tmp_path: Path):
    """The state follows from the ledger alone: the metrics found before count as those found now."""
    script(bench, STOPPING)
    claims = '[results.metrics."*"]\nstop = { precision = "0.5%", of = "mean" }\n[results.metrics."none"]\nmargin = "1%"'
    command = f"{sys.executable} program.py {{seed}} {{x}}"
    results = f'format = "go-bench"\nkeep = ["Encode/*"]\n{claims}'
    written(bench, command, results, rounds="max_trials = 100\npilot = 10")
    whole = study.run(bench.file, tmp_path / "whole")
    rule = StopAfter(7)
    resumed = study.run(bench.file, bench.directory, stopping=rule, observers=[rule])
    assert resumed.counts["finished"] == 7 < whole.counts["finished"]
    again = study.run(bench.file, bench.directory)
    assert again.counts == whole.counts
    assert again.stopping is not None
    assert whole.stopping is not None
    assert again.stopping.claims == whole.stopping.claims


def test_two_hundred_metrics_fit_on_a_screen(bench: Bench):
    line = "BenchmarkNumber{0:03d}/with/a/long/name-8 1 {1} ns/op"
    trials = [
        "\n".join(line.format(number, number + 5 + trial) for number in range(200)) for trial in range(3)
    ]
    claims = '[results.metrics."*7/*"]\nkpi = { percentile = 50, confidence = 75 }'
    written(bench, go_program(bench, *trials), f"{claims}", rounds="rounds = 3")
    bench.run()
    for command, code in (("status", 0), ("analyze", 0), ("plan", 0), ("order", 3)):
        done = bench.compute(command, bench.directory)
        assert done.returncode == code, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) <= 60, command
        assert max(map(len, lines)) < 1000, command
    analysed = bench.compute("analyze", bench.directory).stdout
    assert "Number007/with/a/long/name:ns/op" in analysed
    assert len(json.loads(bench.compute("analyze", bench.directory, "--json").stdout)["metrics"]) == 200


def test_a_stop_that_is_changed_on_the_way_is_on_record(bench: Bench):
    claims = '[results.metrics."*:ns/op"]\nstop = {{ precision = "{0}%", of = "mean" }}'
    outputs = [encode((10 + number % 3, 800)) for number in range(60)]
    command = go_program(bench, *outputs)
    rounds = "max_trials = 60\npilot = 10"
    written(bench, command, claims.format(40), rounds=rounds)
    bench.run()
    written(bench, command, claims.format(50), rounds=rounds)
    study.run(bench.file, bench.directory)
    with opened(bench.directory) as (_, _, ledger):
        texts = [event.text for event in ledger.events() if event.kind == "rule"]
    assert len(texts) == 1
    assert "50%" in texts[0]


def test_what_is_kept_cannot_change_on_the_way(bench: Bench):
    command = go_program(bench, *[encode((10, 800))] * 2)
    written(bench, command, 'keep = ["*"]')
    bench.run()
    written(bench, command, 'keep = ["*:ns/op"]')
    with pytest.raises(PlanError, match="keep"):
        study.run(bench.file, bench.directory)


def test_names_of_a_harness_do_no_harm(bench: Bench):
    """The name of a benchmark comes from foreign code: no escape sequence of it reaches a terminal or a table."""
    command = go_program(
        bench, *["BenchmarkA\x1b[31m\u202e/b-8 1 5 ns/op\nBenchmarkC|unit:x|better:lower-8 1 6 ns/op"] * 2
    )
    written(bench, command, 'format = "go-bench"')
    bench.run()
    assert values(bench) == {
        "A\\x1b[31m\\u202e/b:ns/op": [[5.0], [5.0]],
        "C|unit:x|better:lower:ns/op": [[6.0], [6.0]],
    }


def test_a_name_that_the_file_has_already_is_refused():
    reported = Reported(GO.format(lines="BenchmarkA-8 1 5 ns/op").encode(), "standard output")
    assert list(read_results(Results(), reported).samples) == ["results:A:ns/op|unit:ns/op|better:lower"]
    with pytest.raises(TrialError, match="has a metric A:ns/op, as"):
        read_results(Results(), reported, {"A:ns/op"})


def test_a_command_that_fails_within_a_harness_is_a_missing_cell(bench: Bench):
    if shutil.which("hyperfine") is None:
        pytest.skip("there is no hyperfine here")
    command = "hyperfine -N -i -r 2 -w 0 --export-json {directory}/out.json true false"
    written(
        bench,
        command,
        'from = "{directory}/out.json"\nkeep = ["*:time"]',
        trial='environment = { X = "{x}" }',
    )
    assert bench.run().counts == {"finished": 2}
    assert list(values(bench)) == ["true:time"]
    with opened(bench.directory) as (_, _, ledger):
        remarks = [event.text for event in ledger.events() if event.kind == "remark"]
    assert any(text.startswith("[results]") for text in remarks), remarks


def test_other_kinds_of_trials_have_no_harness(bench: Bench):
    bench.file.write_text(
        '[experiment]\nname = "a"\n[trial]\nkind = "python"\ncall = "a:b"\n[results]\n[metrics.x]\nresource = "wall"\n'
    )
    with pytest.raises(PlanError, match='results: only valid with kind = "command"'):
        read_experiment(bench.file)


CRITERION = """\
import json, pathlib, sys
place, factor = pathlib.Path(sys.argv[1]), int(sys.argv[2])
for name, nanoseconds in (("one", 10.0), ("two", 20.0)):
    folder = place / name / "new"
    folder.mkdir(parents=True)
    (folder / "benchmark.json").write_text(json.dumps({"group_id": "sum", "function_id": name, "value_str": None}))
    times = [nanoseconds * factor * n for n in (1.0, 2.0)]
    (folder / "sample.json").write_text(json.dumps({"sampling_mode": "Flat", "iters": [1.0, 2.0], "times": times}))
    (place / name / "report").mkdir()
    (place / name / "report" / "index.html").write_text("<p>")
"""


def test_a_folder_that_is_one_result_is_read_from_the_place_of_each_trial(bench: Bench):
    command = f"{script(bench, CRITERION).rpartition(' ')[0]} {{directory}}/criterion {{trial}} {{x}}"
    written(bench, command, 'format = "criterion"\nfrom = "{directory}/criterion"')
    assert bench.run().counts == {"finished": 2}
    found = values(bench)
    assert list(found) == ["sum/function=one:time", "sum/function=two:time"]
    assert [fmean(trial) for trial in found["sum/function=two:time"]] == pytest.approx([2e-8, 4e-8])


def test_a_folder_of_another_format_fails_the_trial(bench: Bench):
    command = f"{script(bench, CRITERION).rpartition(' ')[0]} {{directory}}/criterion {{trial}} {{x}}"
    written(bench, command, 'format = "asv-results"\nfrom = "{directory}/criterion"')
    assert "is a folder, what criterion writes (criterion-directory)" in refused(bench)


def test_a_folder_that_all_trials_share_is_refused_before_anything_runs(bench: Bench):
    written(bench, "true {x}", 'format = "asv-results"\nfrom = "results"')
    with pytest.raises(PlanError, match="no folder of a trial's own"):
        read_experiment(bench.file)


def test_pytest_benchmark_in_an_experiment(bench: Bench):
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    (bench.folder / "test_lists.py").write_text("def test_sum(benchmark):\n    benchmark(sum, range(100))\n")
    few = "--benchmark-min-rounds=5 --benchmark-max-time=0.0002 --benchmark-calibration-precision=1"
    command = f"{sys.executable} -m pytest -q {few} --benchmark-json={{directory}}/out.json test_lists.py"
    written(
        bench,
        command,
        'format = "pytest-benchmark"\nfrom = "{directory}/out.json"',
        trial='environment = { X = "{x}" }',
    )
    assert bench.run().counts == {"finished": 2}
    found = values(bench)
    assert list(found) == ["test_sum:time"]
    assert all(len(trial) >= 5 and min(trial) > 0 for trial in found["test_sum:time"])


def test_google_benchmark_in_an_experiment(bench: Bench):
    if shutil.which("g++") is None or not Path("/usr/include/benchmark/benchmark.h").exists():
        pytest.skip("there is no g++ with libbenchmark-dev here")
    (bench.folder / "loops.cc").write_text(
        "#include <benchmark/benchmark.h>\n"
        "static void BM(benchmark::State& state) { for (auto _ : state) benchmark::DoNotOptimize(state.range(0)); }\n"
        "BENCHMARK(BM)->Arg(8)->Arg(64);\nBENCHMARK_MAIN();\n"
    )
    words = ("g++", "loops.cc", "-lbenchmark", "-lpthread", "-o", "loops")
    subprocess.run(words, cwd=bench.folder, check=True)
    few = "--benchmark_min_time=0.001 --benchmark_repetitions=3 --benchmark_format=json"
    written(
        bench,
        f"./loops {few}",
        'format = "google-benchmark"\nkeep = ["*_time"]',
        trial='environment = { X = "{x}" }',
    )
    assert bench.run().counts == {"finished": 2}
    found = values(bench)
    assert len(found) == 4, list(found)
    assert {len(trial) for each in found.values() for trial in each} == {3}
