"""The flow programs: ``python -m trialwise.schemes.flow --help``. Imports the compiled core alone, so as to start fast."""

import sys

from trialwise._linux import flow_program


def main() -> int:
    """Run the flow program that the command line asks for; its exit code."""
    return flow_program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
