"""`trialwise`: registers the commands, and turns errors into messages and exit codes."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError, Group

from trialwise import __version__
from trialwise.cli.commands import BROKEN_PIPE, COMMANDS, FUNCTIONS, GROUPS, INTRODUCTION, SUMMARIES
from trialwise.cli.control_c import ControlC
from trialwise.cli.defaults import OPTIONS
from trialwise.cli.spellings import spelled_now
from trialwise.cli.welcome import welcome
from trialwise.errors import TrialwiseError


def _refusal(error: CycloptsError) -> object:
    """Format the error for the words of a command, which may contain foreign file names."""
    from cyclopts.panel import CycloptsPanel

    from trialwise.visible import visible_lines

    return CycloptsPanel(visible_lines(str(error)))


app = App(
    name="trialwise",
    help=INTRODUCTION,
    version=__version__,
    help_format="plaintext",
    default_parameter=OPTIONS,
    error_formatter=_refusal,
)
_OPTIONS = Group("Options", sort_key=len(SUMMARIES))


def _given() -> list[str]:
    """Return the words after the program's name; `help run` becomes `run --help`."""
    return [*sys.argv[2:], "--help"] if sys.argv[1:2] == ["help"] else sys.argv[1:]


for _place, (_title, _summaries) in enumerate(SUMMARIES.items()):
    _group = Group(_title, sort_key=_place)
    for _rank, (_name, _summary) in enumerate(_summaries.items()):
        # The summaries and plain text spare `trialwise --help` the imports; a command that runs shows its docstring.
        _help = {} if _given()[:1] == [_name] else {"help": _summary}
        _function = FUNCTIONS.get(_name, _name)
        if _name in GROUPS:
            app.command(f"trialwise.cli.{_name}:app", name=_name, group=_group, sort_key=_rank, **_help)
        else:
            app.command(
                f"trialwise.cli.{_function}:{_function}",
                name=_name,
                group=_group,
                sort_key=_rank,
                help_format="markdown",
                **_help,
            )
for _flag in ("--help", "--version"):
    app[_flag].group = _OPTIONS
if not set(_given()[:1]) & set(COMMANDS):
    # A command that runs needs no completion, which takes longer to import than most other modules.
    app.register_install_completion_command(add_to_startup=False)  # pyright: ignore[reportUnknownMemberType]
    app["--install-completion"].group = _OPTIONS


def _words() -> list[str]:
    words = spelled_now(_given())
    if words[:1] == ["stream"]:
        from trialwise.cli.oml_options import gathered

        return gathered(words)
    if words[:1] != ["path"]:
        return words
    from trialwise.cli.path import separated

    return separated(words)


def _write_rest() -> None:
    """Write what standard output still holds: that the disk is full may show with the last of it alone."""
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] it is closed
        sys.stdout.flush()


def _forget_rest() -> None:
    """Leave out what cannot be written: Python would try again at its end, and exit with a code of its own."""
    try:
        _write_rest()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line; the entry point of the package."""
    control_c = ControlC()
    control_c.watch()
    try:
        result = app(_words(), exit_on_error=True, result_action="return_value") if _given() else welcome()
        _write_rest()
    except TrialwiseError as error:
        from trialwise.cli.text import echo

        echo(f"trialwise: {error.message}", to=sys.stderr)
        if error.hint:
            echo(f"  try: {error.hint}", to=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(BROKEN_PIPE)
    except KeyboardInterrupt:
        sys.exit(130)
    except BaseException as error:
        if isinstance(error, SystemExit):
            if isinstance(error.__context__, BrokenPipeError):  # rich ends with 1, which is a verdict
                sys.exit(BROKEN_PIPE)
            raise
        if control_c.is_pressed:  # compiled code that is importing makes errors of its own of it
            sys.exit(130)
        from trialwise.cli.unexpected import tell

        code = tell(error)
        _forget_rest()
        sys.exit(code)
    sys.exit(result if isinstance(result, int) else 0)
