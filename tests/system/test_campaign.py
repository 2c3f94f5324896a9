"""The shape of two days in a lab: services of three kinds, two machines, a secret, and everything that happens to a campaign."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.postgresql import programs
from tests.system.test_service_servers import AS_POSTGRES, processes_in
from tests.system.worker_machines import Machines, machines, missing

SECRET = "hunter2-of-the-lab"  # noqa: S105 nobody's
ROUNDS = 6
PORTS = {"cache": 11222, "web": 18081, "database": 15433}
"""In the network namespaces of the machines, where nobody else listens."""
TRIAL = """
import os, socket, subprocess, sys, time, urllib.request
store, trial, round, folder = sys.argv[1:]
print("token", os.environ["LAB_TOKEN"])
with socket.create_connection(("127.0.0.1", 11222)) as cache:
    cache.sendall(b"version\\r\\n")
    assert cache.recv(100).startswith(b"VERSION")
assert urllib.request.urlopen("http://127.0.0.1:18081/").status == 200
asked = [PSQL, "-h", "127.0.0.1", "-p", "15433", "-U", "postgres", "-Atc", "SELECT 7"]
rows = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
time.sleep(0.2)
os.makedirs("out", exist_ok=True)
with open("out/server.log", "w") as log:
    log.write(f"asked with {os.environ['LAB_TOKEN']}")
if store == "broken":
    sys.exit("the broken store")
with open(f"{folder}/tries-{trial}", "a+") as tries:
    tries.write("x")
    tries.seek(0)
    if round == "2" and store == "disk" and tries.read() == "x":
        sys.exit("the first try of its second round")
print("took", 1.5 if store == "memory" else 2.5)
print("rows", rows)
"""
EXPERIMENT = """
[experiment]
name = "campaign"
[factors]
store = ["memory", "disk", "broken"]
[trial]
command = "PYTHON FOLDER/trial.py {store} {trial} {round} FOLDER"
secret = ["LAB_TOKEN"]
keep = ["out/*.log"]
timeout = "40s"
retry = { on = ["failed", "invalid"], times = 2 }
[metrics.time]
stdout = 'took ([0-9.]+)'
unit = "s"
better = "lower"
[design]
series = 1
rounds = ROUNDS
[workers]
folder = "HOME"
heartbeat = "1s"
reconnect = "20s"
[service.cache]
start = "memcached -u root -l 127.0.0.1 -p 11222 -U 0 -P FOLDER/cache-pid"
ready = { port = 11222, timeout = "60s" }
for = "round"
[service.web]
start = "/usr/sbin/nginx -c FOLDER/nginx.conf -g 'daemon off;'"
ready = { http = "http://127.0.0.1:18081/", timeout = "60s" }
for = "series"
[service.database]
start = ["sh", "FOLDER/database.sh"]
ready = { log = "ready to accept connections", timeout = "120s" }
for = "series"
"""
NGINX = """
worker_processes 1; error_log stderr; pid SERVERS/web-pid; events { worker_connections 32; }
http { access_log off; client_body_temp_path SERVERS/body; proxy_temp_path SERVERS/proxy;
fastcgi_temp_path SERVERS/fastcgi; uwsgi_temp_path SERVERS/uwsgi; scgi_temp_path SERVERS/scgi;
server { listen 127.0.0.1:18081; location / { return 200; } } }
"""
DATABASE = """
data=$(mktemp -d -p SERVERS) && chmod 700 "$data" && cd "$data"
[ -z "SETPRIV" ] || chown postgres "$data"
SETPRIVBIN/initdb -D "$data" -U postgres -A trust --no-sync --locale=C >/dev/null
exec SETPRIVBIN/postgres -D "$data" -c listen_addresses=127.0.0.1 -p 15433 -c fsync=off -c unix_socket_directories="$data"
"""


@pytest.fixture
def open_bench() -> Iterator[Bench]:
    """A folder beside which the database's user has one."""
    folder = Path(tempfile.mkdtemp(prefix="trialwise-campaign-"))
    folder.chmod(0o755)
    (folder / "servers").mkdir()
    (folder / "lab").mkdir()
    yield Bench(folder / "lab")
    shutil.rmtree(folder)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    if missing() is not None or programs() is None:
        pytest.skip(missing() or "PostgreSQL is not installed")
    for program in ("memcached", "/usr/sbin/nginx"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with machines(tmp_path, 2) as made:
        yield made


class Campaign:
    """An experiment, and the run of it in progress."""

    def __init__(self, bench: Bench, two: Machines) -> None:
        self.bench, self.two = bench, two
        self.run: subprocess.Popen[bytes] | None = None
        self.said = bench.folder / "said"
        words = {
            "FOLDER": str(bench.folder),
            "SERVERS": str(bench.folder.parent / "servers"),
            "PYTHON": sys.executable,
            "ROUNDS": str(ROUNDS),
            "HOME": str(two[0].home),
            "SETPRIVBIN": f"{AS_POSTGRES}{programs()}",
            "SETPRIV": AS_POSTGRES,
            "PSQL": repr(f"{programs()}/psql"),
        }
        texts = {
            "experiment.toml": EXPERIMENT,
            "trial.py": TRIAL,
            "nginx.conf": NGINX,
            "database.sh": DATABASE,
        }
        for name, text in texts.items():
            filled = text
            for word, value in words.items():
                filled = filled.replace(word, value)
            (bench.folder / name).write_text(filled)

    def begin(self, *words: str) -> None:
        command = [*TRIALWISE, "run", str(self.bench.file), "--directory", str(self.bench.directory), *words]
        with self.said.open("w") as said:
            environment = {**os.environ, "LAB_TOKEN": SECRET}
            self.run = subprocess.Popen(command, cwd=self.bench.folder, stderr=said, env=environment)

    def counts(self) -> Counter[tuple[str | None, str]]:
        if not (self.bench.directory / "ledger.sqlite").exists():
            return Counter()
        return Counter((row.worker, row.status) for row in self.bench.rows())

    def wait_for(self, condition: Callable[[Counter[tuple[str | None, str]]], object]) -> None:
        assert self.run is not None
        deadline = time.monotonic() + 150
        while not condition(self.counts()):
            assert self.run.poll() is None, self.said.read_text()
            assert time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        assert self.run is not None
        self.run.kill()
        self.run.wait()

    def end(self, expected: int = 0) -> str:
        assert self.run is not None
        code = self.run.wait(timeout=200)
        assert code == expected, self.said.read_text()
        return self.said.read_text()

    def ask(self, verb: str, *words: str, expected: int = 0) -> str:
        done = self.bench.compute(verb, *words)
        assert done.returncode == expected, done.stderr
        return " ".join(done.stdout.split())

    def caches(self) -> list[int]:
        """The memcached of this campaign that run."""
        mark = f"{self.bench.folder}/cache-pid".encode()
        processes = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
        return [each for each in processes if words_of(each)[0] == b"memcached" and mark in words_of(each)]


def words_of(process: int) -> list[bytes]:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]


