"""Secrets: the senders that a collector accepts, and what must not be printed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from trialwise.cli.text import echo
from trialwise.errors import TrialwiseError


def tokens(file: Path | None, variable: str) -> tuple[str | None, dict[str, str]]:
    """Return the token for all domains, and those of single domains: from a file, or else from an environment variable.

    Raises
    ------
    TrialwiseError
        The file cannot be read, or a line of it is invalid.
    """
    if file is None:
        return os.environ.get(variable) or None, {}
    try:
        lines = file.read_text().splitlines()
        mode = file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise TrialwiseError(f"tokens {file}: {error}") from error
    if mode & 0o077:
        echo(f"warning: others can read {file}; chmod 600 {file}", to=sys.stderr)
    token, domains = None, dict[str, str]()
    for number, line in enumerate(lines, start=1):
        match line.split():
            case []:
                pass
            case [first, *_] if first.startswith("#"):
                pass
            case [domain, secret]:
                domains[domain] = secret
            case [secret] if token is None:
                token = secret
            case [_]:
                raise TrialwiseError(f"{file}, line {number}: there is one token of all domains already")
            case _:
                raise TrialwiseError(f"{file}, line {number}: write TOKEN, or DOMAIN TOKEN")
    return token, domains


def without_password(store: str) -> str:
    """Return the store in printable form, with the password removed from a URL wherever it is."""
    store = re.sub(r"^(postgres(?:ql)?://[^:@]*):[^@]*@", r"\1:…@", store)
    return re.sub(r"([?&]password=)[^&]*", r"\1…", store)
