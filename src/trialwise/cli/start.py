"""The entry point of the package: what needs no command is said at once, all else goes to `trialwise.cli.main`."""

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--help"], ["-h"], ["help"]):
        from trialwise.cli.overview import show

        sys.exit(show())
    from trialwise.cli.main import main as run

    run()
