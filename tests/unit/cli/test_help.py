"""Every command explains itself: what it does, examples, exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from commands import COMMANDS, EVERY, NAMES
from in_process import trialwise

START = "from trialwise.cli.main import main; main()"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_codes(command: str) -> None:
    text = trialwise(*command.split(), "--help", cwd=Path()).stdout
    assert "For example" in text
    assert text.count(f"trialwise {command}") >= 2
    assert "Exit code" in text


def test_every_command_is_listed() -> None:
    text = subprocess.run(
        [sys.executable, "-c", START, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(f" {command} " in text for command in COMMANDS if " " not in command)
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("words", [[], ["run"], ["schemes"]])
def test_help_is_a_word_as_well(words: list[str]) -> None:
    called = [
        subprocess.run(
            [sys.executable, "-c", START, *line], capture_output=True, text=True, check=True
        ).stdout
        for line in (["help", *words], [*words, "--help"])
    ]
    assert called[0] == called[1]
    assert called[0].startswith("Usage: ")


def test_alone_it_says_three_things_to_copy_that_fit_a_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    copied = [line.split("&&")[0].split()[1] for line in lines if line.startswith("  trialwise ")]
    assert copied == ["ab", "look", "new"]
    assert set(copied) <= set(COMMANDS)
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80


def test_completion_can_be_installed() -> None:
    assert "--shell" in trialwise("--install-completion", "--help", cwd=Path()).stdout


IMPORTS = (
    EVERY
    + """
import sys
from contextlib import redirect_stdout
from io import StringIO

HEAVY = {"altair", "dask", "distributed", "matplotlib", "polars", "pyarrow", "scipy", "typst", "vl_convert"}

for words in commands(app):
    with redirect_stdout(StringIO()) as printed:
        app([*words, "--help"], exit_on_error=False, result_action="return_value")
    loaded = HEAVY & set(sys.modules)
    print(*words, ":", len(printed.getvalue()), *sorted(loaded))
    if loaded:
        break
"""
)


def test_help_of_every_command_is_there_without_heavy_libraries():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [line.split(" : ") for line in done.stdout.splitlines()]
    assert {"run", "simulate", "doctor", "schemes check", "stream packets", "trace cut"} <= {
        words for words, _ in told
    }
    for words, found in told:
        size, *loaded = found.split()
        assert loaded == [], f"trialwise {words} --help imports {loaded}"
        assert int(size) > 200, words


OPTION = re.compile(r"│ [* ]*(--[a-z-]+)( --?[a-z-]+)*( [A-Z]+(\.\.\.)?)? *│")


STARTS = ("trialwise", "watch")


def test_help_says_what_each_option_does_and_its_examples_can_be_copied():
    listed = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, check=True).stdout
    assert len(listed.splitlines()) > 30
    for words in listed.splitlines():
        text = trialwise(*words.split(), "--help", cwd=Path(), COLUMNS="80", NO_COLOR="1").stdout
        bare = [found[1] for line in text.splitlines() if (found := OPTION.fullmatch(line.rstrip()))]
        assert not bare, f"trialwise {words}: {bare} without a word"
        for before, line in pairwise(["", *examples(text)]):
            whole = before.endswith("\\") or line.split()[0] in STARTS
            assert whole, f"trialwise {words}: an example is torn at {line!r}"


def examples(text: str) -> list[str]:
    """The lines of the examples of a help page."""
    _, _, after = text.partition("For example")
    shown = [line.rstrip() for line in after.splitlines()[1:] if line.strip()]
    return list(takewhile(lambda line: line.startswith(" "), shown))


@pytest.mark.parametrize(
    "words",
    [
        ["bad\x1b[31m"],
        ["analyze", "--opt\u202e"],
        ["plan", "a", "b\x9b2J"],
        ["order", "x", "--confidence", "9\x1b5"],
    ],
)
def test_refused_words_reach_the_terminal_harmless(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from trialwise.cli.main import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.stdout + done.stderr)
    assert re.search(r"\\(x1b|x9b|x07|u202e)", done.stdout + done.stderr)
