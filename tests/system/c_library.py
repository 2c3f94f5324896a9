"""The C library of measurement streams, for tests that build programs against it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install_c_library(prefix: Path) -> str | None:
    """Install the library that the Rust tests or a release left, the newer; or say why not."""
    found = [
        path
        for path in (ROOT / "target").glob("*/deps/libtrialwise_streams.a")
        if path.with_suffix(".so").exists()
    ]
    if not found or shutil.which("cc") is None:
        return "the C library is not built (cargo build -p trialwise-streams-c), or there is no compiler"
    newest = max(found, key=lambda path: path.stat().st_mtime).parent
    subprocess.run(["sh", ROOT / "crates/streams-c/install.sh", newest, prefix], check=True)
    return None
