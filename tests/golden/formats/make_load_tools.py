"""Run network and load tools on this machine, and keep what they write as fixtures: `python tests/golden/formats/make_load_tools.py`.

Needs fio, fping, irtt, perf, iperf, iperf3, hey, ab, wrk and sysbench of Debian 12, vegeta 12, bombardier and k6 1.8 built by
`go install`, oha built by `cargo install`, iperf3 3.21+ built from its source as iperf3-3.21, netperf 2.7.0 of Debian (non-free), and
owping, owampd and owstats 5.2.3;
all traffic stays on the loopback interface.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread

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


class Failing(BaseHTTPRequestHandler):
    """Answers every fourth request with an error."""

    number = count(1)

    def do_GET(self):
        """Answer."""
        self.send_response(200 if next(self.number) % 4 else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Print nothing."""


SCRIPT = """
import http from 'k6/http';
import { check } from 'k6';
import { Counter, Rate, Trend } from 'k6/metrics';
const wait = new Trend('my_wait', true), calls = new Counter('my_calls'), good = new Rate('my_good');
export const options = { vus: 2, iterations: 4, thresholds: { http_req_failed: ['rate<0.01'] } };
export default function () {
  const answer = http.get(__ENV.URL);
  wait.add(answer.timings.waiting); calls.add(1); good.add(answer.status == 200);
  check(answer, { ok: (answer) => answer.status == 200 });
}
"""
HANDLED = "export function handleSummary(data) { return { [__ENV.INTO]: JSON.stringify(data) }; }"


def make_http():
    """Make the fixtures of tools that load a server in HTTP."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as folder:
        for name, target in (("answers", url), ("refused", CLOSED)):
            attack = Path(folder, name)
            attack.write_bytes(
                subprocess.run(
                    ["vegeta", "attack", "-rate", "40", "-duration", "1s"],
                    input=f"GET {target}".encode(),
                    stdout=subprocess.PIPE,
                    check=True,
                ).stdout
            )
            run(["vegeta", "report", "-type", "json", attack], f"vegeta/{name}.json")
            run(["vegeta", "encode", "-to", "csv", attack], f"vegeta/{name}.csv")
            run(
                ["bombardier", "-c", "2", "-n", "20", "-l", "-o", "json", "-p", "r", target],
                f"bombardier/{name}.json",
            )
            oha = ["oha", "--no-tui", "-n", "40", "-c", "2"]
            run([*oha, "--output-format", "json", target], f"oha/{name}.json")
        run([*oha, "--output-format", "csv", url], "oha/answers.csv")
        run([*oha, url], "oha/printed.txt")
        run(["vegeta", "report", "-type", "hdrplot", Path(folder, "answers")], "vegeta/percentiles.txt")
        script, handled = Path(folder, "a.js"), Path(folder, "b.js")
        script.write_text(SCRIPT)
        handled.write_text(SCRIPT + HANDLED)
        (DATA / "k6").mkdir(exist_ok=True)
        k6 = ["k6", "run", "-q", "--no-usage-report", "--env", f"URL={url}"]
        outs = [
            f"--summary-export={DATA}/k6/export.json",
            f"--out=json={DATA}/k6/points.jsonl",
            f"--out=csv={DATA}/k6/points.csv",
        ]
        subprocess.run(
            [*k6, *outs, script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        subprocess.run(
            [*k6, "--env", f"INTO={DATA}/k6/handled.json", handled], stderr=subprocess.DEVNULL, check=False
        )
    server.shutdown()


OWAMPD = """vardir {0}
datadir {0}
authmode O
"""
LIMITS = """limit root with delete_on_fetch=on, bandwidth=0, disk=0, allow_open_mode=on
assign default root
"""


def make_owping():
    """Make the fixtures of owping: one session is cut short by its limit of time, so that packets are lost."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "owamp-server.conf").write_text(OWAMPD.format(folder))
        Path(folder, "owamp-server.limits").write_text(LIMITS)
        shutil.chown(folder, "nobody", "nogroup")
        server = ["owampd", "-Z", "-c", folder, "-S", "127.0.0.1:8861", "-f", "-U", "nobody", "-G", "nogroup"]
        ping = ["owping", "-4", "-t", "-i", "0.001e", "-c"]
        for name, options in (
            ("microseconds.txt", ["20", "-n", "u"]),
            ("seconds.txt", ["20", "-n", "s"]),
            ("packets.txt", ["5", "-v"]),
            ("parts.txt", ["40", "-N", "20"]),
            ("machine.txt", ["20", "-M"]),
            ("raw.txt", ["30", "-R", "-L", "0.001"]),
        ):
            with_server(server, [*ping, *options, "127.0.0.1:8861"], f"owping/{name}")


def make_netperf():
    """Make the fixtures of netperf: tables whose columns have names, a rate of another unit, and a rate alone."""
    run_netperf = ["netperf", "-4", "-H", "127.0.0.1", "-p", "12999", "-l", "1"]
    named = ["-O", "THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY,MEAN_LATENCY"]
    for name, options in (
        ("omni.txt", ["-t", "omni", "--", "-d", "maerts"]),
        ("named.txt", ["-t", "TCP_RR", "--", *named]),
        ("bits_of_requests.txt", ["-t", "TCP_RR", "-f", "m"]),
        ("megabytes.txt", ["-f", "M", "-c", "-C"]),
        ("datagrams.txt", ["-t", "UDP_STREAM", "-f", "K"]),
        ("rate.txt", ["-v", "0"]),
    ):
        server = ["netserver", "-4", "-D", "-L", "127.0.0.1", "-p", "12999"]
        with_server(server, [*run_netperf, *options], f"netperf/{name}")


def make():
    """Make all fixtures."""
    make_owping()
    make_netperf()
    with tempfile.TemporaryDirectory() as folder:
        fio = ["fio", "--name=a", "--bs=4k", "--size=256k", f"--directory={folder}"]
        run([*fio, "--rw=randread", "--output-format=terse"], "fio/terse.txt")
        run([*fio, "--rw=read", "--output-format=normal,json"], "fio/after_text.json")
        run([*fio, "--rw=randrw", "--numjobs=2", "--output-format=json"], "fio/clones.json")
    run(["fping", "-C", "5", "-p", "20", "-q", "127.0.0.1"], "fping/quiet.txt")
    run(["fping", "-c", "3", "-p", "20", "-q", "127.0.0.1"], "fping/counted.txt")
    for form, into in ((["-x,"], "appended.csv"), (["-j"], "appended.jsonl")):
        written = DATA / "perf-stat" / into
        written.unlink(missing_ok=True)
        for command in (["true"], ["sleep", "0.1"]):
            kept = ["--append", "-o", str(written), "-e", "task-clock,page-faults"]
            subprocess.run(["perf", "stat", *form, *kept, *command], check=True)
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
    mutex = ["--mutex-num=10", "--mutex-locks=10", "--mutex-loops=1"]
    run(["sysbench", "mutex", *mutex, "run"], "sysbench/mutex.txt")
    run(["sysbench", "mutex", "--verbosity=4", *mutex, "run"], "sysbench/mutex_named.txt")
    make_http()
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
    stream = [
        "iperf3-3.21",
        "-c",
        "127.0.0.1",
        "-p",
        "5398",
        "-t",
        "2",
        "-O",
        "1",
        "-i",
        "0.5",
        "--json-stream",
    ]
    with_server(["iperf3-3.21", "-s", "-1", "-p", "5398"], stream, "iperf3/omitted.jsonl")
    run(stream, "iperf3/refused.jsonl")


if __name__ == "__main__":
    sys.exit(make())
