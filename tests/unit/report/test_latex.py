from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from trialwise.analysis.results import Analysis
from trialwise.report.claim_writing import claims
from trialwise.report.latex import latex_files
from trialwise.report.render.latex import escaped, latex_number

_COMMAND = re.compile(r"^\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}$", re.MULTILINE)


def test_one_macro_for_each_number_of_a_claim(analysis: Analysis) -> None:
    commands = _COMMAND.findall(latex_files(analysis)["numbers.tex"])
    wanted = [
        (number.macro, number.text) for claim in claims(analysis) for number in claim.numbers if number.macro
    ]
    assert commands == [(name, latex_number(text)) for name, text in wanted]
    assert len({name for name, _ in commands}) == len(commands) > 50


def test_sentences_use_the_macros(analysis: Analysis) -> None:
    files = latex_files(analysis)
    used = set(re.findall(r"\\(tw[A-Za-z]+)", files["claims.tex"]))
    assert used == {name for name, _ in _COMMAND.findall(files["numbers.tex"])}


def test_what_latex_reads_is_escaped() -> None:
    assert escaped(r"a_b & 50 % of \x {y} <z> #1 ~ ^ $") == (
        r"a\_b \& 50 \% of \textbackslash{}x \{y\} \textless{}z\textgreater{} \#1 \textasciitilde{} \textasciicircum{} \$"
    )


def test_exponents_and_signs_are_set_as_formulas() -> None:
    assert latex_number("1.234e-07") == r"\ensuremath{1.234 \times 10^{-7}}"
    assert latex_number("-3.1") == r"\ensuremath{-3.1}"
    assert latex_number("–") == "--"


def test_comments_stay_on_their_line(analysis: Analysis) -> None:
    for line in latex_files(analysis)["numbers.tex"].splitlines():
        assert line.startswith(("%", "\\newcommand"))


def test_it_compiles(analysis: Analysis, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    for name, text in latex_files(analysis).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\\input{numbers}\n"
        "\\begin{document}\\input{claims}\\input{tables}\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
