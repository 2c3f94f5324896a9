"""`trialwise ab` with whole suites: real programs that print benchmarks, in two commands and in two revisions."""

import json
import subprocess
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

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


def test_options_that_do_not_fit(tmp_path):
    both = ("--base", "a", "--head", "b", "--bench", "x", "--command", "y")
    trialwise(*both, cwd=tmp_path, code=2)
    trialwise("--base", "a", "--head", "b", "--format", "no-bench", cwd=tmp_path, code=2)
    trialwise(
        "--base", "a", "--head", "b", "--format", "go-bench", "--metric", "time=wall", cwd=tmp_path, code=2
    )
