"""Run a program under the supervisor, which measures it as on the runner's machine (`crates/process/supervisor/supervisor.c`)."""

from __future__ import annotations

import os
import signal
import struct

from trialwise.execution.workers.agent.outputs import Outputs
from trialwise.execution.workers.agent.runs import Run
from trialwise.trials.marked import GRACE_SECONDS, LOST_SUPERVISOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Json = dict[str, Any]

FIRST_FREE = 64
"""Our descriptors start here, out of the way of those given to the supervisor."""
COUNTERS = 16
FIELDS = (
    *("stage", "error", "realtime", "start", "end", "status"),
    *("user_us", "system_us", "max_rss_kib", "minor_faults", "major_faults", "blocks_in", "blocks_out"),
    *("voluntary", "involuntary", "reason", "leftover", "surviving"),
)
FORMAT = f"={len(FIELDS) + 4 * COUNTERS}q"
RAN, AFFINITY, NAMESPACE = 0, 2, 4
TIMED_OUT, CANCELLED = 1, 2
NANOSECONDS = 1_000_000_000


def image() -> bytes | None:
    """Return the supervisor for this machine, from the agent's archive or from our own core; None if there is none for it."""
    try:
        return __loader__.get_data("supervisor." + os.uname().machine)  # type: ignore[name-defined]
    except (OSError, AttributeError):
        return own_image()


def own_image() -> bytes | None:
    """Return the supervisor of the core, where Trialwise is installed."""
    try:
        from trialwise._linux import supervisor_image
    except ImportError:
        return None
    return supervisor_image()


def probe(counters: Sequence[str] = ()) -> Json | None:
    """Run nothing under the supervisor; return None if that fails here."""
    outputs = Outputs(0, 0)
    settings: Json = {"counters": list(counters)}
    try:
        report = Supervised("/bin/sh", ["sh", "-c", ":"], {}, settings, None, outputs).run()
    except OSError:
        report = {"problem": "cannot be started"}
    finally:
        outputs.drain()
    return None if report.get("problem") else report


class Supervised(Run):
    """One run of a program under the supervisor."""

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.cancelling: tuple[int, int] = os.pipe()
        self.notes: int | None = os.memfd_create("notes") if self.settings.get("follow") else None
        self.process = 0
        """The supervisor's process, once it was started; whoever goes on running waits for it (waitpid(2))."""

    def close(self) -> None:
        """Release the descriptors that `end` needs."""
        for descriptor in self.cancelling:
            os.close(descriptor)

    def end(self, why: str) -> None:
        """Abandon the run."""
        os.write(self.cancelling[1], b"x")

    def run(self) -> Json:
        """Run it to its end and return what was measured, or {"problem": …}; with "notes" if it was followed."""
        report, sent = os.pipe()
        try:
            self.start(sent)
        finally:
            os.close(sent)
            self.outputs.close_writers()
        self.outputs.read(until=report)
        content = os.read(report, struct.calcsize(FORMAT))
        os.close(report)
        if len(content) != struct.calcsize(FORMAT):
            return {"problem": LOST_SUPERVISOR}
        return self.told(struct.unpack(FORMAT, content), self.take_notes())

    def start(self, sent: int) -> None:
        program = os.memfd_create("trialwise-supervisor", 0)
        with open(program, "wb", closefd=False) as file:
            file.write(image() or b"")
        # The supervisor's descriptors, in order: input, outputs, report, the one that abandons the run, notes of following.
        wanted = [os.open(os.devnull, os.O_RDONLY), *self.outputs.writers, sent, self.cancelling[0]]
        wanted += [] if self.notes is None else [self.notes]
        first = max(FIRST_FREE, *(each + 1 for each in [*wanted, program]))
        high = {each: first + place for place, each in enumerate([*wanted, program])}
        actions: list[Any] = [(os.POSIX_SPAWN_DUP2, each, place) for each, place in high.items()]
        actions += [(os.POSIX_SPAWN_DUP2, high[each], place) for place, each in enumerate(wanted)]
        try:
            self.process = os.posix_spawn(
                f"/proc/self/fd/{high[program]}",
                ["trialwise-supervisor", *self.numbers(), self.path, *self.words],
                self.environment,
                file_actions=actions,
                setpgroup=0,
                setsigmask=[],
                setsigdef=set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP},
            )
        finally:
            os.close(program)
            os.close(wanted[0])

    def numbers(self) -> list[str]:
        """TIMEOUT_NS GRACE_NS CPUS COUNTERS NAMESPACES."""
        return [
            "-" if self.timeout is None else str(round(self.timeout * NANOSECONDS)),
            str(round(GRACE_SECONDS * NANOSECONDS)),
            ",".join(map(str, self.settings.get("cpus") or [])) or "-",
            ",".join(self.settings.get("counters") or []) or "-",
            str(self.settings.get("isolate") or 0) + ("" if self.notes is None else "+"),
        ]

    def take_notes(self) -> Json:
        """Return what the supervisor noted about the processes, for `measurement.followed`; {} if it was not to follow them."""
        if self.notes is None:
            return {}
        with open(self.notes, "rb") as file:
            self.notes = None
            file.seek(0)
            return {"notes": file.read()}

    def told(self, values: Sequence[int], notes: Json) -> Json:
        found = dict(zip(FIELDS, values))
        if found["stage"] != RAN:
            return {"problem": why_not_started(found["stage"], found["error"])}
        readings = [values[place : place + 4] for place in range(len(FIELDS), len(values), 4)]
        return {
            **notes,
            "started_realtime": found["realtime"] / 1e9,
            "wall_ns": found["end"] - found["start"],
            "user_ns": found["user_us"] * 1000,
            "system_ns": found["system_us"] * 1000,
            "max_rss_bytes": found["max_rss_kib"] * 1024,
            "minor_faults": found["minor_faults"],
            "major_faults": found["major_faults"],
            "blocks_in": found["blocks_in"],
            "blocks_out": found["blocks_out"],
            "voluntary_switches": found["voluntary"],
            "involuntary_switches": found["involuntary"],
            "status": None if found["status"] < 0 else found["status"],
            "timed_out": found["reason"] == TIMED_OUT,
            "cancelled": found["reason"] == CANCELLED,
            "leftover_processes": found["leftover"],
            "readings": [list(reading) for reading in readings[: len(self.settings.get("counters") or [])]],
        }


def why_not_started(stage: int, error: int) -> str:
    """Say what kept a program from starting."""
    text = os.strerror(error)
    if stage == NAMESPACE:
        needed = "as root, or where unprivileged user namespaces are allowed"
        return f"cannot make namespaces for the program ({needed}): {text}"
    if stage == AFFINITY:
        return f"cannot bind the program to its CPUs: {text}"
    return text
