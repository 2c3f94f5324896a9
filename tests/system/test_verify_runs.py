"""Claims of a packed artifact measured again by `verify`: said before, run in a folder of its own, judged, stopped and continued."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import artifacts
from in_process import trialwise
from trialwise.experiment.path_files import PathCertificate, path_file
from trialwise.experiment.trials import PathSettings

PROGRAM = """#!/bin/sh
noise=$(od -An -N2 -tu2 /dev/urandom)
echo "{\\"steps\\": $(($1 * 1000 + noise % 50))}"
"""
SLOW = PROGRAM.replace("noise=", "sleep 0.3; noise=")
CLAIMS = (
    artifacts.CLAIMS
    + """tolerance = "15%"

[[claim]]
id = "C2"
text = "One takes less than 1200 steps in any run"
metric = "steps"
every = { where = { n = 1 }, at_most = 1200 }
rerun = false
"""
)


def packed(folder, program=PROGRAM, claims=CLAIMS, text=artifacts.TEXT):
    """Measure and pack the experiment, and leave the artifact alone in a folder."""
    work = artifacts.measured(folder / "work", text, claims, program)
    done = trialwise("pack", "sums.results", "--licence", "CC-BY-4.0", cwd=work)
    assert done.returncode == 0, done.stderr
    place = folder / "evaluator"
    place.mkdir()
    shutil.move(work / "artifact.zip", place)
    shutil.rmtree(work)
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("slow"), SLOW)


@pytest.fixture
def copy(place, tmp_path):
    shutil.copy(place / "artifact.zip", tmp_path)
    return tmp_path


def verify(place, *words):
    """Run in a process of its own, since trials and signals are involved."""
    command = [sys.executable, "-c", artifacts.RUN, "verify", "artifact.zip", "--json", *words]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr, done.stderr


def test_a_rerun_draws_from_the_files_that_were_frozen_wherever_they_lay(tmp_path):
    (tmp_path / "m.txt").write_text("\n".join(map(str, range(1, 5))))
    (tmp_path / "work").mkdir()
    (tmp_path / "work/k.txt").write_text("\n".join(map(str, range(10, 90))))
    drawn = 'n = [1, 3]\nk = { draw = "k.txt" }\nm = { draw = "../m.txt" }'
    text = artifacts.TEXT.replace("n = [1, 3]", drawn).replace('"{round}"', '"{k}", "{m}"')
    program = """#!/bin/sh\necho "{\\"steps\\": $(($1 * 1000 + $2 + $3))}"\n"""
    place = packed(tmp_path, program, text=text)
    (tmp_path / "m.txt").unlink()
    code, found, said = verify(place, "--kick")
    assert code == 0, said
    assert [claim["word"] for claim in found["rerun"]["claims"]] == ["reproduced"]
    shown = trialwise("verify", "artifact.zip", "--show", "C1", cwd=place).stdout
    assert " sums.results/k.txt" in shown
    assert "-m.txt" in shown


HOSTS = "5 1 4\n4\n" + "".join(f"{host} 4 10Gbps 1us 0\n" for host in range(4))
SIMULATED = """
[experiment]
name = "sums"
description = "Two controllers"
[factors]
n = ["hpcc", "dcqcn"]
[trial]
kind = "simulation"
scheme = "{n}"
topology = "../in/hosts.txt"
workload = { sizes = "../in/sizes.txt", load = "30%", duration = "100us" }
[metrics.steps]
quantity = "fct"
measure = "mean"
[design]
rounds = 3
"""
OVER_PATHS = """
[experiment]
name = "sums"
description = "Two controllers"
[factors]
n = ["udp-cubic", "udp-newreno"]
[trial]
kind = "path"
engine = "simulated"
scheme = "{n}"
load = "flows:../in/flows.csv"
runtime = "2s"
path = { rate = "trace:../in/up.trace", delay = "10ms" }
[metrics.steps]
quantity = "throughput"
measure = "mean"
[design]
rounds = 3
"""


ROUTED = SIMULATED.replace("topology =", 'routes = "../in/routes.txt"\ntopology =').replace(
    'sizes = "../in/sizes.txt", load = "30%", duration = "100us"', 'flows = "../in/list.csv"'
)
LINKS = '{ rate = "trace:../in/up.trace", delay = "10ms" }'
MEDIA = OVER_PATHS.replace("flows:../in/flows.csv", "media:file=../in/frames.txt,fps=25").replace(
    "udp-newreno", "udp-newreno"
)
IN_FILES = {
    "hosts.txt": HOSTS,
    "sizes.txt": "10000 0\n100000 100\n",
    "routes.txt": "4 0 0\n",
    "list.csv": "flow_id,src,dst,size_bytes,start_ns\n1,0,1,50000,0\n2,2,1,80000,1000\n",
    "up.trace": "\n".join(map(str, range(1, 101))) + "\n",
    "flows.csv": "start_ns,size_bytes\n0,50000\n500000000,80000\n",
    "frames.txt": "5000\n8000\n3000\n",
    "far.path": path_file(
        PathSettings(
            uplink=((("rate", "trace:up.trace"), ("delay", "10ms")),),
            downlink=((("rate", "trace:up.trace"), ("delay", "10ms")),),
        ),
        PathCertificate("real", "2026-11-28", (), ("throughput",), (), ()),
    ),
}
"""Files that lie outside of the folder of the experiment, and end before its artifact is verified."""


