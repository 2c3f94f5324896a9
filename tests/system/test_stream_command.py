"""`trialwise stream`: untouched programs, packets, processes and sockets as samples."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.test_measurement import samples

PATIENCE = 60


def stream(tmp_path: Path, *words: str | Path, **settings) -> tuple[subprocess.CompletedProcess[bytes], Path]:
    """The command, streaming into a file."""
    file = tmp_path / "samples.txt"
    environment = {**os.environ, "OML_COLLECT": f"file:{file}"}
    done = subprocess.run(
        [*TRIALWISE, "stream", *map(str, words)], env=environment, capture_output=True, timeout=PATIENCE, check=False, **settings
    )  # fmt: skip
    return done, file


def rows(file: Path, name: str) -> list[dict[str, str]]:
    """The rows of a stream in OML's text, by field."""
    lines = [line.split("\t") for line in file.read_text().splitlines()]
    declared = [line[-1].split() for line in lines if len(line) > 5 and line[4] == "schema"]
    number, *fields = next((number, *fields) for number, stream, *fields in declared if stream == name)
    names = [field.partition(":")[0] for field in fields]
    return [
        {"time": line[0], **dict(zip(names, line[3:], strict=True))}
        for line in lines
        if len(line) > 3 and line[1] == number
    ]


def python(code: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", code)


def test_lines_pass_unchanged_and_become_samples(tmp_path: Path):
    printed = b"a=1 b=x\r\n\xff\x00 no row\na=2.5 b=y\na=3 b=z"
    (tmp_path / "printed").write_bytes(printed)
    done, file = stream(
        tmp_path, "output", "--point", "p", "--format", "key-value", "--", "cat", tmp_path / "printed"
    )
    assert (done.returncode, done.stdout) == (0, printed)
    assert [(row["a"], row["b"]) for row in rows(file, "cat_p")] == [("1.0", "x"), ("2.5", "y"), ("3.0", "z")]


def test_what_does_not_fit_later_is_counted_and_named(tmp_path: Path):
    code = "for x in range(20): print(f'x={x}')\nprint('x=abc'); print('x=1 y=2'); print('x=' + 'a' * 2_000_000); print('x=7')"
    done, file = stream(
        tmp_path, "output", "--name", "prog", "--point", "p", "--format", "key-value", *python(code)
    )
    assert [int(row["x"]) for row in rows(file, "prog_p")] == [*range(20), 1, 7]
    assert b"2 of 24 lines did not fit p; line 21: field x: 'abc' is no int64" in done.stderr
    assert b"left out: y" in done.stderr
    assert "p_misfits\t2" in file.read_text()


def test_rows_are_sent_as_they_come_and_a_terminal_makes_them_come(tmp_path: Path):
    code = "import time\nfor x in range(3): print('x=%d' % x); time.sleep(0.5)"
    done, file = stream(
        tmp_path, "output", "--name", "prog", "--point", "p", "--format", "key-value", "--pty", *python(code)
    )
    times = [float(row["time"]) for row in rows(file, "prog_p")]
    assert times[2] - times[0] > 0.8
    assert done.stdout == b"x=0\nx=1\nx=2\n"


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), ("import os; os.abort()", 134)])
def test_the_exit_code_is_the_commands(tmp_path: Path, code: str, expected: int):
    done, _ = stream(tmp_path, "output", "--point", "p", "--format", "csv", *python(code))
    assert done.returncode == expected


def test_signals_reach_the_command_and_its_last_lines_count(tmp_path: Path):
    file = tmp_path / "samples.txt"
    code = (
        "import signal, sys, time\n"
        "def end(*_): print('x=2', flush=True); sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, end); print('x=1', flush=True); time.sleep(50)"
    )
    words = [
        "output",
        "--name",
        "prog",
        "--point",
        "p",
        "--format",
        "key-value",
        f"--oml-collect=file:{file}",
        *python(code),
    ]
    with subprocess.Popen([*TRIALWISE, "stream", *words], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"x=1\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.read() == b"x=2\n"
        assert running.wait(PATIENCE) == 5
    assert [row["x"] for row in rows(file, "prog_p")] == ["1", "2"]


def test_a_reader_that_leaves_ends_the_command_as_it_would_alone(tmp_path: Path):
    words = [
        *TRIALWISE,
        "stream",
        "output",
        "--point",
        "p",
        "--format",
        "csv",
        "--oml-collect=file:/dev/null",
        "--",
        "yes",
    ]
    line = f"{shlex.join(words)} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", line + "; exit ${PIPESTATUS[0]}"], capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGPIPE, b"y\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--point", "p", "--", "cat"], b"what does cat print?"),
        (["--point", "p q", "--format", "csv", "--", "cat"], b"is no name"),
        (["--point", "p", "--format", "csv", "--", "no-such-program"], b"no such program"),
        (["--point", "p", "--format", "csv"], b"no command"),
        (["--point", "p", "--format", "csv", "--oml-nonsense", "1", "--", "cat"], b"--oml-nonsense"),
        (["--point", "p", "--pattern", "x", "--", "cat"], b"names no group"),
        (["--point", "p", "--format", "csv", "--type", "a=int", "--", "cat"], b"write NAME=TYPE"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, words: list[str], message: bytes):
    done, _ = stream(tmp_path, "output", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_a_destination_nothing_is_run(tmp_path: Path):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OML_", "TRIALWISE_"))
    }
    words = ["output", "--point", "p", "--format", "csv", "--", "touch", str(tmp_path / "ran")]
    done = subprocess.run(
        [*TRIALWISE, "stream", *words], env=environment, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2
    assert b"nobody says where samples go" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_an_untouched_program_is_measured_in_an_experiment(bench: Bench):
    (bench.folder / "untouched.py").write_text("for x in range(30): print(f'request {x} took {x / 2} ms')\n")
    pattern = r"request (?P<number>\d+) took (?P<ms>[\d.]+) ms"
    command = shlex.join(
        [str(Path(sys.executable).parent / "trialwise"), "stream", "output", "--name", "prog", "--point", "request",
         "--pattern", pattern, "--", sys.executable, str(bench.folder / "untouched.py")]
    )  # fmt: skip
    bench.write(command.replace("'", '"'), 'source = "prog_request.ms"\nmeasure = "max"').run()
    assert {row.status for row in bench.rows()} == {"finished"}
    assert samples(bench, "prog_request.ms") == [[x / 2 for x in range(30)]] * 2


def test_iperf3_is_measured_interval_by_interval(tmp_path: Path):
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", "5931"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    client = ("iperf3", "-c", "127.0.0.1", "-p", "5931", "-t", "1", "-i", "0.2", "--forceflush")
    done, file = stream(tmp_path, "output", "--point", "transfer", "--", *client)
    server.wait(PATIENCE)
    found = rows(file, "iperf3_transfer")
    assert len(found) == done.stdout.count(b"Cwnd") * 5 == 5
    assert all(float(row["bits_per_second"]) > 1e6 for row in found)
    assert {row["role"] for row in rows(file, "iperf3_transfer_end")} == {"sender", "receiver"}
