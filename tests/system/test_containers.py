"""Containers of podman as trials, services and resets, inside a mount namespace with a /dev of its own."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench

from trialwise.store.ledger import Ledger

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("podman") is None or BUSYBOX is None,
    reason="needs root, podman and a static busybox",
)
OWN_DEV = """set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 dev /dev
for each in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 /dev/${each%:*} c 1 ${each#*:}; done
mkdir /dev/pts /dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
{}
echo ready
exec sleep 600
"""
"""Podman and its runtimes make and bind devices: those of the machine are out of their reach."""
CGROUPS = {
    1: """mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup
for each in $(awk '$2 > 0 && $4 == 1 { print $1 }' /proc/cgroups) name=systemd; do
  mkdir /sys/fs/cgroup/${each#*=}
  case $each in name=*) each=none,$each ;; esac
  mount -t cgroup -o $each cgroup /sys/fs/cgroup/${each##*=} || rmdir /sys/fs/cgroup/${each##*=}
done""",
    2: "[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup",
}
"""Runtimes refuse a machine that has both versions of cgroups mounted: a room has one of them."""
OF_THIS_MACHINE = 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1
STORAGE = '[storage]\ndriver = "vfs"\nrunroot = "{0}/run"\ngraphroot = "{0}/graph"\n'
LIMITS = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
BOX = "podman run --network none box"
RUNTIME = "TRIALWISE_TEST_RUNTIME"
"""Environment variable: the runtime to use instead of the one that podman takes, as a path to runc or crun."""


@dataclass
class Room:
    """A mount namespace with a /dev, images and containers of its own; `user` are words that make a command that of another user."""

    first: int
    environment: dict[str, str]
    user: tuple[str, ...] = ()

    def __call__(self, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.line(*words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def line(self, *words: str) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self.first}/ns/mnt", "--wd=.", *self.user, *words]

    def containers(self) -> list[str]:
        done = self("podman", "ps", "--all", "--format={{.Names}}")
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def run(self, bench: Bench, *words: str) -> str:
        """Run the experiment; return what is printed."""
        done = self(*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), *words)
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return stored_in(tmp_path_factory.mktemp("podman"))


def stored_in(folder: Path) -> dict[str, str]:
    """Return the environment of a podman with a storage of its own, and limits that need no rights over those of this process."""
    (folder / "storage.conf").write_text(STORAGE.format(folder))
    (folder / "containers.conf").write_text(LIMITS + runtime())
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(BUSYBOX or "", root / "bin" / "busybox")
    for name in ("sh", "sleep", "echo", "cat", "dd"):
        (root / "bin" / name).symlink_to("busybox")
    subprocess.run(["tar", "-C", root, "-cf", folder / "box.tar", "."], check=True)
    return {
        **os.environ,
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "BOX": str(folder / "box.tar"),
    }


def runtime() -> str:
    """Return what containers.conf says of the runtime."""
    path = Path(os.environ.get(RUNTIME, ""))
    name = path.name
    return f'[engine]\nruntime = "{name}"\n[engine.runtimes]\n{name} = ["{path}"]\n' if name else ""


@pytest.fixture(scope="module")
def room(store: dict[str, str]) -> Iterator[Room]:
    with room_with(OF_THIS_MACHINE, store) as found:
        yield found


@contextmanager
def room_with(
    version: int, environment: dict[str, str], *options: str, more: str = "", user: tuple[str, ...] = ()
) -> Iterator[Room]:
    """Yield a room with one version of cgroups, in which a container with these options can be started; `more` sets it up further."""
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", OWN_DEV.replace("{}", f"{CGROUPS[version]}\n{more}", 1)],
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        found = Room(first.pid, environment, user)
        try:
            if found("podman", "image", "exists", "box").returncode:
                found("podman", "import", environment["BOX"], "box")
            works = found("podman", "run", "--rm", "--network", "none", *options, "box", "echo", "hello")
            if works.stdout != "hello\n":
                pytest.skip(f"podman starts no container here: {works.stderr.strip()[-300:]}")
            yield found
        finally:
            found("podman", "rm", "--all", "--force", "--time=0")
            first.kill()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert Path("/dev/null").stat().st_rdev == os.makedev(1, 3)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


PASSED = 'pass = ["CONTAINERS_STORAGE_CONF", "CONTAINERS_CONF"]'
WORK = (
    'sh -c "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; '
    'dd if=/dev/zero of=/dev/shm/x bs=1M count=48; echo ran $(cat /proc/$$/schedstat)"'
)
"""Computes, fills 48 MiB of memory, and prints how many nanoseconds it ran (schedstat: of this process, dd apart)."""


def test_trials_in_containers_finish_and_leave_none(room: Room, bench: Bench):
    bench.write(f"{BOX} echo took {{n}}", "stdout = 'took ([0-9]+)'", trial=PASSED, factors="n = [3, 5]")
    assert "4 finished" in room.run(bench)
    # Nothing else: what the client used is not what the trial used.
    assert sorted(value or 0 for value in bench.values()) == [3, 3, 5, 5]
    assert room.containers() == []


@pytest.mark.parametrize("version", [1, 2])
def test_cpu_time_and_memory_are_those_of_the_container_and_not_of_its_client(
    store: dict[str, str], bench: Bench, version: int
):
    if version == 1 and OF_THIS_MACHINE == 2:
        pytest.skip("this machine has version 2 of cgroups alone")
    # Where version 1 has the controllers, version 2 has none for devices, processes and memory.
    options = ("--privileged", "--pids-limit=-1") if version != OF_THIS_MACHINE else ()
    with room_with(version, store, *options) as room:
        before = cgroups()
        command = " ".join([BOX.replace(" box", ""), *options, "box", WORK])
        asked = ("user", "system", *(["max_rss"] if version == OF_THIS_MACHINE else []))
        metrics = "".join(f'[metrics.{each}]\nresource = "{each}"\n' for each in asked)
        bench.write(command, "stdout = 'ran ([0-9]+)'", trial=PASSED, rest=metrics, rounds=1)
        assert "1 finished" in room.run(bench)
        assert cgroups() == before
    found = recorded_of(bench)
    [printed] = found["stdout|pattern:ran ([0-9]+)"]
    measured = found["resource:user"][0] + found["resource:system"][0]
    assert printed / 1e9 <= measured + 0.001
    assert measured < printed / 1e9 + 0.1
    if version == OF_THIS_MACHINE:
        assert 48 << 20 < found["resource:max_rss"][0] < 60 << 20


def test_what_systemd_would_measure_is_refused_with_what_lifts_it(room: Room, bench: Bench):
    command = f"{BOX} true".replace("podman", "podman --cgroup-manager=systemd")
    bench.write(command, 'resource = "user"', trial=PASSED)
    told = " ".join(room.run(bench).split())
    assert "podman --cgroup-manager=cgroupfs run" in told
    assert not bench.directory.exists()


@pytest.mark.soak
def test_the_container_of_a_trial_that_takes_too_long_is_ended(room: Room, bench: Bench):
    bench.write(f"{BOX} sleep 4321", trial=f'{PASSED}\ntimeout = "1.5s"', rounds=1)
    room.run(bench)
    [row] = bench.rows("failed")
    assert "timeout" in str(row.reason)
    assert room.containers() == []
    assert not processes("4321")


@pytest.mark.soak
def test_a_detached_container_fails_the_trial_and_is_ended(room: Room, bench: Bench):
    bench.write(BOX.replace("run", "run --detach") + " sleep 4322", trial=PASSED, rounds=1)
    room.run(bench)
    [row] = bench.rows("failed")
    assert "without --detach" in str(row.reason)
    assert room.containers() == []
    assert not processes("4322")


def test_the_container_of_a_killed_runner_does_not_outlive_the_next_run(room: Room, bench: Bench):
    bench.write(f"{BOX} sleep 4323", trial=f'{PASSED}\ntimeout = "1min"', rounds=1)
    words = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)]
    with subprocess.Popen(
        room.line(*words), env=room.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as runner:
        await_that(lambda: any(b"4323" in line[:40] for line in processes("4323")))
        runner.send_signal(signal.SIGKILL)
    await_that(lambda: not processes("4323"))
    bench.file.write_text(bench.file.read_text().replace("4323", "0"))
    said = room.run(bench, "--amend")
    assert "1 finished" in said, [row.reason for row in bench.rows("failed")]
    assert room.containers() == []


@pytest.mark.soak
def test_a_service_in_a_container_is_there_for_its_trials_and_ends_with_the_run(room: Room, bench: Bench):
    start = f"start = \"{BOX} sh -c 'echo up; sleep 4324'\""
    service = f'[service.s]\n{start}\nready = {{ log = "^up$", timeout = "20s" }}'
    bench.write("true", trial=PASSED, rest=service)
    assert "2 finished" in room.run(bench)
    assert room.containers() == []
    assert not processes("4324")


@pytest.mark.soak
def test_a_reset_restarts_a_container_that_goes_on_afterwards(room: Room, bench: Bench):
    shell = "cat /proc/sys/kernel/random/uuid > /out/id; exec sleep 600"
    made = room(
        *("podman", "run", "--detach", "--name=base", "--network=none", f"--volume={bench.folder}:/out"),
        *("box", "sh", "-c", shell),
    )
    assert made.returncode == 0, made.stderr
    bench.write(
        "sh -c 'cat id >> ids'",
        trial=PASSED,
        rest='[reset]\ncontainer = "base"\ncheck = "test -s id"',
        rounds=3,
    )
    assert "3 finished" in room.run(bench)
    assert len(set((bench.folder / "ids").read_text().split())) == 3
    assert room("podman", "ps", "--format={{.Names}}").stdout == "base\n"
    room("podman", "rm", "--force", "--time=0", "base")


@pytest.mark.soak
def test_a_reset_of_a_container_that_is_not_there_ends_the_run_and_says_so(room: Room, bench: Bench):
    bench.write("true", trial=PASSED, rest='[reset]\ncontainer = "nowhere"', rounds=1)
    assert "neither podman nor docker has a container nowhere" in room.run(bench)


def cgroups() -> list[Path]:
    """Return the cgroups of trials, of both versions."""
    root = Path("/sys/fs/cgroup")
    return [*root.glob("trialwise-*"), *root.glob("*/trialwise-*")]


def recorded_of(bench: Bench) -> dict[str, list[float]]:
    """Return what was recorded of the trials, by the key of its source."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    found: dict[str, list[float]] = {}
    try:
        for _, _, key, value, _, _ in ledger.values():
            found.setdefault(key, []).append(value)
    finally:
        ledger.close()
    return found


def processes(word: str) -> list[bytes]:
    """Return the command lines of processes that have this word in theirs, without those of clients and monitors."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if line.startswith((b"sleep\0", b"sh\0")) and word.encode() in line:
            found.append(line)
    return found


def await_that(holds, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
