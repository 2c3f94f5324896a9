"""Takes the compiled part of a clone from a wheel in dist/ that was built from the same Rust sources, so that no Rust is needed.

python3 packaging/fitting.py digest           # of the Rust sources, as `make wheel` puts it into the wheel
python3 packaging/fitting.py check            # exit 0 if a wheel fits
.venv/bin/python packaging/fitting.py take    # install it into this environment, with the Python files of the clone

A wheel fits if its version is the clone's, its file _core.sources names these sources, and it was built for this machine.
Standard library only: `make` asks before there is an environment.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIGEST = "trialwise/_core.sources"
COMPILED = ("trialwise/_core.abi3.so", "trialwise/execution/ends/trialwise-end.")
ENDINGS = {".rs", ".toml", ".lock", ".c", ".h", ".o"}


def digest() -> str:
    """SHA-256 over the names and contents of what cargo compiles."""
    found = hashlib.sha256()
    for path in sorted([*ROOT.glob("crates/**/*"), ROOT / "Cargo.toml", ROOT / "Cargo.lock"]):
        if path.suffix in ENDINGS and path.is_file():
            content = path.read_bytes()
            found.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def fitting() -> Path | None:
    """The newest wheel in dist/ that fits, if there is one."""
    (version,) = re.findall(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text())[:1]
    wheels = ROOT.glob(f"dist/trialwise-{version}-*_{platform.machine()}.whl")
    own = digest() if any(ROOT.glob("dist/*.whl")) else ""
    for wheel in sorted(wheels, key=lambda path: path.stat().st_mtime, reverse=True):
        with zipfile.ZipFile(wheel) as packed:
            if DIGEST in packed.namelist() and packed.read(DIGEST).decode().strip() == own:
                return wheel
    return None


def take(wheel: Path) -> None:
    """Install the wheel, and have Python find the clone's files in place of its own, with the wheel's compiled ones."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--force-reinstall",
    ]
    subprocess.run([*pip, str(wheel)], check=True)
    packages = Path(sysconfig.get_path("platlib"))
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.startswith(COMPILED):
                target = ROOT / "src" / name
                target.write_bytes(packed.read(name))
                target.chmod(0o755)
    shutil.rmtree(packages / "trialwise")
    (packages / "trialwise.pth").write_text(f"{ROOT / 'src'}\n")


def main() -> int:
    """Do what the first word says."""
    action = sys.argv[1]
    if action == "digest":
        print(digest())
        return 0
    wheel = fitting()
    if wheel is not None and action == "take":
        take(wheel)
        print(f"make: the compiled part comes from dist/{wheel.name}, which was built from the same sources")
    return 0 if wheel else 1


if __name__ == "__main__":
    sys.exit(main())
