"""Rehearse an evaluation before an artifact is published: another user measures the smallest re-run in an empty folder."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from trialwise.analysis.artifacts import Rehearsal
from trialwise.errors import StoreError
from trialwise.temporary import vanishing_folder
from trialwise.visible import visible

OTHER = "nobody"
_RUN = "from trialwise.cli.main import main; main()"
_REACHED = "import os, sys, trialwise.cli.main; os.stat(sys.argv[1])"
_HINT = "try it by hand in an empty folder: trialwise verify ARTIFACT --kick"
_AROUND = 120.0
"""Seconds for reading the artifact, before and after what runs."""
_GOOD = (0, 3)
"""Exit codes of `verify` that contradict no claim."""


def rehearse(archive: Path, name: str, budget: float) -> Rehearsal:
    """Run `trialwise verify --kick` on an archive called `name`, for at most `budget` seconds, with nothing but that in the folder.

    Root becomes the user `OTHER` for it, if that one may run this Python; anybody else stays who they are.

    Raises
    ------
    StoreError
        It does not get through, or the re-run contradicts a claim.
    """
    with vanishing_folder("trialwise-") as around:
        around.chmod(0o711)
        folder = around / "rehearsal"
        folder.mkdir()
        shutil.copyfile(archive, folder / name)
        user = _other(folder)
        if user is not None:
            _give(folder, user)
        words = ["verify", name, "--kick", "--budget", f"{budget:g}s", "--json"]
        try:
            done = _ran(["-c", _RUN, *words], folder, user, 2 * budget + _AROUND)
        except subprocess.TimeoutExpired as error:
            raise StoreError("the rehearsal does not end within its time", hint=_HINT) from error
    return _read(done, user)


def _read(done: subprocess.CompletedProcess[str], user: pwd.struct_passwd | None) -> Rehearsal:
    try:
        rerun = cast("dict[str, Any]", json.loads(done.stdout)["rerun"])
        verdicts = {claim["id"]: claim["word"] for part in ("claims", "not_run") for claim in rerun[part]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise StoreError(f"the rehearsal fails: {visible(last[:300])}", hint=_HINT) from error
    if done.returncode not in _GOOD:
        bad = ", ".join(f"{name} {word}" for name, word in verdicts.items())
        raise StoreError(f"the rehearsal does not confirm the claims: {visible(bad)}", hint=_HINT)
    return Rehearsal(user is not None, {visible(name): visible(word) for name, word in verdicts.items()})


def _other(folder: Path) -> pwd.struct_passwd | None:
    """Return the other user, if we may become them, and they may run this Python and reach the folder."""
    if os.geteuid() != 0:
        return None
    try:
        user = pwd.getpwnam(OTHER)
        done = _ran(["-c", _REACHED, str(folder)], folder, user, _AROUND)
    except (KeyError, OSError, subprocess.SubprocessError):
        return None
    return user if done.returncode == 0 else None


def _give(folder: Path, user: pwd.struct_passwd) -> None:
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)


def _ran(
    words: list[str], folder: Path, user: pwd.struct_passwd | None, seconds: float
) -> subprocess.CompletedProcess[str]:
    known = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
    environment = {
        **known,
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
