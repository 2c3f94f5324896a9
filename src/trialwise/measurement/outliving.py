"""Files that outlive a trial: tell what one trial wrote from what was there before.

Start watching a file here before the trial that is to write it. Uses only the standard library and runs on
Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZE_LIMIT = 1 << 30
"""Maximum bytes that a trial may write to a file that is read."""
KEPT = 8 << 20
"""Bytes of the earlier content that are remembered whole; of a longer content, half of that from each end."""
_IN_MODIFY = 0x2
_IN_ONESHOT = 0x80000000
_EVENT = struct.Struct("iIII")
_PAGE = os.sysconf("SC_PAGESIZE")
_PROT_READ = 1
_MAP_SHARED = 1


class Written:
    """What a trial wrote to a file, or why that is unknown.

    Attributes
    ----------
    data
        Its bytes: the whole file, or what was appended.
    added
        Whether they were appended to earlier content.
    heading
        The first line of a file that was appended to, which in a table holds the column names.
    before
        Earlier content of a file that was rewritten; empty if there was none, or more than `KEPT` bytes.
    problem, hint
        Why none of it counts, with the path; and what to do about it.
    """

    def __init__(
        self,
        data: bytes = b"",
        *,
        added: bool = False,
        heading: bytes = b"",
        before: bytes = b"",
        problem: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.data = data
        self.added = added
        self.heading = heading
        self.before = before
        self.problem = problem
        self.hint = hint


class Watched:
    """A file as it is before a trial. It is held open, so that no other file gets its inode; close it.

    Parameters
    ----------
    path
        The file, which need not exist.
    size_limit
        Maximum number of bytes read.
    """

    def __init__(self, path: str, *, size_limit: int = SIZE_LIMIT) -> None:
        self.path = path
        self._limit = size_limit
        self._file: int | None = None
        self._events: int | None = None
        self._page: _Page | None = None
        self._status: os.stat_result | None = None
        self._ends = (b"", b"")
        self._began = time.time()
        with contextlib.suppress(OSError):
            self._open()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        for descriptor in (self._file, self._events):
            if descriptor is not None:
                os.close(descriptor)
        if self._page is not None:
            self._page.close()
        self._file = self._events = self._page = None

    def written(self) -> Written:
        """Return what was written to the file since it was watched."""
        try:
            return self._written()
        except FileNotFoundError:
            gone = "" if self._status is None else ": it was there before, and is gone"
            return Written(problem=f"the program did not write {self.path}{gone}")
        except OSError as error:
            return Written(problem=f"cannot read {self.path}: {error.strerror}", hint="check its permissions")

    # Before the trial.

    def _open(self) -> None:
        if not stat.S_ISREG(Path(self.path).stat().st_mode):
            return
        self._file = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self._events = _modifications(self.path)
        self._page = _Page.of(self._file)
        self._status = os.fstat(self._file)
        self._ends = self._ends_of(self._file, self._status.st_size)

    def _ends_of(self, file: int, size: int) -> tuple[bytes, bytes]:
        """Return the beginning and the end of the first `size` bytes; together they are all of them, up to `KEPT` bytes."""
        half = KEPT // 2
        return _read(file, 0, min(size, half)), _read(file, max(size - half, half), size)

    # After the trial.

    def _written(self) -> Written:
        if not stat.S_ISREG(Path(self.path).stat().st_mode):
            return Written(
                problem=f"{self.path} is not a regular file",
                hint="name the file that the program writes; a folder of results must lie in {directory}",
            )
        file = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return self._compared(file, os.fstat(file))
        finally:
            os.close(file)

    def _compared(self, file: int, now: os.stat_result) -> Written:
        before = self._status
        same_file = before is not None and os.path.samestat(now, before)
        if not same_file and not self._is_of_now(now):
            return self._not_written(now)
        if before is None or not self._begins_alike(file, before.st_size, now.st_size):
            return self._whole(file, now)
        if now.st_size == before.st_size:
            return self._alike(file, now, same_file=same_file)
        if same_file and not (self._page is not None and self._page.was_cut_off()):
            return self._added(file, before.st_size, now)
        return self._ambiguous(before, now)

    def _begins_alike(self, file: int, size: int, now: int) -> bool:
        """Return True if the file begins with its `size` earlier bytes, checking only most of a long one."""
        if size == 0:
            return now == 0
        return now >= size and self._ends_of(file, size) == self._ends

    def _alike(self, file: int, now: os.stat_result, *, same_file: bool) -> Written:
        """Judge a file whose content is the same as before: rewritten, only touched, or left alone."""
        if not same_file or self._was_modified():
            return self._whole(file, now, again=True)
        return self._not_written(now)

    def _added(self, file: int, size: int, now: os.stat_result) -> Written:
        if problem := self._too_large(now.st_size - size):
            return problem
        return Written(
            _read(file, size, now.st_size), added=True, heading=self._ends[0].lstrip().split(b"\n", 1)[0]
        )

    def _whole(self, file: int, now: os.stat_result, *, again: bool = False) -> Written:
        if problem := self._too_large(now.st_size):
            return problem
        small = self._status is not None and self._status.st_size <= KEPT and not again
        return Written(_read(file, 0, now.st_size), before=b"".join(self._ends) if small else b"")

    def _too_large(self, size: int) -> Written | None:
        if size <= self._limit:
            return None
        return Written(
            problem=f"{self.path} has {size:,} bytes, over the limit of {self._limit:,}",
            hint="raise the limit, or have the program write fewer samples",
        )

    def _not_written(self, now: os.stat_result) -> Written:
        then = self._status
        touched = then is not None and os.path.samestat(now, then) and now.st_mtime_ns != then.st_mtime_ns
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime((then if touched and then else now).st_mtime))
        what = "only its time was changed, and what stands in it" if touched else "it"
        return Written(
            problem=f"{self.path} was not written by this trial: {what} is from {moment} UTC",
            hint="have the trial remove the file first, and check that the program writes it",
        )

    def _ambiguous(self, before: os.stat_result, now: os.stat_result) -> Written:
        more = now.st_size - before.st_size
        return Written(
            problem=f"{self.path} was written anew, and begins with all that stood there before, with"
            f" {more:,} bytes more: whether this trial wrote all of them, or only the last, cannot be told",
            hint=f'have prepare remove it, as in prepare = ["rm", "-f", "{Path(self.path).name}"]',
        )

    def _was_modified(self) -> bool:
        """Return True if the file was written to or truncated, not just given a new time.

        Return False if the kernel provided no watch: a stale number is worse than a failed trial.
        """
        if self._events is None:
            return False
        try:
            events = os.read(self._events, 4096)
        except BlockingIOError:
            return False
        return bool(_EVENT.unpack_from(events)[1] & _IN_MODIFY)

    def _is_of_now(self, status: os.stat_result) -> bool:
        """Return True if a file that was not at the path before was created, written or moved since.

        A link that now leads to another old file brought nothing new. Times are on the file system's clock.
        """
        if status.st_ctime >= self._began:
            return True
        return status.st_ctime >= self._began + _clock_ahead(str(Path(self.path).resolve().parent))


class _Page:
    """The first page of a file, mapped and locked in memory: appending keeps it there, truncating the file removes it.

    Nothing else tells a file that was appended to from one that was truncated and rewritten with the same beginning.
    """

    def __init__(self, kernel: object, address: int) -> None:
        self._kernel: Any = kernel
        self._address = address

    @staticmethod
    def of(file: int) -> _Page | None:
        """Map the page; None if that fails or would reveal nothing."""
        try:
            import ctypes

            kernel: Any = ctypes.CDLL(None)
            kernel.mmap.restype = ctypes.c_void_p
            kernel.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
            for name in ("mlock", "munmap"):
                getattr(kernel, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t]
            address = kernel.mmap(None, _PAGE, _PROT_READ, _MAP_SHARED, file, 0)
        except (ImportError, OSError, AttributeError):
            return None
        if address in (None, ctypes.c_void_p(-1).value):
            return None
        page = _Page(kernel, address)
        if kernel.mlock(address, _PAGE) == 0 and page._is_there():
            return page
        page.close()
        return None

    def was_cut_off(self) -> bool:
        """Return True if the file was truncated to nothing since it was mapped."""
        return self._is_there() is False

    def close(self) -> None:
        """Unmap the page."""
        self._kernel.munmap(self._address, _PAGE)

    def _is_there(self) -> bool | None:
        """Read its entry of /proc/self/pagemap: True if present or being moved; None if it cannot be read."""
        try:
            with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:  # noqa: PTH123
                pagemap.seek(self._address // _PAGE * 8)
                entry = pagemap.read(8)
        except OSError:
            return None
        return bool(entry[7] >> 6) if len(entry) == 8 else None


def _clock_ahead(folder: str) -> float:
    """Return the seconds by which the clock of a folder's file system is ahead of ours, less a tolerance of two ticks."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_ctime - time.time() - 0.02
    except OSError:
        return -0.02


def _read(file: int, begin: int, end: int) -> bytes:
    """Read bytes `begin` to `end` of a file, or as many as there are."""
    parts: list[bytes] = []
    while begin < end and (part := os.pread(file, min(end - begin, 1 << 24), begin)):
        parts.append(part)
        begin += len(part)
    return b"".join(parts)


def _modifications(path: str) -> int | None:
    """Ask the kernel to note the first write to a file (inotify(7)); return a descriptor to read, None if it cannot.

    However much is written, only one event is created, so the trial is not slowed down.
    """
    try:
        import ctypes

        kernel: Any = ctypes.CDLL(None)
        events = int(kernel.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    except (ImportError, OSError, AttributeError):
        return None
    if events < 0:
        return None
    if kernel.inotify_add_watch(events, os.fsencode(path), ctypes.c_uint32(_IN_MODIFY | _IN_ONESHOT)) < 0:
        os.close(events)
        return None
    return events
