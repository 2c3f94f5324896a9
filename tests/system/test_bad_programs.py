"""What measured programs do wrong: a clear message, the trial marked, the experiment going on, nothing lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.system.conftest import Bench

from trialwise.errors import PlanError, StoreError

NUMBER = "stdout = '([0-9.]+|NaN|inf)'"
SECOND_FAILS = "test {round} = 1"


def failures(bench: Bench) -> list[str]:
    return [row.reason or "" for row in bench.rows("failed")]


def is_alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("trial", "key"),
    [
        ("", "trial.command"),
        ('prepare = "no-such-program"', "trial.prepare"),
        ('conclude = "/no/such/program"', "trial.conclude"),
    ],
)
def test_a_program_that_does_not_exist_is_refused_before_the_start(bench: Bench, trial: str, key: str):
    bench.write("true" if trial else "no-such-program", trial=trial)
    with pytest.raises(PlanError, match=f"{key}: no program") as caught:
        bench.run()
    assert caught.value.exit_code == 2
    assert not bench.directory.exists()


def test_a_program_that_is_drawn_is_looked_for_in_every_round(bench: Bench):
    bench.write("{program}", factors='program = { draw = ["true", "no-such-program"] }', rounds=8)
    with pytest.raises(PlanError, match="no program 'no-such-program'"):
        bench.run()


@pytest.mark.parametrize(
    ("script", "metric", "reason"),
    [
        ("echo nothing to see", NUMBER, "no match"),
        ("true", NUMBER, "empty"),
        ("echo 1; echo 2", NUMBER, "2"),
        ("echo NaN", NUMBER, "nan|NaN"),
        ("echo inf", NUMBER, "inf"),
        ("printf '\\377\\376\\000'", NUMBER, "not text"),
        ("echo '{ torn'", 'json = "/m"', "JSON"),
        ("echo n,x; echo 1,2", 'csv = "value"', "value"),
        ("true", 'file = "late.txt"\npattern = "(.+)"', "did not write"),
        ("echo why >&2; exit 9", 'resource = "wall"', "exit code 9: why"),
        ("kill -SEGV $$", 'resource = "wall"', "SIGSEGV"),
        ("(sleep 60; echo 1 > late.txt) & exit 0", 'resource = "wall"', "left 2 process|left 1 process"),
        ("setsid sh -c 'sleep 60; true' & exit 0", 'resource = "wall"', "left .* process"),
    ],
)
def test_what_goes_wrong_is_a_failed_trial_and_the_next_one_runs(
    bench: Bench, script: str, metric: str, reason: str
):
    fine = "echo 5 | tee value; echo 5 > late.txt" if "stdout" in metric else "exit 0"
    script = script.replace("'", "'\\''")
    bench.write(f"sh -c 'if {SECOND_FAILS}; then {script}\nelse {fine}\nfi'", metric)
    result = bench.run()
    assert result.ending.reason == "complete"
    first, second = bench.rows()
    assert first.status == "failed"
    assert re.search(reason, first.reason or ""), first.reason
    assert second.status in ("finished", "failed")
    if "stdout" in metric or "resource" in metric:
        assert second.status == "finished"
        assert result.failed == 1
        assert len(bench.values()) == 1
    log = bench.directory / "logs" / "000001-1.txt"
    assert first.reason in log.read_text(errors="replace")


def test_a_program_that_hangs_is_ended_even_when_it_ignores_sigterm(bench: Bench):
    bench.write(
        "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done'", trial='timeout = "1500ms"'
    )
    begin = time.monotonic()
    result = bench.run()
    assert result.failed == 2
    assert time.monotonic() - begin < 30
    assert "timeout of 1.5 s" in failures(bench)[0]
    assert not is_alive(int((bench.folder / "pid").read_text()))


def test_a_gigabyte_of_output_is_counted_and_not_kept(bench: Bench):
    bench.write("head -c 1G /dev/zero", trial="output_limit = 100000", rounds=1)
    assert bench.run().failed == 1
    assert "printed 1073741824 bytes" in failures(bench)[0]
    assert sum(file.stat().st_size for file in (bench.directory / "logs").iterdir()) < 500_000


def test_an_exit_code_that_is_allowed_is_no_failure(bench: Bench):
    bench.write("sh -c 'exit 3'", trial="exit_codes = [0, 3]")
    assert bench.run().failed == 0
    assert {row.exit_code for row in bench.rows()} == {3}


def test_what_the_trial_before_wrote_is_not_read_again(bench: Bench):
    bench.write(
        "sh -c 'test {round} = 2 || echo {round} > value'", 'file = "value"\npattern = "(.)"', rounds=3
    )
    assert bench.run().failed == 1
    assert [row.status for row in bench.rows()] == ["finished", "failed", "finished"]
    assert "was not written by this trial" in failures(bench)[0]
    assert bench.values() == [1.0, 3.0]


def test_of_a_file_that_trials_add_to_each_has_what_it_added(bench: Bench):
    script = "[ -s out.csv ] || echo lat > out.csv; echo {n} >> out.csv"
    factors = "n = [100, 200]"
    bench.write(f"sh -c '{script}'", 'file = "out.csv"\ncsv = "lat"', factors=factors, rounds=3)
    assert bench.run().failed == 0
    assert bench.values() == [row.factors["n"] for row in bench.rows()]
    output = bench.command_line("run", bench.file, "--directory", "again")
    assert output.stderr.count("out.csv: trials append to it") == 1


def test_who_writes_late_is_ended_before_the_next_trial_begins(bench: Bench):
    """Each leaves a writer that waits for the next trial, which lasts long enough for it to write."""
    waits = "(until test -e begun.$(({round} + 1)); do sleep 0.01; done; echo 99 >> out) &"
    script = f"touch begun.{{round}}; {waits} echo {{round}} >> out; sleep 0.1"
    bench.write(f"sh -c '{script}'", 'file = "out"\npattern = "(.+)"', trial='leftovers = "end"', rounds=4)
    assert bench.run().failed == 0
    assert bench.values() == [1.0, 2.0, 3.0, 4.0]


def test_a_level_is_one_word_whatever_stands_in_it(bench: Bench):
    levels = [
        "a b",
        "it's",
        'say "x"',
        "line\nbreak",
        "ü→日本",
        "; rm -rf .",
        "$(exit 9)",
        "{m}",
        "-n",
        "*",
        "",
    ]
    listed = ", ".join(
        '"' + level.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"' for level in levels
    )
    bench.write(
        'sh -c \'printf "%s" "$1" | wc -c\' sh {text}',
        "stdout = '(\\d+)'",
        factors=f"text = [{listed}]",
        rounds=1,
    )
    assert bench.run().failed == 0
    found = {row.factors["text"]: value for row, value in zip(bench.rows(), bench.values(), strict=True)}
    assert found == {level: len(level.encode()) for level in levels}


def test_a_column_that_is_missing_in_some_trials(bench: Bench):
    bench.write(
        "sh -c 'if {round} -eq 2; then :; fi; test {round} = 2 && echo other || echo v; echo 1; echo 3'",
        'csv = "v"',
        rounds=3,
    )
    assert bench.run().failed == 1
    assert [row.status for row in bench.rows()] == ["finished", "failed", "finished"]
    assert "v" in failures(bench)[0]


def test_prepare_and_conclude_that_fail_are_named_and_keep_the_times(bench: Bench):
    bench.write("true", trial="prepare = \"sh -c 'echo full >&2; exit {round}'\"\n", rounds=1)
    assert bench.run().failed == 1
    assert failures(bench) == ["prepare ended with exit code 1: full"]
    other = Bench(bench.folder / "other")
    other.folder.mkdir()
    other.write("true", trial='conclude = "false"', rounds=1)
    assert other.run().failed == 1
    assert other.rows()[0].started is not None
    assert other.rows()[0].reason == "conclude ended with exit code 1"


def test_the_reset_before_each_round_and_one_that_fails(bench: Bench):
    bench.write(
        "true", factors='x = ["a", "b"]', trial='environment = { X = "{x}" }',
        rest="[reset]\ncommand = \"sh -c 'echo {round} >> resets; test {round} != 2'\"", rounds=3,
    )  # fmt: skip
    result = bench.run()
    assert (result.ending.reason, result.counts["finished"], result.counts["planned"]) == (
        "reset failed",
        2,
        4,
    )
    assert (bench.folder / "resets").read_text().split() == ["1", "2"]


def test_a_disk_that_the_program_fills_fails_its_trial_only(bench: Bench):
    small = bench.folder / "small"
    small.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        bench.write("sh -c 'test {round} = 2 || head -c 1M /dev/zero > small/file'")
        assert bench.run().failed == 1
        assert "No space left" in failures(bench)[0]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_directory_that_is_removed_while_it_runs_is_an_error_at_once(bench: Bench):
    # The trial in hand has files of its own to leave (its output), which have no place any more: it runs again.
    once = "test {round} != 2 -o -e moved || (touch moved && mv results elsewhere)"
    bench.write("sh -c 'echo {round} >> rounds; " + once + "'", rounds=5)
    with pytest.raises(StoreError, match="removed, moved or replaced"):
        bench.run()
    assert (bench.folder / "rounds").read_text().split() == ["1", "2"]
    (bench.folder / "elsewhere").rename(bench.directory)
    assert bench.run().counts == {"finished": 5, "abandoned": 1}
    assert (bench.folder / "rounds").read_text().split() == ["1", "2", "2", "3", "4", "5"]


# Kind python

CALLABLES = """
import os, time, numpy

