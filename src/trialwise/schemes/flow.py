"""The flow programs: ``python -m trialwise.schemes.flow --help``. Imports only the compiled core, so that it starts fast."""

import sys

from trialwise._linux import flow_program


def main() -> int:
    """Run the flow program named on the command line; return its exit code."""
    return flow_program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
