"""`trialwise schemes`: what people and programs see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from trialwise.cli.schema import json_schema

START = "from trialwise.cli.main import main; main()"
SCHEME = 'title = "Mine"\n{}\n[receiver]\ncommand = "true {{port}}"\n[sender]\ncommand = "true {{peer}} {{load}}"\n{}\n'


def schemes(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, "schemes", *words],
        cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "80"},
    )  # fmt: skip


def test_the_list_is_sorted_and_fits_80_columns(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(SCHEME.format('setup = "true"', '[needs]\nprograms = ["nonesuch"]'))
    done = schemes(tmp_path, "--folder", ".")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    table = lines[lines.index("") + 2 :]
    names = [line.split()[0] for line in table[: table.index("")]]
    assert names == sorted(names)
    assert {"cubic", "mine", "ngtcp2-bbr2"} <= set(names)
    second = table.index("", table.index("") + 1)
    assert max(map(len, table[:second])) <= 80, "its two tables: what is said below is for any width"
    assert [line.strip() for line in table if line.startswith("  mine: ")] == [
        "mine: missing: no program nonesuch: trialwise schemes setup mine",
        "mine: file: mine.toml",
    ]


def test_the_list_says_licences_needs_and_what_stands_for_schemes_of_pantheon(tmp_path: Path):
    """Of those that nobody published, the nearest; a scheme of one's own may say the same of itself."""
    words = 'licence = "MIT"\npantheon = ["verus"]\nnearest = ["secret"]'
    (tmp_path / "mine.toml").write_text(SCHEME.format(words, '[needs]\npackages = ["nonesuch"]\nroot = true'))
    text = schemes(tmp_path, "--folder", ".").stdout
    rows = [line.split() for line in text.splitlines()]
    assert ["mine", "Mine", "bulk", "MIT"] in rows
    assert ["mine", "nonesuch,", "root"] in rows
    assert "verus by mine" in text
    near = next(line for line in text.splitlines() if line.startswith("Nobody published these of Pantheon's"))
    assert {"koho_cc: bbr", "secret: mine"} <= set(near.partition("the name: ")[2].rstrip(".").split(", "))
    document = json.loads(schemes(tmp_path, "--json", "--folder", ".").stdout)
    (entry,) = (one for one in document["schemes"] if one["name"] == "mine")
    assert (entry["licence"], entry["needs"], entry["pantheon"]) == ("MIT", ["`nonesuch`", "root"], ["verus"])


def test_the_list_as_json_follows_its_schema(tmp_path: Path):
    (tmp_path / "broken.toml").write_text("x")
    document = json.loads(schemes(tmp_path, "--json", "--folder", ".").stdout)
    Draft202012Validator(json_schema("schemes")).validate(document)
    entries = {entry["name"]: entry for entry in document["schemes"]}
    assert entries["cubic"]["loads"] == ["bulk", "rate", "bytes", "requests", "flows"]
    assert entries["ngtcp2-bbr"]["first"] == "sender"
    assert entries["broken"]["problem"]


def test_one_is_shown_with_what_it_comes_to(tmp_path: Path):
    text = schemes(tmp_path, "show", "ngtcp2-reno").stdout
    assert 'title = "QUIC Reno (ngtcp2)"' in text
    assert "1st, sender: gtlsserver --quiet --cc=reno --htdocs=. '*' 5201 key.pem certificate.pem" in text
    assert "100.64.0.1 5201 https://100.64.0.1/file" in text
    refused = schemes(tmp_path, "show", "cubik")
    assert refused.returncode == 2
    assert "did you mean 'cubic'" in refused.stderr


def test_a_setup_is_run_once_it_is_asked_for(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        SCHEME.format('setup = "touch built-{folder}"'.replace("-{folder}", ""), "")
    )
    done = schemes(tmp_path, "setup", "mine", "--folder", ".")
    assert (done.returncode, done.stdout) == (0, "mine: can run here\n")
    assert "mine: touch built" in done.stderr
    assert (tmp_path / "built").exists()
    assert "has not been run" not in schemes(tmp_path, "--folder", ".").stdout
    (tmp_path / "bad.toml").write_text(SCHEME.format('setup = "false"', ""))
    failed = schemes(tmp_path, "setup", "bad", "--folder", ".")
    assert failed.returncode == 4
    assert "bad: false: ended with exit code 1" in failed.stdout


def test_schemes_with_the_same_setup_share_it(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(SCHEME.format("setup = \"sh -c 'echo x >> built'\"", ""))
    done = schemes(tmp_path, "setup", "one", "two", "--folder", ".")
    assert (done.returncode, done.stdout) == (0, "one: can run here\ntwo: can run here\n")
    assert (tmp_path / "built").read_text() == "x\n"
    assert "has not been run" not in schemes(tmp_path, "--folder", ".").stdout


def test_packages_are_not_installed_unasked(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        SCHEME.format("", '[needs]\nprograms = ["nonesuch"]\npackages = ["no-such-package"]')
    )
    done = schemes(tmp_path, "setup", "mine", "--folder", ".")
    assert done.returncode == 4
    assert "mine: run as root: apt-get install --yes no-such-package" in done.stdout
    assert "mine: missing: no program nonesuch" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "no scheme is named"),
        (["check", "--all", "cubic"], "--all is of every scheme"),
        (["check", "--all", "--load", "bulky"], "is not a valid load"),
        (["check", "--all", "--path", "nowhere"], "no path is called 'nowhere'"),
        (["check", "cubic", "--path", "rate="], "'rate' has no value"),
        (["check", "cubic", "--path", "rate=12Mbit"], "12Mbit"),
        (["check", "cubic", "--path", "nowhere"], "no path is called 'nowhere'"),
        (["check", "cubic", "--load", "bulky"], "is not a valid load"),
        (["check", "udp-fixed", "--load", "bulk"], "it knows: rate"),
    ],
)
def test_what_cannot_be_checked_is_said(tmp_path: Path, words: list[str], said: str):
    done = schemes(tmp_path, *words)
    assert done.returncode in (2, 4)
    assert said in done.stderr


def test_a_setup_waits_for_the_packages_that_it_needs(tmp_path: Path):
    """A package that cannot be installed here: the setup is not run, and not recorded as done."""
    needs = '[needs]\npackages = ["no-such-package-at-all"]\nprograms = ["nonesuch"]'
    (tmp_path / "mine.toml").write_text(SCHEME.format('setup = "touch built"', needs))
    for _ in range(2):
        done = schemes(tmp_path, "setup", "mine", "--folder", ".")
        assert done.returncode != 0
        assert "apt-get install --yes no-such-package-at-all" in done.stdout
        assert "mine: not run before that: touch built" in done.stdout
        assert not (tmp_path / "built").exists()
