"""`trialwise`: registers the commands, and turns errors into messages and exit codes."""

from __future__ import annotations

import sys

from cyclopts import App, CycloptsError, Group

from trialwise import __version__
from trialwise.cli.control_c import ControlC
from trialwise.cli.defaults import BROKEN_PIPE, OPTIONS
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
    help="""Performance experiments that replicate: size, randomise, run, analyse, report.

Exit codes:
  0 done
  1 a gate failed: ab, claims, diff, or a verdict that --gate was given for
  2 usage, or a wrong experiment file
  3 undecided
  4 trials failed
  5 the experiment directory cannot be used
  6 a worker cannot be used
  7 data cannot be analysed
130 interrupted""",
    version=__version__,
    help_format="plaintext",
    default_parameter=OPTIONS,
    error_formatter=_refusal,
)
GROUPS = ("schemes", "stream", "trace")
"""Commands with subcommands, described by their `app`."""
FUNCTIONS = {"import": "import_results"}
"""Names of the modules and functions of commands whose own name Python keeps for itself."""
SUMMARIES = {
    "Measure": {
        "new": "Write an experiment file to start from.",
        "plan": "Show what an experiment needs, its order, its schedule and the time it takes.",
        "run": "Run an experiment, or go on with it.",
        "status": "Show how far an experiment is.",
        "serve": "Show experiments on a local page, while they run and after.",
        "workers": "Have a worker join a begun experiment, or leave it, also while it runs.",
        "pause": "Ask a run in progress to stop after its running trials.",
        "skip": "Skip a treatment of a begun experiment, also while it runs.",
        "exclude": "Leave finished trials out of every analysis, with a reason.",
        "ab": "Compare commands, or two builds of a program, interleaved, until decided or out of budget.",
    },
    "Conclude": {
        "look": "Look at result files of other tools: which is best, by how much, what they cannot say.",
        "history": "Look back over commits or days: where a metric changed, and by how much.",
        "import": "Import result files of other tools into a directory that every command reads.",
        "analyze": "Analyse an experiment directory, files of other tools or a table of measurements.",
        "report": "Write the report of an experiment as one HTML file.",
        "compare": "Compare two experiments, or two sets of treatments: different, equivalent or undecided.",
        "order": "Say whether the order of trials changes the results, and which predecessor does it.",
        "claims": "Check the claims of a paper against its data.",
        "diff": "Say how two experiments, or an experiment and this machine, differ.",
        "effects": "Say which factors of an experiment matter, alone and together, and by how much.",
    },
    "Publish": {
        "pack": "Pack experiments and the claims on them into an archive that a stranger can verify.",
        "verify": "Verify an artifact: whether it was changed, and what its data say of its claims.",
    },
    "Calibrate": {
        "doctor": "Name what will disturb a measurement on this machine.",
        "aa": "Calibrate the bench: every treatment against itself.",
        "observe": "Say whether measuring changes what is measured.",
        "profile": "Find the daily, weekly and other cycles in condition data, or how far a real path moves by itself.",
        "runtime": "Say how long a trial must be for its metrics to be steady.",
    },
    "Networks": {
        "path": "Run a command inside an emulated path.",
        "calibrate": "Fit an emulated path to a real one, and certify for which schemes it stands.",
        "trace": "Make, inspect, plot, scale and cut link traces, also from a capture or a log.",
        "schemes": "List congestion-control schemes; show, set up and check one.",
        "capture": "Write down what one end of a path sees, to be joined with the other's.",
        "packets": "Say what a log of packets says, and write it in another format.",
    },
    "Simulate": {
        "simulate": "Simulate flows over a data-centre network, packet by packet.",
        "tilt": "Choose from which sizes flows are drawn, so that a simulated tail quantile takes fewer trials.",
    },
    "Streams": {
        "stream": "Make programs stream that have no measurement points of their own.",
        "collect": "Collect measurement streams into a database.",
        "scaffold": "Write the skeleton of a program that measures, in C, Rust or Python.",
    },
    "Data": {"schema": "Print the JSON Schema of a public format."},
}
_OPTIONS = Group("Options", sort_key=len(SUMMARIES))
COMMANDS = [name for summaries in SUMMARIES.values() for name in summaries]


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


def main() -> None:
    """Run the command line; the entry point of the package."""
    control_c = ControlC()
    control_c.watch()
    try:
        result = app(_words(), exit_on_error=True, result_action="return_value") if _given() else welcome()
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

        sys.exit(tell(error))
    sys.exit(result if isinstance(result, int) else 0)
