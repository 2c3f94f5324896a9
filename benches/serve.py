"""What three open pages of `trialwise serve` cost a run: trials with the pages beside trials without, interleaved, in one run.

    .venv/bin/python benches/serve.py [PAIRS]

While an experiment of short computing trials runs, three pages listen for `PHASE` seconds, then nobody, in an order drawn anew for
each pair. The ratio is of the mean durations of trials, with the interval of its logarithm over the pairs; the share is the processor
time of the page's process over the time that passed. Browsers, which may be elsewhere, are not in it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

from measuring import processor
from trialwise import statistics as st
from trialwise.store.ledger import Ledger

RESULT = Path(__file__).parent / "results" / "serve.json"
PHASE, SETTLE = 6.0, 1.0
PAGES = 3
EXPERIMENT = """
[experiment]
name = "watched"
[factors]
amount = ["some", "more"]
[trial]
kind = "python"
call = "watched:work"
[metrics.time]
unit = "s"
better = "lower"
[design]
rounds = 4000
"""
WORK = """
import time

def work(amount):
    begun = time.perf_counter()
    sum(number * number for number in range(300_000 if amount == "some" else 400_000))
    return {"time": time.perf_counter() - begun}
"""
Phase = tuple[bool, float, float]


def used(process: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def pages(address: str, number: int) -> Generator[None]:
    """As many clients that take every event of the experiment's page."""
    parts = urlsplit(address)
    with contextlib.ExitStack() as held:
        for _ in range(number):
            client = held.enter_context(socket.create_connection((parts.hostname, parts.port)))
            client.sendall(
                f"GET {parts.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            )
            overview = b"".join(iter(lambda c=client: c.recv(65536), b"")).decode()
            key = re.findall(r"e/(\w{12})/", overview)[0]
            stream = held.enter_context(socket.create_connection((parts.hostname, parts.port)))
            stream.sendall(f"GET {parts.path}events?e={key} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            threading.Thread(target=drain, args=(stream,), daemon=True).start()
        yield


def drain(stream: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while stream.recv(65536):
            pass


def measure(folder: Path, pairs: int, rng: random.Random) -> tuple[list[Phase], float]:
    """The phases, and the processor time of the page's process per second that pages listened."""
    (folder / "watched.toml").write_text(EXPERIMENT)
    (folder / "watched.py").write_text(WORK)
    program = str(Path(sys.executable).parent / "trialwise")
    with subprocess.Popen(
        [program, "run", "watched.toml", "--quiet"], cwd=folder, start_new_session=True
    ) as run:
        while not (folder / "watched.results" / "ledger.sqlite").exists():
            time.sleep(0.1)
        with subprocess.Popen(
            [program, "serve", "."], cwd=folder, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            address = re.findall(r"http://\S+", server.stdout.readline())[0]
            with pages(address, 1):
                time.sleep(3 * SETTLE)  # what is imported at the first page
            phases: list[Phase] = []
            spent = 0.0
            for has_pages in (each for _ in range(pairs) for each in rng.sample([True, False], 2)):
                with pages(address, PAGES) if has_pages else contextlib.nullcontext():
                    time.sleep(SETTLE)
                    before, begun = used(server.pid), time.time()
                    time.sleep(PHASE)
                    phases.append((has_pages, begun, time.time()))
                    spent += used(server.pid) - before if has_pages else 0.0
            server.send_signal(signal.SIGINT)
        os.killpg(run.pid, signal.SIGKILL)
    return phases, spent / (pairs * PHASE)


def ratios(folder: Path, phases: list[Phase]) -> list[float]:
    """Logarithms of the mean duration of trials with pages over that without, one for each pair."""
    ledger = Ledger.open(folder / "watched.results" / "ledger.sqlite", read_only=True)
    rows = [row for row in ledger.trials("finished") if row.started is not None and row.finished is not None]
    ledger.close()
    means = [
        (
            has_pages,
            statistics.fmean(
                row.finished - row.started for row in rows if begun <= row.started and row.finished <= ended
            ),
        )
        for has_pages, begun, ended in phases
    ]
    logs = []
    for pair in zip(means[::2], means[1::2], strict=True):
        by = dict(pair)
        logs.append(math.log(by[True] / by[False]))
    return logs


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seed = time.time_ns() % (1 << 32)
    with tempfile.TemporaryDirectory() as name:
        phases, share = measure(Path(name), pairs, random.Random(seed))  # noqa: S311 an order of measurements
        logs = ratios(Path(name), phases)
    found = st.mean_interval(logs, confidence=95)
    result = {
        "processor": processor(),
        "pages": PAGES,
        "pairs": pairs,
        "seed": seed,
        "ratio": math.exp(found.estimate),
        "low": math.exp(found.low),
        "high": math.exp(found.high),
        "share_of_a_core": share,
        "load": os.getloadavg()[0],
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
