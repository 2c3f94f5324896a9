"""A rehearsal before an artifact is finished: another user measures it in an empty folder, who has nothing of the authors'."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import artifacts
from in_process import trialwise

LICENCE = ("--licence", "CC-BY-4.0")
SYSTEM = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
"""A Python that everybody may run; ours may lie in the home of root."""


def as_nobody():
    """Why nobody else can measure here; None if somebody can."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None or not os.access(SYSTEM, os.X_OK):
        return "needs root, setpriv and a Python of the system"
    words = ["setpriv", "--reuid=nobody", "--clear-groups", SYSTEM, "-c", "import trialwise.cli.main"]
    tried = subprocess.run(words, env=environment(), capture_output=True, check=False)
    return None if tried.returncode == 0 else "another user may not read our modules"


def environment():
    return {
        **os.environ,
        "TMPDIR": "/tmp",  # noqa: S108 everybody may enter it
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "NO_COLOR": "1",
    }


def packed_by_the_system(folder, *words):
    return subprocess.run(
        [
            SYSTEM,
            "-c",
            artifacts.RUN,
            "pack",
            "sums.results",
            *LICENCE,
            "--rehearse",
            "1min",
            "--json",
            *words,
        ],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_it_is_measured_again_before_the_archive_gets_its_name(tmp_path):
    folder = artifacts.measured(tmp_path / "x")
    done = trialwise("pack", "sums.results", *LICENCE, "--rehearse", "1min", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rehearsal"]["verdicts"] == {"C1": "holds; sizes are not compared"}
    assert sorted(each.name for each in folder.iterdir()) == [
        "artifact.zip",
        "claims.toml",
        "e.toml",
        "sums.results",
        "work",
    ]
    done = trialwise("pack", "sums.results", *LICENCE, "--rehearse", "soon", "--force", cwd=folder)
    assert (done.returncode, "--rehearse soon" in done.stderr) == (2, True)


@pytest.fixture
def other():
    if why := as_nobody():
        pytest.skip(why)


def test_another_user_who_gets_other_numbers_stops_it(tmp_path, other):
    """The program takes for granted that root runs it, and says something else to others instead of failing."""
    program = (
        '#!/bin/sh\nf=0; [ "$(id -u)" = 0 ] && f=100\necho "{\\"steps\\": $((100 + $1 * f + $2 % 3))}"\n'
    )
    claims = artifacts.CLAIMS.replace("at_least = 2", "at_least = 1.8")
    folder = artifacts.measured(tmp_path / "x", claims=claims, program=program)
    done = packed_by_the_system(folder)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "the rehearsal does not confirm the claims: C1 not reproduced" in done.stderr
    assert not list(folder.glob("*.zip"))


def test_another_user_for_whom_nothing_runs_is_said(tmp_path, other):
    program = (
        f"#!/bin/sh\ncat {tmp_path}/x/e.toml >/dev/null || exit 1\n" + artifacts.PROGRAM.partition("\n")[2]
    )
    folder = artifacts.measured(tmp_path / "x", program=program)
    done = packed_by_the_system(folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["rehearsal"]
    assert (found["by_another_user"], found["verdicts"]) == (True, {"C1": "not runnable here"})
