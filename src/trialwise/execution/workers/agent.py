"""What Trialwise sends to a worker: one file, standard library only, Python 3.8 or newer.

``attach FOLDER`` talks to the runner over standard input and output. Each frame is a line of JSON, then as many raw bytes
as its key "bytes" says. It keeps no state but FOLDER, so that losing a connection loses nothing::

    agent.py         this file
    hand.lock        locked by the process that executes a trial, as long as it lives
    connection       the token of the latest connection: frames that an older one delivers late start nothing
    spool/KEY.started, spool/KEY.result     a trial that was started; what came of it, until it is acknowledged
    files/  scratch/  setup/                the experiment's files; one folder for each trial; what has been set up

``execute FOLDER KEY`` is that process: it has a session of its own, outlives the connection, and sleeps while the program runs.
"""

from __future__ import annotations

# What executes a trial imports little: it should begin fast, and be small (PLC0415). What only annotations name is not imported.
import contextlib
import fcntl
import json
import os
import select
import signal
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tarfile
    from typing import Any, BinaryIO, Dict, Generator, List, Optional, Sequence, Tuple

    Json = Dict[str, Any]

PROTOCOL = 1
MARKER = "TRIALWISE_TRIAL"
GRACE_SECONDS = 2.0
RESERVE = 4 * 1024 * 1024
"""Bytes set aside for the result of a trial before it starts, so that a disk that fills up meanwhile loses nothing."""
ERROR_LIMIT = 1024 * 1024
FILE_LIMIT = 1 << 30
PAUSE = 0.001
SUBREAPER = 36  # prctl(2)

# Frames


def read_frame(stream: BinaryIO) -> Optional[Tuple[Json, bytes]]:
    """The next frame, or None at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    head = json.loads(line)
    wanted = int(head.get("bytes", 0))
    body = stream.read(wanted) if wanted else b""
    return None if len(body) < wanted else (head, body)


def frame(head: Json, body: bytes = b"") -> bytes:
    """The bytes of a frame."""
    if body:
        head = dict(head, bytes=len(body))
    return json.dumps(head).encode() + b"\n" + body


# What is the case on this machine


def boot_id() -> str:
    """The kernel's name for this boot."""
    return text_of("/proc/sys/kernel/random/boot_id") or "unknown"


def clocks() -> Json:
    """The clocks, in seconds: of the day, since boot without sleep, since boot with it."""
    boottime = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", 7))
    return {"realtime": time.time(), "monotonic": time.monotonic(), "boottime": boottime, "boot": boot_id()}


def text_of(path: str) -> Optional[str]:
    """The text of a small file; None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode(errors="replace").strip()
    except OSError:
        return None


def facts(patterns: Sequence[str]) -> Json:
    """The texts of files of /proc, /sys and /etc, and what Python knows of the machine."""
    import glob
    import platform
    import socket

    paths: List[str] = [path for pattern in patterns for path in glob.glob("/" + pattern)]
    texts = {path[1:]: text_of(path) for path in paths if os.path.isfile(path)}
    return {
        "files": {path: text for path, text in texts.items() if text is not None},
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "host": socket.gethostname(),
    }


def stats(paths: Sequence[str]) -> List[List[Any]]:
    """Size, time of change and inode of each file that is there."""
    found: List[List[Any]] = []
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            found.append([path, status.st_size, status.st_mtime_ns, status.st_ino])
    return found


def resolve(query: Json) -> Json:
    """Find a program as it would be started; "script" asks for the file that it is handed, too."""
    words: List[str] = query["words"]
    directory: str = query["directory"]
    if not os.path.isdir(directory):
        return {"problem": "no directory", "files": []}
    path = which(words[0], directory, query.get("path"))
    if path is None:
        return {"problem": "no program", "files": []}
    if not os.access(path, os.X_OK):
        return {"problem": "not executable", "files": []}
    files = [path]
    if query.get("script"):
        first: List[str] = [word for word in words[1:] if not word.startswith("-")][:1]
        files += [each for each in (os.path.join(directory, word) for word in first) if os.path.isfile(each)]
    return {"problem": None, "files": [described(each) for each in files]}


def which(program: str, directory: str, path: Optional[str]) -> Optional[str]:
    """The file that a command's first word names."""
    if "/" in program:
        found = os.path.join(directory, program)
        return found if os.path.isfile(found) else None
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    found = (os.path.join(directory, folder, program) for folder in folders)
    return next((each for each in found if os.path.isfile(each) and os.access(each, os.X_OK)), None)


