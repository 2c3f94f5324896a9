"""`trialwise path`: any command inside a path, this machine's servers outside."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE
from tests.system.paths import needs_paths

from trialwise.measurement.packets import read_packet_log

pytestmark = [needs_paths, pytest.mark.alone]

CLIENT = """
import os, socket, sys, time
least = 1e9
for _ in range(3):
    start = time.monotonic()
    connection = socket.create_connection((os.environ[sys.argv[1]], int(sys.argv[2])), 20)
    least = min(least, time.monotonic() - start)
print(least * 1e3)
connection.sendall(bytes(int(sys.argv[3])))
connection.shutdown(socket.SHUT_WR)
print(connection.recv(64).decode())
"""
"""Prints the least that connecting took (ms; of three, since a machine may be busy), and what the server says: how many bytes came."""


@pytest.fixture
def server() -> Iterator[int]:
    """A server of this machine that counts bytes; its port."""
    listener = socket.create_server(("", 0))

    def answer(connection: socket.socket) -> None:
        count = 0
        while content := connection.recv(1 << 16):
            count += len(content)
        connection.sendall(str(count).encode())
        connection.close()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def path(folder: Path, *words: str, wrap: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (folder / "client.py").write_text(CLIENT)
    return subprocess.run(
        [*wrap, *TRIALWISE, "path", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "300"},
    )


def client(port: int, *, to: str = "TRIALWISE_PEER", size: int = 1000) -> list[str]:
    return [sys.executable, "client.py", to, str(port), str(size)]


def answer(done: subprocess.CompletedProcess[str]) -> tuple[float, int]:
    assert done.returncode == 0, done.stderr
    connecting, count = done.stdout.split()
    return float(connecting), int(count)


def test_a_server_of_this_machine_answers_after_a_round_trip(tmp_path: Path, server: int):
    connecting, count = answer(path(tmp_path, "--delay", "30ms", "--", *client(server, size=100_000)))
    assert 60 <= connecting < 160
    assert count == 100_000


def test_directions_differ_and_every_packet_is_logged(tmp_path: Path, server: int):
    words = [
        "--delay",
        "5ms",
        "--uplink",
        "rate=2Mbit/s",
        "--downlink",
        "delay=20ms",
        "--log",
        "packets.log",
        "--json",
    ]
    done = path(tmp_path, *words, "--", *client(server, size=250_000))
    connecting, count = answer(done)
    assert 25 <= connecting < 120
    assert count == 250_000
    told = json.loads(done.stderr)
    packets = read_packet_log(tmp_path / "packets.log")
    for way in ("uplink", "downlink"):
        assert len(packets.of(way)) == told[way]["arrived"]
    sent = packets.of("uplink")
    assert sent.size[sent.delivered].sum() * 8 / 2e6 <= sent.time[sent.delivered].max(), "2 Mbit/s at most"


def test_a_recording_is_replayed_with_real_packets(tmp_path: Path, server: int):
    rows = (
        "0,uplink,2000000,10000,on\n0,downlink,,30000,\n500,uplink,,,hold\n600,uplink,,,on\n1000,uplink,,,\n"
    )
    head = "# trialwise.path/1 {}\ntime_ms,direction,rate_bps,base_delay_us,state\n"
    (tmp_path / "some.csv").write_text(head + rows)
    words = ("--path", "recording:some.csv", "--log", "packets.log", "-q")
    connecting, count = answer(path(tmp_path, *words, "--", *client(server, size=250_000)))
    assert connecting >= 40
    assert count == 250_000
    packets = read_packet_log(tmp_path / "packets.log")
    up, down = packets.of("uplink"), packets.of("downlink")
    assert up.delay[up.delivered].min() >= 0.010
    assert down.delay[down.delivered].min() >= 0.030
    # By the model, however late the machine: none leaves within a hold, each second from 500 to 600 ms.
    left = (up.time[up.delivered] - 0.010) % 1.0
    assert not ((left > 0.5) & (left < 0.5999)).any()
    assert ((left >= 0.5999) & (left < 0.6001)).any()
    assert not up.dropped.any()


def test_mahimahis_own_words_run_as_printed(tmp_path: Path, server: int):
    (tmp_path / "10mbps_trace").write_text("1\n2\n3\n4\n6\n")
    words = (
        "mm-delay 28 mm-loss uplink .004 mm-loss downlink .004 mm-link 10mbps_trace 10mbps_trace "
        "--uplink-queue=droptail --uplink-queue-args=packets=50 --uplink-log=up.log --"
    )
    done = path(tmp_path, *words.split(), *client(server, to="MAHIMAHI_BASE", size=500_000))
    connecting, count = answer(done)
    assert 56 <= connecting < 160
    assert count == 500_000
    lines = (tmp_path / "up.log").read_text().splitlines()
    assert lines[2] == "# queue: droptail [packets=50]"
    came, went = (sum(line.split()[1:2] == [kind] for line in lines) for kind in "+-")
    dropped = sum(int(line.split()[2]) for line in lines if line.split()[1:2] == ["d"])
    assert came > 300
    assert came - 3 <= went + dropped <= came
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_paths_nest_and_the_outermost_host_answers(tmp_path: Path, server: int):
    inner = [*TRIALWISE, "path", "--delay", "20ms", "-q", "--", *client(server, to="MAHIMAHI_BASE")]
    connecting, count = answer(path(tmp_path, "--delay", "10ms", "-q", "--", *inner))
    assert 60 <= connecting < 160
    assert count == 1000


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
def test_an_ordinary_user_reaches_the_servers_through_a_relay(server: int):
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    probe = subprocess.run([*nobody, *TRIALWISE, "path", "--list"], capture_output=True, check=False, cwd="/")
    if probe.returncode != 0 or not Path("/usr/bin/python3").exists():
        pytest.skip("ordinary users cannot read this folder's Python environment")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        words = ["/usr/bin/python3", *client(server, size=3_000_000)[1:]]
        done = path(folder, "--delay", "10ms", "--", *words, wrap=nobody)
    connecting, count = answer(done)
    assert 20 <= connecting < 120
    assert count == 3_000_000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--rate", "12Mbit/s", "--", "sh", "-c", "exit 7"], 7, "delivered"),
        (["--delay", "1ms", "--", "sh", "-c", "kill -9 $$"], 137, "delivered"),
        (["--delay", "1ms", "--", "trialwise-no-such-program"], 127, "No such file"),
        (["--delay", "1ms", "--", "trialwise-no-\x1b[31mprogram"], 127, r"trialwise-no-\x1b[31mprogram"),
        (["--rate", "0Mbit/s", "--", "true"], 2, "at rate 0 nothing would ever pass"),
        (["--rate", "12", "--", "true"], 2, "unit is missing"),
        (["--loss", "1", "--", "true"], 2, "every packet would be lost"),
        (["--queue", "droptail:packets=5", "--", "true"], 2, "needs a rate"),
        (["--mtu", "9001", "--", "true"], 2, "9001"),
        (["--uplink", "rates=3Mbit/s", "--", "true"], 2, "keys: rate"),
        (["--rate", "trace:none.trace", "--", "true"], 2, "none.trace"),
        (["--path", "pantheon:nowhere", "--", "true"], 2, "no path is called"),
        (
            ["--path", "pantheon:policer-12", "--rate", "1Mbit/s", "--", "true"],
            2,
            "goes with no other option",
        ),
        (["mm-delay", "x", "true"], 2, "mm-delay"),
        (["mm-link", "none.trace", "none.trace", "--", "true"], 2, "none.trace"),
        (["--log", "nowhere/packets.log", "--delay", "1ms", "--", "true"], 2, "there is no folder"),
    ],
)
def test_exit_codes_and_errors(tmp_path: Path, words: list[str], code: int, said: str):
    done = path(tmp_path, *words)
    assert done.returncode == code, done.stderr
    assert said in done.stderr


def test_a_trace_that_is_not_repeated_ends_the_command(tmp_path: Path):
    (tmp_path / "short.trace").write_text("\n".join(map(str, range(1, 800))))
    start = time.monotonic()
    done = path(tmp_path, "mm-link", "short.trace", "short.trace", "--once", "--", "sleep", "30")
    assert done.returncode == 77
    assert time.monotonic() - start < 25


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_reaches_the_command(tmp_path: Path, name: str):
    # Short sleeps: a signal that comes before one is handled after it.
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); print('up', flush=True)\n"
        "for _ in range(3000): time.sleep(0.01)"
    )
    words = [*TRIALWISE, "path", "--delay", "1ms", "-q", "--", sys.executable, "-c", script]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True, text=True, cwd=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    if name == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    else:
        process.terminate()
    assert process.wait(60) == {"SIGTERM": 9, "SIGINT": 130}[name]
    process.stdout.close()


def test_the_list_of_paths(tmp_path: Path):
    document = json.loads(path(tmp_path, "--list", "--json").stdout)
    assert document["format"] == "trialwise.paths/1"
    listed = document["paths"]
    assert len(listed) == 19
    assert listed["satellite:geo"]["source"]
    assert listed["pantheon:nepal-aws-india"]["uplink"][0][0] == ["rate", "poisson:rate=0.57Mbit/s"]
    assert "pantheon:buffer-bdp" in path(tmp_path, "--list").stdout


NESTED = (
    "mm-delay 10 mm-delay 10 mm-link one.trace one.trace -- mm-delay 10 mm-delay 10 mm-onoff uplink 1000000.0 0.0 "
    "mm-delay 10 mm-delay 10 mm-delay 10 mm-loss uplink 0 mm-delay 10 mm-delay 10 mm-delay 10"
)
"""Mahimahi's own integration test (src/tests/packetshell-test), which asks for 200 to 220 ms."""


