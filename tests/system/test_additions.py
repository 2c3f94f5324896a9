"""The next capability costs at most three files, with its test and documentation; pages that a command writes do not count."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from additions import ADDITIONS, ROOT, Addition, copied, run

MAX_FILES = 3
ALL = sorted(path.name for path in ADDITIONS.iterdir() if path.is_dir())
RUST = {"controller", "loss", "queue"}
GUARDS = {
    "scheme": ["tests/unit/schemes/test_library.py"],
    "importer": ["tests/unit/exchange/test_result_files.py", "tests/golden/formats/test_formats.py"],
    "command": ["tests/unit/cli/test_help.py"],
    "section": ["tests/unit/report/test_html.py"],
}
"""Tests that go through all that there are of the kind, besides those of documentation."""
DOCUMENTATION = ["tests/unit/docs"]
TARGET = ROOT / "target/additions"


@pytest.mark.parametrize("name", ALL)
def test_an_addition_touches_few_files(name: str):
    assert len(Addition(name).touched) <= MAX_FILES, sorted(Addition(name).touched)


def test_additions_in_python_work_together(tmp_path: Path):
    additions, copy = [Addition(name) for name in ALL if name not in RUST], copied(tmp_path)
    for addition in additions:
        addition.apply(copy)
    written = run(copy, sys.executable, "docs/generate_reference.py")
    assert written.returncode == 0, written.stderr
    own = [str(path) for addition in additions for path in addition.new if path.name.startswith("test_")]
    assert len(own) >= len(additions)
    guards = [test for addition in additions for test in GUARDS[addition.name]]
    tests = [*own, *guards, *(test for test in DOCUMENTATION if (copy / test).exists())]
    tried = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests)
    assert tried.returncode == 0, tried.stdout[-4000:]


def built(copy: Path) -> None:
    """Build the core of a copy beside its sources; compiled crates of others are kept for the next time."""
    command = (
        "cargo build --quiet --release --locked -p trialwise-python --features pyo3/extension-module,bpf,utp"
    )
    done = run(copy, *command.split(), seconds=1800, CARGO_TARGET_DIR=str(TARGET))
    assert done.returncode == 0, done.stderr[-4000:]
    shutil.copy(TARGET / "release/lib_core.so", copy / "src/trialwise/_core.abi3.so")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "crate", "uses", "guards"),
    [
        (
            "controller",
            "trialwise-congestion",
            ["trialwise schemes check udp-aimd"],
            ["tests/unit/test_registered_controllers.py"],
        ),
        (
            "loss",
            "trialwise-link",
            ["trialwise schemes check cubic --path", "rate=12Mbit/s delay=20ms loss=every:1000"],
            ["tests/unit/experiment/test_wrong_files.py"],
        ),
        (
            "queue",
            "trialwise-link",
            ["trialwise schemes check cubic --path", "rate=12Mbit/s delay=20ms queue=droprandom:packets=20"],
            ["tests/unit/experiment/test_wrong_files.py"],
        ),
    ],
)
def test_an_addition_in_rust_works(name: str, crate: str, uses: list[str], guards: list[str], tmp_path: Path):
    addition, copy = Addition(name), copied(tmp_path)
    addition.apply(copy)
    tests = run(
        copy,
        *f"cargo test --quiet --locked --lib -p {crate}".split(),
        seconds=1800,
        CARGO_TARGET_DIR=str(TARGET),
    )
    assert tests.returncode == 0, tests.stdout[-4000:] + tests.stderr[-4000:]
    built(copy)
    assert run(copy, sys.executable, "docs/generate_reference.py").returncode == 0
    messages = ("tests/unit/experiment/test_wrong_files.py", "-k", "test_update")
    assert (
        run(copy, "pytest", "-q", "-p", "no:cacheprovider", *messages, TRIALWISE_UPDATE="1").returncode == 0
    )
    first, *rest = uses
    used = run(copy, *first.split(), *rest)
    assert (used.returncode, "works with load bulk" in used.stdout) == (0, True), used
    tried = run(copy, "pytest", "-q", "-p", "no:cacheprovider", *guards, *DOCUMENTATION)
    assert tried.returncode == 0, tried.stdout[-4000:]
