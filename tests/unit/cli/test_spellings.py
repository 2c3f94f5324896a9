"""Old names of options go on working and say the new one; a file may be left out where the output serves."""

from __future__ import annotations

from pathlib import Path

import pytest

import in_process
from commands import COMMANDS
from in_process import trialwise
from trialwise.cli.spellings import FILE_OR_OUTPUT, RENAMED, spelled_now


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("run e.toml --dir=a", "run e.toml --directory=a"),
        ("run e.toml --dir a --quiet", "run e.toml --directory a --quiet"),
        ("observe --dir a", "observe --directory a"),
        ("aa e.toml --rounds 3", "aa e.toml --trials 3"),
        ("order t.csv --group kind", "order t.csv --by kind"),
        ("compare a b --group kind", "compare a b --group kind"),
        ("ab --base a --head b --markdown", "ab --base a --head b --markdown -"),
        ("ab --markdown --quiet", "ab --markdown - --quiet"),
        ("ab --markdown f.md --quiet", "ab --markdown f.md --quiet"),
        ("compare a b --markdown -", "compare a b --markdown -"),
        ("compare a b --markdown=f.md", "compare a b --markdown=f.md"),
        ("", ""),
    ],
)
def test_words_as_they_are_spelled_now(words: str, now: str) -> None:
    assert spelled_now(words.split()) == now.split()


def test_what_was_renamed_is_said_once_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("treatment,order,round,position,value,kind\n")
    done = in_process.trialwise("order", "t.csv", "--group", "kind", cwd=tmp_path)
    assert done.stderr.count("--group is called --by now; the old name still works") == 1
    assert "--group" not in done.stdout


@pytest.mark.parametrize("command", RENAMED)
def test_new_names_are_there_and_old_ones_are_not_shown(command: str) -> None:
    text = trialwise(command, "--help", cwd=Path()).stdout
    for old, new in RENAMED[command].items():
        assert f"{new} " in text
        assert f"{old} " not in text


@pytest.mark.parametrize("command", FILE_OR_OUTPUT)
def test_options_with_a_file_are_there(command: str) -> None:
    text = trialwise(command, "--help", cwd=Path()).stdout
    assert all(f"{option} PATH" in text for option in FILE_OR_OUTPUT[command])


def test_one_option_for_one_thing() -> None:
    """Where a command has one of these, it has its short form too, and no other name for it."""
    short = {"--directory": "-d", "--out": "-o"}
    for command in COMMANDS:
        text = trialwise(*command.split(), "--help", cwd=Path()).stdout
        for option, letter in short.items():
            if f"│ {option} " in text or f"│ *  {option} " in text:
                assert f"{option} {letter} " in text, f"trialwise {command}: {option} without {letter}"
        assert "--dir " not in text, command
