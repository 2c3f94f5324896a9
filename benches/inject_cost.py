"""What one inject of three int32 costs the calling thread: from C by both interfaces, and from Rust, side by side.

    .venv/bin/python benches/inject_cost.py

Raw, and with an avg filter over 100 samples. The program sends to a collector that discards. The result is kept in
benches/results/inject_cost.json. Bounds: the mean over a batch (the median of these) 100 ns raw and 30 ns with the filter, the 99.9th
percentile of single injects 5 µs.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from measuring import write

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "target" / "release"
LINE = re.compile(r"(.+): median (\d+) ns, p99.9 (\d+) ns \(n = (\d+)\)")


def discarding_collector() -> str:
    """The address of a collector that reads and forgets."""
    listener = socket.create_server(("127.0.0.1", 0))

    def discard(peer: socket.socket) -> None:
        buffer = bytearray(1 << 20)
        while peer.recv_into(buffer):
            pass

    def accept() -> None:
        while True:
            threading.Thread(target=discard, args=[listener.accept()[0]], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


def build(folder: Path) -> Path:
    """The C program, against the library as it is installed."""
    build_rust = ["cargo", "build", "--release", "--quiet", "--locked"]
    subprocess.run([*build_rust, "-p", "trialwise-streams-c"], cwd=ROOT, check=True)
    subprocess.run([*build_rust, "-p", "trialwise-streams", "--example", "inject_cost"], cwd=ROOT, check=True)
    subprocess.run(["sh", ROOT / "crates/streams-c/install.sh", BUILT, folder], check=True)
    program = folder / "inject_cost"
    source = Path(__file__).with_suffix(".c")
    libraries = ["-L", folder / "lib", "-loml2", "-locomm", f"-Wl,-rpath,{folder}/lib"]
    subprocess.run(["cc", "-O2", "-I", folder / "include", source, "-o", program, *libraries], check=True)
    return program


def run(command: list[str | Path], window: str) -> list[dict[str, object]]:
    """The figures that a program prints."""
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "something was lost" in printed:
        sys.exit(f"{command[0]} lost samples: {printed}")
    rows = [(line, LINE.fullmatch(line)) for line in printed.splitlines()]
    return [
        {
            "call": found[1] if found[1].startswith(("C", "the clock")) else f"Rust, {found[1]}",
            "window": window,
            "median_ns": int(found[2]),
            "p999_ns": int(found[3]),
            "n": int(found[4]),
        }
        for _, found in rows
        if found
    ]


def bound(row: dict[str, object]) -> float | None:
    """What a row may be at most, in nanoseconds."""
    call, filtered = str(row["call"]), "avg" in f"{row['call']} {row['window']}"
    if "clock" in call:
        return None
    if "single" in call:
        return 5000
    return 30 if filtered else 100


def judge(row: dict[str, object]) -> bool:
    """Whether the row keeps its bound, which is noted in it."""
    most, key = bound(row), "p999_ns" if "single" in str(row["call"]) else "median_ns"
    row["bound_ns"] = most
    return most is None or row[key] <= most  # type: ignore[operator]


def main() -> None:
    address = discarding_collector()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        rows: list[dict[str, object]] = []
        for samples, window in (("1", "raw"), ("100", "avg over 100")):
            options = ["--oml-collect", f"tcp:{address}", "--oml-samples", samples, "--oml-log-level", "-2"]
            rows += run([program, *options], window)
        rows += run([BUILT / "examples" / "inject_cost", address], "both")
    kept = [judge(row) for row in rows]
    write("inject_cost", rows)
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
