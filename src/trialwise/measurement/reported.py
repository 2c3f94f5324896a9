"""What a program reported, before it is parsed: bytes, and their origin."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.errors import TrialError

if TYPE_CHECKING:
    from trialwise.measurement.outliving import Written


@dataclass(frozen=True, slots=True)
class Reported:
    """Bytes that a program reported, and their origin for messages.

    `heading` is the first line of a file that the bytes were appended to; `before` is the earlier content of a file that was
    rewritten. Both are empty otherwise.
    """

    data: bytes
    where: str
    heading: bytes = b""
    before: bytes = b""

    def text(self) -> str:
        """Return the text, without a byte order mark; never empty.

        Raises
        ------
        TrialError
            Nothing was reported, or it is not UTF-8 text.
        """
        self.require_content()
        try:
            text = self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.not_text(error.start) from error
        if (position := text.find("\0")) >= 0:
            raise self.not_text(len(text[:position].encode()))
        return text

    def require_content(self) -> None:
        """Raise `TrialError` if there is nothing but white space."""
        if not self.data.strip():
            raise TrialError(
                f"{self.where} is empty",
                hint="check that the program prints there and not to the other output or to a file",
            )

    def not_text(self, position: int) -> TrialError:
        """Return the error for a byte that is not text."""
        line = self.data.count(b"\n", 0, position) + 1
        around = self.data[max(0, position - 8) : position + 8]
        return TrialError(
            f"{self.where} is not text (UTF-8): byte {position}, in line {line}, in {around!r}",
            hint="name the file or output that holds the text, or have the program write UTF-8",
        )


def from_output(data: bytes, *, total: int | None = None, where: str = "standard output") -> Reported:
    """Wrap the captured output of a run.

    Parameters
    ----------
    data
        The bytes kept.
    total
        Number of bytes printed; None if `data` is complete.
    where
        The name of the output.

    Raises
    ------
    TrialError
        More was printed than was kept, so the value may be in the lost part.
    """
    if total is not None and total > len(data):
        raise TrialError(
            f"{where} has {total:,} bytes, of which {len(data):,} were kept",
            hint="raise the output limit, or have the program print less or write a file",
        )
    return Reported(data, where)


def from_file(path: str, written: Written, *, here: bool = True) -> Reported:
    """Wrap what a trial wrote to a file.

    Parameters
    ----------
    path
        The file.
    written
        The result of `Watched.written`.
    here
        Whether it is on this machine, so that neighbouring files can be suggested.

    Raises
    ------
    TrialError
        There is nothing, or nothing known to be from this trial.
    """
    if written.problem is not None:
        around = _neighbours(Path(path)) if here else "check where the program writes"
        raise TrialError(written.problem, hint=written.hint or around)
    where = f"what this trial added to {path}" if written.added else path
    return Reported(written.data, where, written.heading, written.before)


def _neighbours(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent}: check where the program writes"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    return (
        f"did you mean {' or '.join(near)}?" if near else f"check what the program writes into {path.parent}"
    )
