"""What our congestion controllers cost, each beside the cheapest of them: simulated, and over UDP at 1 Gbit/s.

Run as root: .venv/bin/python benches/schemes.py [NAME…]; the table is kept in benches/results/schemes.json. Wanted: 100 times faster
than real time where 12 Mbit/s are simulated, and under 60 % of a core for sender and receiver together at 1 Gbit/s, over a path of
2 ms each way with a buffer of one bandwidth-delay product. Processor time is that of both programs (wait4), for the bytes that the
path delivered; kernel TCP's cubic beside them pays no copy into packets of a program. What an acknowledgement costs alone:
cargo run --release -p trialwise-congestion --example acknowledgements.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from measuring import write
from trialwise import _core, _linux
from trialwise.schemes.library import SHIPPED, read_file

SIMULATED, SECONDS, PORT = 60.0, 4, "5201"
FLOW = [sys.executable, "-m", "trialwise.schemes.flow"]
WANTED_SPEED, WANTED_CORE = 100.0, 60.0


def main() -> None:
    wanted = sys.argv[1:] or controllers()
    rows = [row(name) for name in wanted]
    write("schemes", [*rows, {"scheme": "kernel cubic", **udp("cubic", "tcp")}])
    assert all(one["simulated_speed"] >= WANTED_SPEED for one in rows)


def controllers() -> list[str]:
    """Return the controllers of the shipped schemes that fill a path by themselves."""
    schemes = [read_file(file) for file in sorted(SHIPPED.glob("udp-*.toml"))]
    return [
        str(scheme.simulated.congestion) for scheme in schemes if scheme.simulated and "bulk" in scheme.loads
    ]


def simulated(name: str, seconds: float) -> float:
    """Simulate one flow over 12 Mbit/s; return how many times faster than real time that was."""
    link = [[("rate", "12Mbit/s"), ("delay", "20ms"), ("queue", "droptail:bdp=1")]]
    began = time.process_time()
    _core.simulate_path(link, link, [(name, "bulk", "uplink", 0.0, seconds)], directory=".", seed=1)
    return seconds / (time.process_time() - began)


def row(name: str) -> dict[str, object]:
    return {"scheme": name, "simulated_speed": round(simulated(name, SIMULATED), 1), **udp(name, "udp")}


def udp(name: str, transport: str) -> dict[str, object]:
    """Send for some seconds at 1 Gbit/s; return Mbit/s of the path and % of a core at that rate."""
    link = [[("rate", "1Gbit/s"), ("delay", "2ms"), ("queue", "droptail:bdp=1")]]
    with tempfile.TemporaryDirectory() as folder:
        path = _linux.Path(link, link, directory=folder, seed=1)
        try:
            receiver = started([*path.prefix("receiver"), *FLOW, transport, "receive", "--port", PORT])
            assert receiver.stdout is not None
            receiver.stdout.readline()
            words = [transport, "send", _linux.Path.address("receiver"), PORT, "--congestion", name]
            sender = started([*path.prefix("sender"), *FLOW, *words, "--time", f"{SECONDS}s"])
            cpu = used(sender)
            receiver.send_signal(signal.SIGTERM)
            cpu += used(receiver)
        finally:
            report = path.close()
    rate = report.uplink.delivered_bytes * 8 / SECONDS / 1e6
    return {
        "mbit_per_second": round(rate, 1),
        "core_percent": round(100 * cpu / SECONDS, 1),
        "core_percent_at_1_gbit": round(100 * cpu / SECONDS * 1000 / rate, 1) if rate else None,
    }


def started(words: Sequence[str | bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)


def used(program: subprocess.Popen[bytes]) -> float:
    """Wait for a program; return the seconds of processor time that it took."""
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