@pytest.mark.parametrize(
    "text",
    [SIMULATED, ROUTED, OVER_PATHS, MEDIA, OVER_PATHS.replace(LINKS, '"file:../in/far.path"')],
    ids=["simulation", "routes and a list", "path", "media", "path file with a trace"],
)
def test_networks_traces_and_flows_are_packed_wherever_they_lay(text, tmp_path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    for name, content in IN_FILES.items():
        (inputs / name).write_text(content)
    place = packed(tmp_path, claims=IDENTICAL[: IDENTICAL.rindex("[[claim]]")], text=text)
    shutil.rmtree(inputs)
    code, found, said = verify(place, "--kick")
    assert code == 0, said
    assert [claim["word"] for claim in found["rerun"]["claims"]] == ["reproduced"]


IDENTICAL = (
    artifacts.CLAIMS[: artifacts.CLAIMS.index("[[claim]]")]
    + """[[claim]]
id = "C1"
text = "The same seeds give the same numbers"
identical = { metrics = "all" }
small = { rounds = 4 }
[[claim]]
id = "C2"
text = "The same seeds write the same files"
identical = { written = ["stdout", "out*.txt"] }
small = { rounds = 4 }
"""
)
SEED, NOW = "$((TRIALWISE_SEED % 100000))", "$(date +%N | sed s/^0*//)"


@pytest.mark.parametrize(
    ("file", "words"), [(SEED, ["reproduced", "reproduced"]), (NOW, ["reproduced", "not reproduced"])]
)
def test_claims_on_the_same_seeds_are_measured_with_the_seeds_of_the_authors(file, words, tmp_path):
    program = f"""#!/bin/sh\necho "{{\\"steps\\": {SEED}}}"; echo {file} > out1.txt\n"""
    text = artifacts.TEXT.replace("[trial]", '[trial]\nkeep = ["out*.txt"]')
    place = packed(tmp_path, program, IDENTICAL, text=text)
    assert verify(place)[0] == 0  # undecided, as nothing but a re-run can decide it
    code, found, said = verify(place, "--kick")
    claims = found["rerun"]["claims"]
    word = words[0]
    assert ([claim["word"] for claim in claims], code) == (words, int("not reproduced" in words)), said
    for claim in claims:
        assert ("compared bit by bit" in claim["why"]) is (claim["word"] == "reproduced")
        assert claim["here"]["n"] == [8]
    assert ("that trials reported or wrote differ: out1.txt of" in claims[1]["why"]) is (words[0] != words[1])
    again = place / "verify-1/sums.results.same-seeds"
    assert "seed = 5" in (again / "experiment.toml").read_text()
    # as a re-run of one's own, with these seeds and with others
    assert verify(place, "--rerun", again)[1]["rerun"]["claims"][0]["word"] == word
    other = artifacts.measured(tmp_path / "other", artifacts.TEXT.replace("seed = 5", "seed = 6"))
    (left, _) = verify(place, "--rerun", other / "sums.results")[1]["rerun"]["not_run"]
    assert (left["word"], left["why"]) == ("not comparable", "it is about the seed 5, and the re-run has 6")


def test_the_smallest_rerun_is_said_before_it_runs_and_stands_in_a_folder_of_its_own(copy):
    code, found, said = verify(copy, "--kick", "--budget", "1m")
    assert code == 0, said
    assert said.startswith("will run 14 trials for C1 (2 treatments × rounds 1 to 7)")
    rerun = found["rerun"]
    assert [(claim["id"], claim["word"]) for claim in rerun["claims"]] == [("C1", "reproduced")]
    assert [(claim["id"], claim["word"]) for claim in rerun["not_run"]] == [("C2", "recomputed only")]
    assert (rerun["measured"]["trials"], rerun["measured"]["failed"]) == (14, 0)
    assert {each.name for each in copy.iterdir()} == {"artifact.zip", "verify-1"}
    # the report holds it, without anything being run
    done = trialwise("verify", "artifact.zip", "--report", "ae.md", cwd=copy)
    text = (copy / "ae.md").read_text()
    assert done.returncode == 0, done.stderr
    assert "| C1 | reproduced |" in text
    assert "C2: recomputed only" in text
    assert [line for line in text.splitlines() if line.startswith("#### Q")][7].startswith("#### Q8.")
    assert str(copy) not in text
    # it is an experiment directory, with an order of its own, that can be packed with the programs
    done = trialwise("pack", "verify-1/sums.results", "--licence", "CC-BY-4.0", "-o", "again.zip", cwd=copy)
    assert done.returncode == 0, done.stderr
    assert (artifacts.unpacked(copy / "again.zip", copy / "x") / "programs/sums.results/work").is_file()
    assert "seed = 5\n" not in (copy / "verify-1/sums.results/experiment.toml").read_text()


def test_what_would_run_is_shown_and_nothing_runs(copy):
    done = trialwise("verify", "artifact.zip", "--show", "C1,C2", cwd=copy)
    assert done.returncode == 0
    assert 'command = ["./work", "{n}", "{round}"]' in done.stdout
    assert "programs/sums.results/work" in done.stdout
    assert "recomputed only" in done.stdout
    assert [each.name for each in copy.iterdir()] == ["artifact.zip"]


def test_the_same_command_goes_on_and_counts_no_look_twice(copy):
    verify(copy, "--kick")
    code, found, said = verify(copy, "--kick")
    assert (code, found["rerun"]["measured"]["trials"]) == (0, 14)
    assert "nothing to run" in said
    looks = json.loads((copy / "verify-1/verify.json").read_text())["looks"]
    assert looks == [{"claim": "C1", "rounds": 7, "share": 0.2}]


def _wait_for(file):
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_killed_and_interrupted_it_goes_on_and_says_what_is_known(slow):
    words = [sys.executable, "-c", artifacts.RUN, "verify", "artifact.zip", "--claim", "C1", "--json"]
    out = ""
    for number, last in ((signal.SIGKILL, 2), (signal.SIGINT, 6)):
        process = subprocess.Popen(words, cwd=slow, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        _wait_for(slow / f"verify-1/sums.results/outputs/{last:06}-1.stdout.gz")
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    found = json.loads(out)["rerun"]
    assert "stopped on request" in found["measured"]["ended"]
    assert found["measured"]["trials"] < 14
    code, found, said = verify(slow, "--claim", "C1")
    assert (code, found["rerun"]["claims"][0]["word"]) == (0, "reproduced"), said


def test_the_budget_ends_it_with_what_is_known_so_far(slow):
    code, found, said = verify(slow, "--claim", "C1", "--budget", "2.2s", "-o", "short")
    assert found["rerun"]["measured"]["ended"] == "the budget is used up", said
    assert found["rerun"]["measured"]["seconds"] < 30
    assert code in (0, 3)
    assert verify(slow, "--kick", "--budget", "0.5s", "-o", "other")[0] == 2
    assert not (slow / "other").exists()


def test_what_cannot_run_here_is_named_and_nothing_is_left(tmp_path):
    claims = CLAIMS.replace("[[claim]]", "[needs]\ncores = 4000\n[[claim]]", 1)
    place = packed(tmp_path, claims=claims)
    code, found, said = verify(place, "--kick")
    (blocked,) = (each for each in found["rerun"]["not_run"] if each["id"] == "C1")
    assert (code, blocked["word"]) == (3, "not runnable here"), said
    assert "needs 4000 cores" in blocked["why"]
    assert not (place / "verify-1").exists()


def test_a_program_that_fails_here_blocks_its_claims_alone_and_is_not_run_again_and_again(tmp_path):
    program = PROGRAM.replace("noise=", '[ -e "$HOME/lib.so" ] || { echo "no lib.so" >&2; exit 3; }\nnoise=')
    home = tmp_path / "home"
    home.mkdir()
    (home / "lib.so").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        place = packed(tmp_path, program)
    code, found, _ = verify(place, "--kick")
    (blocked,) = (each for each in found["rerun"]["not_run"] if each["id"] == "C1")
    assert (code, blocked["word"]) == (3, "not runnable here")
    assert "no lib.so" in blocked["why"]
    assert found["rerun"]["measured"]["trials"] < 14


def test_old_results_in_the_place_of_new_ones_are_refused(copy):
    """The folder of a re-run takes no trial that began before it, and no value that was changed."""
    verify(copy, "--kick")
    record = copy / "verify-1/verify.json"
    stated = json.loads(record.read_text())
    record.write_text(json.dumps(stated | {"began": time.time()}))
    assert "began before this re-run" in verify(copy, "--kick")[1]
    record.write_text(json.dumps(stated))
    with sqlite3.connect(copy / "verify-1/sums.results/ledger.sqlite") as ledger:
        ledger.execute("UPDATE value SET value = 1 WHERE number = 1")
    code, said, _ = verify(copy, "--kick")
    assert (code, "was changed after" in said) == (5, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--claim", "C9"), "no claim is called C9"),
        (("--budget", "1m"), "--budget is for what runs"),
        (("--kick", "--claim", "C1"), "leave out --claim"),
        (("--kick", "--budget", "soon"), "--budget soon"),
        (("--kick", "-o", "artifact.zip"), "artifact.zip"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(copy, words, said):
    code, error, _ = verify(copy, *words)
    assert code in (2, 5)
    assert said in error
    assert "Traceback" not in error
    assert [each.name for each in copy.iterdir()] == ["artifact.zip"]
