"""OML's options on the command lines of our own programs."""

from __future__ import annotations

from collections.abc import Sequence

_FLAGS = ("--oml-text", "--oml-binary", "--oml-noop", "--oml-help", "--oml-list-filters")


def gathered(words: Sequence[str]) -> list[str]:
    """Join each of OML's options on a command line, up to `--`, into one word ``--oml=OPTION=VALUE``."""
    end = words.index("--") if "--" in words else len(words)
    found: list[str] = []
    ours = iter(words[:end])
    for word in ours:
        if not word.startswith("--oml-"):
            found.append(word)
        elif "=" in word or word in _FLAGS:
            found.append(f"--oml={word}")
        else:
            value = next(ours, None)
            found.append(f"--oml={word}" if value is None else f"--oml={word}={value}")
    return [*found, *words[end:]]
