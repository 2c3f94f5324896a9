"""A worker that can be rebooted: a virtual machine of QEMU, with the root of this machine read-only underneath.

It boots a kernel of Debian with an initial file system made here (busybox and the modules that it needs). What it
writes lies in its memory and is gone after a reboot, but for ``/root``, which is a disk. sshd and Python are those of
this machine; ssh reaches it by a port of the loopback. `missing` says what keeps one from being started here.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

KERNEL = "TRIALWISE_TEST_KERNEL"
"""Environment variable: a folder with boot/vmlinuz-* and lib/modules, as a package of a kernel unpacks to."""
PROGRAMS = ("qemu-system-x86_64", "busybox", "setpriv", "mkfs.ext4", "ssh", "ssh-keygen", "/usr/sbin/sshd")
MODULES = (
    "virtio_pci",
    "virtio_net",
    "virtio_blk",
    "9pnet_virtio",
    "9p",
    "overlay",
    "crc32c_generic",
    "ext4",
)
BOOT_SECONDS = 180.0
"""How long a boot may take on a busy machine that emulates every instruction."""

_START = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev && mount -t proc none /proc && mount -t sysfs none /sys
for module in {modules}; do insmod /modules/$module.ko || echo "no $module"; done
mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 machine /below
mount -t tmpfs none /memory && mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/below,upperdir=/memory/upper,workdir=/memory/work none /root
for each in dev proc sys; do mount --move /$each /root/$each; done
for each in tmp run dev/shm; do mkdir -p /root/$each && mount -t tmpfs none /root/$each; done
mkdir -p /root/dev/pts /root/run/sshd && mount -t devpts none /root/dev/pts
mount -t ext4 /root/dev/vda /root/root
ip link set lo up && ip address add 10.0.2.15/24 dev eth0 && ip link set eth0 up
hostname virtual
cp /machine/* /root/run/ && chmod 600 /root/run/host
cp /machine/inittab /root/etc/inittab
cp /bin/busybox /root/run/busybox
rm -f /root/usr/local/sbin/reboot && ln -s /run/busybox /root/usr/local/sbin/reboot
exec switch_root /root /run/busybox init
"""
_INITTAB = """::respawn:/usr/sbin/sshd -D -e -f /run/sshd_config
::shutdown:/run/busybox umount /root
"""
_SSHD = """HostKey /run/host
AuthorizedKeysFile /run/authorized
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
"""


def missing() -> str | None:
    """What keeps a virtual machine from being started here, or None."""
    if os.uname().machine != "x86_64":
        return "untested: this is made for x86-64"
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if absent:
        return (
            f"untested: not installed: {', '.join(absent)} (qemu-system-x86, busybox-static, openssh-server)"
        )
    if _kernel() is None:
        return f"untested: no kernel with the modules of 9p: unpack a linux-image of Debian and name it in ${KERNEL}"
    return None


