"""The key `engine` of a trial: what carries out, or computes, trials of a kind."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import Problems


def engine_of(written: str | None, allowed: Sequence[str], kind: str, problems: Problems) -> str:
    """The engine of a trial, the first of `allowed` where none is written; one that the kind has not is noted.

    A text with placeholders stays: what fills them is looked at when the treatments are known.
    """
    if written is None:
        return allowed[0]
    if not names_in(written) and written not in allowed:
        problems.add(
            ("trial", "engine"),
            f'"{written}" is no engine of kind = "{kind}"',
            f"it has {', '.join(allowed)}",
        )
    return written
