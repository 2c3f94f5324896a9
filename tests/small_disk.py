"""A file system of a few hundred kilobytes, in a mount namespace of its own, and commands that write into it until it is full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TRIALWISE = str(Path(sys.executable).with_name("trialwise"))
_HOLD = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec sleep 600'


@dataclass(frozen=True)
class SmallDisk:
    """What holds the file system, and where it is mounted there."""

    folder: Path
    process: int

    def enter(
        self, *words: str, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """A command in a folder of the file system."""
        there = 'cd "$1" && shift && exec "$@"'
        inside = [
            "nsenter",
            "--mount",
            f"--target={self.process}",
            "--",
            "sh",
            "-c",
            there,
            "sh",
            str(cwd or self.folder),
        ]
        return subprocess.run(
            [*inside, *words], capture_output=True, text=True, check=False, timeout=120,
            env={
                "NO_COLOR": "1", "COLUMNS": "200", "PATH": os.environ["PATH"], "MPLCONFIGDIR": str(self.folder.parent),
                "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.folder.parent),
            } | environment,
        )  # fmt: skip

    def trialwise(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`trialwise WORDS` there."""
        return self.enter(TRIALWISE, *words)

    def write(self, name: str, text: str) -> None:
        """A file of this text."""
        made = self.enter("sh", "-c", 'printf %s "$1" > "$2"', "sh", text, name)
        assert made.returncode == 0, made.stderr

    def fill(self, leave: int) -> None:
        """Take all space but so many bytes, by a file that `make_room` takes away."""
        script = 'dd if=/dev/zero of=ballast bs=1024 count="$(( $(df --output=avail -k . | tail -1) - $1 ))" status=none'
        assert self.enter("sh", "-c", script, "sh", str(leave // 1024)).returncode == 0

    def make_room(self) -> None:
        """Take away what `fill` put there."""
        assert self.enter("rm", "ballast").returncode == 0


def refusal() -> str | None:
    """Why there can be no such file system here."""
    if os.geteuid() != 0:
        return "needs root for a mount namespace"
    if shutil.which("nsenter") is None or shutil.which("unshare") is None:
        return "needs util-linux"
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        text=True,
        check=False,
    )
    return None if tried.returncode == 0 else f"needs to mount a file system: {tried.stderr.strip()}"


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    """A file system of so many bytes, mounted at the folder for those who enter it."""
    folder.mkdir()
    words = ["unshare", "--mount", "sh", "-c", _HOLD, "sh", str(folder), str(size)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "mounted\n"
            yield SmallDisk(folder, holder.pid)
        finally:
            holder.kill()