def described(path: str) -> Json:
    """A file with its SHA-256."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return {"path": real, "sha256": digest_of(real), "size": status.st_size, "modified": status.st_mtime}


def digest_of(path: str) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    import hashlib

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


# Files that stay


def write_durably(path: str, content: bytes) -> None:
    """Write a file whole or not at all."""
    with open(path + ".tmp", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file that may be gone."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def set_aside(path: str, task: bytes) -> None:
    """Write a task down with room behind it for what comes of it."""
    try:
        with open(path, "wb") as file:
            file.write(task)
            file.flush()
            os.posix_fallocate(file.fileno(), 0, len(task) + RESERVE)
            os.fsync(file.fileno())
    except OSError:
        remove(path)
        raise


class Folder:
    """The folder of an experiment on this worker."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))

    def at(self, *names: str) -> str:
        """A path in the folder."""
        return os.path.join(self.path, *names)

    def make(self) -> None:
        """Make the folder and its parts, for this user alone."""
        for name in ("", "spool", "files", "scratch", "setup"):
            os.makedirs(self.at(name), mode=0o700, exist_ok=True)

    def keys(self) -> Dict[str, str]:
        """What is known of trials that are not acknowledged: "started" or "result"."""
        found: Dict[str, str] = {}
        for name in sorted(os.listdir(self.at("spool"))):  # "result" comes before "started" and wins
            key, _, state = name.rpartition(".")
            if state in ("started", "result"):
                found.setdefault(key, state)
        return found

    def result(self, key: str) -> str:
        """Where what came of a trial stands."""
        return self.at("spool", key + ".result")

    def started(self, key: str) -> str:
        """What says that a trial was started."""
        return self.at("spool", key + ".started")

    def free(self) -> int:
        """Bytes that this user may still write."""
        status = os.statvfs(self.path)
        return status.f_bavail * status.f_frsize

    def forget(self, key: str) -> None:
        """Forget a trial whose result is safe elsewhere."""
        remove(self.started(key))
        remove(self.result(key))
        remove(self.at("spool", key + ".tmp"))

    @contextlib.contextmanager
    def hand(self) -> Generator[Optional[int], None, None]:
        """The lock of who executes a trial, or None where somebody does."""
        descriptor = self.lock_file()
        try:
            yield descriptor if self.acquired(descriptor) else None
        finally:
            os.close(descriptor)

    def acquired(self, descriptor: int) -> bool:
        """Try for half a second: who asks whether a trial runs holds the lock for an instant."""
        deadline = time.monotonic() + 0.5
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.01)
            else:
                return True

    def lock_file(self) -> int:
        return os.open(self.at("hand.lock"), os.O_RDWR | os.O_CREAT, 0o600)

    def in_hand(self) -> Optional[Json]:
        """The key of the trial that runs, and the process that executes it; None where there is none."""
        descriptor = self.lock_file()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return json.loads(os.pread(descriptor, 4096, 0) or '{"key": "", "pid": 0}')
        else:
            return None
        finally:
            os.close(descriptor)

    def wait(self) -> None:
        """Wait, asleep, until nobody executes a trial."""
        descriptor = self.lock_file()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)


def note_hand(lock: int, key: str, process: int) -> None:
    """Write who holds the lock into it, at one length, so that a reader never sees half of it."""
    os.pwrite(lock, json.dumps({"key": key, "pid": process}).ljust(256).encode(), 0)


# The connection


class Refused(Exception):
    """A request that cannot be carried out."""


