"""Which files a command consists of, as far as its words tell."""

import os
from pathlib import Path

import pytest

from trialwise.measurement.programs import program_files

PROJECT = {
    "prog": "#!/bin/sh\n",
    "main.py": "import helper\nfrom package import part\nimport json\n",
    "helper.py": "from package.deep import thing\n",
    "package/__init__.py": "",
    "package/part.py": "",
    "package/deep.py": "from . import other\n",
    "package/other.py": "import helper\n",
    "package/__main__.py": "from . import part\n",
    "unused.py": "",
    "config.toml": "",
    "dir/prog": "#!/bin/sh\n",
    "bin/tool": "#!/bin/sh\n",
    "Makefile": "run:\n\t./prog\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    return tmp_path


def named(words: list[str], folder: Path) -> dict[str, str]:
    """The files below the folder that a command names, with what it does with them."""
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    files = program_files(words, folder, environment)
    return {
        str(file.path.relative_to(folder)): file.role for file in files if file.path.is_relative_to(folder)
    }


@pytest.mark.parametrize("word", ["x" * 300, "/".join(["y" * 200] * 30), "import sys; print('a/b')"])
def test_code_on_the_command_line_is_no_file(tmp_path: Path, word: str) -> None:
    assert [file.path.name for file in program_files(["python3", "-c", word], tmp_path, {})] == ["python3"]
    assert list(program_files([f"./{word}"], tmp_path, {})) == []


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["./prog", "--size", "9"], {"prog": "program"}),
        (["./prog", "--config=config.toml"], {"prog": "program", "config.toml": "input"}),
        (["./prog", "@config.toml", "-"], {"prog": "program", "config.toml": "input"}),
        (["sh", "-c", "./prog < config.toml"], {"prog": "program", "config.toml": "input"}),
        (["sh", "-ec", "case a in a) exec ./prog;; b) dir/prog;; esac"], {"prog": "program", "dir/prog": "program"}),
        (["sh", "-c", "cd dir && ./prog"], {"dir/prog": "program"}),
        (["sh", "-c", "X=1 tool; echo 'not closed"], {"bin/tool": "program"}),
        (["sh", "prog"], {"prog": "script"}),
        (["env", "X=Y", "tool"], {"bin/tool": "program"}),
        (["env", "X=Y", "./prog"], {"prog": "program"}),
        (["taskset", "-c", "0", "nice", "tool", "config.toml"], {"bin/tool": "program", "config.toml": "input"}),
        (["make", "run"], {"Makefile": "input"}),
        (["tool"], {"bin/tool": "program"}),
    ],
)  # fmt: skip
def test_the_words_of_a_command_name_files(project: Path, words: list[str], files: dict[str, str]) -> None:
    assert named(words, project) == files


def test_a_python_script_and_what_it_imports_of_the_project_are_files_of_the_program(project: Path) -> None:
    found = dict.fromkeys(
        [
            "main.py",
            "helper.py",
            "package/__init__.py",
            "package/part.py",
            "package/deep.py",
            "package/other.py",
        ],
        "script",
    )
    assert named(["python3", "-u", "main.py"], project) == found


def test_so_are_those_of_a_module(project: Path) -> None:
    found = dict.fromkeys(["package/__main__.py", "package/__init__.py", "package/part.py"], "script")
    assert named(["python3", "-m", "package", "--fast"], project) == found


def test_a_module_that_is_no_python_is_no_error(project: Path) -> None:
    (project / "main.py").write_bytes(b"\xff\0 import helper (((")
    assert named(["python3", "main.py"], project) == {"main.py": "script"}