def test_a_campaign_that_is_killed_and_changed_all_the_time_accounts_for_every_trial(
    open_bench: Bench, two: Machines, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(two.configuration))
    campaign, bench = Campaign(open_bench, two), open_bench
    directory, (first, second) = str(bench.directory), two.names
    # The first evening: one machine, until the runner is killed.
    campaign.begin("--workers", first)
    campaign.wait_for(lambda counts: counts[first, "finished"] >= 2 and counts[first, "failed"] >= 1)
    campaign.kill()
    bad = bench.rows("finished")[0]
    number = str(bad.number)
    campaign.ask("exclude", directory, number, "--because", "the cable was loose", "--by", "ann")
    campaign.ask("skip", directory, "store=broken", "--because", "it never worked", "--by", "bob")
    # The night: a second machine joins, and a server dies.
    campaign.begin("--workers", first)
    campaign.wait_for(lambda counts: counts[first, "finished"] >= 3)
    campaign.ask("workers", "add", directory, second, "--by", "ann")
    campaign.wait_for(lambda counts: counts[second, "finished"] >= 1)
    for process in campaign.caches():
        os.kill(process, signal.SIGKILL)
    campaign.wait_for(lambda counts: counts[second, "finished"] >= 3)
    campaign.ask("pause", directory, "--because", "a demonstration", "--by", "ann")
    said = campaign.end(expected=130)
    assert "trialwise run" in said
    assert "/25, " in said or "/25]" in said, said  # trials in all, with those of the machine that joined
    # The next day: another metric, and another time limit.
    text = bench.file.read_text()
    assert "[design]" in text
    text = text.replace("[design]", "[metrics.rows]\nstdout = 'rows ([0-9]+)'\n[design]")
    bench.file.write_text(text.replace('timeout = "40s"', 'timeout = "45s"'))
    campaign.begin("--workers", f"{first},{second}", "--reread")
    before = len(bench.rows("finished"))
    campaign.wait_for(lambda counts: sum(counts[each, "finished"] for each in two.names) > before)
    campaign.kill()
    campaign.begin("--workers", f"{first},{second}")
    said = campaign.end(expected=4)  # a trial of the broken store had failed for good before it was skipped
    assert "complete" in said, said
    check(campaign, number)


def check(campaign: Campaign, excluded: str) -> None:
    """Every trial is accounted for, every change is told, nothing knows the secret, and nothing runs any more."""
    bench, second = campaign.bench, campaign.two.names[1]
    directory = str(bench.directory)
    counted = Counter((row.worker, row.status) for row in bench.rows())
    for worker in campaign.two.names:
        of_worker = {status: count for (name, status), count in counted.items() if name == worker}
        assert of_worker["finished"] + of_worker.get("excluded", 0) == 2 * ROUNDS, counted
    ends = {"finished", "excluded", "failed", "invalid", "abandoned", "skipped"}
    assert {status for _, status in counted} <= ends, counted
    values = [each.round for each in bench.rows("finished")]
    assert set(values) == set(range(1, ROUNDS + 1))
    status = campaign.ask("status", directory, "--check", expected=4)
    report = bench.folder / "report.html"
    campaign.ask("report", directory, "-o", str(report))
    page = report.read_text()
    for told in ("the cable was loose", "it never worked", "a demonstration"):
        assert told in status, (told, status)
        assert told in page, told
    for told in ("measured in a retry", "metrics.rows", "40s → 45s", second):
        assert told in page, told
    analysis = json.loads(bench.compute("analyze", directory, "--json").stdout)
    assert f"trial {excluded}" in json.dumps(analysis)
    for root in (bench.directory, *(Path(each.home) for each in campaign.two)):
        # What a program writes into the folder that it runs in is its own.
        for file in (each for each in root.rglob("*") if each.is_file() and each.name != "server.log"):
            assert SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in page
    deadline = time.monotonic() + 60
    while campaign.caches() or processes_in(bench.folder.parent):
        assert time.monotonic() < deadline, "something still runs"
        time.sleep(0.1)
