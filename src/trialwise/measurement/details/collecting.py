"""Collect what else of a machine may change results, as `trialwise diff` compares it.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import itertools

from trialwise.measurement.details.disks import disk_details
from trialwise.measurement.details.graphics import graphics_details
from trialwise.measurement.details.kernel import kernel_details
from trialwise.measurement.details.memory import memory_details
from trialwise.measurement.details.network import network_details
from trialwise.measurement.details.processor import processor_details
from trialwise.measurement.details.software import layout_details, software_details

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from trialwise.measurement.tree import Tree

MOST, LONGEST = 300, 200
"""Maximum number of facts, and of characters of each."""


def details(tree: Tree, folder: str | Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return facts by dotted name, such as ``processor.idle_states``; what cannot be read is left out. Changes nothing.

    Parameters
    ----------
    tree
        The file system of the machine.
    folder
        Where trials run.
    environment
        The variables that trials get.
    """
    found = itertools.chain(
        processor_details(tree),
        memory_details(tree),
        disk_details(tree, str(folder)),
        graphics_details(tree),
        network_details(tree),
        kernel_details(tree),
        software_details(tree, environment),
        layout_details(str(folder), environment),
    )
    known = ((name, text[:LONGEST]) for name, text in found if text)
    return dict(itertools.islice(known, MOST))
