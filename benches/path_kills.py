"""Kills at random instants of what takes part in trials over a real path, at either end: what is left, and whether runs go on.

    .venv/bin/python benches/path_kills.py [COUNT] [--seed SEED] [--each KILLS] [--rounds ROUNDS]

Needs root, sshd and iproute2: two machines are namespaces with sshd, and this one is an end too. Runs of ROUNDS (6) short trials are
started; in each, somebody is killed at random instants, KILLS (4) times or until it is the runner. After two such runs of a directory
the third has to end well. After every run nothing may be left of its trials: no process, device, socket of a capture, or file.
Finished trials stay as they are. What each seed found is kept in benches/results/path_kills.json.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fcntl
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.system.real_path import RealPath
from tests.system.worker_machines import Machine, missing

from measuring import processor
from trialwise.store.ledger import Ledger

RESULT = Path(__file__).parent / "results" / "path_kills.json"
LOOK = 0.1
"""Seconds between looks for a victim: a look takes a good part of a processor."""
TO_VANISH = 30.0
TO_END = 400.0
RUNS = 2
"""Runs of one directory in which somebody is killed, before one that has to end well."""
LONGEST = {
    "runner": 9.0,
    "agent": 6.0,
    "end": 3.0,
    "guardian": 3.0,
    "capture": 2.5,
    "program": 1.5,
    "connection": 6.0,
}
"""Seconds within which victims are killed, from when the first of their kind is there."""
VICTIMS = tuple(LONGEST)
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)
SENDERS = ("local", "ssh://machine2")


@dataclass
class Found:
    """What came of the kills."""

    kills: collections.Counter[str] = field(default_factory=collections.Counter[str])
    missed: int = 0
    troubles: list[str] = field(default_factory=list[str])
    finished: int = 0


class Place:
    """Two machines with a link between them, and this one."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.rounds = rounds
        self.real = RealPath(folder, machines=2)
        (folder / "temporary").mkdir()
        self.real.environment["TMPDIR"] = str(folder / "temporary")
        self.folder = folder
        self.real.link()
        self.devices = [self.devices_of(each) for each in self.machines]

    @property
    def machines(self) -> list[Machine]:
        return self.real.machines.all

    def write(self, sender: str, number: int) -> None:
        """Write the experiment, in a directory of results of its own."""
        address = "" if sender == "local" else f', address = "{self.real.addresses[0]}"'
        self.real.write(runtime="0.6s", quiet="0.3s", more=f', lease = "3s"{address}', rounds=self.rounds)
        file = self.folder / "real.toml"
        file.write_text(file.read_text().replace('from = "local"', f'from = "{sender}"'))
        self.real.results = self.folder / f"results-{number}"

    def start(self) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            [*self.real.words, "--again"],
            env=self.real.environment,
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )

    # Whom to kill

    def victims(self, kind: str, run: subprocess.Popen[bytes]) -> list[int]:
        """The processes of a kind, at all ends."""
        if kind == "runner":
            return [run.pid]
        if kind == "connection":
            return [
                process
                for machine in self.machines
                for process in machine.processes("sshd: ")
                if machine.sshd is None or process != machine.sshd.pid
            ]
        ends = {process: words for process in self.real.left() if (words := words_of(process))}
        executing = {process for process, words in ends.items() if "agent.execution" in words}
        guardians = {process for process in executing if parent_of(process) in executing}
        return {
            "agent": [process for process, words in ends.items() if "agent.attachment" in words],
            "end": sorted(executing - guardians),
            "guardian": sorted(guardians),
            "capture": [process for process, words in ends.items() if " capture " in words],
            "program": [process for process, words in ends.items() if " flow " in words],
        }[kind]

    # What is left

    def left(self) -> list[str]:
        """What must not be there once the trial that was killed is over."""
        found = [f"process {process}: {words_of(process)[-120:]}" for process in self.real.left()]
        for machine, devices in zip(self.machines, self.devices, strict=True):
            found += [f"device {each}" for each in self.devices_of(machine) if each not in devices]
            sockets = Path(f"/proc/{machine.holder.pid}/net/packet").read_text().splitlines()[1:]
            found += [f"capture {each}" for each in sockets]
        found += [f"file {each}" for each in self.folder.glob("home/*/scratch/*")]
        return found + [f"file {each}" for each in (self.folder / "temporary").iterdir()]

    def await_nothing(self) -> list[str]:
        """What is left after a while."""
        deadline = time.monotonic() + TO_VANISH
        while (found := self.left()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    @staticmethod
    def devices_of(machine: Machine) -> list[str]:
        return [
            line.split(":")[0].strip()
            for line in Path(f"/proc/{machine.holder.pid}/net/dev").read_text().splitlines()[2:]
        ]

    # Trials

    def finished(self) -> dict[int, str]:
        """A digest of the files of every finished trial."""
        file = self.real.results / "ledger.sqlite"
        if not file.exists():
            return {}
        with contextlib.closing(Ledger.open(file, read_only=True)) as ledger:
            numbers = [row.number for row in ledger.trials() if row.status == "finished"]
        return {number: self.digest(number) for number in numbers}

    def digest(self, trial: int) -> str:
        files = sorted(self.real.results.glob(f"samples/{trial:06}-*"))
        return hashlib.sha256(b"".join(each.name.encode() + each.read_bytes() for each in files)).hexdigest()


def words_of(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def parent_of(process: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def kill_somebody(
    place: Place, run: subprocess.Popen[bytes], kind: str, number: signal.Signals, draw: random.Random
) -> float | None:
    """Kill one of a kind at a random instant after the first of them was there; return when, None if the run has ended before."""
    after, which = draw.uniform(0, LONGEST[kind]), draw.random()
    while not place.victims(kind, run):
        if run.poll() is not None:
            return None
        time.sleep(LOOK)
    since = time.monotonic()
    time.sleep(after)
    while run.poll() is None:
        if victims := place.victims(kind, run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victims[int(which * len(victims))], number)
                return time.monotonic() - since
        time.sleep(LOOK)
    return None


def run_and_kill(place: Place, draw: random.Random, found: Found, most: int) -> None:
    """Start a run, kill `most` at random instants, or fewer if the runner is among them, and look at what is left at its end."""
    before = place.finished()
    run = place.start()
    killed: list[str] = []
    while len(killed) < most:
        kind, number = draw.choice(VICTIMS), draw.choice(SIGNALS)
        after = kill_somebody(place, run, kind, number, draw)
        if after is None:
            break
        found.kills[f"{kind} {number.name}"] += 1
        killed.append(f"{kind} {number.name} {after:.2f} s after it was there")
    what = ", ".join(killed) or "nobody"
    try:
        run.wait(TO_END)
    except subprocess.TimeoutExpired:
        found.troubles.append(f"{what}: the run does not end")
        run.kill()
        run.wait()
    found.missed += not killed
    found.troubles += [f"{what}: left: {each}" for each in place.await_nothing()]
    after = place.finished()
    found.troubles += [
        f"{what}: trial {each} is not what it was" for each in before if after.get(each) != before[each]
    ]


def go_on(place: Place, found: Found) -> None:
    """Run to the end; every trial has to finish."""
    before = place.finished()
    run = subprocess.run(
        [*place.real.words, "--again"],
        env=place.real.environment,
        capture_output=True,
        text=True,
        timeout=TO_END,
        check=False,
    )
    if run.returncode != 0:
        found.troubles.append(
            f"the run does not go on: {run.returncode}: {(run.stdout + run.stderr)[-1000:]}"
        )
    after = place.finished()
    found.finished += len(after)
    if len(after) != place.rounds:
        found.troubles.append(f"{len(after)} of {place.rounds} trials have finished")
    found.troubles += [
        f"trial {each} is not what it was" for each in before if after.get(each) != before[each]
    ]
    found.troubles += [f"at the end: left: {each}" for each in place.await_nothing()]
    found.troubles += [f"at the end: left: {each}" for each in place.folder.glob("home/*/spool/*")]


@contextlib.contextmanager
def places(rounds: int) -> Generator[Place]:
    with tempfile.TemporaryDirectory(prefix="path-kills-") as folder:
        place = Place(Path(folder), rounds)
        try:
            yield place
        finally:
            place.real.machines.close()


def keep(seed: int, found: Found, seconds: float) -> None:
    """Write what came of the kills so far beside what other seeds found, and show it."""
    own = {
        "machine": {"processor": processor(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)},
        "kills": found.kills.total(),
        "by victim": dict(sorted(found.kills.items())),
        "runs in which nobody was there to be killed": found.missed,
        "trials finished afterwards": found.finished,
        "seconds": round(seconds),
        "troubles": found.troubles,
    }
    with RESULT.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several seeds may run side by side
        file.seek(0)
        kept: dict[str, object] = json.loads(file.read() or "{}")
        file.truncate(0)
        file.write(json.dumps(kept | {f"seed {seed}": own}, indent=2) + "\n")
    print(json.dumps(own, indent=2), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()
    if reason := missing():
        sys.exit(reason)
    draw = random.Random(asked.seed)  # noqa: S311 nothing secret
    found, begun = Found(), time.monotonic()
    with places(asked.rounds) as place:
        number = 0
        while found.kills.total() < asked.count:
            place.write(SENDERS[number % len(SENDERS)], number)
            for _ in range(RUNS):
                told = len(found.troubles)
                run_and_kill(place, draw, found, asked.each)
                print(
                    f"{found.kills.total()} kills, {time.monotonic() - begun:.0f} s",
                    *found.troubles[told:],
                    sep="\n  ",
                    flush=True,
                )
            told = len(found.troubles)
            go_on(place, found)
            print("the run has ended", *found.troubles[told:], sep="\n  ", flush=True)
            number += 1
            keep(asked.seed, found, time.monotonic() - begun)
    sys.exit(bool(found.troubles))


if __name__ == "__main__":
    main()
