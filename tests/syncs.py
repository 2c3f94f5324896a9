"""What a process writes and has the disk keep, seen from outside: a library put in front of libc notes each write, sync and rename.

A power cut loses what was written to a file, or done to the names in a folder, since its last sync. `Disk` follows that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int notes = -1;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("NOTES_OF_SYNCS");
    if (path) notes = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

static void note(const char *what, const char *first, const char *second) {
    char line[9000];
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, first, second);
    if (notes >= 0) syscall(SYS_write, notes, line, (size_t)length);
}

static void note_file(const char *what, int descriptor) {
    char link[64], path[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || path[0] != '/') return;
    path[length] = 0;
    note(what, path, "");
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *from, size_t n) { note_file("write", fd); return NEXT(write)(fd, from, n); }
ssize_t writev(int fd, const struct iovec *from, int n) { note_file("write", fd); return NEXT(writev)(fd, from, n); }
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { note_file("write", fd); return NEXT(pwrite)(fd, from, n, at); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) { note_file("write", fd); return NEXT(pwrite64)(fd, from, n, at); }
int fsync(int fd) { int result = NEXT(fsync)(fd); if (!result) note_file("sync", fd); return result; }
int fdatasync(int fd) { int result = NEXT(fdatasync)(fd); if (!result) note_file("sync", fd); return result; }
int rename(const char *old, const char *new) { note("rename", old, new); return NEXT(rename)(old, new); }
"""


@dataclass(slots=True)
class Disk:
    """What a power cut would take, at each moment that the process named: files written and folders with new names."""

    unsynced: set[str] = field(default_factory=set)
    syncs: int = 0
    moments: dict[str, tuple[frozenset[str], int]] = field(default_factory=dict)
    """Of each moment: what was not synced then, and how many syncs there had been."""
    known: set[str] = field(default_factory=set)

    def lost_at(self, moment: str) -> frozenset[str]:
        return self.moments[moment][0]

    def syncs_between(self, first: str, second: str) -> int:
        return self.moments[second][1] - self.moments[first][1]

    def take(self, what: str, first: str, second: str) -> None:
        if what == "moment":
            self.moments[first] = (frozenset(self.unsynced), self.syncs)
        elif what == "sync":
            self.unsynced.discard(first)
            self.syncs += 1
        elif what == "write":
            self.unsynced.add(first)
            if first not in self.known:  # its name is new as well
                self.known.add(first)
                self.unsynced.add(os.path.dirname(first))  # noqa: PTH120 the text of a name
        else:
            if first in self.unsynced:
                self.unsynced.remove(first)
                self.unsynced.add(second)
            self.known.add(second)
            self.unsynced.add(os.path.dirname(second))  # noqa: PTH120 the text of a name


def followed(program: str, folder: Path) -> Disk:
    """Run a Python program, which calls `moment(NAME)` and finds `folder` as its current one; give what became of its files there."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    beside = folder.with_name(folder.name + ".shim")
    beside.mkdir()
    source, library, notes = (beside / name for name in ("shim.c", "shim.so", "notes"))
    source.write_text(_SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=120)
    prelude = (
        "import os\n_notes = os.open(os.environ['NOTES_OF_SYNCS'], os.O_WRONLY | os.O_APPEND)\n"
        "def moment(name): os.write(_notes, f'moment\\t{name}\\t\\n'.encode())\n"
    )
    environment = {**os.environ, "LD_PRELOAD": str(library), "NOTES_OF_SYNCS": str(notes)}
    subprocess.run(
        [sys.executable, "-c", prelude + program], cwd=folder, env=environment, check=True, timeout=120
    )
    disk = Disk()
    for line in notes.read_text().splitlines():
        what, first, second = line.split("\t")
        # The index of the write-ahead log is made anew after a power cut.
        within = first == str(folder) or first.startswith(f"{folder}/")
        if what == "moment" or (within and not first.endswith("-shm")):
            disk.take(what, first, second)
    return disk
