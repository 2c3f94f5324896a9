"""Settings of the kernel that the programs of flows change: kept before, and put back afterwards, whoever was killed meanwhile."""

from __future__ import annotations

import contextlib
import json
import os

from trialwise.execution.workers.agent.folder import remove, write_durably
from trialwise.execution.workers.agent.probe import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = "/proc/sys/"
_MOST = 1 << 16


class Settings:
    """Keeps the settings with these names (files below /proc/sys) in a file until they are put back.

    The file outlives everybody: `put_back` with another object does what a killed end could not.
    """

    def __init__(self, file: str) -> None:
        self.file = file

    def keep(self, names: Sequence[str]) -> None:
        """Note the settings; raise OSError if there is no room for that."""
        found = {name: text for name in names if (text := setting(name)) is not None}
        if found:
            write_durably(self.file, json.dumps({"where": here(), "settings": found}).encode())

    def put_back(self) -> None:
        """Write each setting that is another now as it was, and forget them; those of another network namespace stay as they are."""
        try:
            with open(self.file, "rb") as file:
                kept = json.loads(file.read(_MOST))
        except (OSError, ValueError):
            return
        boot, network = kept["where"]
        if boot != here()[0]:
            remove(self.file)  # a boot has put them back
        if [boot, network] != here():
            return
        for name, text in kept["settings"].items():
            if setting(name) != text:
                with contextlib.suppress(OSError), open(ROOT + name, "w") as file:
                    file.write(text)
        remove(self.file)


def here() -> list[str]:
    """Return this boot and this network namespace: settings of the network hold there."""
    return [boot_id(), os.readlink("/proc/self/ns/net")]


def setting(name: str) -> str | None:
    """Return the text of a setting; None if there is none that could be put back."""
    path = os.path.normpath(ROOT + name)
    if not path.startswith(ROOT) or not os.access(path, os.W_OK):
        return None
    try:
        with open(path) as file:
            return file.read(_MOST)
    except OSError:
        return None
