"""Find the files that a command consists of, as far as its words tell: programs, scripts and their imports, input files.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from itertools import islice
from pathlib import Path

from trialwise.measurement.file_identity import NamedFile, without_waiting
from trialwise.measurement.python_imports import imported_files, module_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|deno|lua|Rscript|bash|dash|zsh|ksh|sh|java|php|julia|tclsh)[\d.]*"
)
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_SHELL = re.compile(r"(bash|dash|zsh|ksh|sh)[\d.]*")
_STARTERS = frozenset(
    {
        "env",
        "nice",
        "taskset",
        "timeout",
        "time",
        "stdbuf",
        "setarch",
        "chrt",
        "ionice",
        "numactl",
        "prlimit",
        "exec",
    }
)
"""Programs whose arguments name another program, and the shell's own word for it."""
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_ENDS = frozenset({";", ";;", "&", "&&", "|", "||", "(", ")", "{", "}", "then", "do", "else", "!"})
"""Shell tokens after which a command begins."""
MAX_OF_A_SCRIPT = 1 << 18
"""Maximum bytes read of a shell script."""
_DEEPEST = 3
"""Maximum depth of scripts that name one another."""
MAX_WORDS = 2000
"""Maximum number of words of a command, and of tokens of a shell's text, that are examined."""