class VirtualMachine:
    """One virtual machine; `name` is the worker's name."""

    name = "ssh://virtual"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.key = folder / "key"
        for path in (self.key, folder / "host"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
        self._configure()
        self._write_initial()
        disk = folder / "disk"
        with disk.open("wb") as file:
            file.truncate(256 << 20)
        _run("mkfs.ext4", "-q", "-F", disk)
        self.process = self._start()

    @property
    def configuration(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def log(self) -> str:
        """What the machine has said on its console."""
        return (self.folder / "console").read_text(errors="replace")

    @property
    def boots(self) -> int:
        """How often its kernel has begun."""
        return self.log.count("Linux version ")

    def run(self, *words: str, check: bool = True) -> str:
        """Run a command there."""
        done = subprocess.run(
            ["ssh", "-F", self.configuration, "-o", "BatchMode=yes", "virtual", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, (words, done.stderr)
        return done.stdout.strip()

    def wait(self) -> float:
        """Wait until ssh reaches it; return the seconds that it took."""
        began = time.monotonic()
        while self.run("echo", "here", check=False) != "here":
            assert self.process.poll() is None, self.log[-3000:]
            assert time.monotonic() < began + BOOT_SECONDS, self.log[-3000:]
            time.sleep(0.1)
        return time.monotonic() - began

    def close(self) -> None:
        """Switch it off."""
        self.process.kill()
        self.process.wait()

    def _configure(self) -> None:
        self.configuration.write_text(
            f"Host virtual\n  HostName 127.0.0.1\n  Port {self.port}\n  User root\n  IdentityFile {self.key}\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {self.folder}/known_hosts\n  ConnectTimeout 5\n"
        )
        host_key = (self.folder / "host.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}")

    def _write_initial(self) -> None:
        """Write the initial file system."""
        kernel = _kernel()
        assert kernel is not None
        modules = _in_order(kernel[1], MODULES)
        archive = _Archive()
        for name in ("bin", "dev", "proc", "sys", "below", "memory", "root", "modules", "machine"):
            archive.add(name, b"", 0o040755)
        archive.add("bin/busybox", Path(shutil.which("busybox") or "").read_bytes(), 0o100755)
        archive.add("init", _START.format(modules=" ".join(path.stem for path in modules)).encode(), 0o100755)
        for path in modules:
            archive.add(f"modules/{path.stem}.ko", path.read_bytes(), 0o100644)
        archive.add("machine/host", (self.folder / "host").read_bytes(), 0o100600)
        archive.add("machine/authorized", self.key.with_suffix(".pub").read_bytes(), 0o100644)
        archive.add("machine/sshd_config", _SSHD.encode(), 0o100644)
        archive.add("machine/inittab", _INITTAB.encode(), 0o100644)
        (self.folder / "initial").write_bytes(gzip.compress(archive.end(), 1))

    def _start(self) -> subprocess.Popen[bytes]:
        kernel = _kernel()
        assert kernel is not None
        console = (self.folder / "console").open("wb")
        with console:
            return subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", accelerator(), "-cpu", "max"),
                    *("-M", "q35", "-m", "512", "-smp", "1", "-nodefaults", "-no-user-config", "-nographic"),
                    *("-serial", "stdio", "-kernel", kernel[0], "-initrd", self.folder / "initial"),
                    *("-append", "console=ttyS0 panic=-1 net.ifnames=0 mitigations=off cryptomgr.notests audit=0 apparmor=0"),
                    *("-drive", f"id=disk,file={self.folder / 'disk'},format=raw,if=none,cache=unsafe"),
                    *("-device", "virtio-blk-pci,drive=disk"),
                    *("-fsdev", "local,id=machine,path=/,security_model=none,readonly=on,multidevs=remap"),
                    *("-device", "virtio-9p-pci,fsdev=machine,mount_tag=machine"),
                    *("-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"),
                    *("-device", "virtio-net-pci,netdev=net"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )  # fmt: skip


@contextlib.contextmanager
def virtual_machine(folder: Path) -> Iterator[VirtualMachine]:
    """A virtual machine that ssh reaches, for as long as it is entered."""
    if reason := missing():
        pytest.skip(reason)
    machine = VirtualMachine(folder)
    try:
        machine.wait()
        yield machine
    finally:
        machine.close()


def accelerator() -> str:
    """kvm where the processor has what it takes: some guests have a /dev/kvm that boots special kernels only."""
    flags = Path("/proc/cpuinfo").read_text()
    has = re.search(r"^flags.*\b(vmx|svm)\b", flags, re.MULTILINE)
    return "kvm" if has and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


@functools.cache
def _kernel() -> tuple[Path, Path] | None:
    """A kernel, and the folder of its modules, with 9p among them."""
    for root in (os.environ.get(KERNEL), "/var/cache/trialwise-tests/kernel", "/"):
        for image in sorted(Path(root).glob("boot/vmlinuz-*")) if root else ():
            modules = Path(root or "/") / "lib/modules" / image.name.removeprefix("vmlinuz-")
            if list(modules.rglob("9p.ko")):
                return image, modules
    return None


def _in_order(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Files of modules, each after those that it needs, as their own section .modinfo says."""
    files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    found: list[Path] = []

    def add(name: str) -> None:
        path = files.get(name.replace("-", "_"))
        if path is None or path in found:  # built into the kernel, or there already
            return
        needs = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for each in needs[1].decode().split(",") if needs else ():
            add(each)
        found.append(path)

    for name in names:
        add(name)
    return found


class _Archive:
    """An initial file system in the format "newc" (the kernel's Documentation/driver-api/early-userspace/buffer-format)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._count = 0

    def add(self, name: str, content: bytes, mode: int) -> None:
        self._count += 1
        links = 2 if mode & 0o040000 else 1
        fields = (self._count, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self._parts += [_padded(head), _padded(content)]

    def end(self) -> bytes:
        self.add("TRAILER!!!", b"", 0)
        return b"".join(self._parts)


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 4)


def _path() -> str:
    return os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def _run(*words: str | Path) -> None:
    environment = {**os.environ, "PATH": _path()}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, (words, done.stderr)
