"""Which files make a program: what the command starts, and the script that it hands to an interpreter."""

from pathlib import Path

import pytest

from trialwise.measurement.programs import program_files


@pytest.mark.parametrize("word", ["x" * 300, "/".join(["y" * 200] * 30), "import sys; print('a/b')"])
def test_code_on_the_command_line_is_no_file(tmp_path: Path, word: str) -> None:
    assert [path.name for path in program_files(["python3", "-c", word], tmp_path, {})] == ["python3"]
    assert list(program_files([f"./{word}"], tmp_path, {})) == []


def test_a_script_is_a_file_of_the_program(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text("")
    assert list(program_files(["python3", "-u", "main.py"], tmp_path, {}))[1:] == [script]
