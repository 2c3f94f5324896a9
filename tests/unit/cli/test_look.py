"""`trialwise look` on somebody else's files."""

import json
import subprocess
import sys

import numpy as np

TRIALWISE = [sys.executable, "-c", "from trialwise.cli.main import main; main()"]


def hyperfine(path, **times):
    results = [
        {"command": name, "times": own, "exit_codes": [0] * len(own), "mean": sum(own) / len(own)}
        for name, own in times.items()
    ]
    path.write_text(json.dumps({"results": results}))


def test_the_answer_comes_first(tmp_path, trialwise):
    hyperfine(tmp_path / "a.json", fast=[1.0, 1.1, 1.2, 1.05], slow=[2.0, 2.1, 2.2, 2.05])
    code, out, _ = trialwise("look", tmp_path / "a.json")
    assert code == 0
    assert out.splitlines()[0].startswith("command=fast has the lowest time: -47.9 % (-54.1 to -41.7)")
    assert "n = 4" in out
    assert "299 independent runs" in out


def test_a_folder_with_copies_broken_and_strange_files(tmp_path, trialwise):
    hyperfine(tmp_path / "old.json", run=[1.0, 1.1, 1.2])
    hyperfine(tmp_path / "new.json", run=[2.0, 2.1, 2.2])
    (tmp_path / "copy.json").write_bytes((tmp_path / "old.json").read_bytes())
    (tmp_path / "cut.json").write_text('{"results": [{"command": "x", "ti')
    (tmp_path / "\x1b[31mred.dat").write_bytes(b"\0\1\2")
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    code, out, _ = trialwise("look", tmp_path)
    assert code == 0
    assert "is a copy of" in out
    assert "cut.json: no format that is known" in out
    assert "\x1b" not in out
    assert "link.json" not in out
    _, out, _ = trialwise("look", tmp_path, "--json")
    document = json.loads(out)
    assert document["format"] == "trialwise.look/1"
    (group,) = document["groups"]
    assert {row["value"] for row in group["rows"]} == {1.0, 1.1, 1.2, 2.0, 2.1, 2.2}
    assert all(len(row["origin"]["sha256"]) == 64 for row in group["rows"])


def test_what_is_no_result_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("hello\n")
    for words in ([str(tmp_path / "a.txt")], [str(tmp_path / "none")], []):
        done = subprocess.run([*TRIALWISE, "look", *words], capture_output=True, text=True, check=False)
        assert done.returncode in (2, 7)
        assert "try:" in done.stderr
        assert "Traceback" not in done.stderr


def test_what_it_says_to_type_next_works(tmp_path, trialwise):
    for name, base in (("old", 1.0), ("new", 2.0)):
        hyperfine(tmp_path / f"{name}.json", run=[base, base + 0.1, base + 0.2, base + 0.05])
    for words in (["look", tmp_path], ["look", tmp_path / "old.json", tmp_path / "new.json"]):
        _, out, _ = trialwise(*words)
        command = next(line for line in out.splitlines() if "next: trialwise " in line).partition(
            "next: trialwise "
        )[2]
        code, out, _ = trialwise(*command.split())
        assert code == 0
        assert "file=new" in out or "different" in out


def test_a_folder_of_two_tools_is_no_side_of_a_comparison(tmp_path):
    hyperfine(tmp_path / "a.json", run=[1.0, 1.1])
    (tmp_path / "b.txt").write_text("goos: linux\nBenchmarkFib-8  \t 100\t 3.5 ns/op\n")
    done = subprocess.run(
        [*TRIALWISE, "compare", tmp_path, "--rank"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 7
    assert "holds results of several tools" in done.stderr


def test_nothing_is_proposed_for_a_file_of_which_nothing_is_read(tmp_path, trialwise):
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    code, out, _ = trialwise("look", tmp_path / "objects.npy")
    assert code == 0
    assert "trialwise compare" not in out


def test_files_of_one_process_each_are_processes(tmp_path, trialwise):
    for name, times in (("1", (3.5, 3.6)), ("2", (3.4, 3.7))):
        lines = "".join(f"BenchmarkFib-8\t100\t{time} ns/op\n" for time in times)
        (tmp_path / f"run_{name}.txt").write_text(f"goos: linux\npkg: a\n{lines}PASS\n")
    _, several, _ = trialwise("look", tmp_path)
    assert "unit of replication: process (a file each)" in several
    assert "ran in one process" not in several
    _, one, _ = trialwise("look", tmp_path / "run_1.txt")
    assert "-count line (one process)" in one
    assert "ran in one process" in one


def test_the_first_line_tells_in_how_many_other_metrics_the_same_holds(tmp_path, trialwise):
    """One variant is faster by 23 % and takes less memory; allocations are about the same, and operations more with the other."""
    runs = tmp_path / "runs"
    runs.mkdir()
    means = {"x": (100, 50, 10), "y": (130, 60, 10.05)}
    for run in range(5):
        lines = [
            f"BenchmarkFill/kind={kind}-2 100 {time * factor:.2f} ns/op {size * factor:.2f} B/op {count * factor:.2f} allocs/op\n"
            for kind, (time, size, count) in means.items()
            for factor in [1 + (run * 2 + (kind == "y")) % 5 / 100]
        ]
        (runs / f"{run}.txt").write_text("goos: linux\npkg: p\n" + "".join(lines) + "PASS\n")
    out = trialwise("look", runs)[1]
    assert "n = 5; best, too, in 1 of 2 other metrics." in " ".join(out.partition("\n\n")[0].split())
    out = trialwise("analyze", runs)[1]
    assert "(the same in 1 of 2 other metrics; 2 further comparisons below;" in out.splitlines()[0]


def test_a_median_is_called_one(tmp_path, trialwise):
    (tmp_path / "bench.txt").write_text("test sort ... bench:      52,345 ns/iter (+/- 1,234)\n")
    _, out, _ = trialwise("look", tmp_path / "bench.txt")
    assert "median [" in out
    assert "mean" not in out
    hyperfine(tmp_path / "a.json", run=[1.0, 1.1, 1.2])
    assert "mean [s] (95 %)" in trialwise("look", tmp_path / "a.json")[1]
