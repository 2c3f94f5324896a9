"""`trialwise ab` with whole suites: real programs that print benchmarks, in two commands and in two revisions."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from jsonschema import Draft202012Validator

from trialwise import versions
from trialwise.cli.ab import ab
from trialwise.cli.suite import SuiteOptions

TRIALWISE = str(Path(sys.executable).parent / "trialwise")
SCHEMAS = Path(__file__).parents[2] / "schemas"
SUITE = """import pathlib, random, sys
version, slow = sys.argv[1], float(sys.argv[2])
count = pathlib.Path(f"{version}.count")
run = int(count.read_text()) if count.exists() else 0
count.write_text(str(run + 1))
random.seed(f"{version}{run}")
for at in range(6):
    print(f"BenchmarkN{at}\\t1000\\t{100 * (slow if at == 2 else 1) * random.gauss(1, 0.005):.4f} ns/op\\t0 B/op")
if len(sys.argv) > 3:
    print(sys.argv[3])
    sys.exit(1)
print("PASS")
"""


def trialwise(*words, cwd, code=0):
    done = subprocess.run(
        [TRIALWISE, "ab", *words, "--quiet"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def commands(folder, slow="1", more=""):
    (folder / "suite.py").write_text(SUITE)
    python = sys.executable
    return ("--base", f"{python} suite.py base 1", "--head", f"{python} suite.py head {slow} {more}".strip())


def test_one_of_six_is_worse(tmp_path):
    words = (*commands(tmp_path, "1.06"), "--format", "go-bench", "--keep", "*:ns/op", "--pilot", "6")
    told = json.loads(trialwise(*words, "--json", "--markdown", "comment.md", cwd=tmp_path, code=1))
    Draft202012Validator(json.loads((SCHEMAS / "ab-suite.json").read_text())).validate(told)
    names = [row["metric"]["name"] for row in told["comparison"]["rows"]]
    worse = [name for name, outcome in zip(names, told["outcomes"], strict=True) if outcome == "worse"]
    assert (len(names), worse, told["crossed"]) == (6, ["N2:ns/op"], ["N2:ns/op"])
    assert told["rounds"][0] == 6
    comment = (tmp_path / "comment.md").read_text()
    assert comment.startswith("### ❌ Head is worse in 1 of 6 metrics: N2:ns/op +")
    assert len(comment.splitlines()) <= 40
    # Again: the trials are there, and the answer is the same.
    assert json.loads(trialwise(*words, "--json", cwd=tmp_path, code=1))["outcomes"] == told["outcomes"]


def test_judging_takes_nothing_of_the_budget(tmp_path, monkeypatch):
    hours = itertools.count(0.0, 3600.0)
    monkeypatch.setattr(versions, "time", SimpleNamespace(monotonic=lambda: next(hours)))
    monkeypatch.chdir(tmp_path)
    _, base, _, head = commands(tmp_path, "1.06")
    suite = SuiteOptions(format="go-bench", keep=("*:ns/op",))
    assert ab(base=base, head=head, pilot=6, budget="10m", quiet=True, suite=suite) == 1


def test_the_same_suite_passes_and_what_is_0_is_no_obstacle(tmp_path):
    told = trialwise(*commands(tmp_path), "--format", "auto", "--pilot", "6", cwd=tmp_path)
    assert told.startswith("Head may pass: none of 12 metrics is worse by 3 %.")
    assert "geometric mean of B / A, 6 metrics in ns/op" in told


def test_a_benchmark_that_fails_leaves_the_others(tmp_path):
    words = commands(tmp_path, more="'--- FAIL: BenchmarkBad'")
    told = trialwise(*words, "--format", "go-bench", "--trials", "6", cwd=tmp_path)
    assert told.startswith("Head may pass: none of 12 metrics")


def test_two_revisions(tmp_path):
    def git(*words):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=tmp_path, check=True
        )

    git("init", "-q")
    for slow in ("1", "1.5"):
        (tmp_path / "suite.py").write_text(SUITE.replace("float(sys.argv[2])", slow))
        git("add", ".")
        git("commit", "-qm", slow)
    bench = f"{sys.executable} suite.py run 0"
    words = ("--base", "HEAD~1", "--head", "HEAD", "--bench", bench, "--format", "go-bench", "--pilot", "6")
    told = trialwise(*words, cwd=tmp_path, code=1)
    assert told.startswith("Head is worse in 1 of 12 metrics: N2:ns/op +")


def test_a_benchmark_of_another_unit_is_not_comparable_and_the_rest_is(tmp_path):
    (tmp_path / "rate.py").write_text(
        """import sys
number = {"base": 5, "head": 7}[sys.argv[1]]
print(f"Unit req better={'lower' if number == 5 else 'higher'}")
print(f"BenchmarkA\\t10\\t100 ns/op\\t{number} req")
print("PASS")
"""
    )
    sides = [f"{sys.executable} rate.py {side}" for side in ("base", "head")]
    words = ("--base", sides[0], "--head", sides[1], "--format", "go-bench", "--trials", "8")
    told = trialwise(*words, cwd=tmp_path)
    assert told.startswith("Head may pass: none of 1 metric")
    lines = [" ".join(line.split()) for line in told.splitlines()]
    found = [line for line in lines if "A:req" in line]
    assert len(found) == 1
    assert "A:req: not comparable: in req, " in found[0]
    assert found[0].count("lower is better") == found[0].count("higher is better") == 1
    assert "failed" not in told


def test_a_difference_under_the_noise_floor_is_undecided(tmp_path):
    (tmp_path / "noise.py").write_text(
        "import random\n"
        "for name, spread in (('A', 20), ('B', 0.01)):\n"
        "    print(f'Benchmark{name} 1 {random.gauss(100, spread):.4f} ns/op')\n"
        "print('PASS')\n"
    )
    (tmp_path / "bench.toml").write_text(
        f"[experiment]\nname = 'bench'\n[trial]\ncommand = '{sys.executable} noise.py'\n"
        "[results]\nformat = 'go-bench'\n[design]\nrounds = 6\n"
    )
    # Whether so few rounds look bent by chance does not matter here.
    subprocess.run([TRIALWISE, "aa", "bench.toml", "--quiet"], cwd=tmp_path, check=False, timeout=120)
    for side, took in (("base", 100), ("head", 104)):
        (tmp_path / side).write_text(f"BenchmarkA 1 {took} ns/op\nBenchmarkB 1 {took} ns/op\nPASS\n")
    words = (
        "--base",
        "cat base",
        "--head",
        "cat head",
        "--format",
        "go-bench",
        "--margin",
        "1%",
        "--trials",
        "10",
    )
    plain = json.loads(trialwise(*words, "--json", cwd=tmp_path, code=1))
    assert plain["outcomes"] == ["worse", "worse"]
    told = trialwise(*words, "--floor", "bench.aa", cwd=tmp_path, code=1)
    assert told.startswith("Head is worse in 1 of 2 metrics: B:ns/op +4 %")
    rows = {line.split()[0]: " ".join(line.split()) for line in told.splitlines() if ":ns/op " in line}
    assert "under the noise floor" in rows["A:ns/op"]


def test_options_that_do_not_fit(tmp_path):
    both = ("--base", "a", "--head", "b", "--bench", "x", "--command", "y")
    trialwise(*both, cwd=tmp_path, code=2)
    trialwise("--base", "a", "--head", "b", "--format", "no-bench", cwd=tmp_path, code=2)
    trialwise(
        "--base", "a", "--head", "b", "--format", "go-bench", "--metric", "time=wall", cwd=tmp_path, code=2
    )
