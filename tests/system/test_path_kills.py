"""Kills at random instants: of runs, of commands inside paths and of checks of schemes; nothing is left, and runs go on."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE
from tests.system.paths import needs_paths

from trialwise import _linux
from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing

pytestmark = [needs_paths, pytest.mark.alone]

ROOT = os.geteuid() == 0
MARKER = "TRIALWISE_TEST_OF_KILLS"
SECONDS_TO_VANISH = 30.0
DAEMON = "setsid sh -c 'while :; do sleep 0.05; done' & (sleep 30 &) ; "
"""Processes that outlive the shell that starts them, one in a session of its own."""
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
EXPERIMENT = """
[experiment]
name = "kills"
seed = 5
[factors]
scheme = {schemes}
[trial]
kind = "path"
scheme = "{{scheme}}"
runtime = "0.4s"
lateness = "1s"
path = {{ rate = "12Mbit/s", delay = "5ms", queue = "droptail:packets=50" }}
[metrics.throughput]
[design]
series = 1
rounds = 1
"""


@dataclass(frozen=True)
class Place:
    """Where killed commands run: a network that nothing else changes (as root), a folder, a place for temporary files."""

    folder: Path
    host: int
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def environment(self) -> dict[str, str]:
        own = {MARKER: self.token, "TMPDIR": str(self.folder / "temporary"), "HOME": str(self.folder)}
        return {**os.environ, **own, "COLUMNS": "200"}

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        """Start a command in the network, in a process group of its own."""
        enter = ["nsenter", f"--net=/proc/{self.host}/ns/net"] if self.host != os.getpid() else []
        return subprocess.Popen(
            [*enter, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def processes(self) -> list[str]:
        """The processes that descend from what was started, whatever became of their parents."""
        needle = f"{MARKER}={self.token}".encode()
        names = (path.name for path in Path("/proc").glob("[0-9]*"))
        return [name for name in names if needle in contents(f"{name}/environ")]

    def traces(self) -> dict[str, object]:
        """What a path or a trial could leave on the machine."""
        shared = Path("/dev/shm")  # noqa: S108
        return {
            "processes": self.processes(),
            "devices": sorted(line.split(b":")[0].strip() for line in self._net("dev").splitlines()[2:]),
            "routes": sorted(self._net("route").splitlines()) + sorted(self._net("ipv6_route").splitlines()),
            "congestion controls": congestion_controls(),
            "files": sorted(path.name for path in (self.folder / "temporary").iterdir()),
            "hidden files": sorted(path.name for path in self.folder.glob(".trialwise*")),
            "shared memory": sorted(path.name for path in shared.glob("trialwise*"))
            if shared.is_dir()
            else [],
            "mounts": contents("self/mounts").count(b"nsfs"),
        }

    def _net(self, table: str) -> bytes:
        found = contents(f"{self.host}/net/{table}")
        # The counters of the test's own network change by themselves where it could not have one of its own.
        return b"\n".join(b" ".join(line.split()[:5]) for line in found.splitlines())


def contents(name: str) -> bytes:
    """A file of /proc; empty where it is gone, or another user's."""
    try:
        return Path("/proc", name).read_bytes()
    except OSError:
        return b""


def congestion_controls() -> list[bytes]:
    """Ours among those that the kernel has now, but for those that somebody else on this machine holds."""
    known = contents("sys/net/ipv4/tcp_available_congestion_control").split()
    found = sorted(name for name in known if name.startswith(b"tw_"))
    return [] if found and any(holds_programs(process) for process in Path("/proc").glob("[0-9]*")) else found


def holds_programs(process: Path) -> bool:
    """Whether a process keeps programs attached to the kernel."""
    try:
        names = [path.name for path in (process / "fdinfo").iterdir()]
    except OSError:
        return False
    return any(b"struct_ops" in contents(f"{process.name}/fdinfo/{name}") for name in names)


