"""Who may import whom among the crates, and what the sans-IO crates may not call (the Python side is import-linter's)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = {
    "units": set[str](),
    "allocations": set[str](),
    "json": set[str](),
    "kernels": set[str](),
    "process": set[str](),
    "link": {"units"},
    "congestion": {"units"},
    "protocol": {"units", "congestion"},
    "python-macros": set[str](),
    "simulator": {"units", "link", "congestion", "protocol"},
    "emulator": {"units", "link", "process"},
    "kernel-congestion": set[str](),
    "transport": {"units", "protocol", "capture"},
    "utp": {"units"},
    "streams": {"units"},
    "streams-c": {"streams"},
    "collector": {"units", "streams"},
    "capture": {"streams"},
    "tunnel": {"capture"},
    "ends": {"capture", "tunnel", "transport", "utp", "kernel-congestion"},
}
"""Siblings that each crate may depend on; `python` may depend on all, and nobody on `python`."""
SANS_IO = ("units", "link", "congestion", "protocol", "simulator")
FORBIDDEN = {
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::thread::spawn",
    "std::thread::sleep",
    "std::net::TcpStream::connect",
    "std::net::TcpListener::bind",
    "std::net::UdpSocket::bind",
}


@pytest.fixture(scope="module")
def siblings() -> dict[str, set[str]]:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    packages = json.loads(done.stdout)["packages"]
    names = {package["name"] for package in packages}
    return {
        package["name"].removeprefix("trialwise-"): {
            dependency["name"].removeprefix("trialwise-")
            for dependency in package["dependencies"]
            if dependency["name"] in names and dependency["kind"] != "dev"
        }
        for package in packages
    }


def test_crates_depend_only_on_those_below_them(siblings: dict[str, set[str]]) -> None:
    for crate, found in siblings.items():
        allowed = set(siblings) - {"python"} if crate == "python" else ALLOWED[crate]
        assert found <= allowed, crate


def test_the_sans_io_crates_forbid_clocks_sockets_and_threads() -> None:
    for crate in SANS_IO:
        if not (ROOT / "crates" / crate).is_dir():
            continue
        settings = tomllib.loads((ROOT / "crates" / crate / "clippy.toml").read_text())
        assert {entry["path"] for entry in settings["disallowed-methods"]} >= FORBIDDEN, crate


def test_everything_that_python_calls_passes_the_border():
    bare = re.compile(r"(?<!#\[entry\]\n)^#\[(pyfunction|pymethods)", re.MULTILINE)
    files = sorted((ROOT / "crates/python/src").rglob("*.rs"))
    assert {file.name: found[0] for file in files for found in bare.finditer(file.read_text())} == {}
    assert sum(file.read_text().count("#[entry]") for file in files) > 50


def test_a_panic_of_the_core_is_an_error_that_says_where(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from trialwise import _core

    monkeypatch.delenv("TRIALWISE_DEBUG", raising=False)
    with pytest.raises(
        _core.CoreError,
        match=r"_panic met a mistake of Trialwise at crates/python/src/border.rs:\d+:\d+: a b",
    ):
        getattr(_core, "_panic")("a\nb")  # noqa: B009 private to tests
    assert capfd.readouterr().err == ""
