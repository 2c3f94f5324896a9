"""Every command of the documentation runs as it is written.

In a page, a block of `toml` or `python` whose first line is `# NAME` is written to that file. In a block of `console`, each line
`$ COMMAND` runs in a shell, in the page's own temporary folder, and ends with exit code 0, or with that of a comment
`# exits with N`; the lines below it must appear, in this order, in what it prints (`…` stands for anything). A command goes on
in the next line after a backslash, a printed line after an arrow (`↳`) at the beginning of the next. `docs/` and `examples/`
stand there as in the repository. Commands that only compute run in the process of the test. Trials that this machine was too busy
for are tried again, as the run that calls them invalid says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import EMULATOR_LATE
from tests.system.ns3 import needs_ns3
from tests.system.paths import needs_paths

import in_process

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w./-]+\.\w+)\n")
WITH_OTHER_TESTS = {"for-authors.md", "evaluate-in-30-minutes.md"}
"""Pages that go on with what another page made: test_artifact_pages.py."""
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "```console" in page.read_text() and page.name not in WITH_OTHER_TESTS
)
OVER_PATHS = {
    page
    for page in PAGES
    if re.search(r'kind = "path"|schemes check|trialwise path --rate', page.read_text())
}
ONLY_COMPUTES = re.compile(
    r"trialwise (analyze|compare|effects|order|plan|profile|runtime|status|tilt|trace)( [^|&;<>$`*?~()]*)?"
)
"""Commands that execute no trials, in lines that need no shell."""
FOLD = "↳"
"""Where a printed line is longer than lines of Markdown may be."""
WITH_NS3 = {page for page in PAGES if "--engine ns3" in page.read_text()}


def marks(page: Path) -> list[pytest.MarkDecorator]:
    """What a page needs."""
    over_paths = [needs_paths, pytest.mark.alone] if page in OVER_PATHS else []
    return over_paths + ([needs_ns3] if page in WITH_NS3 else [])


MARKED = [pytest.param(page, marks=marks(page)) for page in PAGES]


def commands(block: str) -> Iterator[tuple[str, int, list[str]]]:
    """The commands of a console block, with their exit codes and what they are said to print."""
    unfolded = re.sub(r"\s*\n\s*↳ ", FOLD, re.sub(r" *(?<!\\)\\\n\s*", " ", block))
    for part in re.split(r"^\$ ", unfolded, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        code = re.search(r"# exits with (\d+)$", command)
        yield command, int(code.group(1)) if code else 0, [line for line in shown if line.strip()]


def assert_shown(shown: list[str], printed: str) -> None:
    lines = iter(printed.splitlines())
    for line in shown:
        parts = ([re.escape(text) for text in part.strip().split(FOLD)] for part in line.split("…"))
        pattern = ".*".join(r"\s+".join(texts) for texts in parts)
        assert any(re.fullmatch(rf"\s*{pattern}\s*", each) for each in lines), (
            f"{line!r} is not in:\n{printed}"
        )


def ended(command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a line, and what it prints."""
    if ONLY_COMPUTES.fullmatch(command):
        here = in_process.run(shlex.split(command, comments=True), folder, together=True, NO_COLOR="1")
        return here.returncode, here.stdout
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env={**os.environ, "PATH": path, "COLUMNS": "200", "NO_COLOR": "1"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def ended_unspoilt(command: str, folder: Path) -> tuple[int, str]:
    """As `ended`, where spoilt trials over paths are tried again, five times at most, and no longer counted once they are good."""
    code, printed = ended(command, folder)
    for _ in range(5):
        if code != 4 or "invalid in" not in printed or not any(words in printed for words in EMULATOR_LATE):
            break
        code, printed = ended(f"{command} --again", folder)
        printed = re.sub(r", \d+ invalid\b", "", printed)
    return code, printed


@pytest.mark.parametrize("page", MARKED, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_the_page_does_what_it_says(page: Path, tmp_path: Path):
    (tmp_path / "docs").symlink_to(DOCS)
    (tmp_path / "examples").symlink_to(DOCS.parent / "examples")
    ran = 0
    for language, text in BLOCK.findall(page.read_text()):
        if name := NAMED.match(text):
            (tmp_path / name.group(1)).parent.mkdir(exist_ok=True)
            (tmp_path / name.group(1)).write_text(text)
        if language != "console":
            continue
        for command, expected, shown in commands(text):
            code, printed = ended_unspoilt(command, tmp_path)
            assert code == expected, f"{command}\n{printed}"
            assert_shown(shown, printed)
            ran += 1
    assert ran


def test_a_page_that_says_something_else_fails():
    assert [*commands("$ a   # exits with 3\nout\n$ b\n")] == [
        ("a   # exits with 3", 3, ["out"]),
        ("b", 0, []),
    ]
    assert [*commands("$ a \\\n    --b  # exits with 1\n  one\n    ↳ two\n")] == [
        ("a --b  # exits with 1", 1, ["  one↳two"])
    ]
    assert_shown(["one …", "three"], "one 1\ntwo\nthree\n")
    # LaTeX ends its lines with two.
    assert [*commands("$ a\n1 \\\\\n2 \\\\\n")] == [("a", 0, ["1 \\\\", "2 \\\\"])]
    assert_shown(["one↳two …"], "one   two 3\n")
    with pytest.raises(AssertionError, match="is not in"):
        assert_shown(["one↳two"], "onetwo\n")
    with pytest.raises(AssertionError, match="is not in"):
        assert_shown(["three", "one …"], "one 1\ntwo\nthree\n")


def test_what_the_machine_was_too_busy_for_is_tried_again_and_nothing_else(tmp_path):
    (tmp_path / "run").write_text(
        'echo "$*" >>asked\ncase "$*" in\n*--again) echo "complete (2 finished, 1 invalid)" ;;\n'
        '*) echo "trial 1 invalid in 2s: $1"; exit 4 ;;\nesac\n'
    )
    assert ended_unspoilt("sh run 'the emulator was late'", tmp_path) == (0, "complete (2 finished)\n")
    assert ended_unspoilt("sh run 'no packets'", tmp_path) == (4, "trial 1 invalid in 2s: no packets\n")
    assert len((tmp_path / "asked").read_text().splitlines()) == 3