@pytest.fixture(scope="module")
def network() -> Iterator[int]:
    """A process in a network of its own with a server of iperf3, where one may be made; else this process."""
    if not ROOT:
        yield os.getpid()
        return
    script = "ip link set lo up 2>/dev/null; exec iperf3 --server --idle-timeout 2 >/dev/null 2>&1"
    if shutil.which("iperf3") is None:
        script = "exec sleep 3600"
    holder = subprocess.Popen(["unshare", "--net", "sh", "-c", script])
    deadline = time.monotonic() + 60
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield holder.pid
    holder.kill()
    holder.wait()


@pytest.fixture
def place(tmp_path: Path, network: int) -> Iterator[Place]:
    yield from prepared(tmp_path, network)


def prepared(folder: Path, network: int) -> Iterator[Place]:
    (folder / "temporary").mkdir()
    (folder / "temporary").chmod(0o777)
    (folder / "up.trace").write_text("1\n2\n3\n4\n6\n")
    made = Place(folder, network)
    yield made
    for name in made.processes():
        os.kill(int(name), signal.SIGKILL)


def schemes() -> list[str]:
    """A scheme of the kernel's, one of our own transport, and one that is attached to the kernel, as far as they run here."""
    return [name for name in ("cubic", "udp-copa", "vegas") if not missing(scheme_named(name, []))]


def write_experiment(place: Place) -> None:
    text = ", ".join(f'"{name}"' for name in schemes())
    (place.folder / "experiment.toml").write_text(EXPERIMENT.format(schemes=f"[{text}]"))


def run_words(directory: Path) -> list[str | Path]:
    return [*TRIALWISE, "run", "experiment.toml", "--directory", directory, "--quiet"]


def kill_at(place: Place, rng: random.Random, words: list[str | Path], longest: float) -> bool:
    """Start a command, kill it or its whole group at a random instant, and look at what it leaves.

    The answer is whether it was still running then.
    """
    before = place.traces()
    process = place.start(*words)
    moment, number, whole_group = rng.uniform(0, longest), rng.choice(SIGNALS), rng.random() < 0.5
    time.sleep(moment)
    was_running = process.poll() is None
    if was_running:
        (os.killpg if whole_group else os.kill)(process.pid, number)
    said = f"signal {number.name} to {'the group' if whole_group else 'the process'} after {moment:.4f} s: {words}"
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        pytest.fail(f"goes on after {said}")
    deadline = time.monotonic() + SECONDS_TO_VANISH
    while (left := place.traces()) != before:
        differences = {key: (before[key], left[key]) for key in left if left[key] != before[key]}
        assert time.monotonic() < deadline, (said, differences)
        time.sleep(0.02)
    return was_running


def seconds_of(place: Place, words: list[str | Path]) -> float:
    """How long a command takes that nobody kills."""
    started = time.monotonic()
    assert place.start(*words).wait(60) == 0
    return time.monotonic() - started


def plan_of(directory: Path) -> list[tuple[object, ...]]:
    """What is planned: the same after any number of kills."""
    ledger = sqlite3.connect(f"file:{directory}/ledger.sqlite?mode=ro", uri=True)
    try:
        assert ledger.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        rows = ledger.execute(
            "SELECT number, status, treatment, seed FROM trial ORDER BY number, attempt"
        ).fetchall()
    finally:
        ledger.close()
    assert len({row[0] for row in rows if row[1] == "finished"}) == sum(row[1] == "finished" for row in rows)
    return sorted({(number, treatment, seed) for number, _, treatment, seed in rows})


def check_goes_on(place: Place, directory: Path, plan: list[tuple[object, ...]]) -> None:
    """Running again completes the plan, and the directory has no more than it should."""
    process = place.start(*run_words(directory))
    assert process.wait(60) == 0
    assert plan_of(directory) == plan
    assert len(plan) == len(schemes())
    expected = {
        ".lock",
        "environments",
        "experiment.toml",
        "ledger.sqlite",
        "logs",
        "outputs",
        "samples",
        "schemes",
    }
    assert {path.name for path in directory.iterdir()} - {
        "ledger.sqlite-wal",
        "ledger.sqlite-shm",
        "scratch",
    } == expected
    assert list(directory.glob("scratch/*")) == []
    assert list(directory.rglob("*.tmp")) == []