def program_files(
    words: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Iterator[NamedFile]:
    """Name the files whose change makes this another program, or the same program with another input.

    Parameters
    ----------
    words
        The command, with its placeholders filled in.
    directory
        Its working directory.
    environment
        Variables that it sets in addition to the caller's environment; `PATH` and `PYTHONPATH` matter.
    """
    program = resolved(words[0], directory, environment)
    if program is None:
        return
    yield NamedFile(program, "interpreter" if runs_script(words[0]) else "program")
    yield from argument_files(Path(words[0]).name, words[1:], directory, environment)


def files_beside(
    words: Sequence[str], directory: Path, environment: Mapping[str, str], depth: int = _DEEPEST
) -> Iterator[NamedFile]:
    """Name the files of a command beside the measured one, including those that its shell scripts name in turn.

    Such a command may outlive the trial, and its processes are then not followed; the text of its scripts stands in for what
    they run. The parameters are those of `program_files`.
    """
    for file in program_files(words, directory, environment):
        yield from _with_script(file, directory, environment, depth)


def _with_script(
    file: NamedFile, directory: Path, environment: Mapping[str, str], depth: int
) -> Iterator[NamedFile]:
    yield file
    if depth and file.role in ("program", "script") and (text := _shell_script(file.path)) is not None:
        for named in shell_files(text, directory, environment):
            yield from _with_script(named, directory, environment, depth - 1)


def _shell_script(path: Path) -> str | None:
    """Return the text of a shell script; None for other files."""
    try:
        with open(path, "rb", opener=without_waiting) as file:
            if file.read(2) != b"#!":
                return None
            text = file.read(MAX_OF_A_SCRIPT).decode(errors="surrogateescape")
    except OSError:
        return None
    first, _, rest = text.partition("\n")
    words = [os.path.basename(word) for word in first.split()]
    return rest if any(_SHELL.fullmatch(word) for word in words) else None


def argument_files(
    program: str, words: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Iterator[NamedFile]:
    """Name the files that a program's arguments name; `program` is its name without folders."""
    words = words[:MAX_WORDS]
    if _SHELL.fullmatch(program) and (code := _code(words)) is not None:
        yield from shell_files(code, directory, environment)
        words = words[words.index(code) + 1 :]
    elif program in _STARTERS:
        yield from _started(words, directory, environment)
    elif program in ("make", "gmake"):
        yield from (NamedFile(directory / name, "input") for name in _MAKEFILES if _is_file(directory / name))
    script = _script(program, words, directory, environment)
    if script is not None:
        yield NamedFile(script, "script")
    if _PYTHON.fullmatch(program):
        yield from _imports(words, script, directory, environment)
    for word in words:
        if (named := _input(word, directory)) is not None and named != script:
            yield NamedFile(named, "program" if os.access(named, os.X_OK) else "input")


def shell_files(text: str, directory: Path, environment: Mapping[str, str]) -> Iterator[NamedFile]:
    """Name the files that shell code names, as far as can be told without running it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    begins, goes = True, False
    try:
        for token in islice(lexer, MAX_WORDS):
            if goes:
                directory = directory / token
            goes = begins and token == "cd"  # noqa: S105 a word of the shell
            if (named := _input(token, directory)) is not None:
                role = "program" if os.access(named, os.X_OK) else "input"
                yield NamedFile(named, role)
            elif begins and (program := resolved(token, directory, environment)) is not None:
                yield NamedFile(program, "interpreter" if runs_script(token) else "program")
            begins = token in _ENDS or token in _STARTERS or (begins and "=" in token) or token.endswith(")")
    except ValueError:  # an unclosed quote
        return


def runs_script(program: str) -> bool:
    """Return True for an interpreter, which runs its first argument that is not an option."""
    return _INTERPRETER.fullmatch(Path(program).name) is not None


def resolved(name: str, directory: Path, environment: Mapping[str, str]) -> Path | None:
    """Find a program as `execvp` does."""
    if "/" in name:
        found = directory / name
        return found if _is_file(found) else None
    try:
        path = shutil.which(name, path=environment.get("PATH") or os.environ.get("PATH"))
    except ValueError:  # a zero byte
        return None
    return None if path is None else directory / path


def _code(words: Sequence[str]) -> str | None:
    """Return the text after `-c`, which may be combined with other one-letter options."""
    for place, word in enumerate(words):
        if not word.startswith("-") or word == "--":
            return None
        if not word.startswith("--") and word.endswith("c"):
            return words[place + 1] if place + 1 < len(words) else None
    return None


def _started(words: Sequence[str], directory: Path, environment: Mapping[str, str]) -> Iterator[NamedFile]:
    """Name the program that a starter runs, with its arguments: the first word that is the name of a program."""
    for place, word in enumerate(words):
        if word.startswith("-") or "=" in word:
            continue
        if "/" not in word and (found := resolved(word, directory, environment)) is not None:
            yield NamedFile(found, "interpreter" if runs_script(word) else "program")
            yield from argument_files(Path(word).name, words[place + 1 :], directory, environment)
            return
        if runs_script(word):
            yield from argument_files(Path(word).name, words[place + 1 :], directory, environment)
            return


def _script(
    program: str, words: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Path | None:
    """Return the file that an interpreter runs: its first argument that is not an option, or the module after `-m`."""
    if not runs_script(program):
        return None
    if _PYTHON.fullmatch(program) and (module := _module(words)) is not None:
        return next(reversed(module_files(module, _python_folders(directory, environment))), None)
    first = next((word for word in words if not word.startswith("-")), None)
    return directory / first if first is not None and _is_file(directory / first) else None


def _module(words: Sequence[str]) -> str | None:
    for place, word in enumerate(words[:-1]):
        if word == "-m":
            return words[place + 1]
        if not word.startswith("-"):
            return None
    return None


def _imports(
    words: Sequence[str], script: Path | None, directory: Path, environment: Mapping[str, str]
) -> Iterator[NamedFile]:
    """Name the project's modules that a script or module imports."""
    if script is None:
        return
    named = _module(words)
    first = directory if named is not None else script.parent
    folders = [first, *_python_folders(directory, environment)[1:]]
    around = () if named is None else module_files(named, folders)
    files = dict.fromkeys((*around, *imported_files(script, folders)))
    yield from (NamedFile(path, "script") for path in files if path != script)


def _python_folders(directory: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the working directory and the folders in `PYTHONPATH`."""
    paths = environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    return [directory, *(directory / path for path in paths.split(os.pathsep) if path)]


def _input(word: str, directory: Path) -> Path | None:
    """Return the file that a word names: the word itself, the part after `=` of an option or variable, or after `@`."""
    for text in (word, word.partition("=")[2], word[1:] if word.startswith("@") else ""):
        if text and _is_file(directory / text):
            return directory / text
    return None


def _is_file(path: Path) -> bool:
    """Return False also for a word that cannot be a file name, such as the code after `python3 -c`."""
    try:
        return os.path.isfile(path)
    except ValueError:
        return False
