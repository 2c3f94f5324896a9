"""What the release script refuses: a changelog without the version, and wheels that lack something or need a newer C library."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))
import release

GOOD = """# Changelog

## Unreleased

## 0.2.0 – 2026-11-27

### Added

- **`ab`** compares.
  - In turns.

## 0.1.0 – 2026-11-01

- this is not read
* nor is this
"""
NAME = "trialwise-0.2.0-cp311-abi3-manylinux_2_28_x86_64.whl"
FILES = {
    "trialwise/_core.abi3.so": b"\x7fELF GLIBC_2.2.5 GLIBC_2.28",
    "trialwise/report/vega/vega.js": b"",
    "trialwise/execution/ends/trialwise-end.x86_64": b"",
    "trialwise-0.2.0.dist-info/licenses/LICENSE": b"",
    "trialwise-0.2.0.dist-info/entry_points.txt": b"",
}


def test_a_changelog_with_the_version_is_accepted() -> None:
    assert list(release.changelog(GOOD, "0.2.0")) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("## Unreleased\n", "## Unreleased\n\n- **`run`** runs.\n", "an empty section Unreleased"),
        ("## 0.2.0 – 2026-11-27", "## 0.2.0", "0.2.0 – DATE"),
        ("## 0.2.0 – 2026-11-27", "## 0.2.1 – 2026-11-27", "0.2.0 – DATE"),
        ("### Added", "### News", "News is none of Added"),
        ("- **`ab`** compares.\n  - In turns.\n", "", "has no entry"),
        ("- **`ab`** compares.", "* compares", "is no entry"),
        ("In turns.", "In turns." + "." * 160, "longer than 160"),
    ],
)
def test_a_changelog_is_refused(old: str, new: str, said: str) -> None:
    assert any(said in problem for problem in release.changelog(GOOD.replace(old, new), "0.2.0"))


def wheel(folder: Path, changed: dict[str, bytes | None], name: str = NAME) -> Path:
    """Write a wheel with the files that are needed, some of them changed, or left out where None stands."""
    with zipfile.ZipFile(folder / name, "w") as packed:
        for path, content in {**FILES, **changed}.items():
            if content is not None:
                packed.writestr(path, content)
    return folder / name


def test_a_wheel_with_all_that_is_needed_is_accepted(tmp_path: Path) -> None:
    assert list(release.contents(wheel(tmp_path, {}))) == []


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("trialwise/report/vega/vega.js", None, "lacks trialwise/report/vega/vega.js"),
        (
            "trialwise/execution/ends/trialwise-end.x86_64",
            None,
            "lacks trialwise/execution/ends/trialwise-end.",
        ),
        ("trialwise-0.2.0.dist-info/licenses/LICENSE", None, "lacks licenses/LICENSE"),
        ("trialwise-0.2.0.dist-info/entry_points.txt", None, "lacks entry_points.txt"),
        ("trialwise/_core.abi3.so", b"GLIBC_2.28 GLIBC_2.34", "needs glibc 2.34"),
        ("tests/test_all.py", b"", "holds tests/test_all.py"),
    ],
)
def test_a_wheel_is_refused(tmp_path: Path, path: str, content: bytes | None, said: str) -> None:
    (problem,) = release.contents(wheel(tmp_path, {path: content}))
    assert said in problem


def test_a_wheel_for_a_newer_linux_is_refused(tmp_path: Path) -> None:
    (problem,) = release.contents(wheel(tmp_path, {}, NAME.replace("_28_", "_34_")))
    assert "not for manylinux_2_28" in problem


def test_the_version_is_the_same_everywhere() -> None:
    assert len(set(release.versions().values())) == 1


def test_every_lock_file_has_the_version_of_our_crates() -> None:
    """Crates outside of the workspace lock ours by their versions, and are built with --locked."""
    root = Path(release.__file__).parents[1]
    ours = {each["name"]: each["version"] for each in packages(root / "Cargo.lock")}
    for path in release.LOCKED_APART:
        locked = {each["name"]: each["version"] for each in packages(root / path / "Cargo.lock")}
        both = {name for name in locked.keys() & ours.keys() if name.startswith("trialwise-")}
        assert both
        assert {name: locked[name] for name in both} == {name: ours[name] for name in both}, path


def packages(path: Path) -> list[dict[str, str]]:
    return tomllib.loads(path.read_text())["package"]


def test_only_our_crates_are_locked_anew() -> None:
    lock = 'name = "{}"\nversion = "0.1.0"\n\nname = "serde"\nversion = "0.1.0"\n'.format
    new = release.relocked(lock("trialwise-units"), release.ours(), "9.8.7")
    assert new == lock("trialwise-units").replace("0.1.0", "9.8.7", 1)
    assert release.relocked(lock("trialwise-elsewhere"), release.ours(), "9.8.7") == lock(
        "trialwise-elsewhere"
    )


def maturin_lines() -> list[tuple[str, str]]:
    """Return what `make` asks of maturin: the subcommand, and its options."""
    text = (Path(__file__).parents[2] / "Makefile").read_text()
    return re.findall(r"\$\(BIN\)/maturin (\w+) (.*)", text)


@pytest.mark.parametrize(("subcommand", "options"), maturin_lines())
def test_maturin_knows_each_option_that_make_gives_it(subcommand: str, options: str) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    told = subprocess.run([maturin, subcommand, "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"(?m)^ +(?:-\w, )?(--[a-z][a-z-]*)", told))
    given = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", options))
    assert "--help" in known
    assert not given - known
