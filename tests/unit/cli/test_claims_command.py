"""`trialwise claims` on a table, on wrong files and on hostile names."""

import csv
import json
import random

import pytest

from in_process import trialwise

HEAD = 'format = "trialwise-claims-1"\n[data]\nfiles = ["t.csv"]\n'
CLAIM = '[[claim]]\nid = "{id}"\ntext = "{text}"\nmetric = "delay"\n{said}\n'
RATIO = 'ratio = {{ of = {{ scheme = "bbr" }}, to = {{ scheme = "cubic" }}, at_most = {} }}'
EXPERIMENT = """[experiment]
name = "steps"
[factors]
step = [100, 200]
[trial]
command = "sh -c 'echo $(({step} + $$ % 7))'"
[metrics.size]
stdout = "([0-9]+)"
better = "lower"
[design]
series = 1
rounds = 6
"""


@pytest.fixture
def folder(tmp_path):
    noise = random.Random(1)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["scheme", "delay"])
        for _ in range(12):
            table.writerow(["bbr", noise.gauss(40, 2)])
            table.writerow(["cubic", noise.gauss(100, 4)])
    return tmp_path


def write(folder, *said, text="a sentence"):
    claims = (CLAIM.format(id=f"C{at}", text=text, said=one) for at, one in enumerate(said, 1))
    (folder / "claims.toml").write_text(HEAD + "".join(claims))


@pytest.mark.parametrize(
    ("bounds", "code", "answer"),
    [
        ((0.6,), 0, "The claim is supported by the data."),
        ((0.6, 0.2), 1, "Of 2 claims, 1 is supported and 1 is contradicted by the data."),
        ((0.6, 0.401), 3, "Of 2 claims, 1 is supported and 1 is undecided."),
    ],
)
def test_the_exit_code_and_the_first_line_say_how_the_claims_stand(folder, bounds, code, answer):
    write(folder, *map(RATIO.format, bounds))
    done = trialwise("claims", ".", cwd=folder)
    assert (done.returncode, done.stdout.splitlines()[0]) == (code, answer)


def test_a_draft_is_a_file_of_claims_that_its_data_support(folder):
    draft = trialwise("claims", "t.csv", "--suggest", cwd=folder)
    (folder / "claims.toml").write_text(draft.stdout)
    done = trialwise("claims", ".", "--json", "--latex", "n.tex", cwd=folder)
    assert done.returncode == 0
    [claim] = json.loads(done.stdout)["claims"]
    assert claim["low"] <= 2.5 <= claim["high"] + 0.1
    assert f"\\newcommand{{\\twCOneEstimate}}{{{claim['estimate']:.4g}}}" in (folder / "n.tex").read_text()


def test_the_draft_of_values_that_do_not_vary_is_a_file_of_claims(tmp_path):
    rows = [f"{scheme},{size}" for scheme, size in (("zlib", 300), ("lzma", 200)) for _ in range(3)]
    (tmp_path / "t.csv").write_text("\n".join(["scheme,size", *rows, ""]))
    draft = trialwise("claims", "t.csv", "--suggest", cwd=tmp_path)
    (tmp_path / "claims.toml").write_text(draft.stdout)
    done = trialwise("claims", ".", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    [claim] = json.loads(done.stdout)["claims"]
    assert claim["estimate"] == pytest.approx(2 / 3)
    assert 'tolerance = "1%"' in draft.stdout


def test_the_draft_for_a_directory_stands_beside_it_and_is_found_from_both(tmp_path):
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    assert trialwise("run", "e.toml", "--quiet", cwd=tmp_path).returncode == 0
    (tmp_path / "claims.toml").write_text(
        trialwise("claims", "steps.results", "--suggest", cwd=tmp_path).stdout
    )
    for path in (".", "steps.results", "claims.toml"):
        done = trialwise("claims", path, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("The claim is supported by the data.")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", "does not say what is claimed"),
        (RATIO.format(1) + "\nevery = { at_most = 1 }", "claims ratio and every at once"),
        ('value = { treatment = { scheme = "bbr" } }', "says no bound"),
        ('value = { treatment = { scheme = "bbr" }, about = 3 }', "about needs the tolerance"),
        ("ration = 3", 'did you mean "ratio"?'),
        ('every = { at_most = "ms" }', "must be a number in the unit of the metric"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(folder, said, words):
    write(folder, said)
    done = trialwise("claims", ".", cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert "claims.toml:" in done.stderr


@pytest.mark.parametrize("name", ["/etc/passwd", "../t.csv"])
def test_data_outside_of_the_folder_are_not_read(folder, name):
    write(folder, RATIO.format(1))
    file = folder / "claims.toml"
    file.write_text(file.read_text().replace("t.csv", name))
    done = trialwise("claims", ".", cwd=folder)
    assert done.returncode == 2
    assert "leads outside of the folder" in done.stderr


def test_a_sentence_reaches_neither_the_terminal_nor_tex_as_a_command(folder):
    write(folder, RATIO.format(0.6), text="\\u001b[2J\\n\\\\input{x}")
    done = trialwise("claims", ".", "--latex", "n.tex", cwd=folder)
    assert "\x1b" not in done.stdout
    assert all(line.startswith(("%", "\\newcommand")) for line in (folder / "n.tex").read_text().splitlines())


def test_without_a_file_it_is_said_how_to_begin(folder):
    done = trialwise("claims", ".", cwd=folder)
    assert done.returncode == 7
    assert "--suggest" in done.stderr