def test_mahimahis_own_test_of_nesting_passes(tmp_path: Path, server: int):
    (tmp_path / "one.trace").write_text("1\n")
    least, received = answer(path(tmp_path, *NESTED.split(), *client(server, to="MAHIMAHI_BASE")))
    assert 200 <= least <= 220
    assert received == 1000


REMOVER = """
import os, pathlib, socket, sys, time
pathlib.Path("up").unlink()
pathlib.Path("down").write_text("nonsense")
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(4):
    sender.sendto(b"x", (os.environ["TRIALWISE_PEER"], 9))
    time.sleep(0.1)
sys.exit(5)
"""


def test_a_trace_is_read_once_before_the_start(tmp_path: Path):
    """The command removes it, and puts another in the place of a second one that has a log."""
    for name in ("up", "down"):
        (tmp_path / name).write_text("1\n")
    done = path(
        tmp_path, "-q", "mm-link", "up", "down", "--uplink-log=up.log", "--downlink-log=down.log", "--",
        sys.executable, "-c", REMOVER,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (5, "")
    for name in ("up", "down"):
        lines = (tmp_path / f"{name}.log").read_text().splitlines()
        assert lines[0] == f"# mahimahi mm-link ({name.capitalize()}link) [{name}] > {name}.log"
        assert lines.count("100 # 1504") == 1 or name == "down"


@pytest.mark.parametrize(
    "words",
    [
        "mm-delay 1 mm-loss uplink 0.1 mm-link <(echo 1) <(echo 1) --uplink-log=up.log -- true",
        "mm-link <(echo 50) <(echo 50) --once -- true",
        "--rate trace:<(echo 1) --loss trace:<(echo 01),repeat=yes -- true",
        "--delay series:<(printf '0 1ms\\n') --loss series:<(printf '0 1%%\\n') -- true",
    ],
)
def test_files_may_be_pipes_of_a_shell(tmp_path: Path, words: str):
    """mahimahi(1), EXAMPLES: mm-link <(echo 1) <(echo 1)."""
    command = ["bash", "-c", f"exec {shlex.join(TRIALWISE)} path -q {words}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--rate trace:/dev/zero -- true", "/dev/zero: is a device"),
        ("--rate trace:. -- true", "is a folder"),
        ("--loss series:none.txt -- true", "none.txt: cannot be read: No such file"),
        ("--rate trace:bad.trace -- true", "rate trace: bad.trace: "),
    ],
)
def test_files_that_are_none_are_named_as_they_were_written(tmp_path: Path, words: str, said: str):
    (tmp_path / "bad.trace").write_text("soon\n")
    done = path(tmp_path, *words.split())
    assert done.returncode == 2
    assert said in done.stderr
    assert "/proc/" not in done.stderr
    assert "Traceback" not in done.stderr
