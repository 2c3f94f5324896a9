"""Run one flow over a path: the two sides of a scheme, from before the start to after the stop."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from trialwise import _linux
from trialwise._linux import run_command
from trialwise.errors import DISK_IS_FULL, MAKE_ROOM, TrialError, has_no_room
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.trials import PathSettings
from trialwise.schemes.needs import search_path
from trialwise.schemes.scheme import End
from trialwise.schemes.setup import REBOOT, record, was_done
from trialwise.trials.commands import command_words
from trialwise.trials.listening import PROTOCOLS, has_listener, tables_of
from trialwise.trials.path_plan import FlowPlan, listed
from trialwise.trials.programs import Program, ProgramEnd
from trialwise.trials.starting import last_complaint

SPARE_SECONDS = 5.0
"""Seconds that a sender is told to run longer than the flow, because Trialwise ends it."""
_POLL_SECONDS = 0.02
_PREPARE_SECONDS = 60.0
_TAIL = 16 * 1024
"""Bytes at the end of each program's output that a failed trial keeps."""


class RunningFlow:
    """A flow running on a path.

    The waiting side is started by `begin`, and ready after `await_ready`; the calling side is started by `start`. `stop` and
    `wait` end both.
    """

    def __init__(
        self,
        plan: FlowPlan,
        path: _linux.Path,
        *,
        settings: PathSettings,
        directory: Path,
        environment: Mapping[str, str],
        seed: int,
        on_end: Callable[[], None],
        follow: bool = False,
    ) -> None:
        self.plan = plan
        self.report = directory / "report.jsonl"
        self._path = path
        self._settings = settings
        self._directory = directory
        self._environment = environment
        self._on_end = on_end
        self._follow = follow
        self._seed = seed
        self._load = plan.load
        self._values: dict[str, Level] = {
            "port": plan.port,
            "time": f"{plan.stop - plan.flow.start + SPARE_SECONDS:g}",
            "report": str(self.report),
            "directory": str(directory),
            "folder": str(plan.scheme.source.resolve().parent),
            "seed": seed,
            "mtu": settings.mtu,
        }
        self._programs: dict[End, Program] = {}
        self._noted = b""
        directory.mkdir(parents=True)

    def begin(self) -> None:
        """Prepare, and start the waiting side.

        Raises
        ------
        TrialError
            A preparing command failed, or something already listens on its port.
        """
        self._prepare_machine()
        self._load = listed(self.plan, self._settings, self._seed, self._directory / "flows.csv")
        self._prepare()
        first = self.plan.scheme.first
        # Only flows that began before may have programs here.
        if self.plan.number > 1 and self._port_is_taken(first):
            raise TrialError(
                f"{self._name(first)} cannot have port {self.plan.port}: a flow before it listens there; "
                "have each scheme use its {port} and no other"
            )
        self._start(first)

    def await_ready(self, cancel: Callable[[], bool]) -> None:
        """Wait until the waiting side is ready.

        Raises
        ------
        TrialError
            It ended, or did not become ready in time.
        """
        end = self.plan.scheme.first
        ready, program = self.plan.scheme.side(end).ready, self._programs[end]
        started = time.monotonic()
        while not cancel():
            waited = time.monotonic() - started
            if program.end is not None:
                raise TrialError(f"{self._ended_early(end, program)}, before it was ready")
            if waited >= ready.after and self._shows_ready(end, program):
                return
            if waited > max(ready.timeout, ready.after):
                what = f"listen on port {self.plan.port}" if ready.port else f"print {ready.line!r}"
                said = self._last_line(program)
                raise TrialError(f"{self._name(end)} did not {what} within {ready.timeout:g} s{said}")
            time.sleep(_POLL_SECONDS)

    def start(self) -> None:
        """Start the calling side: the flow begins."""
        self._start(self._caller)

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
        """Return True if the calling side, whose load may end, has ended successfully."""
        caller = self._programs.get(self._caller)
        return self._load.ends and caller is not None and caller.end is not None and caller.end.exit_code == 0

    def problem(self) -> str | None:
        """Return what went wrong so far, None if nothing did."""
        for end, program in self._programs.items():
            if program.end is not None and not program.end.asked and not self.is_done:
                return self._ended_early(end, program)
        return None

    def printed(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the end of each program's standard output and standard error, under its name; call it once they have ended."""
        for end, program in self._programs.items():
            ended = program.end or ProgramEnd(asked=False, exit_code=None, said="did not start")
            head = f"== {self._name(end)} {ended.said.splitlines()[0]}\n".encode()
            yield head + _tail(program.printed()), head + _tail(ended.errors)

    def notes(self) -> bytes:
        """Return the notes on the programs that preparing and both sides started, if followed; call it once they have ended."""
        return self._noted + b"".join(program.notes or b"" for program in self._programs.values())

    def used(self) -> Iterator[ProgramEnd]:
        """Yield how its programs ended, with what each of them used; call it once they have ended."""
        yield from (program.end for program in self._programs.values() if program.end is not None)

    # Messages

    @property
    def _caller(self) -> End:
        return "receiver" if self.plan.scheme.first == "sender" else "sender"

    def _name(self, end: End) -> str:
        return f"flow {self.plan.number} ({self.plan.scheme.name}): the {end}"

    def _ended_early(self, end: End, program: Program) -> str:
        """Say how a program ended that should not have, and what may be the cause."""
        said = "" if program.end is None else program.end.said
        return f"{self._name(end)} {said}{self._last_line(program)}{self._suspicion(end, program)}"

    def _suspicion(self, end: End, program: Program) -> str:
        ended, is_first = program.end, end == self.plan.scheme.first
        if is_first and ended and ended.exit_code == 0:
            return "; has it gone into the background? It must stay in the foreground"
        if is_first and self._port_is_taken(end):
            return f"; something else listens on port {self.plan.port}"
        if b"ddress already in use" in (ended.errors if ended else b"") + program.printed():
            return "; does its command use {port}? Each flow has one of its own"
        if has_no_room(str(self._directory)):
            return f": {DISK_IS_FULL} in {self._directory}; {MAKE_ROOM}"
        return ""

    def _last_line(self, program: Program) -> str:
        """Return the program's last line of output, for programs that complain on standard output."""
        lines = program.printed().decode(errors="replace").strip().splitlines()
        return f" (it printed: {lines[-1][:300]})" if lines else ""

    # Starting

    def _place(self, end: End) -> End:
        """Return the end of the path at which a side runs: data of a downlink flow go the other way."""
        if self.plan.flow.direction == "uplink":
            return end
        return "receiver" if end == "sender" else "sender"

    def _start(self, end: End) -> None:
        side = self.plan.scheme.side(end)
        place = self._place(end)
        peer = _linux.Path.address("receiver" if place == "sender" else "sender")
        values = {**self._values, "peer": peer, "host": peer}
        own = {name: fill(text, values) for name, text in side.environment}
        self._programs[end] = Program(
            [*self._path.prefix(place), *self._words(side.command, values)],
            environment={**self._environment, **own, "TRIALWISE_PEER": peer},
            directory=self._directory,
            output=self._directory / f"{end}.out",
            on_end=self._on_end,
            follow=self._follow,
        )

    def _words(self, command: tuple[str, ...], values: Mapping[str, Level]) -> list[str]:
        return command_words(command, self.plan.scheme, self._load, values)

    # Before the start

    def _prepare_machine(self) -> None:
        """Run what the scheme needs once after each boot."""
        scheme = self.plan.scheme
        if scheme.each_boot is None or was_done(scheme.source, REBOOT):
            return
        self._run(scheme.each_boot, shlex.join(scheme.each_boot[-1:]))
        record(scheme.source, REBOOT)

    def _prepare(self) -> None:
        if self.plan.scheme.prepare is not None:
            self._run(self.plan.scheme.prepare, "prepare")

    def _run(self, command: tuple[str, ...], name: str) -> None:
        """Run a command to its end, outside the path."""
        try:
            done = run_command(
                self._words(command, self._values),
                environment=self._environment,
                working_directory=self._directory,
                timeout=_PREPARE_SECONDS,
                follow=self._follow,
            )
        except OSError as error:
            raise TrialError(f"flow {self.plan.number} ({self.plan.scheme.name}): {name}: {error}") from error
        self._noted += done.followed or b""
        if done.exit_code != 0:
            how = (
                f"took longer than {_PREPARE_SECONDS:g} s"
                if done.timed_out
                else f"ended with exit code {done.exit_code}"
            )
            raise TrialError(
                f"flow {self.plan.number} ({self.plan.scheme.name}): {name} {how}: {last_complaint(done.stderr)}"
            )

    # Readiness

    def _shows_ready(self, end: End, program: Program) -> bool:
        ready = self.plan.scheme.side(end).ready
        if ready.line is not None:
            return ready.line.encode() in program.printed()
        return ready.port is None or self._listens(self._place(end), ready.port)

    def _port_is_taken(self, end: End) -> bool:
        """Return True if something listens on the flow's port; call it while our own program there does not run."""
        protocol = self.plan.scheme.side(end).ready.port
        return any(self._listens(self._place(end), each) for each in ([protocol] if protocol else PROTOCOLS))

    def _listens(self, place: End, protocol: str) -> bool:
        """Return True if something listens on the flow's port at an end."""
        words = [*self._path.prefix(place), "cat", *tables_of(protocol)]
        done = run_command(words, environment=self._environment, working_directory=self._directory)
        return has_listener(protocol, self.plan.port, done.stdout.decode(errors="replace").splitlines())


def _tail(text: bytes) -> bytes:
    return text[-_TAIL:].rstrip(b"\n") + b"\n" if text else b""


def surroundings(own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the programs of a flow."""
    return {**os.environ, **own, "PATH": search_path(own.get("PATH"))}
