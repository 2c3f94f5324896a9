"""Turn the command line of a scheme into the words to execute."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from types import MappingProxyType

from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill, names_in
from trialwise.schemes.scheme import Scheme
from trialwise.trials.loads import Load, load_words

_OWN_PROGRAMS = {
    "flow": [sys.executable, "-m", "trialwise.schemes.flow"],
    "utp": [sys.executable, "-m", "trialwise.schemes.utp"],
}


def command_words(
    command: tuple[str, ...],
    scheme: Scheme,
    load: Load,
    values: Mapping[str, Level],
    *,
    own: Mapping[str, list[str]] = MappingProxyType({}),
) -> list[str]:
    """Return the words of a scheme's command.

    {flow}, {utp} and {load} become words or, inside a word, text; `own` are the words of other programs than this machine's.

    Raises
    ------
    PlanError
        The command uses the load, and the scheme does not support this kind.
    """
    several = _OWN_PROGRAMS | dict(own)
    if any("load" in names_in(word) for word in command):
        several["load"] = load_words(scheme, load, values)
    texts = {name: shlex.join(words) for name, words in several.items()}
    words: list[str] = []
    for word in command:
        name = word[1:-1]
        if word == f"{{{name}}}" and name in several:
            words += several[name]
        else:
            words.append(fill(word, {**values, **texts}))
    return words
