"""Run programs in parallel until they end or are told to."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trialwise._linux import CommandResult, run_command
from trialwise.trials.marked import GRACE_SECONDS, not_run
from trialwise.trials.starting import ERROR_LIMIT, ending, problem_of

_OUTPUT_LIMIT = 1024 * 1024
Word = str | bytes


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended: `asked` if it was told to, else `said` describes how it ended by itself; `errors` is its standard error.

    CPU time (seconds) and peak of memory (bytes) are those of the program and of the children that it waited for.
    """

    asked: bool
    exit_code: int | None
    said: str
    errors: bytes = b""
    user: float = 0.0
    system: float = 0.0
    max_rss: int = 0


class Program:
    """A program in its own thread, from creation to end.

    Parameters
    ----------
    words
        The program and its arguments.
    environment, directory
        Its environment and working directory.
    output
        A file for its output.
    on_end
        Called in the thread when it has ended.
    follow
        Whether to note which programs it starts, in `notes` once it has ended.
    """

    def __init__(
        self,
        words: Sequence[Word],
        *,
        environment: Mapping[str, str],
        directory: Path,
        output: Path,
        on_end: Callable[[], None],
        follow: bool = False,
    ) -> None:
        self.output = output
        self.notes: bytes | None = None
        self.end: ProgramEnd | None = None
        self._asked, self._ask = os.pipe()
        self._on_end = on_end
        self._follow = follow
        arguments = (words, environment, directory)
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.wait()

    def printed(self) -> bytes:
        """Return its output so far; if it is very long, the beginning."""
        try:
            return self.output.read_bytes()
        except OSError:
            return b""

    def stop(self) -> None:
        """Tell it to end: SIGTERM, and SIGKILL some seconds later."""
        if self._thread.is_alive():
            os.write(self._ask, b"x")

    def wait(self) -> None:
        """Wait until it has ended; call this once, at the end."""
        self._thread.join()
        for descriptor in (self._asked, self._ask):
            os.close(descriptor)

    def _run(self, words: Sequence[Word], environment: Mapping[str, str], directory: Path) -> None:
        try:
            run = run_command(
                words,
                environment=environment,
                working_directory=directory,
                grace=GRACE_SECONDS,
                stdout_file=self.output,
                stdout_limit=_OUTPUT_LIMIT,
                stderr_limit=ERROR_LIMIT,
                cancel_fd=self._asked,
                follow=self._follow,
            )
            self.notes = run.followed
            self.end = _end(run)
        except (OSError, ValueError) as error:
            self.end = ProgramEnd(asked=False, exit_code=None, said=not_run(problem_of(error)))
        finally:
            self._on_end()


def readable(descriptor: int, seconds: float) -> bool:
    """Wait at most `seconds` until a descriptor can be read; return True if it can."""
    return bool(select.select([descriptor], [], [], max(0.0, seconds))[0])


def _end(run: CommandResult) -> ProgramEnd:
    return ProgramEnd(
        asked=run.cancelled,
        exit_code=run.exit_code,
        said=ending(run),
        errors=run.stderr,
        user=run.user_ns / 1e9,
        system=run.system_ns / 1e9,
        max_rss=run.max_rss_bytes,
    )
