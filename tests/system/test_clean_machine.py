"""A packed demo on a clean machine: another user, a home of its own, a network namespace without network, and two commands."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import artifacts
from in_process import trialwise

NOBODY = 65534
CLAIMS = artifacts.CLAIMS + 'tolerance = "20%"\n'
PROGRAM = """#!/bin/sh
noise=$(od -An -N2 -tu2 /dev/urandom)
echo "{\\"steps\\": $(($1 * 1000 + noise % 50))}"
"""


def as_stranger(words, home):
    """Run as nobody in a fresh network namespace, with nothing of this user's environment."""
    command = [
        "unshare",
        "--net",
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        *words,
    ]
    around = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(
        command, cwd=home, env=around, capture_output=True, text=True, check=False, timeout=300, umask=0o077
    )


@pytest.fixture
def home():
    """A home below /tmp itself: another user does not reach pytest's folders."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
        pytest.skip("takes root, unshare and setpriv")
    with tempfile.TemporaryDirectory(prefix="stranger-") as name:
        os.chown(name, NOBODY, NOBODY)
        if as_stranger([sys.executable, "-c", "import trialwise"], name).returncode:
            pytest.skip("another user does not reach this Python, or there are no network namespaces")
        yield Path(name)


def test_another_user_without_network_verifies_the_demo_with_two_commands(tmp_path, home):
    work = artifacts.measured(tmp_path / "work", claims=CLAIMS, program=PROGRAM)
    assert trialwise("pack", "sums.results", "--licence", "CC-BY-4.0", cwd=work).returncode == 0
    shutil.move(work / "artifact.zip", home)
    shutil.rmtree(work)
    command = [sys.executable, "-c", artifacts.RUN, "verify", "artifact.zip"]
    read = as_stranger(command, home)
    assert read.returncode == 0, read.stderr
    ran = as_stranger([*command, "--kick", "--report", "ae.md", "--json"], home)
    assert ran.returncode == 0, ran.stderr
    assert [claim["word"] for claim in json.loads(ran.stdout)["rerun"]["claims"]] == ["reproduced"]
    assert "| C1 | reproduced |" in (home / "ae.md").read_text()
    assert {each.name for each in home.iterdir()} == {"artifact.zip", "ae.md", "verify-1"}
    assert all(each.owner() == "nobody" for each in (home / "verify-1").rglob("*"))
