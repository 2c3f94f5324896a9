"""When the runs of a Pantheon test began, and how far the clocks of its two ends were off: the head of `SCHEME_stats_runN.log`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_tunnels import End, Run
from trialwise.foreign_files import open_foreign

_STATS = re.compile(r"(.+)_stats_run([0-9]{1,9})\.log", re.DOTALL)
_HEAD = 4096
"""Bytes at the beginning that hold it; statistics follow."""
_BEGAN = re.compile(r"^Start at: (.+)$", re.MULTILINE)
_OFFSET = re.compile(r"^(Local|Remote) clock offset: (\S+) ms$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When a run began, in Unix seconds, and the milliseconds by which the local and the remote clock were behind; None if unknown."""

    began: float | None = None
    local: float | None = None
    remote: float | None = None

    def offsets(self, sender_side: str | None) -> Mapping[End, float]:
        """Return the offset at each end of the direction of the data; empty unless both are known, as Pantheon has it."""
        if self.local is None or self.remote is None or sender_side not in ("local", "remote"):
            return {}
        ends: tuple[End, End] = ("egress", "ingress") if sender_side == "local" else ("ingress", "egress")
        return dict(zip(ends, (self.local, self.remote), strict=True))


def is_stats_log(name: str) -> bool:
    """Return True if a file of this name says when a run began."""
    return _STATS.fullmatch(name) is not None


def run_times(folder: Path, names: Iterable[str]) -> dict[Run, RunTimes]:
    """Read what is known of the times of runs; a file that says nothing of them counts for nothing."""
    return dict(_each(folder, names))


def _each(folder: Path, names: Iterable[str]) -> Iterator[tuple[Run, RunTimes]]:
    for match in filter(None, map(_STATS.fullmatch, names)):
        try:
            with open_foreign(folder / match[0], within=folder) as file:
                head = file.read(_HEAD).decode("utf-8", "replace")
        except (AnalysisError, OSError):
            continue
        offsets = {side: _finite(text) for side, text in _OFFSET.findall(head)}
        began = _BEGAN.search(head)
        yield (
            (match[1], match[2]),
            RunTimes(_moment(began[1]) if began else None, offsets.get("Local"), offsets.get("Remote")),
        )


def _finite(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _moment(text: str) -> float | None:
    """Return Unix seconds: today's form is in UTC, and that of 2017 (RFC 5322) says its zone."""
    for read in (_plain, parsedate_to_datetime):
        try:
            found = read(text)
            if found.tzinfo is not None:
                return found.timestamp()
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _plain(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
