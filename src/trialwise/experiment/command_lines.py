"""Command lines of the experiment file, split into words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems


def command_words(
    key: Key, command: str | Sequence[str] | None, problems: Problems
) -> tuple[str, ...] | None:
    """Split a command line as a shell would."""
    if command is None:
        return None
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        reason = str(error)
        problems.add(key, f"cannot be split as a shell would: {reason[:1].lower()}{reason[1:]}")
        return ("",)
    if not words or not words[0]:
        problems.add(key, "names no program")
    return words
