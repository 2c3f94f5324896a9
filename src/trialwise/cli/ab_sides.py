"""What `trialwise ab` compares: commands as they are given, or one command in two revisions."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from trialwise.cli.output import stderr_console
from trialwise.errors import TrialwiseError, not_written
from trialwise.experiment.ab_experiment import (
    plain_program,
    switch_command,
    versions_of,
    worktree_command,
)
from trialwise.experiment.environment import EVERYTHING_PASSED
from trialwise.experiment.problems import nearest
from trialwise.experiment.trials import CommandTrial
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.programs import program_files, shell_files
from trialwise.numbers import counted

Files = tuple[tuple[NamedFile, ...], ...]
"""The files of each version, as far as their commands name them."""
_MOST = 20
"""Maximum number of commands: more would hardly be decided by any budget."""
_MOST_NAMES = 20_000
"""Maximum number of programs that a mistyped one is compared with."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared: the trial that runs each version, in `folder`, and the files of each."""

    folder: Path
    trial: CommandTrial
    description: str
    files: Files


def sides_of(
    commands: tuple[str, ...], base: str | None, head: str | None, *, with_suite: bool, with_command: bool
) -> tuple[str, ...]:
    """Return the commands, or the revisions of `--command`, that are compared.

    Raises
    ------
    TrialwiseError
        There are not two of them, or they are given in two ways; or a command cannot be run.
    """
    if not commands:
        if base is None or head is None:
            missing = "--head" if base is not None else "--base" if head is not None else "two commands"
            raise TrialwiseError(
                f"{missing}: missing", hint="trialwise ab './old' './new', or --base and --head"
            )
        return base, head
    if base is not None or head is not None or with_suite or with_command:
        raise TrialwiseError(
            "commands in two ways", hint="write them alone, or leave them out and use --base and --head"
        )
    if not 2 <= len(commands) <= _MOST:
        raise TrialwiseError(
            f"{counted(len(commands), 'command')}: expected 2 to {_MOST}",
            hint="trialwise ab './old' './new'; put each command in quotes",
        )
    for line in commands:
        _check(line)
    if _is_given_input():
        stderr_console().print(
            "standard input is not passed on: every trial reads an empty one; write 'wc < FILE' instead",
            markup=False,
        )
    return commands


def _check(line: str) -> None:
    """Refuse a command that no trial could run, before any does."""
    if not line.strip() or "\0" in line:
        raise TrialwiseError("a command is empty", hint="trialwise ab './old' './new'")
    checked = subprocess.run(["/bin/sh", "-nc", line], capture_output=True, text=True, check=False)
    if checked.returncode:
        said = checked.stderr.strip().rpartition(": ")[2] or "the shell cannot read it"
        raise TrialwiseError(f"{line}: {said}", hint="it must be one line as a shell reads it")
    program = plain_program(line)
    if program is None or which(program):
        return
    if "/" in program and Path(program).is_file():
        raise TrialwiseError(f"{program}: this file is not executable", hint=f"chmod +x {program}")
    if "/" not in program and _is_builtin(program):
        return
    meant = _meant(program)
    raise TrialwiseError(
        f"{program}: there is no such program", hint=f"did you mean {meant}?" if meant else None
    )


def _is_builtin(program: str) -> bool:
    words = ["/bin/sh", "-c", 'command -v -- "$1"', "sh", program]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _meant(program: str) -> str | None:
    """Return the program that was probably meant: one of this folder, or the one whose name is nearest."""
    if "/" not in program and which(f"./{program}"):
        return f"./{program}"
    folder, _, name = program.rpartition("/")
    folders = [Path(folder or "/")] if "/" in program else [Path(part) for part in os.get_exec_path()]
    found = nearest(name, _names(folders))
    if found is None:
        return None
    return f"{folder}/{found}" if "/" in program else found


def _names(folders: Sequence[Path]) -> Iterator[str]:
    count = 0
    for folder in folders:
        try:
            for entry in os.scandir(folder):
                count += 1
                if count > _MOST_NAMES:
                    return
                yield entry.name
        except OSError:
            continue


def _is_given_input() -> bool:
    """Return True if a file or a pipe with content is on standard input, which trials do not read."""
    try:
        if sys.stdin is None or sys.stdin.isatty():
            return False
        waiting = fcntl.ioctl(sys.stdin.fileno(), termios.FIONREAD, struct.pack("i", 0))
        return struct.unpack("i", waiting)[0] > 0
    except (OSError, ValueError):
        return False


def own_folder() -> Path:
    """Return the default folder of pairs, which is made so that git does not see it.

    Raises
    ------
    StoreError
        It cannot be made.
    """
    from trialwise.analysis.versions.results import DEFAULT_PLACE

    place = Path(DEFAULT_PLACE)
    try:
        place.mkdir(exist_ok=True)
        if not (ignored := place / ".gitignore").exists():
            ignored.write_text("# written by trialwise ab\n*\n", encoding="utf-8")
    except OSError as error:
        raise not_written(
            place, error, hint="free some space, or name another place with --directory"
        ) from error
    return place


@contextmanager
def prepared(lines: Sequence[str], command: str | None, build: str | None) -> Generator[Sides]:
    """Yield what is compared: commands, or `command` in two revisions; build them, and clean up at the end."""
    from trialwise.execution import checkouts

    here = Path.cwd()
    if command is None:
        if build is not None:
            stderr_console().print(f"building: {build}", markup=False)
            checkouts.build(build, here)
        files = tuple(tuple(shell_files(line, here, {})) for line in lines)
        yield Sides(here, CommandTrial(switch_command(*lines), passed=EVERYTHING_PASSED), "", files)
        return
    revisions = dict(zip(versions_of(len(lines)), lines, strict=True))
    commits = {version: checkouts.commit_of(name, here) for version, name in revisions.items()}
    below = checkouts.place_in_repository(here)
    try:
        trial = worktree_command(command, below)
    except ValueError as error:
        raise TrialwiseError(f"--command {command}: {error}") from error
    with checkouts.checked_out(commits, here) as folder:
        for version, commit in commits.items():
            if build is not None:
                stderr_console().print(f"building {version} ({commit[:12]}): {build}", markup=False)
                checkouts.build(build, folder / version / below)
        files = tuple(tuple(program_files(trial.command, folder / side / below, {})) for side in commits)
        yield Sides(folder, trial, f"base {commits['base']}, head {commits['head']}", files)
