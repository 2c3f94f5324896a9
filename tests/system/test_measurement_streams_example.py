"""The example whose programs measure themselves in C, Python and Rust, and untouched through an adapter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.system.c_library import install_c_library
from tests.system.conftest import TRIALWISE

from trialwise.store.ledger import Ledger

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "measurement-streams"


def make(built: Path, target: str, *settings: str) -> None:
    done = subprocess.run(
        ["make", "-C", EXAMPLE, f"BUILT={built}", target, *settings],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def build_c(built: Path) -> str | None:
    """Build against the C library that is there; or why not."""
    missing = install_c_library(built)
    if missing is None:
        make(built, f"{built}/work-c", f"PREFIX={built}")
    return missing


def build_rust(built: Path) -> str | None:
    if shutil.which("cargo") is None:
        return "there is no cargo"
    make(built, "rust", "RUST_PROFILE=dev", "CARGO=cargo --offline")
    return None


def build_adapter(built: Path) -> str | None:
    if shutil.which("cc") is None:
        return "there is no compiler"
    listed = subprocess.run([*TRIALWISE, "--help"], capture_output=True, text=True, check=True).stdout
    if " stream " not in listed:
        return "this Trialwise has no `trialwise stream`"
    make(built, f"{built}/plain")
    return None


BUILDS = {"c": build_c, "python": lambda _: None, "rust": build_rust, "adapter": build_adapter}


def command_folder(folder: Path) -> Path:
    """A folder in which `trialwise` and `python3` are those of this test."""
    folder.mkdir()
    for name, words in (("python3", ""), ("trialwise", f' -c "{TRIALWISE[2]}"')):
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def shortened(folder: Path) -> Path:
    """The experiment with two rounds."""
    folder.mkdir()
    for name in ("measure.sh", "work.py"):
        shutil.copy(EXAMPLE / name, folder)
    text = (EXAMPLE / "experiment.toml").read_text()
    assert text.count("rounds = 12") == 1
    (folder / "experiment.toml").write_text(text.replace("rounds = 12", "rounds = 2"))
    return folder / "experiment.toml"


@pytest.mark.parametrize("program", BUILDS)
def test_each_program_sends_every_block(tmp_path: Path, program: str):
    built, results = tmp_path / "built", tmp_path / "results"
    if reason := BUILDS[program](built):
        pytest.skip(reason)
    command = [
        *TRIALWISE,
        "run",
        shortened(tmp_path / "example"),
        "--directory",
        results,
        "--only",
        f"program={program}",
    ]
    path = f"{command_folder(tmp_path / 'bin')}:{os.environ['PATH']}"
    environment = {**os.environ, "BUILT": str(built), "PATH": path}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ledger = Ledger.open(results / "ledger.sqlite", read_only=True)
    try:
        kept = [file for _, _, key, _, _, file in ledger.values() if key == "stream:work_block.seconds"]
    finally:
        ledger.close()
    samples = [pl.read_parquet(results / file)["value"] for file in kept]
    assert [values.len() for values in samples] == [60] * 2
    assert min(values.min() for values in samples) > 1e-6
