"""When a wheel in dist/ spares a clone the compilation: the same version, the same Rust sources, the same kind of machine."""

from __future__ import annotations

import platform
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))
import fitting


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(fitting, "ROOT", tmp_path)
    (tmp_path / "crates/core/src").mkdir(parents=True)
    (tmp_path / "crates/core/src/lib.rs").write_text("fn a() {}\n")
    (tmp_path / "dist").mkdir()
    for name in ("Cargo.toml", "Cargo.lock"):
        (tmp_path / name).write_text(name)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    return tmp_path


def wheel(
    clone: Path, version: str = "0.2.0", machine: str = platform.machine(), digest: str | None = None
) -> Path:
    path = clone / f"dist/trialwise-{version}-cp311-abi3-manylinux_2_28_{machine}.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(fitting.DIGEST, f"{digest or fitting.digest()}\n")
    return path


def test_a_wheel_of_these_sources_fits_until_one_changes(clone: Path) -> None:
    assert fitting.fitting() is None
    built = wheel(clone)
    assert fitting.fitting() == built
    (clone / "crates/core/src/notes.md").write_text("not compiled")
    assert fitting.fitting() == built
    (clone / "crates/core/src/lib.rs").write_text("fn b() {}\n")
    assert fitting.fitting() is None


def test_a_renamed_or_new_source_is_another(clone: Path) -> None:
    wheel(clone)
    (clone / "crates/core/src/lib.rs").rename(clone / "crates/core/src/main.rs")
    assert fitting.fitting() is None


@pytest.mark.parametrize("other", [{"version": "0.2.1"}, {"machine": "riscv64"}, {"digest": "0" * 64}])
def test_another_version_machine_or_source_does_not_fit(clone: Path, other: dict[str, str]) -> None:
    wheel(clone, **other)
    assert fitting.fitting() is None
