"""One connection to the runner, over standard input and output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading

from trialwise.execution.services import keeper
from trialwise.execution.workers.agent.apart import start_apart
from trialwise.execution.workers.agent.folder import (
    Folder,
    note_hand,
    remove,
    set_aside,
    sync_folder,
    write_durably,
)
from trialwise.execution.workers.agent.frames import frame, read_frame
from trialwise.execution.workers.agent.path_capture import why_not
from trialwise.execution.workers.agent.path_settings import Settings
from trialwise.execution.workers.agent.path_tunnel import why_no_tunnel
from trialwise.execution.workers.agent.probe import clocks, descriptions, facts, resolve, stats, text_of
from trialwise.execution.workers.agent.shutdown import end_marked
from trialwise.execution.workers.agent.supervision import probe
from trialwise.measurement.file_identity import digest_of
from trialwise.trials.marked import end_left, marker_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tarfile
    from typing import Any, BinaryIO

    Json = dict[str, Any]

PROTOCOL = 2
TRY_SECONDS, LAST_SAID = 15, 2000
EXECUTE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from trialwise.execution.workers.agent.execution import main; main(sys.argv[2:])"
)


class Refused(Exception):
    """A request that cannot be carried out."""


class Attachment:
    """Answers the frames of one connection."""

    def __init__(self, folder: Folder, archive: bytes) -> None:
        self.folder = folder
        self.archive = archive
        self.token = os.urandom(8).hex()
        self.writing = threading.Lock()
        self.kept: list[str] = []

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
            text = f"{problem.filename or self.folder.path}: {problem.strerror or problem}"
            reply, content = {"error": text, "errno": problem.errno}, b""
        self.send(dict(reply, id=head["id"]), content)

    def send(self, head: Json, body: bytes) -> None:
        """Write a complete frame; the reader notices a lost connection."""
        with self.writing, contextlib.suppress(OSError, ValueError):
            sys.stdout.buffer.write(frame(head, body))
            sys.stdout.buffer.flush()

    # Requests

    def do_hello(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        import hashlib
        import platform
        import socket

        self.folder.make()
        with keeper.alone(self.folder):
            write_durably(self.folder.at("connection"), self.token.encode())
        if not self.has_archive():
            write_durably(self.folder.at("agent.zip"), self.archive)
        hand = self.folder.in_hand()
        self.put_settings_back()
        keeper.hold_connection(self.folder)
        return {
            "protocol": PROTOCOL,
            "agent": hashlib.sha256(self.archive).hexdigest(),
            "python": platform.python_version(),
            "host": socket.gethostname(),
            "architecture": platform.machine(),
            "supervised": probe() is not None,
            "kernel": platform.release(),
            "paranoid": text_of("/proc/sys/kernel/perf_event_paranoid"),
            "cpus": sorted(os.sched_getaffinity(0)),
            "folder": self.folder.path,
            "free": self.folder.free(),
            "clocks": clocks(),
            "keys": self.folder.known(),
            "hand": hand and hand["key"],
        }, b""

    def put_settings_back(self) -> None:
        """Put back what trials changed whose ends were killed with their guardians, here and in the folders of other experiments."""
        for folder in self.folder.all_with_settings():
            if folder.in_hand() is None:
                Settings(folder.settings()).put_back()

    def has_archive(self) -> bool:
        try:
            with open(self.folder.at("agent.zip"), "rb") as file:
                return file.read() == self.archive
        except FileNotFoundError:
            return False

    def do_ping(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        self.folder.renew()
        return {}, b""

    def do_look(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        return {"clocks": clocks(), "stats": stats(head["programs"]), "free": self.folder.free()}, b""

    def do_facts(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        return facts(head["patterns"], head["own"], head["passed"], head["folder"]), b""

    def do_describe(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        return {"found": descriptions(head["paths"])}, b""

    def do_count(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Probe which counters the kernel accepts."""
        report = probe(head["counters"])
        return {"readings": report and report["readings"]}, b""

    def do_resolve(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        return {"found": [resolve(query) for query in head["queries"]]}, b""

    def do_manifest(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Return which of the experiment's files are missing or differ; remove those sent before that no longer exist."""
        before = json.loads(text_of(self.folder.at("manifest")) or "{}")
        wanted: dict[str, list[Any]] = json.loads(body)
        for name in set(before) - set(wanted):
            remove(self.folder.at("files", name))
        missing = [name for name, (digest, mode) in wanted.items() if not self.has(name, digest, mode)]
        write_durably(self.folder.at("manifest"), body)
        with self.folder.receiving():
            remove(self.folder.at("incoming.tar"))
            remove(self.folder.at("unpacked"))
        return {"missing": missing}, b""

    def has(self, name: str, digest: str, mode: int) -> bool:
        path = self.folder.at("files", name)
        if not os.path.isfile(path) or digest_of(path) != digest:
            return False
        os.chmod(path, mode)
        return True

    def do_put(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Write a part of an archive at its offset; unpack the archive with the last part.

        The same part may arrive twice, also while an agent whose connection was lost is still at work on it.
        """
        path, done = self.folder.at("incoming.tar"), self.folder.at("unpacked")
        with self.folder.receiving():
            if text_of(done) == head["archive"]:
                return {}, b""
            with open(path, "r+b" if os.path.exists(path) else "wb") as file:
                file.seek(head["offset"])
                file.write(body)
            if head["last"]:
                self.unpack_all(path)
                write_durably(done, head["archive"].encode())
                remove(path)
        return {}, b""

    def unpack_all(self, path: str) -> None:
        import tarfile

        with tarfile.open(path) as archive:
            for member in archive:
                self.unpack(archive, member)

    def unpack(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        import shutil

        content = archive.extractfile(member)
        if content is None:
            return
        path = self.folder.at("files", member.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        remove(path)  # a running program's file cannot be written
        with open(path, "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        os.chmod(path, member.mode)

    def do_program(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Keep a program under its digest, if it came along; say where it is, and whether it is there."""
        path = self.folder.at("programs", head["digest"])
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if body:
            write_durably(path, body)
            os.chmod(path, 0o700)
        there = os.path.isfile(path) and digest_of(path) == head["digest"]
        return {"path": path, "there": there}, b""

    def do_named(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Make a folder in which kept programs have their names; say where it is."""
        import hashlib

        programs: dict[str, str] = head["programs"]
        digest = hashlib.sha256(json.dumps(programs, sort_keys=True).encode()).hexdigest()
        path = self.folder.at("programs", "named-" + digest)
        os.makedirs(path, mode=0o700, exist_ok=True)
        for name, kept in programs.items():
            with contextlib.suppress(FileExistsError):
                os.symlink(self.folder.at("programs", kept), os.path.join(path, name))
        return {"path": path}, b""

    def do_may_see(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Say what keeps this user from seeing packets by a capture or in a tunnel, None if nothing does."""
        return {"problem": why_no_tunnel(head["inside"]) if head["see"] == "tunnel" else why_not()}, b""

    def do_try(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Run a program that ends at once; say what it says of itself if it fails, None if all is well."""
        import subprocess

        try:
            done = subprocess.run(
                head["words"], stdin=subprocess.DEVNULL, capture_output=True, timeout=TRY_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return {"problem": f"it took longer than {TRY_SECONDS} s"}, b""
        said = done.stderr[-LAST_SAID:].decode(errors="replace").strip()
        return {"problem": None if done.returncode == 0 else said or f"exit code {done.returncode}"}, b""

    def do_run(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Start a trial unless it was started before; answer when it has ended."""
        key = head["key"]
        self.folder.renew()
        if key not in self.folder.known():
            self.begin(key, body, head.get("secrets"))
        return self.do_result(head, body)

    def do_begin(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Start a trial unless it was started before; `do_result` answers when it has ended."""
        self.folder.renew()
        if head["key"] not in self.folder.known():
            self.begin(head["key"], body)
        return {}, b""

    def do_listening(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Say whether an end of a path listens, or has ended before it did."""
        state = self.folder.known().get(head["key"])
        listens = os.path.exists(self.folder.listening(head["key"]))
        return {"listens": listens, "ended": state != "started" or self.folder.in_hand() is None}, b""

    def begin(self, key: str, task: bytes, secrets: Json | None = None) -> None:
        with self.folder.hand() as lock:
            if lock is None:
                hand = self.folder.in_hand()
                msg = "trial {} is running here".format(hand and hand["key"])
                raise Refused(msg)
            if text_of(self.folder.at("connection")) != self.token:
                raise Refused("a newer connection is at work")
            if key not in self.folder.known():
                self.start(key, task, lock, secrets or {})

    def start(self, key: str, task: bytes, lock: int, secrets: Json) -> None:
        """Reserve space, record the start, and start the process that holds the lock from now on; secrets go to its standard input."""
        note_hand(lock, key, 0)
        set_aside(self.folder.started(key), task)
        sync_folder(self.folder.at("spool"))
        start_apart(self.folder, self.folder.at("agent.zip"), EXECUTE, [key, str(len(task))], lock, secrets)

    def do_result(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Return the result of a trial, waiting while it runs."""
        key = head["key"]
        hand = self.folder.in_hand()
        if hand is not None and hand["key"] == key:
            self.folder.wait()
        state = self.folder.known().get(key)
        if state is None:
            return {"state": "unknown"}, b""
        if state == "started":
            end_marked(head["marker"])
            end_left(marker_beside(head["marker"]))
            self.put_settings_back()
            self.folder.clear(key)
            return {"state": "lost"}, b""
        with open(self.folder.result(key), "rb") as file:
            found = read_frame(file)
        return (dict(found[0], state="result"), found[1]) if found else ({"state": "lost"}, b"")

    def do_cancel(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """End the running trial if it is this one; try again if it has not quite begun."""
        hand = self.folder.in_hand()
        if hand is None or hand["key"] != head["key"]:
            return {"cancelled": True}, b""
        if hand["pid"]:
            with contextlib.suppress(OSError):
                os.kill(hand["pid"], signal.SIGTERM)
        return {"cancelled": bool(hand["pid"])}, b""

    def do_serve(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Start a service unless it was started before; `do_service` says when it is ready."""
        with keeper.alone(
            self.folder
        ):  # what an older connection starts, it starts before a newer one ends all services
            if text_of(self.folder.at("connection")) != self.token:
                msg = "a newer connection is at work"
                raise Refused(msg)
            archive = self.folder.at("agent.zip")
            keeper.begin(self.folder, head["name"], body, archive, head.get("secrets") or {})
        return {}, b""

    def do_service(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Return the state of a service, and what it has printed once it has ended."""
        return keeper.state_of(self.folder, head["name"]), keeper.printed_of(self.folder, head["name"])

    def do_end_service(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Have a service ended; `do_service` says when it has."""
        return {"ended": keeper.end(self.folder, head["name"])}, b""

    def do_forget_service(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Forget a service that has ended."""
        keeper.forget(self.folder, head["name"])
        return {}, b""

    def do_end_services(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Have all services of the experiment ended; return how many are left."""
        return {"left": keeper.end_all(self.folder)}, b""

    def do_ack(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """Forget a result that is safe elsewhere."""
        self.folder.forget(head["key"])
        return {}, b""

    def do_end(self, head: Json, body: bytes) -> tuple[Json, bytes]:
        """End processes that carry a marker of this experiment, if no trial is running."""
        with self.folder.hand() as lock:
            ended = 0
            if lock is not None:
                note_hand(lock, "", 0)
                ended = end_marked(head["marker"])
        return {"ended": ended}, b""


def attach(path: str, archive: bytes) -> None:
    """Serve the runner until it disconnects."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    Attachment(Folder(path), archive).serve(sys.stdin.buffer)
