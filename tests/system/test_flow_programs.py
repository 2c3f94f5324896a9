"""`python -m trialwise.schemes.flow`: real processes over the loopback device."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOW = [sys.executable, "-m", "trialwise.schemes.flow"]
SECONDS = 60.0
"""What a program takes at most to end, however busy the machine is."""
CONGESTION = {"tcp": "reno", "udp": "copa"}


def free_port(protocol: str) -> int:
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def receiver(protocol: str) -> Iterator[int]:
    port = free_port(protocol)
    command = [*FLOW, protocol, "receive", "--port", str(port), "--address", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield port
            process.terminate()
            assert process.wait(timeout=SECONDS) == 0
        finally:
            process.kill()


def sender(protocol: str, port: int, report: Path, *options: str) -> list[str]:
    # The loopback device carries packets of 1500 bytes and more everywhere.
    congestion = ["--congestion", CONGESTION[protocol], "--report", str(report)]
    return [*FLOW, protocol, "send", "127.0.0.1", str(port), *congestion, *options]


def read_lines(report: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in report.read_text().splitlines()]


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_transfer_is_reported(protocol: str, tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    with receiver(protocol) as port:
        before = time.monotonic_ns()
        subprocess.run(sender(protocol, port, report, "--load", "bytes:3MB"), check=True, timeout=SECONDS)
        after = time.monotonic_ns()
    lines = read_lines(report)
    completion = next(line for line in lines if "end_ns" in line)
    assert completion["size_bytes"] == 3_000_000
    assert before < completion["start_ns"] < completion["end_ns"] < after
    summary = lines[-1]["summary"]
    assert summary["ended"] == "complete"
    assert summary["bytes_acknowledged"] == 3_000_000


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_sender_with_its_report(
    protocol: str, number: signal.Signals, tmp_path: Path
) -> None:
    report = tmp_path / "report.jsonl"
    with (
        receiver(protocol) as port,
        subprocess.Popen(sender(protocol, port, report, "--load", "rate:8Mbit/s")) as process,
    ):
        deadline = time.monotonic() + SECONDS
        while not (report.exists() and b"\n" in report.read_bytes()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(timeout=SECONDS) == 0
    lines = read_lines(report)
    assert lines[-1]["summary"]["ended"] == "signal"
    assert all(set(line) >= {"time_ns", "flow", "cwnd_bytes", "rtt_ms"} for line in lines[:-1])


def test_a_refused_port_and_wrong_usage_are_told_apart(tmp_path: Path) -> None:
    command = sender("tcp", free_port("tcp"), tmp_path / "report.jsonl")
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (refused.returncode, "nothing listens there" in refused.stderr) == (1, True)
    usage = subprocess.run(
        [*FLOW, "tcp", "send"], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert (usage.returncode, "ADDRESS PORT" in usage.stderr) == (2, True)
    shown = subprocess.run([*FLOW, "--help"], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert "udp send ADDRESS PORT" in shown.stdout


def test_nothing_else_is_imported() -> None:
    program = """
import sys, trialwise.schemes.flow
heavy = {"trialwise", "numpy", "polars", "asyncio"}
print(*(name for name in sys.modules if name.split(".")[0] in heavy))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert set(done.stdout.split()) == {
        "trialwise",
        "trialwise._core",
        "trialwise._linux",
        "trialwise.schemes",
        "trialwise.schemes.flow",
    }
