"""What `trialwise` alone says: the three things that most people want, each with a line to copy."""

from trialwise.cli.text import echo

_WELCOME = """\
Performance experiments that replicate.

Compare two commands: in random order, with an interval and a verdict
  trialwise ab './old' './new'

Look at results that you have, as hyperfine, pyperf, go test or fio write them
  trialwise look results.json

Run an experiment: factors and claims in a file, trials and report in a folder
  trialwise new && trialwise run experiment.toml

trialwise --help lists everything, trialwise ab --help one command.
"""


def welcome() -> None:
    """Print it."""
    echo(_WELCOME, end="")
