"""`trialwise stream`: untouched programs, packets, processes and sockets as samples."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    declared += [line[0].split()[1:] for line in lines if line[0].startswith("schema: ")]
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
    assert b"2 of 24 lines did not fit p; line 21: field x: 'abc' is not a valid int64" in done.stderr
    assert b"left out: y" in done.stderr
    assert "p_misfits\t2" in file.read_text()


def test_rows_are_sent_as_they_come_and_a_terminal_makes_them_come(tmp_path: Path):
    code = "import time\nfor x in range(3): print('x=%d' % x); time.sleep(0.5)"
    done, file = stream(
        tmp_path, "output", "--name", "prog", "--point", "p", "--format", "key-value", "--pty", *python(code)
    )
    times = [float(row["time"]) for row in rows(file, "prog_p")]
    assert times[2] - times[0] > 0.2, "those of a file that is read at the end have one time"
    assert done.stdout == b"x=0\nx=1\nx=2\n"


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), ("import os; os.abort()", 134)])
def test_the_exit_code_is_the_commands(tmp_path: Path, code: str, expected: int):
    done, _ = stream(tmp_path, "output", "--point", "p", "--format", "csv", *python(code))
    assert done.returncode == expected


def test_signals_reach_the_command_and_its_last_lines_count(tmp_path: Path):
    file = tmp_path / "samples.txt"
    # Blocked, the signal waits for sigwait; a handler's may come between the print and a sleep, which it would not end.
    code = (
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); print('x=1', flush=True)\n"
        "signal.sigwait({signal.SIGTERM}); print('x=2', flush=True); sys.exit(5)"
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
        printed, _ = running.communicate(timeout=PATIENCE)
    assert (running.returncode, printed) == (5, b"x=2\n")
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
        (["--point", "p q", "--format", "csv", "--", "cat"], b"is not a valid name"),
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
    assert b"no destination for samples was given" in done.stderr
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


@contextmanager
def iperf3_server() -> Iterator[str]:
    """A server for one client, that listens; its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    words = ["iperf3", "-s", "-1", "-p", port, "--forceflush"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        while "listening" not in (line := server.stdout.readline()):
            assert line, "it has ended"
        try:
            yield port
            server.communicate(timeout=PATIENCE)
        finally:
            server.kill()


def test_iperf3_is_measured_interval_by_interval(tmp_path: Path):
    with iperf3_server() as port:
        client = ("iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-i", "0.2", "--forceflush")
        done, file = stream(tmp_path, "output", "--point", "transfer", "--", *client)
    found = rows(file, "iperf3_transfer")
    intervals = re.findall(rb"^\[ *\d+\] .* sec .*Bytes", done.stdout.partition(b"- - -")[0], re.MULTILINE)
    assert len(found) == len(intervals) > 1, done.stdout
    assert all(float(row["bits_per_second"]) > 1e6 for row in found)
    assert {row["role"] for row in rows(file, "iperf3_transfer_end")} == {"sender", "receiver"}


def test_iperf3s_events_are_rows_as_they_come(tmp_path: Path):
    told = subprocess.run(["iperf3", "--help"], capture_output=True, text=True, check=True)
    if "--json-stream" not in told.stdout + told.stderr:
        pytest.skip("needs iperf3 3.17 or newer for --json-stream")
    with iperf3_server() as port:
        client = ("iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-i", "0.2", "--json-stream")
        done, file = stream(tmp_path, "output", "--point", "transfer", "--", *client)
    found = rows(file, "iperf3_transfer")
    assert len(found) == done.stdout.count(b'"interval",') > 1
    times = [float(row["time"]) for row in found]
    assert times[-1] - times[0] > 0.2
    assert {row["role"] for row in rows(file, "iperf3_transfer_end")} == {"sender", "receiver"}


FLOOD = """
import socket, sys, time
to, port, count, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began, sent = time.perf_counter(), 0
while sent < count:
    due = min(count, int((time.perf_counter() - began) * rate))
    for sent in range(sent + 1, due + 1):
        peer.sendto(sent.to_bytes(4, "big") * 16, (to, port))
print(count / (time.perf_counter() - began))
"""
PORT = 7777


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


@pytest.fixture
def pair() -> Iterator[tuple[str, str]]:
    """Two namespaces with a pair of devices between them: `left` at 10.77.0.1, and `right`, which listens at 10.77.0.2."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and ip to make network namespaces")
    left, right = (f"tw-stream-{os.getpid()}-{side}" for side in "lr")
    made = subprocess.run(["ip", "netns", "add", left], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no network namespaces here: {made.stderr.decode()}")
    run("ip", "netns", "add", right)
    try:
        run("ip", "-n", left, "link", "add", "left", "type", "veth", "peer", "name", "right", "netns", right)
        for namespace, device, address in ((left, "left", "10.77.0.1/24"), (right, "right", "10.77.0.2/24")):
            run("ip", "-n", namespace, "addr", "add", address, "dev", device)
            run("ip", "-n", namespace, "link", "set", device, "up")
        run("ip", "-n", left, "neigh", "replace", "10.77.0.2", "lladdr", device_address(right), "dev", "left")
        yield left, right
    finally:
        for namespace in (left, right):
            run("ip", "netns", "del", namespace)


def device_address(namespace: str) -> str:
    return json.loads(run("ip", "-n", namespace, "-j", "link", "show", "right"))[0]["address"]


@contextmanager
def capturing(right: str, file: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = ["stream", "packets", "--interface", "right", f"--oml-collect=file:{file}", *words]
    with subprocess.Popen(
        ["ip", "netns", "exec", right, *TRIALWISE, *command], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "capturing at right" in process.stderr.readline()
        try:
            yield process
        finally:
            process.kill()


def flood(left: str, count: int, rate: float) -> float:
    words = [
        "ip",
        "netns",
        "exec",
        left,
        sys.executable,
        "-c",
        FLOOD,
        "10.77.0.2",
        str(PORT),
        str(count),
        str(rate),
    ]
    return float(run(*words))


def test_every_packet_of_a_burst_is_a_sample_with_the_kernels_time(tmp_path: Path, pair: tuple[str, str]):
    left, right = pair
    file, count = tmp_path / "packets.txt", 20_000
    with capturing(right, file, "--filter", "udp", "--port", str(PORT)) as process:
        began = time.time_ns()
        flood(left, count, 50_000)
        ended = time.time_ns()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    ip, udp = rows(file, "packets_ip"), rows(file, "packets_udp")
    assert len(ip) == len(udp) == count
    times = [int(row["time_ns"]) for row in ip]
    assert began < times[0]
    assert times == sorted(times)
    assert times[-1] < ended
    first = ip[0]
    assert (first["ip_version"], first["ip_len"], first["ip_proto"], first["outgoing"]) == (
        "4",
        "92",
        "17",
        "F",
    )
    assert (first["ip_src"], first["ip_dst"], first["frame_size"]) == ("10.77.0.1", "10.77.0.2", "106")
    assert {(row["udp_dest"], row["udp_len"]) for row in udp} == {(str(PORT), "72")}
    assert (
        [row["pktid"] for row in ip] == [row["pktid"] for row in udp] == [str(n) for n in range(1, count + 1)]
    )
    last = rows(file, "packets_capture")[-1]
    assert (last["kernel_dropped"], last["samples"]) == ("0", str(count))
    assert int(last["packets"]) == count + int(last["others"])


def test_a_destination_that_is_not_there_does_not_hold_up_the_end(tmp_path: Path, pair: tuple[str, str]):
    left, right = pair
    with capturing(right, tmp_path / "unused", "--filter", "udp", "--oml-collect=tcp:127.0.0.1:1") as process:
        flood(left, 100_000, 1e9)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(PATIENCE) == 0
        assert time.monotonic() - began < 30
        assert process.stderr is not None
        said = process.stderr.read()
    counts = re.search(r"(\d+) of \d+ packets taken as samples; (\d+) dropped by the kernel", said)
    assert counts is not None
    assert sum(map(int, counts.groups())) >= 100_000
    assert not re.search(r"\b0 samples lost", said)


@pytest.mark.soak
def test_nothing_is_lost_at_a_hundred_thousand_packets_in_a_second(tmp_path: Path, pair: tuple[str, str]):
    left, right = pair
    file, count = tmp_path / "packets.txt", 1_000_000
    with capturing(right, file, "--filter", "udp") as process:
        rate = flood(left, count, 100_000)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert f"{count} of " in said, f"{said} at {rate}"
    assert "0 dropped by the kernel, 0 samples lost" in said


@pytest.mark.soak
def test_what_the_kernel_drops_is_counted(tmp_path: Path, pair: tuple[str, str]):
    left, right = pair
    file, count = tmp_path / "packets.txt", 600_000
    with capturing(right, file, "--filter", "udp") as process:
        process.send_signal(signal.SIGSTOP)
        flood(left, count, 1e9)
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    last = {name: int(value) for name, value in rows(file, "packets_capture")[-1].items() if name != "time"}
    assert last["kernel_dropped"] > 0
    assert last["samples"] + last["others"] + last["kernel_dropped"] == last["packets"] >= count


def test_a_number_of_packets_of_the_loopback_is_captured_once_each(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("capturing packets needs root")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as free:
        port = free.getsockname()[1]
    file = tmp_path / "packets.txt"
    command = [
        "stream",
        "packets",
        "--interface",
        "lo",
        "--port",
        str(port),
        "--count",
        "3",
        f"--oml-collect=file:{file}",
    ]
    with subprocess.Popen([*TRIALWISE, *command], stderr=subprocess.PIPE, text=True) as process, \
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as peer:  # fmt: skip
        assert process.stderr is not None
        process.stderr.readline()
        for size in range(1, 6):
            peer.sendto(bytes(size), ("::1", port))
        assert process.wait(PATIENCE) == 0
    assert [row["udp_len"] for row in rows(file, "packets_udp")] == ["9", "10", "11"]
    assert {(row["ip_version"], row["ip_src"]) for row in rows(file, "packets_ip")} == {("6", "::1")}


def test_who_may_not_capture_is_told_what_would_lift_it(tmp_path: Path):
    done, _ = stream(tmp_path, "packets", "--interface", "none-such")
    assert done.returncode == 2
    if os.geteuid() != 0:
        assert b"CAP_NET_RAW" in done.stderr
        return
    assert b'no interface "none-such"' in done.stderr
    if shutil.which("setpriv") is not None:
        words = [
            "setpriv",
            "--bounding-set",
            "-net_raw",
            "--inh-caps",
            "-net_raw",
            *TRIALWISE,
            "stream",
            "packets",
        ]
        done = subprocess.run(
            [*words, "--interface", "lo", "--oml-collect", "file:-"],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, b"CAP_NET_RAW" in done.stderr) == (2, True)


BUSY = """
import os, sys, threading, time
stay = threading.Event()
threads = [threading.Thread(target=stay.wait) for _ in range(3)]
[thread.start() for thread in threads]
memory = bytearray(64 << 20)
end = time.process_time() + 0.5
while time.process_time() < end: pass
os.write(2, bytes(5000))
time.sleep(0.5)
stay.set()
sys.exit(6)
"""


def test_a_command_is_sampled_until_it_ends(tmp_path: Path):
    done, file = stream(tmp_path, "process", "--interval", "20ms", *python(BUSY))
    assert (done.returncode, done.stderr[:5000]) == (6, bytes(5000))
    found = rows(file, "process_usage")
    last = found[-1]
    assert 0.4 <= float(last["user_seconds"]) + float(last["system_seconds"]) < 5
    assert max(int(row["threads"]) for row in found) == 4
    assert 64 << 20 < max(int(row["rss_bytes"]) for row in found) < 256 << 20
    assert float(last["written_bytes"]) >= 5000
    assert int(last["voluntary_switches"]) >= 4
    times = [float(row["time"]) for row in found]
    assert len(found) + int(last["missed"]) == pytest.approx((times[-1] - times[0]) / 0.02, abs=3)
    assert all(0 <= float(row["late_seconds"]) < 0.02 for row in found)


def test_a_process_that_is_there_is_sampled_with_its_children(tmp_path: Path):
    with subprocess.Popen(["sh", "-c", "sleep 300 & wait"]) as process:
        done, file = stream(
            tmp_path,
            "process",
            "--pid",
            str(process.pid),
            "--children",
            "--interval",
            "50ms",
            "--seconds",
            "500ms",
        )
        found = rows(file, "process_usage")
        os.kill(int(found[1]["pid"]), signal.SIGTERM)
    assert done.returncode == 0
    names = [row["name"] for row in found]
    assert names[:2] == ["sh", "sleep"]
    done, _ = stream(tmp_path, "process", "--pid", str(process.pid))
    assert (done.returncode, f"no process {process.pid}".encode() in done.stderr) == (2, True)


TALK = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
print(server.getsockname()[1], client.getsockname()[1], flush=True)
for _ in range(10):
    client.sendall(bytes(1000))
    got = 0
    while got < 1000: got += len(peer.recv(1000))
    time.sleep(0.1)
time.sleep(1)
"""


def test_the_connections_of_a_command_are_sampled(tmp_path: Path):
    done, file = stream(tmp_path, "sockets", "--interval", "50ms", *python(TALK))
    listening, connected = done.stdout.decode().split()
    found = rows(file, "sockets_tcp")
    client = [row for row in found if row["local_port"] == connected]
    assert {(row["remote_port"], row["remote_address"], row["state"]) for row in client} == {
        (listening, "127.0.0.1", "established")
    }
    last = client[-1]
    assert (last["congestion"], last["bytes_sent"], last["bytes_received"], last["retransmits"]) == (
        "reno",
        "10000",
        "0",
        "0",
    )
    assert last["bytes_acked"] in {"10000", "10001"}
    assert last["cwnd"] == "10"
    assert 0 < float(last["min_rtt_seconds"]) <= float(last["srtt_seconds"]) * 2 < 0.5
    server = [row for row in found if row["local_port"] == listening]
    assert server[-1]["bytes_received"] == "10000"
    acked = [int(row["bytes_acked"]) for row in client]
    assert len(set(acked)) > 3
    assert acked == sorted(acked)


def test_what_cannot_be_sampled_is_said(tmp_path: Path):
    for words, message in (
        (["process"], b"which process?"),
        (["process", "--pid", "1", "--interval", "0s"], b"longer than nothing"),
        (["sockets"], b"which sockets?"),
        (["sockets", "--pid", "999999999"], b"no process"),
    ):
        done, _ = stream(tmp_path, *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
