"""What a program's user says about its streams: options, the environment, and how mistakes in them end the program."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


_WHERE = ("TRIALWISE_COLLECT", "OML_COLLECT", "OML_SERVER", "OML_CONFIG")


@contextmanager
def said_by_the_user() -> Generator[None]:
    """End the program, as a wrong option does, if the user's input (an option, a file of streams) is invalid."""
    try:
        yield
    except ValueError as error:
        sys.stderr.write(f"{Path(sys.argv[0] or 'python').name}: {error}\n")
        raise SystemExit(2) from None


def says_where(words: Sequence[str]) -> bool:
    """Return True if OML's options among these words, or the environment, say where samples go."""
    options = ("--oml-collect", "--oml-server", "--oml-file", "--oml-config", "--oml-help", "--oml-list")
    return any(word.startswith(options) for word in words) or any(os.environ.get(name) for name in _WHERE)


def stream_variables() -> dict[str, str]:
    """Return the environment variables that concern streams."""
    return {name: value for name, value in os.environ.items() if name.startswith(("OML_", "TRIALWISE_"))}


def script_name() -> str:
    """Return the script's name, as a valid name of the protocol."""
    name = re.sub(r"\W", "_", Path(sys.argv[0] or "python").stem, flags=re.ASCII).lstrip("_0123456789")
    return name or "python"
