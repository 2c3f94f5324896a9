"""Output for people: documents in a terminal or a pipe, single lines, sizes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from trialwise.numbers import decimals
from trialwise.visible import cell_width, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

    from trialwise.report.document import Document
    from trialwise.report.render.terminal import Span, Style

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: float) -> str:
    """Write a number of bytes for people: `64 GiB`, `2.2 KiB`, `0 B`."""
    power = 0
    while round(count, 1) >= 1024 and power < len(_UNITS) - 1:
        count /= 1024
        power += 1
    return decimals(count, 1).removesuffix(".0") + f" {_UNITS[power]}"


def _room() -> int | None:
    """Return the width of the terminal on standard output in columns; None if it is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


_STYLES: dict[Style, str] = {"good": "32", "bad": "31", "open": "33", "strong": "1", "dim": "2", "": ""}
"""SGR codes (ECMA-48). Only marks are coloured, so that words are readable on dark and on light terminals."""
_NAMES: dict[Style, str] = {
    "good": "green",
    "bad": "red",
    "open": "yellow",
    "strong": "bold",
    "dim": "dim",
    "": "",
}
"""The same styles by their names in rich."""


def say_document(document: Document, *, full: bool = False, rest: str = "all with --json") -> None:
    """Print a document to standard output, with styles if the terminal has them; `rest` says where to find more of it."""
    from trialwise.report.render.terminal import terminal

    has_styles = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line in terminal(document, _room(), full=full, rest=rest):
        print("".join(_styled(span) if has_styles else span.text for span in line))


def show_document(console: Console, document: Document, *, rest: str = "all with --json") -> None:
    """Print a document to a console, as `say_document` does to standard output."""
    from rich.text import Text

    from trialwise.report.render.terminal import terminal

    for line in terminal(document, console.width if console.is_terminal else None, rest=rest):
        text = Text.assemble(*((span.text, "" if console.no_color else _NAMES[span.style]) for span in line))
        console.print(text, soft_wrap=True)


def _styled(span: Span) -> str:
    code = _STYLES[span.style]
    return f"\x1b[{code}m{span.text}\x1b[0m" if code else span.text


def whole_words(text: str, width: int) -> str:
    """Shorten a line to a width by dropping words at its end, so that no number is cut."""
    if cell_width(text) <= width:
        return text
    words = text.split(" ")
    while words and cell_width(" ".join(words)) + 2 > width:
        words.pop()
    return f"{' '.join(words)} …" if words else "…"


def echo(text: str = "", *, end: str = "\n", to: TextIO | None = None) -> None:
    """Print text that may contain foreign names to standard output or the given stream, with control characters as escapes."""
    print(visible_lines(text), end=end, file=to, flush=True)


def print_data(text: str) -> None:
    """Print a document for programs (CSV, LaTeX, TOML, a trace) to standard output unchanged; its writer has escaped foreign text."""
    print(text, end="")


def rewrite_line(text: str, *, end: str = "") -> None:
    """Overwrite the last line of a terminal on standard error."""
    print(f"\r\x1b[K{visible_lines(text)}", end=end, file=sys.stderr, flush=True)


def clear_screen() -> None:
    """Clear the terminal on standard output."""
    print("\x1b[H\x1b[2J", end="")