def raises(seed): raise RuntimeError("no luck")
def text(): return "12"
def nan(): return float("nan")
def none(): return None
def empty(): return []
def prints(): print("99"); return 4
def forks():
    if os.fork() == 0: return 8
    os.wait(); return 5
def leaves(): os._exit(0)
def leaves_with_code(): os._exit(7)
def hangs(): time.sleep(60)
def array(): return numpy.array([1.0, 2.0, 3.0])
def scalar(): return numpy.float32(6)
def nothing_dimensional(): return numpy.array(7)
def timed(): return {"m": {"values": [1, 2], "times": [0.5]}}
def nameless(): return {"other": 1}
def takes(x): return x
not_callable = 3
"""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "RuntimeError: no luck"),
        ("text", "not '12'"),
        ("nan", "returned nan"),
        ("none", "not None"),
        ("empty", "returned no number"),
        ("leaves", "ended its process instead of returning"),
        ("leaves_with_code", "exit code 7"),
        ("hangs", "timeout"),
        ("timed", "2 values have 1 times"),
        ("nameless", "returned no 'm'"),
    ],
)
def test_a_callable_that_goes_wrong(bench: Bench, name: str, reason: str):
    (bench.folder / "calls.py").write_text(CALLABLES)
    limit = "1500ms" if name == "hangs" else "1min"
    bench.write("", "", trial=f'kind = "python"\ncall = "calls:{name}"\ntimeout = "{limit}"', rounds=1)
    assert bench.run().failed == 1
    assert reason in failures(bench)[0]


@pytest.mark.parametrize(
    ("name", "value"), [("prints", 4.0), ("forks", 5.0), ("scalar", 6.0), ("nothing_dimensional", 7.0)]
)
def test_a_callable_that_returns_a_number(bench: Bench, name: str, value: float):
    (bench.folder / "calls.py").write_text(CALLABLES)
    bench.write("", "", trial=f'kind = "python"\ncall = "calls:{name}"', rounds=1)
    assert bench.run().failed == 0
    assert bench.values() == [value]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("nowhere:f", "no module 'nowhere'"),
        ("calls:nothing", "has no attribute 'nothing'"),
        ("calls:not_callable", "not callable"),
        ("calls:takes", "missing a required argument: 'x'"),
    ],
)
def test_a_callable_that_cannot_be_called_is_refused_before_the_start(bench: Bench, call: str, message: str):
    (bench.folder / "calls.py").write_text(CALLABLES)
    bench.write("", "", trial=f'kind = "python"\ncall = "{call}"')
    with pytest.raises(PlanError, match=message):
        bench.run()
    assert not bench.directory.exists()


def test_the_program_is_not_touched_by_the_signals_of_the_runner(bench: Bench):
    """A program sees the default signals, whatever the runner has set for itself."""
    bench.write("sh -c 'grep SigIgn /proc/self/status'", "stdout = 'SigIgn:\\s+0*(\\d+)'", rounds=1)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert bench.run().failed == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert bench.values() == [0.0]
