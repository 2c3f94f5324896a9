"""Find the files that a trial ran and read, from what the supervisor saw (`crates/process/supervisor/supervisor.c`).

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path
from typing import NamedTuple

from trialwise.measurement.file_identity import NamedFile, signature
from trialwise.measurement.programs import argument_files, resolved, runs_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_HEAD = struct.Struct("=cxxxI")
"""Header of each record: its kind, and the number of bytes that follow."""
_TOTALS = struct.Struct("=qq")
_MAX_WORDS = 32768
_MAX_MAPPINGS = 4 << 20
_PASSING = ("/proc/", "/sys/", "/memfd:", "/dev/mqueue/")
"""Nothing below these is a file that people create and change; other entries below /dev that are not regular files are skipped
anyway.
"""
_IN_MEMORY = "/dev/shm/"  # noqa: S108  what is mapped from here may be the program's own memory
_TRACERS = frozenset(
    {"gdb", "lldb", "ltrace", "perf", "rr", "strace", "uftrace", "valgrind", "valgrind.bin", "bpftrace"}
)
_CAPABILITIES = "security.capability"


class Execution(NamedTuple):
    """A process executed a program: its file, working directory, standard input, and arguments."""

    file: str
    directory: str
    stdin: str
    words: list[str]


class Seen(NamedTuple):
    """What the supervisor saw of a trial's processes.

    `files` that they ran and named; `stops`: how often a process was stopped for this; `problem`: why nothing was seen; `spoiled`:
    what may have failed because it was followed.
    """

    files: list[NamedFile]
    stops: int = 0
    problem: str | None = None
    spoiled: str | None = None


def seen(
    notes: bytes, environment: Mapping[str, str], scratch: str | None, since_ns: int, beside: bytes = b""
) -> Seen:
    """Read the notes of one supervisor, or of several concatenated.

    Parameters
    ----------
    notes
        As the supervisor writes them; a truncated end is ignored.
    environment
        The trial's environment; `PATH` and `PYTHONPATH` matter.
    scratch
        The trial's own folder; files in it are left out.
    since_ns
        Start of the trial in nanoseconds since 1970: an input file changed later was written by the trial.
    beside
        Notes on processes that ran beside the trial and were not followed (`notes_of`).
    """
    stops, error = 0, 0
    for kind, content in _records(notes):
        if kind == b"S" and len(content) == _TOTALS.size:
            more, problem = _TOTALS.unpack(content)
            stops, error = stops + more, error or problem
    files: dict[Path, NamedFile] = {}
    for each in (beside,) if error else (notes, beside):
        for file in _files_of(each, environment):
            if _is_kept(file, scratch, since_ns):
                files.setdefault(file.path, file)
    if error:
        return Seen(list(files.values()), stops, os.strerror(error))
    return Seen(list(files.values()), stops, None, _spoiled(_executions(notes)))


def _files_of(notes: bytes, environment: Mapping[str, str]) -> Iterator[NamedFile]:
    yield from _of_executions(_executions(notes), environment)
    yield from library_files(os.fsdecode(content) for kind, content in _records(notes) if kind == b"M")


def _executions(notes: bytes) -> list[Execution]:
    return [
        _execution(content) for kind, content in _records(notes) if kind == b"E" and content.count(b"\0") >= 3
    ]


def notes_of(processes: Iterable[int]) -> bytes:
    """Write the supervisor's notes for processes that are already running: their programs and mapped files."""
    return b"".join(_notes_of(process) for process in processes)


def _notes_of(process: int) -> bytes:
    folder = f"/proc/{process}"
    try:
        links = [os.fsencode(os.readlink(f"{folder}/{name}")) for name in ("exe", "cwd")]
        with open(f"{folder}/cmdline", "rb") as file:
            words = file.read(_MAX_WORDS)
        with open(f"{folder}/maps", "rb") as file:
            lines = [line.split(None, 5) for line in file.read(_MAX_MAPPINGS).splitlines()]
    except OSError:  # it has ended, or belongs to another user
        return b""
    mapped = {
        parts[5] for parts in lines if len(parts) == 6 and b"x" in parts[1] and parts[5].startswith(b"/")
    }
    return b"".join(
        _HEAD.pack(kind, len(content)) + content
        for kind, content in [
            (b"E", b"\0".join([*links, b"", words])),
            *((b"M", path) for path in sorted(mapped)),
        ]
    )


def _records(notes: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 0
    while place + _HEAD.size <= len(notes):
        kind, length = _HEAD.unpack_from(notes, place)
        place += _HEAD.size
        if place + length > len(notes):
            return
        yield kind, notes[place : place + length]
        place += length


def _execution(content: bytes) -> Execution:
    file, directory, stdin, *words = [os.fsdecode(part) for part in content.split(b"\0")]
    return Execution(file, directory, stdin, words[:-1] if words and not words[-1] else words)


def _of_executions(executions: list[Execution], environment: Mapping[str, str]) -> Iterator[NamedFile]:
    for each in executions:
        directory = Path(each.directory)
        name = os.path.basename(each.file)
        yield NamedFile(_as_named(each, environment), "interpreter" if runs_script(name) else "program")
        if each.stdin.startswith("/"):
            yield NamedFile(Path(each.stdin), "input")
        if each.words:
            called = os.path.basename(each.words[0])
            yield from argument_files(
                called if runs_script(called) else name, each.words[1:], directory, environment
            )


def _as_named(each: Execution, environment: Mapping[str, str]) -> Path:
    """Return the program as the command names it, so that a retargeted link is noticed; else its file."""
    named = (
        resolved(each.words[0], Path(each.directory), environment) if each.words and each.words[0] else None
    )
    return named if named is not None and os.path.realpath(named) == each.file else Path(each.file)


def library_files(libraries: Iterable[str]) -> Iterator[NamedFile]:
    """Name each library by the link that the loader most likely followed: its name without the last version numbers."""
    for path in libraries:
        yield NamedFile(Path(path), "library")
        folder, _, name = path.rpartition("/")
        stem, shared, version = name.partition(".so.")
        numbers = version.split(".") if shared else []
        for count in range(len(numbers)):
            link = "/".join([folder, ".".join([stem, "so", *numbers[:count]])])
            if os.path.islink(link) and os.path.realpath(link) == path:
                yield NamedFile(Path(link), "library")


def _is_kept(file: NamedFile, scratch: str | None, since_ns: int) -> bool:
    path = os.fspath(file.path)
    if path.startswith(_PASSING) or (scratch is not None and path.startswith(scratch + os.sep)):
        return False
    found = signature(path)
    may_be_written = file.role == "input" or (file.role == "library" and path.startswith(_IN_MEMORY))
    return found is not None and (not may_be_written or found[4] < since_ns)


def _spoiled(executions: list[Execution]) -> str | None:
    """Describe what cannot work while followed: changing privileges, and tracing other processes."""
    for each in executions:
        if os.path.basename(each.file) in _TRACERS:
            return f"{each.file} follows processes itself"
        if os.geteuid() != 0 and _changes_rights(each.file):
            return f"{each.file} runs with other rights"
    return None


def _changes_rights(path: str) -> bool:
    try:
        if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
            return True
        return _CAPABILITIES in os.listxattr(path)
    except OSError:
        return False
