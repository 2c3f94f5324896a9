"""`trialwise --help`: every command in a sentence, as cyclopts would lay it out, without the time that its import takes.

`tests/unit/cli/test_overview.py` compares the two.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping

from trialwise.cli.commands import BROKEN_PIPE, INTRODUCTION, SUMMARIES

_OPTIONS = {
    "--help (-h)": "Display this message and exit.",
    "--install-completion": "Install shell completion for this application.",
    "--version": "Display application version.",
}
_BOLD, _CYAN, _PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[0m"
_ASCII = str.maketrans("╭╮╰╯─│", "++++-|")
_LEAST_COLUMNS = 60
"""A narrower terminal breaks the lines of this width itself."""


def show() -> int:
    """Print it to standard output; the exit code."""
    styled = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    lines = "\n".join(overview(shutil.get_terminal_size().columns, styled=styled))
    encoding = (sys.stdout.encoding or "").lower()
    try:
        sys.stdout.write(f"{lines if encoding.startswith('utf') else lines.translate(_ASCII)}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        return BROKEN_PIPE
    return 0


def overview(columns: int, *, styled: bool = False) -> Iterator[str]:
    """Yield its lines for so many columns."""
    columns = max(columns, _LEAST_COLUMNS)
    usage = "Usage: trialwise COMMAND"
    yield f"{_BOLD}{usage}{_PLAIN}" if styled else usage
    yield ""
    for line in INTRODUCTION.splitlines():
        yield from _broken(line, columns)
    yield ""
    for title, entries in {**SUMMARIES, "Options": _OPTIONS}.items():
        yield f"╭─ {title} {'─' * (columns - len(title) - 5)}╮"
        yield from _panel(entries, columns, styled=styled)
        yield f"╰{'─' * (columns - 2)}╯"


def _panel(entries: Mapping[str, str], columns: int, *, styled: bool) -> Iterator[str]:
    """Yield names and sentences between the sides of their frame."""
    widest = max(map(len, entries))
    room = columns - widest - 6
    for name, sentence in entries.items():
        label = name.ljust(widest)
        for line in _broken(sentence, room):
            yield (
                f"│ {_CYAN}{label}{_PLAIN}  {line.ljust(room)} │"
                if styled
                else f"│ {label}  {line.ljust(room)} │"
            )
            label = " " * widest


def _broken(sentence: str, room: int) -> Iterator[str]:
    """Break a sentence between words into lines for a width."""
    words = iter(sentence.split(" "))
    line = next(words)
    for word in words:
        if len(line) + 1 + len(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}"
    yield line
