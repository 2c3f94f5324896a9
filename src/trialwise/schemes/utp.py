"""Bulk flows under LEDBAT: ``python -m trialwise.schemes.utp send ADDRESS PORT …`` or ``receive --port PORT``."""

from __future__ import annotations

import sys

from trialwise import _linux


def main() -> int:
    """Run libutp's sender or receiver with the command line's arguments; return its exit code (1 without libutp)."""
    try:
        return _linux.utp_program(sys.argv[1:])
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
