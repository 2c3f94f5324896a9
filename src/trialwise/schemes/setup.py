"""Record what was done for a scheme on this machine: its setup, and what it needs after each boot.

Records are in the user's state folder (XDG base directory specification, `XDG_STATE_HOME`), one small file
for each scheme file. If none can be written, nothing counts as done. What a setup installs is in the user's
data folder (`XDG_DATA_HOME`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Literal

What = Literal["setup", "reboot"]
SETUP: What = "setup"
REBOOT: What = "reboot"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def prefix() -> Path:
    """Return the folder into which setups install; programs are in its `bin`."""
    return _home("XDG_DATA_HOME", "~/.local/share") / "trialwise"


def was_done(source: Path, what: What) -> bool:
    """Return True if the setup of this exact scheme file succeeded, or if its steps after a boot were done since the last one."""
    try:
        return _file(source, what).read_text() == _token(source, what)
    except OSError:
        return False


def record(source: Path, what: What) -> None:
    """Record that it was done."""
    with contextlib.suppress(OSError):
        file, token = _file(source, what), _token(source, what)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(token)


def _token(source: Path, what: What) -> str:
    return _BOOT.read_text().strip() if what == REBOOT else hashlib.sha256(source.read_bytes()).hexdigest()


def _file(source: Path, what: What) -> Path:
    name = hashlib.sha256(os.fsencode(source.resolve())).hexdigest()[:16]
    folder = _home("XDG_STATE_HOME", "~/.local/state") / "trialwise" / "schemes"
    return folder / f"{source.stem}-{name}.{what}"


def _home(variable: str, default: str) -> Path:
    """Return a folder of the user's; where no home is known, one that is called `~`."""
    return Path(os.environ.get(variable) or os.path.expanduser(default))  # noqa: PTH111 Path.expanduser raises then
