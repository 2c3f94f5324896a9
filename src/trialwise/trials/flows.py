"""One flow over a path: the two sides of a scheme, from before the start to after the stop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from trialwise import _core
from trialwise._core import run_command
from trialwise.errors import TrialError
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill
from trialwise.schemes.needs import search_path
from trialwise.schemes.scheme import End
from trialwise.trials.path_plan import FlowPlan, load_words
from trialwise.trials.programs import Program

SPARE_SECONDS = 5.0
"""How much longer than the flow a sender is told to run: Trialwise ends it."""
_OWN_PROGRAMS = {
    "flow": (sys.executable, "-m", "trialwise.schemes.flow"),
    "utp": (sys.executable, "-m", "trialwise.schemes.utp"),
}
_POLL_SECONDS = 0.02
_PORT_TABLES = {"tcp": ("tcp", "tcp6"), "udp": ("udp", "udp6")}
_LISTENING = {"tcp": "0A", "udp": "07"}
_PREPARE_SECONDS = 60.0


class RunningFlow:
    """A flow at work on a path.

    The first side is started by `begin`, the second by `start`; `stop` and `wait` end both.
    """

    def __init__(
        self,
        plan: FlowPlan,
        path: _core.Path,
        *,
        directory: Path,
        environment: Mapping[str, str],
        seed: int,
        on_end: Callable[[], None],
    ) -> None:
        self.plan = plan
        self.report = directory / "report.jsonl"
        self._path = path
        self._directory = directory
        self._environment = environment
        self._on_end = on_end
        self._values: dict[str, Level] = {
            "port": plan.port,
            "time": f"{plan.stop - plan.flow.start + SPARE_SECONDS:g}",
            "report": str(self.report),
            "directory": str(directory),
            "seed": seed,
        }
        self._programs: dict[End, Program] = {}
        directory.mkdir(parents=True)

    def begin(self, cancel: Callable[[], bool]) -> None:
        """Prepare, start the side that waits, and wait until it is ready.

        Raises
        ------
        TrialError
            It ended, or did not become ready in time.
        """
        self._prepare()
        first = self.plan.scheme.first
        self._start(first)
        self._await_ready(first, cancel)

    def start(self) -> None:
        """Start the side that calls: the flow begins."""
        self._start("receiver" if self.plan.scheme.first == "sender" else "sender")

    def stop(self) -> None:
        """Ask both sides to end, the sender before the receiver."""
        for end in ("sender", "receiver"):
            if end in self._programs:
                self._programs[end].stop()

    def wait(self) -> None:
        """Wait until both sides have ended."""
        for program in self._programs.values():
            program.wait()

    @property
    def is_done(self) -> bool:
        """Whether the calling side, whose load has an end, has ended well."""
        caller = self._programs.get("sender")
        return (
            not self.plan.lasts
            and caller is not None
            and caller.end is not None
            and caller.end.exit_code == 0
        )

    def problem(self) -> str | None:
        """What went wrong so far, None while all is well."""
        for end, program in self._programs.items():
            ended = program.end
            if ended is None or ended.asked or self.is_done:
                continue
            return f"{self._name(end)} {ended.said}{self._last_line(program)}"
        return None

    # Inside

    def _name(self, end: End) -> str:
        return f"flow {self.plan.number} ({self.plan.scheme.name}): the {end}"

    def _place(self, end: End) -> End:
        """The end of the path at which a side runs: data of a downlink flow go the other way."""
        if self.plan.flow.direction == "uplink":
            return end
        return "receiver" if end == "sender" else "sender"

    def _start(self, end: End) -> None:
        side = self.plan.scheme.side(end)
        place = self._place(end)
        peer = _core.Path.address("receiver" if place == "sender" else "sender")
        values = {**self._values, "peer": peer}
        own = {name: fill(text, values) for name, text in side.environment}
        self._programs[end] = Program(
            [*self._path.prefix(place), *self._words(side.command, values)],
            environment={**self._environment, **own, "TRIALWISE_PEER": peer},
            directory=self._directory,
            output=self._directory / f"{end}.out",
            on_end=self._on_end,
        )

    def _words(self, command: tuple[str, ...], values: Mapping[str, Level]) -> list[str]:
        words: list[str] = []
        for word in command:
            if word[1:-1] in _OWN_PROGRAMS and word == f"{{{word[1:-1]}}}":
                words += _OWN_PROGRAMS[word[1:-1]]
            elif word == "{load}":
                words += load_words(self.plan.scheme, self.plan.flow.load)
            else:
                words.append(fill(word, values))
        return words

    def _prepare(self) -> None:
        if self.plan.scheme.prepare is None:
            return
        words = self._words(self.plan.scheme.prepare, self._values)
        done = run_command(
            words,
            environment=self._environment,
            working_directory=self._directory,
            timeout=_PREPARE_SECONDS,
        )
        if done.exit_code != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [""]
            raise TrialError(
                f"flow {self.plan.number} ({self.plan.scheme.name}): prepare ended with exit code {done.exit_code}: {last[0]}"
            )

    def _await_ready(self, end: End, cancel: Callable[[], bool]) -> None:
        ready = self.plan.scheme.side(end).ready
        program = self._programs[end]
        started = time.monotonic()
        while not cancel():
            waited = time.monotonic() - started
            if program.end is not None:
                said = f"{self._name(end)} {program.end.said}{self._last_line(program)}"
                raise TrialError(f"{said}, before it was ready")
            if waited >= ready.after and self._shows_ready(end, program):
                return
            if waited > max(ready.timeout, ready.after):
                what = f"listen on port {self.plan.port}" if ready.port else f"print {ready.line!r}"
                raise TrialError(f"{self._name(end)} did not {what} within {ready.timeout:g} s")
            time.sleep(_POLL_SECONDS)

    def _shows_ready(self, end: End, program: Program) -> bool:
        ready = self.plan.scheme.side(end).ready
        if ready.line is not None:
            return program.output.is_file() and ready.line in program.output.read_text(errors="replace")
        return ready.port is None or self._listens(self._place(end), ready.port)

    def _listens(self, place: End, protocol: str) -> bool:
        """Whether something listens on the flow's port at an end (proc(5), /proc/net/tcp)."""
        tables = [f"/proc/net/{name}" for name in _PORT_TABLES[protocol]]
        words = [*self._path.prefix(place), "cat", *tables]
        done = run_command(words, environment=self._environment, working_directory=self._directory)
        rows = (line.split() for line in done.stdout.decode(errors="replace").splitlines())
        port = f"{self.plan.port:04X}"
        return any(
            len(row) > 3 and row[1].endswith(f":{port}") and row[3] == _LISTENING[protocol] for row in rows
        )

    def _last_line(self, program: Program) -> str:
        """What the program printed last, for those that complain on standard output."""
        try:
            lines = program.output.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return f" (it printed: {lines[-1][:300]})" if lines else ""


def surroundings(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of the programs of a flow."""
    return {**os.environ, **own, "PATH": search_path(own.get("PATH"))}
