"""Names of hosts and users in what is packed: replaced in descriptions, and said where measured data hold them."""

from __future__ import annotations

import getpass
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Sequence

from trialwise.analysis.artifacts import Replaced
from trialwise.errors import PlanError
from trialwise.exchange.artifact.archive import Entry
from trialwise.exchange.artifact.privacy import Names
from trialwise.numbers import first_of
from trialwise.study.artifact.contents import Opened, names_in

_MOST_SEARCHED = 64 << 20
_MOST_NAMED = 3


def names_of(opened: Sequence[Opened]) -> Names:
    """Return the names of hosts and users of some directories, and of this machine."""
    found = [names_in(each) for each in opened]
    hosts = {os.uname().nodename}.union(*(each for each, _ in found))
    users = {getpass.getuser()}.union(*(each for _, each in found))
    return Names(hosts, users)


def staying(names: Names, entries: Sequence[Entry], allowed: Iterable[str]) -> tuple[Replaced, ...]:
    """Return what was replaced, with the number of files that still hold each name.

    Raises
    ------
    PlanError
        Measured data or a plan, which are never changed, hold a name that is not `allowed`.
    """
    stays: dict[str, list[str]] = {}
    for entry in entries:
        for name in sorted(names.found_in(_searched(entry))):
            stays.setdefault(name, []).append(entry.name)
    for name in sorted(stays.keys() - set(allowed)):
        files = stays[name]
        shown = first_of(files, _MOST_NAMED)
        raise PlanError(
            f"the name {name} stands in {shown}: measured data and plans, which are never changed",
            hint=f"if others may read it, add --allow-name {name}",
        )
    known = (name for name in names.stand_ins if names.replaced[name] or name in stays)
    return tuple(
        Replaced(name, names.stand_ins[name], names.replaced[name], len(stays.get(name, ())))
        for name in known
    )


def _searched(entry: Entry) -> bytes:
    """Return the content of a file, unpacked, of which only the beginning is searched."""
    content = b""
    for chunk in entry.chunks():
        content += chunk
        if len(content) > _MOST_SEARCHED:
            break
    if not entry.name.endswith(".gz"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
            return unpacked.read(_MOST_SEARCHED)
    except (OSError, EOFError, zlib.error):
        return b""
