"""Run network and load tools on this machine, and keep what they write as fixtures: `python tests/golden/formats/make_load_tools.py`.

Needs fio, fping, irtt, perf, iperf, iperf3, hey, ab, wrk and sysbench of Debian 12; all traffic stays on the loopback interface.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

DATA = Path(__file__).parent / "data"
CLOSED = "http://127.0.0.1:1/"


def run(command, into):
    """Keep what a command prints, on standard error too."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    path = DATA / into
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(done.stdout)


def with_server(server, command, into):
    """Run a command while its server runs."""
    serving = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        run(command, into)
    finally:
        serving.kill()
        serving.wait()


def make():
    """Make all fixtures."""
    with tempfile.TemporaryDirectory() as folder:
        fio = ["fio", "--name=a", "--bs=4k", "--size=256k", f"--directory={folder}"]
        run([*fio, "--rw=randread", "--output-format=terse"], "fio/terse.txt")
        run([*fio, "--rw=read", "--output-format=normal,json"], "fio/after_text.json")
        run([*fio, "--rw=randrw", "--numjobs=2", "--output-format=json"], "fio/clones.json")
    run(["fping", "-C", "5", "-p", "20", "-q", "127.0.0.1"], "fping/quiet.txt")
    run(
        ["perf", "stat", "-x,", "-I", "100", "-e", "task-clock,cycles", "sleep", "0.25"],
        "perf-stat/intervals.csv",
    )
    run(
        ["perf", "stat", "-x;", "-e", "task-clock,page-faults", "true"],
        "perf-stat/semicolons.csv",
    )
    run(
        ["perf", "stat", "-x,", "-a", "-A", "-e", "task-clock", "true"],
        "perf-stat/processors.csv",
    )
    run(["sysbench", "threads", "--time=1", "run"], "sysbench/threads.txt")
    run(["wrk", "-t1", "-c2", "-d1s", CLOSED], "wrk/refused.txt")
    run(["ab", "-n", "5", CLOSED], "ab/refused.txt")
    run(["hey", "-n", "20", "-c", "2", CLOSED], "hey/refused.txt")
    with_server(
        ["irtt", "server", "-b", "127.0.0.1:2199"],
        ["irtt", "client", "-i", "20ms", "-d", "300ms", "127.0.0.1:2199"],
        "irtt/client.txt",
    )
    with_server(
        ["iperf", "-s", "-u", "-p", "5397"],
        ["iperf", "-c", "127.0.0.1", "-u", "-b", "5M", "-p", "5397", "-t", "1", "-y", "C"],
        "iperf2/udp_client.csv",
    )
    with_server(
        ["iperf3", "-s", "-1", "-p", "5398"],
        ["iperf3", "-c", "127.0.0.1", "-p", "5398", "-R", "-P", "2", "-O", "1", "-i", "0.5", "-t", "1", "-J"],
        "iperf3/omitted.json",
    )


if __name__ == "__main__":
    sys.exit(make())
