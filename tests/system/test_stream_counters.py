"""`trialwise stream counters`: what the kernel counts of real programs, beside what they did and what perf counts of them."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.system.test_stream_command import PATIENCE, TRIALWISE, python, rows, stream

from trialwise._linux import ProgramCounters

SOFTWARE = ("task-clock", "context-switches", "cpu-migrations", "minor-faults", "major-faults")
HARDWARE = ("cycles", "instructions", "cache-misses", "branch-misses")

if any(ProgramCounters(SOFTWARE).errors):
    pytest.skip("this kernel lets nobody count", allow_module_level=True)

TOUCH = """
import mmap, sys
area = mmap.mmap(-1, (COUNT + 1) * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
area.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(COUNT): area[page * mmap.PAGESIZE] = 1
"""
"""Takes COUNT page faults, whatever else Python takes."""


def touching(pages: int) -> str:
    return TOUCH.replace("COUNT", str(pages))


def last(file: Path) -> dict[str, float]:
    """The last sample."""
    return {name: float(value) for name, value in rows(file, "counters_counts")[-1].items()}


def counted(tmp_path: Path, *words: str) -> dict[str, float]:
    done, file = stream(tmp_path, "counters", "--interval", "20ms", *words)
    assert done.returncode == 0, done.stderr
    return last(file)


def test_the_faults_and_switches_that_a_program_makes_are_counted(tmp_path: Path):
    few, many = (counted(tmp_path, *python(touching(pages))) for pages in (0, 20_000))
    assert many["minor_faults"] - few["minor_faults"] == pytest.approx(20_000, abs=500)
    assert many["major_faults"] < 100
    code = "import time\nfor _ in range({}): time.sleep(0.001)"
    few, many = (counted(tmp_path, *python(code.format(times))) for times in (0, 300))
    assert 250 <= many["context_switches"] - few["context_switches"] < 1500
    assert many["task_clock_seconds"] < 2


def test_children_are_counted_and_so_are_theirs_that_ended(tmp_path: Path):
    (tmp_path / "touch.py").write_text(touching(20_000))
    child = f"{sys.executable} {tmp_path}/touch.py"
    none = counted(tmp_path, "--", "sh", "-c", f"{sys.executable} -c 'pass'; true")
    found = counted(tmp_path, "--", "sh", "-c", f"(sh -c '{child}; true'); {child}; true")
    assert found["minor_faults"] - none["minor_faults"] > 40_000
    assert found["minor_faults"] - none["minor_faults"] < 50_000


def test_samples_are_totals_that_grow_with_both_times(tmp_path: Path):
    code = (
        "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\ntime.sleep(0.2)"
    )
    done, file = stream(
        tmp_path, "counters", "--interval", "20ms", *(word for name in SOFTWARE for word in ("--counter", name)), *python(code)
    )  # fmt: skip
    assert done.returncode == 0
    assert b"left out" not in done.stderr
    found = [{name: float(value) for name, value in row.items()} for row in rows(file, "counters_counts")]
    assert len(found) > 10
    clock = [row["task_clock_seconds"] for row in found]
    assert clock == sorted(clock)
    assert 0.5 <= clock[-1] < 1.5
    # What runs is on, and the kernel's own counters never wait for their turn.
    assert clock[-1] == pytest.approx(found[-1]["task_clock_running_seconds"], rel=0.05)
    for row in found:
        assert row["minor_faults_enabled_seconds"] == row["minor_faults_running_seconds"]
    assert all(0 <= row["late_seconds"] < 0.02 for row in found[:-1])
    assert math.isnan(found[-1]["late_seconds"])


def test_what_the_machine_does_not_have_is_named_and_left_out_and_never_zero(tmp_path: Path):
    done, file = stream(tmp_path, "counters", "--", "true")
    missing = [
        name
        for name, number in zip(HARDWARE, ProgramCounters(HARDWARE).errors, strict=True)
        if number is not None
    ]
    fields = rows(file, "counters_counts")[-1]
    for name in HARDWARE:
        assert (name.replace("-", "_") in fields) == (name not in missing)
    assert {"task_clock_seconds", *(name.replace("-", "_") for name in SOFTWARE[1:])} <= fields.keys()
    for name in missing:
        assert name.encode() in done.stderr
        assert name in file.read_text().partition("counts_left_out")[2].splitlines()[0]
    if len(missing) == len(HARDWARE):
        done, _ = stream(tmp_path, "counters", "--counter", "cycles", "--", "true")
        assert (done.returncode, b"nothing can be counted: cycles" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--counter", "instruction", "--", "true"], b"unknown counter 'instruction'"),
        (["--counter", "context-switches:u", "--", "true"], b"unknown counter 'context-switches:u'"),
        (["--counter", "", "--", "true"], b"unknown counter ''"),
        (["--pid", "999999999"], b"there is no process 999999999"),
        ([], b"which process?"),
        (["--", "no-such-program"], b"no such program"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, words: list[str], message: bytes):
    done, _ = stream(tmp_path, "counters", *words)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


# Both write their line at once, so that neither comes into that of the other.
WAITING = """
import os, subprocess, sys, threading
code = CODE
waiting = "import os, sys; os.write(1, b'ready\\\\n'); input(); exec(sys.argv[1])"
child = subprocess.Popen([sys.executable, "-c", waiting, code], stdin=subprocess.PIPE)
go = threading.Event()
thread = threading.Thread(target=lambda: (go.wait(), exec(code)))
thread.start()
os.write(1, b"ready\\n")
input()
go.set()
thread.join()
child.communicate(b"go\\n")
"""


def test_a_process_that_is_there_is_counted_with_its_threads_and_descendants(tmp_path: Path):
    file = tmp_path / "samples.txt"
    code = WAITING.replace("CODE", repr(touching(10_000)))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2, "both wait"
        words = ["--pid", str(process.pid), "--interval", "20ms", f"--oml-collect=file:{file}"]
        with subprocess.Popen([*TRIALWISE, "stream", "counters", *words], stderr=subprocess.PIPE) as watching:
            while not has_rows(file):
                assert watching.poll() is None
                time.sleep(0.05)
            process.stdin.write(b"go\n")
            process.stdin.flush()
            assert watching.wait(PATIENCE) == 0
    assert last(file)["minor_faults"] == pytest.approx(20_000, abs=1000)


def has_rows(file: Path) -> bool:
    try:
        return bool(rows(file, "counters_counts"))
    except (FileNotFoundError, StopIteration, ValueError):  # not there yet, or a line half written
        return False


def test_perf_counts_the_same(tmp_path: Path):
    if shutil.which("perf") is None:
        pytest.skip("needs perf")
    (tmp_path / "touch.py").write_text(touching(5000))
    command = ["sh", "-c", f"for n in 1 2 3; do {sys.executable} {tmp_path}/touch.py; sleep 0.01; done"]
    told = subprocess.run(
        ["perf", "stat", "-x", ";", "-e", "minor-faults,context-switches,task-clock", *command],
        capture_output=True, text=True, check=True, timeout=PATIENCE, env={**os.environ, "LC_ALL": "C"},
    ).stderr  # fmt: skip
    of_perf = {line.split(";")[2]: float(line.split(";")[0]) for line in told.splitlines() if ";" in line}
    ours = counted(tmp_path, "--", *command)
    assert ours["minor_faults"] == pytest.approx(of_perf["minor-faults"], rel=0.03)
    assert ours["task_clock_seconds"] == pytest.approx(of_perf["task-clock"] / 1e3, rel=0.5)
    assert ours["context_switches"] == pytest.approx(of_perf["context-switches"], rel=1, abs=20)


def test_who_may_not_count_the_kernel_gets_the_programs_own_part(tmp_path: Path):
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip()
    if os.geteuid() != 0 or paranoid != "2" or shutil.which("setpriv") is None:
        pytest.skip("needs root, setpriv, and a kernel that lets others count their own part alone")
    tmp_path.chmod(0o777)
    words = ["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    command = [*TRIALWISE, "stream", "counters", "--oml-collect", "file:-", "--", "true"]
    done = subprocess.run([*words, *command], capture_output=True, timeout=PATIENCE, check=False, text=True)
    if "PermissionError" in done.stderr or "No module" in done.stderr:
        pytest.skip("others cannot run Trialwise from here")
    assert done.returncode == 0, done.stderr
    assert "minor_faults_u:double" in done.stdout
    assert "context_switches" not in done.stdout
    assert "left out: context-switches, cpu-migrations: kernel.perf_event_paranoid is 2" in done.stderr