def without_tun(words: list[str | Path]) -> list[str | Path]:
    """A command where /dev/net/tun is not to be had, so that packet devices take over."""
    hide = 'mount -t tmpfs none /dev/net && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", hide, "sh", *words]


def path_commands() -> dict[str, list[str | Path]]:
    """Commands inside paths, of the kinds that this user can have."""
    path: list[str | Path] = [*TRIALWISE, "path"]
    sleeper = ["--", "sh", "-c", DAEMON + "sleep 0.5"]
    client = ["--", "sh", "-c", "timeout 2 iperf3 -c $TRIALWISE_PEER -t 0.5 || sleep 0.5"]
    shells = ["mm-delay", "5", "mm-link", "up.trace", "up.trace", "--uplink-log=up.log"]
    found: dict[str, list[str | Path]] = {
        "log": [*path, "--rate", "12Mbit/s", "--log", "packets.log", "--force", *sleeper],
        "shells": [*path, *shells, *client],
        "check": [*TRIALWISE, "schemes", "check", "cubic"],
    }
    if ROOT:
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        found["packet devices"] = without_tun([*path, "--delay", "2ms", *client])
        found["packet devices in a user namespace"] = [
            "unshare",
            "--user",
            "--map-root-user",
            "--net",  # packet devices take a network that is this user's own
            *without_tun([*path, "--delay", "2ms", *client]),
        ]
        if (
            subprocess.run(
                [*nobody, sys.executable, "-c", ""], check=False, stderr=subprocess.DEVNULL
            ).returncode
            == 0
        ):
            found["relay"] = [*nobody, *path, "--delay", "2ms", *sleeper]
    return found


def kill_runs(place: Place, rng: random.Random, kills: int) -> int:
    """Kill runs, each directory often until its plan is used up; how many were still at work."""
    write_experiment(place)
    reference = place.folder / "reference"
    longest = seconds_of(place, run_words(reference))
    plan = plan_of(reference)
    at_work, directory = 0, None
    for kill in range(kills):
        directory = directory or place.folder / f"results-{kill}"
        at_work += kill_at(place, rng, run_words(directory), longest)
        if kill == kills - 1 or (kill % 5 == 4):
            check_goes_on(place, directory, plan)
            shutil.rmtree(directory)
            directory = None
    return at_work


def test_killed_runs_leave_nothing_and_go_on_with_the_same_plan(place: Place):
    assert kill_runs(place, random.Random(31), 5) >= 2


@pytest.mark.parametrize("kind", list(path_commands()))
def test_killed_paths_and_checks_leave_nothing(place: Place, kind: str):
    words, found = path_commands()[kind], 0
    longest = seconds_of(place, words)
    for kill in range(10):
        found += kill_at(place, random.Random(f"{kind} {kill}"), words, longest)
        if found and kill:
            break
    assert found


def test_signals_do_not_disturb_the_making_of_a_path():
    came: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: came.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.013, 0.013)
    try:
        for _ in range(10):
            _linux.Path([[("delay", "1ms")]], [[("delay", "1ms")]], directory=".", seed=1).close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came


@pytest.mark.soak
def test_a_hundred_kills_of_paths_and_checks_leave_nothing(place: Place):
    rng = random.Random(32)
    commands = [(words, seconds_of(place, words)) for words in path_commands().values()]
    assert sum(kill_at(place, rng, *rng.choice(commands)) for _ in range(100)) >= 50


@pytest.mark.soak
def test_a_hundred_kills_of_runs_leave_nothing(place: Place):
    assert kill_runs(place, random.Random(33), 100) >= 60