class Attachment:
    """Answers the frames of one connection."""

    def __init__(self, folder: Folder, source: str) -> None:
        self.folder = folder
        self.source = source
        self.token = os.urandom(8).hex()
        self.writing = threading.Lock()
        self.kept: List[str] = []

    def serve(self, requests: BinaryIO) -> None:
        """Answer until the runner closes the connection."""
        while True:
            received = read_frame(requests)
            if received is None or received[0]["op"] == "bye":
                return
            head, body = received
            if head["op"] in ("run", "result"):
                threading.Thread(target=self.answer, args=(head, body), daemon=True).start()
            else:
                self.answer(head, body)

    def answer(self, head: Json, body: bytes) -> None:
        """Carry out one request and send its answer."""
        try:
            reply, content = getattr(self, "do_" + head["op"])(head, body)
        except Refused as problem:
            reply, content = {"error": str(problem)}, b""
        except OSError as problem:
            text = "{}: {}".format(problem.filename or self.folder.path, problem.strerror or problem)
            reply, content = {"error": text, "errno": problem.errno}, b""
        self.send(dict(reply, id=head["id"]), content)

    def send(self, head: Json, body: bytes) -> None:
        """Write a frame whole; a connection that is gone is found out by the reader."""
        with self.writing, contextlib.suppress(OSError, ValueError):
            sys.stdout.buffer.write(frame(head, body))
            sys.stdout.buffer.flush()

    # Requests

    def do_hello(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        import platform
        import socket

        self.folder.make()
        write_durably(self.folder.at("connection"), self.token.encode())
        if text_of(self.folder.at("agent.py")) != self.source.strip():
            write_durably(self.folder.at("agent.py"), self.source.encode())
        hand = self.folder.in_hand()
        return {
            "protocol": PROTOCOL,
            "python": platform.python_version(),
            "host": socket.gethostname(),
            "folder": self.folder.path,
            "free": self.folder.free(),
            "clocks": clocks(),
            "keys": self.folder.keys(),
            "hand": hand and hand["key"],
        }, b""

    def do_ping(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        return {}, b""

    def do_look(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        return {"clocks": clocks(), "stats": stats(head["programs"]), "free": self.folder.free()}, b""

    def do_facts(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        return facts(head["patterns"]), b""

    def do_resolve(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        return {"found": [resolve(query) for query in head["queries"]]}, b""

    def do_manifest(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """Which of the experiment's files are missing or differ; what was sent before and is no more, goes."""
        before = json.loads(text_of(self.folder.at("manifest")) or "{}")
        wanted: Dict[str, List[Any]] = json.loads(body)
        for name in set(before) - set(wanted):
            remove(self.folder.at("files", name))
        missing = [name for name, (digest, mode) in wanted.items() if not self.has(name, digest, mode)]
        write_durably(self.folder.at("manifest"), body)
        remove(self.folder.at("incoming.tar"))
        return {"missing": missing}, b""

    def has(self, name: str, digest: str, mode: int) -> bool:
        path = self.folder.at("files", name)
        if not os.path.isfile(path) or digest_of(path) != digest:
            return False
        os.chmod(path, mode)
        return True

    def do_put(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """Take a part of an archive at its place, so that the same part may come twice; unpack it with the last."""
        import tarfile

        path = self.folder.at("incoming.tar")
        with open(path, "r+b" if os.path.exists(path) else "wb") as file:
            file.seek(head["offset"])
            file.write(body)
        if head["last"]:
            with tarfile.open(path) as archive:
                for member in archive:
                    self.unpack(archive, member)
            remove(path)
        return {}, b""

    def unpack(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        import shutil

        content = archive.extractfile(member)
        if content is None:
            return
        path = self.folder.at("files", member.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        remove(path)  # a program that runs cannot be written into
        with open(path, "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        os.chmod(path, member.mode)

    def do_run(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """Start a trial unless it was started before; answer when it has come to an end."""
        key = head["key"]
        if key not in self.folder.keys():
            self.begin(key, body)
        return self.do_result(head, body)

    def begin(self, key: str, task: bytes) -> None:
        with self.folder.hand() as lock:
            if lock is None:
                hand = self.folder.in_hand()
                raise Refused("trial {} is running here".format(hand and hand["key"]))
            if text_of(self.folder.at("connection")) != self.token:
                raise Refused("a newer connection is at work")
            if key not in self.folder.keys():
                self.start(key, task, lock)

    def start(self, key: str, task: bytes, lock: int) -> None:
        """Set room aside, write down that it is started, and start the process that holds the lock from now on."""
        import subprocess

        note_hand(lock, key, 0)
        set_aside(self.folder.started(key), task)
        sync_folder(self.folder.at("spool"))
        words = [sys.executable, "-IS", self.folder.at("agent.py"), "execute", self.folder.path, key]
        with open(self.folder.at("agent.log"), "ab") as log:
            subprocess.Popen(
                [*words, str(len(task)), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock,),
            )

    def do_result(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """What came of a trial; waits while it runs."""
        key = head["key"]
        hand = self.folder.in_hand()
        if hand is not None and hand["key"] == key:
            self.folder.wait()
        state = self.folder.keys().get(key)
        if state is None:
            return {"state": "unknown"}, b""
        if state == "started":
            end_marked(head["marker"])
            return {"state": "lost"}, b""
        with open(self.folder.result(key), "rb") as file:
            found = read_frame(file)
        return (dict(found[0], state="result"), found[1]) if found else ({"state": "lost"}, b"")

    def do_cancel(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """End the trial in hand, if it is this one; ask again where it has not quite begun."""
        hand = self.folder.in_hand()
        if hand is None or hand["key"] != head["key"]:
            return {"cancelled": True}, b""
        if hand["pid"]:
            with contextlib.suppress(OSError):
                os.kill(hand["pid"], signal.SIGTERM)
        return {"cancelled": bool(hand["pid"])}, b""

    def do_ack(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """The result is safe elsewhere: forget it."""
        self.folder.forget(head["key"])
        return {}, b""

    def do_end(self, head: Json, body: bytes) -> Tuple[Json, bytes]:
        """End processes that carry a marker of this experiment, when no trial is in hand."""
        with self.folder.hand() as lock:
            ended = 0
            if lock is not None:
                note_hand(lock, "", 0)
                ended = end_marked(head["marker"])
        return {"ended": ended}, b""


# Executing a trial


class Program:
    """One program from its start to its end, in a process group of its own."""

    def __init__(self, words: Sequence[str], task: Json, timeout: Optional[float], limit: int) -> None:
        self.words = words
        self.task = task
        self.timeout = timeout
        self.limits = (limit, ERROR_LIMIT)
        self.environment = dict(os.environ, **task["environment"])
        self.outputs = (bytearray(), bytearray())
        self.totals = [0, 0]
        self.why: Optional[str] = None
        self.process = 0
        self.cpus: List[int] = []

    def run(self) -> Json:
        """Start the program, sleep until it ends, and end what it has left."""
        try:
            os.chdir(self.task["directory"])
            path = which(self.words[0], self.task["directory"], self.environment.get("PATH"))
            if path is None:
                return {"problem": "No such file or directory"}
            return self.run_file(path)
        except (OSError, ValueError) as problem:
            return {"problem": getattr(problem, "strerror", None) or str(problem)}

    def run_file(self, path: str) -> Json:
        pipes = [os.pipe(), os.pipe()]
        reader = threading.Thread(
            target=self.read, args=({pipe[0]: n for n, pipe in enumerate(pipes)},), daemon=True
        )
        signal.signal(signal.SIGALRM, lambda number, stack: self.end("timed out"))
        reader.start()
        try:
            realtime, start = time.time(), time.monotonic_ns()
            self.process = self.spawn(path, pipes[0][1], pipes[1][1])
        finally:
            for _, write in pipes:
                os.close(write)
        status, usage, end = self.wait()
        leftover = end_marked(self.environment[MARKER], self.process)
        reader.join(GRACE_SECONDS)
        return self.report(realtime, end - start, status, usage, leftover)

    def spawn(self, path: str, output: int, errors: int) -> int:
        actions: List[Any] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, errors, 2),
        ]
        ignored = [signal.SIGPIPE, signal.SIGXFSZ]  # by Python; a program expects their default
        usual = os.sched_getaffinity(0)
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)  # the program inherits it
        try:
            return os.posix_spawn(
                path, list(self.words), self.environment, file_actions=actions, setpgroup=0, setsigdef=ignored
            )
        finally:
            if self.cpus:
                os.sched_setaffinity(0, usual)

    def wait(self) -> Tuple[int, Any, int]:
        """Sleep in wait4(2); the alarm and TERM interrupt it."""
        if self.why is not None:  # cancelled before there was a process
            self.end(self.why)
        elif self.timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, self.timeout)
        _, status, usage = os.wait4(self.process, 0)
        end = time.monotonic_ns()
        signal.setitimer(signal.ITIMER_REAL, 0)
        return status, usage, end

    def end(self, why: str) -> None:
        """End the program: TERM, and KILL after the grace."""
        number = signal.SIGTERM if self.why is None or not self.process else signal.SIGKILL
        self.why = self.why or why
        if self.process:
            with contextlib.suppress(OSError):
                os.killpg(self.process, number)
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def read(self, pipes: Dict[int, int]) -> None:
        """Keep what is printed, up to the limits; with pauses, so that a line at a time does not wake us for each."""
        while pipes:
            for descriptor in select.select(list(pipes), [], [])[0]:
                part = os.read(descriptor, 1 << 16)
                if part:
                    self.keep(pipes[descriptor], part)
                else:
                    del pipes[descriptor]
                    os.close(descriptor)
            time.sleep(PAUSE)

    def keep(self, output: int, part: bytes) -> None:
        kept = self.outputs[output]
        kept += part[: max(self.limits[output] - len(kept), 0)]
        self.totals[output] += len(part)

    def report(self, realtime: float, nanoseconds: int, status: int, usage: Any, leftover: int) -> Json:
        exited = os.WIFEXITED(status)
        return {
            "started_realtime": realtime,
            "wall_ns": nanoseconds,
            "user_ns": round(usage.ru_utime * 1e9),
            "system_ns": round(usage.ru_stime * 1e9),
            "max_rss_bytes": usage.ru_maxrss * 1024,
            "minor_faults": usage.ru_minflt,
            "major_faults": usage.ru_majflt,
            "blocks_in": usage.ru_inblock,
            "blocks_out": usage.ru_oublock,
            "voluntary_switches": usage.ru_nvcsw,
            "involuntary_switches": usage.ru_nivcsw,
            "exit_code": os.WEXITSTATUS(status) if exited else None,
            "signal": None if exited else os.WTERMSIG(status),
            "timed_out": self.why == "timed out",
            "cancelled": self.why == "cancelled",
            "leftover_processes": leftover,
            "stdout_total": self.totals[0],
            "errors": self.outputs[1][-4096:].decode(errors="replace"),
        }


class Execution:
    """A task: prepare, the measured program, conclude, and the files that it wrote."""

    def __init__(self, task: Json) -> None:
        self.task = task
        self.program: Optional[Program] = None
        self.cancelled = False
        self.head: Json = {"boot": boot_id(), "runs": {}, "files": []}
        self.body = bytearray()
        signal.signal(signal.SIGTERM, lambda number, stack: self.cancel())

    def cancel(self) -> None:
        self.cancelled = True
        if self.program is not None:
            self.program.end("cancelled")

    def run(self) -> bytes:
        """Carry out the task and give the frame with what came of it."""
        fresh = self.task.get("fresh")
        if fresh:
            os.makedirs(fresh)
        try:
            self.steps()
        finally:
            if fresh:
                import shutil

                shutil.rmtree(fresh, ignore_errors=True)
        return frame(self.head, bytes(self.body))

    def steps(self) -> None:
        task = self.task
        if task.get("prepare") and not succeeded(self.step("prepare", task["side_timeout"], ERROR_LIMIT)):
            return
        marks = {path: mark(path) for path in task["files"]}
        report = self.step("command", task["timeout"], task["limit"])
        if report.get("problem") is None:
            self.body += self.program.outputs[0] + self.program.outputs[1] if self.program else b""
            self.head["sizes"] = [len(output) for output in self.program.outputs] if self.program else []
            self.head["files"] = [self.taken(path, marks[path]) for path in task["files"]]
        if task.get("conclude") and not report.get("cancelled"):
            self.step("conclude", task["side_timeout"], ERROR_LIMIT)

    def step(self, what: str, timeout: Optional[float], limit: int) -> Json:
        self.program = Program(self.task[what], self.task, timeout, limit)
        if what == "command":
            self.program.cpus = self.task.get("cpus") or []
        if self.cancelled:
            self.program.end("cancelled")
        self.head["runs"][what] = self.program.run()
        return self.head["runs"][what]

    def taken(self, path: str, before: Optional[Tuple[int, ...]]) -> Json:
        """Take a file that the program was to write; "problem" says why that cannot be done."""
        try:
            status = os.stat(path)
            if not os.path.isfile(path):
                return {"path": path, "problem": "not a regular file"}
            if before == signature(status):
                return {"path": path, "problem": "stale", "modified": status.st_mtime}
            if status.st_size > FILE_LIMIT:
                return {"path": path, "problem": "{:,} bytes are too many".format(status.st_size)}
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return {"path": path, "problem": "missing"}
        except OSError as problem:
            return {"path": path, "problem": problem.strerror or str(problem)}
        self.body += content
        return {"path": path, "size": len(content)}


def succeeded(report: Json) -> bool:
    """Whether a command beside the measured one did what it should."""
    return report.get("exit_code") == 0 and not (report["cancelled"] or report["timed_out"])


def signature(status: os.stat_result) -> Tuple[int, ...]:
    """What another write changes."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def mark(path: str) -> Optional[Tuple[int, ...]]:
    """The state of a file before a trial writes it; waits until a later write must have a later time."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    while 0 <= time.time_ns() - status.st_ctime_ns < 20_000_000:
        time.sleep(PAUSE)
    return signature(status)


def end_marked(marker: str, group: int = 0) -> int:
    """End every process whose marker begins with `marker`, or that is in a process group; return how many there were."""
    found = marked(marker, group)
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = marked(marker, group) if found else []
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, number)
        deadline = time.monotonic() + GRACE_SECONDS
        while left and time.monotonic() < deadline:
            reap()
            left = [process for process in left if alive(process)]
            time.sleep(0.005)
    reap()
    return len(found)


def reap() -> None:
    """Take the exit codes of processes that were handed to us."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def marked(marker: str, group: int) -> List[int]:
    """Processes that live and carry a marker, or are in a process group."""
    needle = (MARKER + "=" + marker).encode()
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return [each for each in numbers if alive(each) and (carries(each, needle) or in_group(each, group))]


def carries(process: int, needle: bytes) -> bool:
    try:
        with open("/proc/{}/environ".format(process), "rb") as file:
            return any(entry.startswith(needle) for entry in file.read().split(b"\0"))
    except OSError:
        return False


def in_group(process: int, group: int) -> bool:
    try:
        return group != 0 and os.getpgid(process) == group
    except OSError:
        return False


def alive(process: int) -> bool:
    """Whether a process runs: neither gone nor a zombie."""
    text = text_of("/proc/{}/stat".format(process)) or ""
    return text.rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


def keep_result(folder: Folder, key: str, content: bytes) -> None:
    """Write down what came of a trial; where the disk is full, with the room that was set aside before."""
    try:
        write_durably(folder.result(key), content)
    except OSError:
        os.truncate(folder.started(key), 0)
        remove(folder.result(key) + ".tmp")
        try:
            write_durably(folder.result(key), content)
        except OSError as problem:
            remove(folder.result(key) + ".tmp")
            write_durably(folder.result(key), frame({"unkept": problem.strerror, "bytes_lost": len(content)}))


def execute(folder: Folder, key: str, size: int, lock: int) -> None:
    """Execute one trial; who starts this process has locked the folder, and the lock ends with the process."""
    os.set_inheritable(lock, False)
    sys.setswitchinterval(1e-5)  # who wakes from wait4(2) is to read the clock at once
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with open(folder.started(key), "rb") as file:
        task = json.loads(file.read(size))
    once = task.get("once")
    if once and os.path.exists(folder.at("setup", once)):
        keep_result(folder, key, frame({"skipped": True}))
        return
    execution = Execution(task)
    note_hand(lock, key, os.getpid())  # from here on TERM is caught
    content = execution.run()
    if once and succeeded(execution.head["runs"]["command"]):
        write_durably(folder.at("setup", once), b"")
    keep_result(folder, key, content)


def attach(path: str, source: str) -> None:
    """Talk to the runner until it goes."""
    if sys.version_info < (3, 8):
        sys.exit("trialwise: Python 3.8 or newer is needed; this is " + sys.version.split()[0])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    Attachment(Folder(path), source).serve(sys.stdin.buffer)


if __name__ == "__main__" and sys.argv[1:2] == ["execute"]:
    execute(Folder(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
