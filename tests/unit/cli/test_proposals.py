"""What `trialwise look` says to type next can be typed: it succeeds on the same files."""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.study.looking import look

SAMPLES = Path(__file__).resolve().parents[2] / "golden" / "formats" / "data"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats"
SUCCESS = (0, 1, 3)


def proposed(*paths):
    """Return the words that a look proposes; none if it proposes nothing, or nothing can be read."""
    try:
        return look(paths).proposal
    except AnalysisError:
        return ()


def files(folder):
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("NOTE.txt", "expected.json")
    )


def check(trialwise, folder):
    """Run what is proposed for each file, for each folder, and for each file with the next; return the commands."""
    found = files(folder)
    groups = [(path,) for path in found]
    groups += [(each,) for each in sorted({path.parent for path in found})]
    groups += [pair for pair in pairwise(found) if pair[0].parent == pair[1].parent]
    commands = {words for paths in groups if (words := proposed(*paths))}
    for words in sorted(commands):
        code, _, said = trialwise(*words)
        assert code in SUCCESS, (shlex.join(words), said)
    return {words[0] for words in commands}


def test_what_is_proposed_for_our_samples_works(trialwise):
    assert check(trialwise, SAMPLES) >= {"analyze"}


def test_what_is_proposed_for_shared_samples_works(trialwise):
    if not SHARED.is_dir():
        pytest.skip("needs ../shared")
    assert check(trialwise, SHARED) >= {"analyze", "compare"}
