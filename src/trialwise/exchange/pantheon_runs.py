"""Find which files of a Pantheon folder are runs of which scheme, and which runs Pantheon itself ignores (its `plot.py`).

With tunnels (`flows` of 1 or more), a run is `<scheme>_datalink_run<N>.log`, merged from the logs of its tunnels, or these logs
themselves (`pantheon_tunnels`), and `<scheme>_mm_datalink_run<N>.log` is the link's own log of the same run. Without (`flows` 0),
there is only the link's log. A run is ignored if nothing came out, or if its departures span less than 0.8 of the runtime: it died
early, and the little that it left does not measure a whole run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from trialwise.exchange.pantheon_statistics import PantheonStatistics
from trialwise.exchange.pantheon_tunnels import Run, Tunnel

MIN_SHARE = 0.8
"""Minimum share of the runtime that departures have to span."""
_LOG = re.compile(r"(.+)_datalink_run([0-9]{1,9})\.log", re.DOTALL)
_LINK = "_mm"
_NAMED = 5


def _listed(value: object) -> object:
    return value.split() if isinstance(value, str) else value


class Metadata(BaseModel):
    """Pantheon's metadata of a test: seconds per run, flows per run (0: no tunnel), schemes, runs per scheme, who sent the data.

    Until 2017 the schemes were one text with blanks between them.
    """

    runtime: Annotated[float, Field(gt=0, le=1e9)] | None = None
    flows: Annotated[int, Field(ge=0)] | list[object] | None = None
    cc_schemes: Annotated[list[str], Field(max_length=10_000), BeforeValidator(_listed)] | None = None
    run_times: Annotated[int, Field(ge=0)] | None = None
    sender_side: str | None = None

    @property
    def tunnels(self) -> int:
        """The tunnels of a run; 0 if that is unknown."""
        return len(self.flows) if isinstance(self.flows, list) else self.flows or 0


@dataclass(frozen=True, slots=True)
class RunLog:
    """The log of a run: of its tunnels, or (`of_link`) of mm-link alone; or the logs of its tunnels (`tunnels`), not yet merged."""

    scheme: str
    run: str
    file: str = ""
    of_link: bool = False
    tunnels: tuple[Tunnel, ...] = ()

    @property
    def label(self) -> str:
        """The run's name in notes."""
        return f"run {self.run} of {self.scheme}"


def is_log(name: str) -> bool:
    """Return True if a file of this name is the log of a run or of its link."""
    return _LOG.fullmatch(name) is not None


def run_logs(
    names: Iterable[str],
    is_merged: Callable[[str], bool],
    metadata: Metadata,
    tunnels: Mapping[Run, Sequence[Tunnel]],
) -> list[RunLog]:
    """Find the logs of runs among the files of a folder, by scheme and number.

    Parameters
    ----------
    names
        Of all files.
    is_merged
        Return True if a file begins like a merged log of tunnels; called if a name alone does not say whose log it is:
        `x_mm_datalink_run1.log` is the link's log of the scheme x, or a run of a scheme called x_mm.
    metadata
        The folder's metadata of the test.
    tunnels
        Those whose logs are there, by run: taken where they have not been merged.
    """
    matches = [match for match in map(_LOG.fullmatch, names) if match]
    found = [RunLog(match[1], match[2], match[0]) for match in matches]
    links = {log.file for log in found if log.scheme.endswith(_LINK) and not is_merged(log.file)}
    of_tunnels = [log for log in found if log.file not in links]
    merged = {(log.scheme, log.run) for log in of_tunnels}
    of_tunnels += [RunLog(*run, tunnels=tuple(those)) for run, those in tunnels.items() if run not in merged]
    if metadata.flows == 0 or (metadata.flows is None and not of_tunnels):
        of_link = (log for log in found if log.file in links)
        of_tunnels = [
            RunLog(log.scheme.removesuffix(_LINK), log.run, log.file, of_link=True) for log in of_link
        ]
    return sorted(of_tunnels, key=lambda log: (log.scheme, int(log.run), log.run))


def why_ignored(found: PantheonStatistics, runtime: float | None) -> str | None:
    """Return the reason why Pantheon ignores a run; None if it counts."""
    if found.total.delay is None:
        return "nothing came out"
    if found.total.loss is None:
        return "nothing went in"
    if runtime is not None and found.duration < MIN_SHARE * runtime:
        return f"its departures span {found.duration:.4g} s of {runtime:.4g} s"
    return "all that came out did so at one instant" if not found.duration else None


def ignored_note(ignored: Sequence[tuple[str, str]], what: str = "ignored, as by Pantheon") -> Iterator[str]:
    """Yield one sentence on the runs that do not count, each with its reason; nothing if there are none."""
    if ignored:
        named = "; ".join(f"{label}: {why}" for label, why in ignored[:_NAMED])
        more = f"; and {len(ignored) - _NAMED} more" if len(ignored) > _NAMED else ""
        runs = "1 run is" if len(ignored) == 1 else f"{len(ignored)} runs are"
        yield f"{runs} {what} ({named}{more})"


def missing_notes(runs: Sequence[tuple[str, str]], metadata: Metadata) -> Iterator[str]:
    """Note what the metadata announce and the folder lacks; `runs` are the schemes and numbers that exist."""
    there = Counter(scheme for scheme, _ in runs)
    for scheme in metadata.cc_schemes or ():
        if there[scheme] == 0:
            yield f"{scheme}: it has no runs, although the metadata name the scheme"
        elif metadata.run_times and there[scheme] < metadata.run_times:
            yield f"{scheme}: {there[scheme]} of {metadata.run_times} runs are there"
