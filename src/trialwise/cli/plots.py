"""Options of `profile` and `runtime`: the figure's file, percentages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trialwise.cli.files import PRINTED, check_printed, whole_file
from trialwise.cli.output import stderr_console
from trialwise.errors import TrialwiseError
from trialwise.numbers import as_given

ENDINGS = (".html", *PRINTED)


def checked_plot(path: Path | None) -> None:
    """Refuse a file for a figure that could not be written, before anything is computed.

    Raises
    ------
    TrialwiseError
        Its extension is unknown, its folder does not exist, or what draws it is not installed.
    """
    if path is None:
        return
    if path.suffix.lower() not in ENDINGS:
        raise TrialwiseError(f"--plot {path}: the ending says the format; allowed: {', '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise TrialwiseError(f"--plot {path}: there is no folder {path.parent}")
    if path.suffix.lower() in PRINTED:
        check_printed(path)


def write_plot(path: Path, page: Callable[[], str], print_to: Callable[[Path], None]) -> None:
    """Write a figure as a page, or for print, and report it on standard error.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    with whole_file(path) as aside:
        if path.suffix.lower() == ".html":
            aside.write_text(page(), encoding="utf-8")
        else:
            print_to(aside)
    stderr_console().print(f"wrote {path}", markup=False)


def check_percentage(value: float | None, option: str, *, least: float = 0.0) -> None:
    """Refuse a value that is not a percentage above `least` and below 100.

    Raises
    ------
    TrialwiseError
        The value is out of range.
    """
    if value is not None and not least < value < 100:
        raise TrialwiseError(
            f"{option} {as_given(value)}: expected a percentage above {as_given(least)} and below 100"
        )
