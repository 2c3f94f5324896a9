"""`trialwise._linux.run_command` from Python: what the Rust tests of `crates/process` cannot see."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trialwise import _linux


def run(*argv: str | bytes | Path, **settings) -> _linux.CommandResult:
    return _linux.run_command(
        list(argv), **({"environment": os.environ, "working_directory": "/"} | settings)
    )


def process_is_gone(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def test_every_figure_of_a_run_is_there():
    before = time.monotonic_ns()
    result = run("sh", "-c", "printf out; printf error >&2; exit 3")
    assert (result.exit_code, result.signal, result.timed_out, result.cancelled) == (3, None, False, False)
    assert (result.stdout, result.stderr, result.stdout_total, result.stderr_total) == (
        b"out",
        b"error",
        3,
        5,
    )
    assert before <= result.started_ns <= result.started_ns + result.wall_ns <= time.monotonic_ns()
    assert abs(result.started_realtime_ns - time.time_ns()) < 60e9
    assert 0 < result.max_rss_bytes < 50e6
    assert result.minor_faults > 10
    assert result.user_ns + result.system_ns <= result.wall_ns * 2


def test_text_bytes_and_paths_are_all_arguments(tmp_path: Path):
    script = tmp_path / "show"
    script.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    script.chmod(0o755)
    result = run(script, "é", b"\xff", "\udcfe")
    assert result.stdout == "é".encode() + b"|\xff|\xfe|"
    assert run(b"env", environment={b"A": b"\xff"}).stdout == b"A=\xff\n"


def test_files_receive_the_output(tmp_path: Path):
    result = run("sh", "-c", "cat; echo no >&2", stdin=__file__, stdout_file=tmp_path / "out", stderr_limit=1)
    assert (result.stdout, result.stderr, result.stderr_total) == (b"", b"n", 3)
    assert (tmp_path / "out").read_bytes() == Path(__file__).read_bytes()


@pytest.mark.parametrize(
    ("argv", "settings", "reason", "number"),
    [
        (["trialwise-no-such-program"], {}, "no_such_program", errno.ENOENT),
        (["/etc/passwd"], {}, "not_executable", errno.EACCES),
        (["true"], {"working_directory": "/no/such/folder"}, "working_directory", errno.ENOENT),
        (["true", "x" * 200_000], {}, "arguments_too_long", errno.E2BIG),
    ],
)
def test_a_start_that_fails_says_why(argv: list[str], settings, reason: str, number: int):
    with pytest.raises(_linux.StartError) as caught:
        run(*argv, **settings)
    assert (caught.value.reason, caught.value.errno) == (reason, number)
    assert isinstance(caught.value, OSError)


def test_what_makes_no_sense_is_a_value_error():
    for argv, settings in [
        ([], {}),
        (["a\0b"], {}),
        (["true"], {"timeout": -1.0}),
        (["true"], {"grace": float("nan")}),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011 - each has its own words
            run(*argv, **settings)


def test_memory_is_not_that_of_a_large_caller():
    resident = b"x" * (300 << 20)
    assert run("true").max_rss_bytes < 20e6
    assert len(resident) == 300 << 20


def test_other_threads_go_on(tmp_path: Path):
    """The program ends by what another thread does once it has begun."""
    begun, go = tmp_path / "begun", tmp_path / "go"

    def let_go() -> None:
        while not begun.exists():
            time.sleep(0.01)
        go.touch()

    thread = threading.Thread(target=let_go, daemon=True)
    thread.start()
    script = f"touch {begun}; until test -e {go}; do sleep 0.01; done"
    assert run("sh", "-c", script, timeout=60.0).exit_code == 0
    thread.join()


def test_control_c_abandons_the_run():
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(writer)
    timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    results: list[_linux.CommandResult] = []

    def wait_for_interrupt() -> None:
        results.append(run("sleep", "60", cancel_fd=reader))
        time.sleep(1)

    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_for_interrupt()
    finally:
        timer.join()
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
    assert time.monotonic() - begin < 30
    assert all(result.cancelled for result in results)


def test_an_event_descriptor_abandons_the_run():
    event = os.eventfd(0, os.EFD_CLOEXEC)
    timer = threading.Timer(0.1, os.eventfd_write, [event, 1])
    timer.start()
    result = run("sleep", "60", cancel_fd=event)
    timer.join()
    os.close(event)
    assert result.cancelled
    assert result.wall_ns < 20e9


def test_a_caller_without_standard_descriptors_may_run_programs():
    program = (
        "import os, sys\n"
        "from trialwise._linux import run_command\n"
        "os.closerange(0, 10)\n"
        "for _ in range(3):\n"
        "    argv = ['sh', '-c', 'echo out; echo error >&2']\n"
        "    result = run_command(argv, environment=os.environ, working_directory='/')\n"
        "    assert (result.stdout, result.stderr) == (b'out\\n', b'error\\n')\n"
        "os._exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7


@pytest.mark.parametrize(
    "script", ["echo $$ > pid; exec sleep 60", "setsid sh -c 'echo $$ > pid; exec sleep 60'"]
)
def test_nothing_goes_on_when_the_caller_is_killed(tmp_path: Path, script: str):
    program = (
        "from trialwise._linux import run_command\n"
        f"run_command(['sh', '-c', {script!r}], environment={{'PATH': '/usr/bin:/bin'}},"
        f" working_directory={str(tmp_path)!r})"
    )
    caller = subprocess.Popen([sys.executable, "-c", program])
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text()):
        assert caller.poll() is None
        time.sleep(0.01)
    assert not process_is_gone(int(pid.read_text()))
    caller.kill()
    caller.wait()
    deadline = time.monotonic() + 60
    while not process_is_gone(int(pid.read_text())) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_is_gone(int(pid.read_text()))
