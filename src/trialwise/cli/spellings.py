"""Former names of options, and options with an optional file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

RENAMED: Mapping[str, Mapping[str, str]] = {
    "run": {"--dir": "--directory"},
    "observe": {"--dir": "--directory"},
    "aa": {"--rounds": "--trials"},
    "order": {"--group": "--by"},
}
"""By command: old names, which still work, and the new ones."""
FILE_OR_OUTPUT: Mapping[str, Sequence[str]] = {"ab": ("--markdown",), "compare": ("--markdown",)}
"""By command: options with a file, or standard output if none is named."""


def spelled_now(words: Sequence[str]) -> list[str]:
    """Replace former option names in the words of a command; report renamed ones on standard error."""
    command, rest = words[:1], list(words[1:])
    if not command:
        return []
    renamed = RENAMED.get(command[0], {})
    with_file = FILE_OR_OUTPUT.get(command[0], ())
    return [*command, *_spelled(rest, renamed, with_file)]


def _spelled(words: list[str], renamed: Mapping[str, str], with_file: Sequence[str]) -> Iterator[str]:
    following = [*words, "--"][1:]
    for word, after in zip(words, following, strict=True):
        name, equals, value = word.partition("=")
        if name in renamed:
            sys.stderr.write(f"{name} is called {renamed[name]} now; the old name still works\n")
            name = renamed[name]
        yield name + equals + value
        if name in with_file and not equals and after.startswith("-") and after != "-":
            yield "-"
