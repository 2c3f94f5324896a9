"""Trialwise says the same as the tools' own compare programs where both mean the same, and the docs say why where not."""

import re
import shutil
import subprocess

import pytest

from golden.formats import compare_programs
from golden.formats.compare_programs import RECORDED, figures
from trialwise.readers.content import Content
from trialwise.readers.register import recognised

HALF = 0.5 + 1e-6
"""What rounding may change, in units of the last printed digit."""


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: f"{figure.program} {figure.what}")
def test_what_a_program_prints_follows_from_the_values_that_are_read(figure):
    assert figure.is_off(figure.formula) <= HALF


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: f"{figure.program} {figure.what}")
def test_what_means_the_same_is_the_same(figure):
    assert bool(figure.why) == (figure.is_off(figure.ours) > HALF)


def test_every_program_has_a_figure_that_means_the_same_or_a_reason():
    assert {figure.program for figure in figures()} == {"pyperf", "benchstat", "hyperfine", "asv"}
    assert len(figures()) >= 30


def test_the_page_has_the_table():
    text = compare_programs.PAGE.read_text()
    assert compare_programs.page(text) == text


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("pyperf", ("pyperf", "compare_to", "base.json", "head.json")),
        ("benchstat", ("benchstat", "-format", "csv", "base.txt", "head.txt")),
    ],
)
def test_a_program_that_is_installed_prints_what_was_recorded(program, words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, cwd=RECORDED / program, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == (RECORDED / program / "printed.txt").read_text()


@pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed")
def test_the_ratio_of_hyperfine_as_it_is_here(tmp_path):
    path = tmp_path / "runs.json"
    words = (
        "hyperfine",
        "-N",
        "-r",
        "3",
        "--style",
        "basic",
        "--export-json",
        path,
        "sleep 0.01",
        "sleep 0.05",
    )
    told = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    ).stdout
    content = Content(path, path.read_bytes())
    rows = [row for row in recognised(content).reading(content).rows if row.metric == "time"]
    means = [
        sum(row.value for row in rows if row.treatment["command"] == name)
        for name in ("sleep 0.01", "sleep 0.05")
    ]
    ((ratio,),) = [re.findall(r"(\d\S+) ± ", line) for line in told.splitlines() if "faster" in line]
    assert means[1] / means[0] == pytest.approx(float(ratio), abs=0.005 + 1e-9)
