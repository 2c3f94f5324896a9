"""Workers for tests: a real sshd in a network namespace of its own, with its own address and host key.

Everything vanishes with the process that holds the namespace. Needs root, `unshare`, `nsenter`, `ip` and `sshd`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""What begins the command line of a process that ends when the tests end, however they end."""
SECONDS = 60.0
"""What a machine takes at most to be there, however busy this one is."""
PROGRAMS = ("setpriv", "unshare", "nsenter", "ip", "ssh", "ssh-keygen", "/usr/sbin/sshd")


def missing() -> str | None:
    """What keeps these tests from running, or None."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (openssh-server, iproute2)"
    tried = subprocess.run(["unshare", "-nm", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "no network namespaces here"


_COUNT = itertools.count(1)


class Machine:
    """One sshd. `name` is the worker's name; `home` is where Trialwise keeps its folder there.

    With the next start, connections have `environment` (sshd_config(5), SetEnv), and run `command`, which finds what they asked for in
    $SSH_ORIGINAL_COMMAND, if it is not empty.
    """

    def __init__(self, folder: Path, number: int, key: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.number = number
        count = next(_COUNT)
        self.link = f"tw{os.getpid() % 1000000}-{count}"
        # Sixty networks of four addresses, and again: those of tests that are over are free.
        network, place = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}", 4 * (count % 60)
        self.ours, self.address = f"{network}.{place + 1}", f"{network}.{place + 2}"
        self.listens = self.address
        self.holder = subprocess.Popen(
            [*WITH_US, "unshare", "-nm", "sleep", "infinity"], start_new_session=True
        )
        self.home = folder / "home"
        self.home.mkdir()
        self._wait_for_namespace()
        self._connect()
        self.make_host_key()
        (folder / "authorized").write_text(key.with_suffix(".pub").read_text())
        self.sshd: subprocess.Popen[bytes] | None = None
        self.environment = ""
        self.command = ""
        self.start()

    @property
    def name(self) -> str:
        return f"ssh://machine{self.number}"

    def make_host_key(self) -> None:
        for old in self.folder.glob("host*"):
            old.unlink()
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "host")

    def host_key(self) -> str:
        return f"{self.address} {(self.folder / 'host.pub').read_text()}"

    def start(self) -> None:
        """Start sshd; wait until it listens."""
        Path("/run/sshd").mkdir(exist_ok=True)
        settings = {
            "ListenAddress": self.listens,
            "HostKey": self.folder / "host",
            "AuthorizedKeysFile": self.folder / "authorized",
            "PidFile": "none",
            "UsePAM": "no",
            "StrictModes": "no",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "yes",
        }
        if self.environment:
            settings["SetEnv"] = self.environment
        if self.command:
            settings["ForceCommand"] = self.command
        (self.folder / "sshd_config").write_text(
            "".join(f"{name} {value}\n" for name, value in settings.items())
        )
        log = (self.folder / "sshd.log").open("ab")
        self.sshd = subprocess.Popen(
            [*WITH_US, *self._inside(), "/usr/sbin/sshd", "-D", "-e", "-f", self.folder / "sshd_config"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        deadline = time.monotonic() + SECONDS
        while b"Server listening" not in (self.folder / "sshd.log").read_bytes():
            assert time.monotonic() < deadline, (self.folder / "sshd.log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """End sshd and its connections."""
        if self.sshd is not None:
            self.end_connections()
            self.sshd.terminate()
            self.sshd.wait()
            self.sshd = None
            (self.folder / "sshd.log").write_bytes(b"")

    def run(self, *words: str | Path) -> str:
        """Run a command in the namespaces of the machine."""
        return _run(*self._inside(), *words)

    def begin(self, *words: str | Path) -> subprocess.Popen[bytes]:
        """Start a command in the namespaces of the machine, with nobody to hear it."""
        quiet = subprocess.DEVNULL
        return subprocess.Popen([*WITH_US, *self._inside(), *words], stdin=quiet, stdout=quiet, stderr=quiet)

    def cut(self) -> None:
        """Take the device down: nothing passes, and nobody is told."""
        self.run("ip", "link", "set", "eth0", "down")

    def join(self) -> None:
        self.run("ip", "link", "set", "eth0", "up")

    def processes(self, needle: str) -> list[int]:
        """Processes of this machine (by its network namespace) whose command line holds `needle`."""
        own = Path(f"/proc/{self.holder.pid}/ns/net").readlink()
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and (entry / "ns/net").readlink() == own:
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if needle in words:
                        found.append(int(entry.name))
        return found

    def signal(self, needle: str, number: signal.Signals) -> int:
        """Send a signal to every such process; return how many there were."""
        found = self.processes(needle)
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, number)
        return len(found)

    def end_connections(self) -> int:
        """Kill what serves the connections, but not the sshd that listens."""
        found = [each for each in self.processes("sshd: ") if self.sshd is None or each != self.sshd.pid]
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        return len(found)

    def close(self) -> None:
        """End everything in the namespace, and so the namespace."""
        for process in self.processes(""):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if self.sshd is not None:
            self.sshd.wait()
        self.holder.wait()

    def _inside(self) -> list[str]:
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m"]

    def _wait_for_namespace(self) -> None:
        deadline = time.monotonic() + SECONDS
        while Path(f"/proc/{self.holder.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _connect(self) -> None:
        _run(
            "ip",
            "link",
            "add",
            self.link,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            str(self.holder.pid),
        )
        _run("ip", "address", "add", f"{self.ours}/30", "dev", self.link)
        _run("ip", "link", "set", self.link, "up")
        self.run("ip", "address", "add", f"{self.address}/30", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "link", "set", "lo", "up")


class Machines:
    """Some machines, and a configuration of ssh that knows them as machine1, machine2, …"""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.key = folder / "key"
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        self.all = [Machine(folder / f"machine{n}", n, self.key) for n in range(1, number + 1)]
        self.configure()

    def __getitem__(self, index: int) -> Machine:
        return self.all[index]

    @property
    def names(self) -> list[str]:
        return [machine.name for machine in self.all]

    @property
    def configuration(self) -> Path:
        return self.folder / "ssh_config"

    def configure(self, *, known: bool = True) -> None:
        """Write the configuration; `known` machines are those whose keys stand among the known hosts."""
        hosts = "".join(f"Host machine{each.number}\n  HostName {each.address}\n" for each in self.all)
        self.configuration.write_text(
            f"{hosts}Host *\n  IdentityFile {self.key}\n  IdentitiesOnly yes\n  User root\n"
            f"  UserKnownHostsFile {self.folder}/known_hosts\n  ConnectTimeout 3\n"
        )
        text = "".join(machine.host_key() for machine in self.all) if known else ""
        (self.folder / "known_hosts").write_text(text)

    def close(self) -> None:
        for machine in self.all:
            machine.close()


def _run(*words: str | Path | int) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@contextlib.contextmanager
def machines(folder: Path, number: int) -> Iterator[Machines]:
    """Machines for as long as it is entered."""
    if reason := missing():
        pytest.skip(reason)
    made = Machines(folder, number)
    try:
        yield made
    finally:
        made.close()
