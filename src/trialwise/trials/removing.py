"""Remove what trials leave in their folders, however deep it is.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess


def remove_tree(path: str | os.PathLike[str]) -> None:
    """Remove a folder and everything in it; what cannot be removed stays.

    shutil.rmtree recurses and holds each level open, so rm(1) removes what is deeper than that reaches.
    """
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        with contextlib.suppress(OSError):
            subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL, check=False)
