"""Flow completion times of HPCC's ns-3 (`third.cc` of alibaba-edu/High-Precision-Congestion-Control); a file is a simulation run.

Eight columns without header: source and destination in hexadecimal, ports, size in bytes, and in ns the start, the completion time and
that of the flow alone. Forks append or reorder columns, so other rows are refused.
"""

from __future__ import annotations

import re
from itertools import pairwise

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, lines_of
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial, add_quantiles, mean

_FLOW = re.compile(
    rf"^[0-9a-f]{{8}} [0-9a-f]{{8}} \d{{1,5}} \d{{1,5}} ({COUNT}) ({COUNT}) ({COUNT}) ({COUNT})((?: \S+)*) *$"
)
_LOOKED_AT = 20


def _fits(content: Content) -> bool:
    lines = [] if content.is_binary else [line for line in content.head.split("\n")[:_LOOKED_AT] if line]
    return bool(lines) and all(map(_FLOW.match, lines[:-1] or lines))


def _read(content: Content, found: Found) -> None:
    flows: list[tuple[int, int, int]] = []
    for line, text in enumerate(lines_of(content), 1):
        flow = _FLOW.match(text)
        if flow is None:
            if text.strip():
                found.note("partial", what=f"line {line} is no whole row")
            continue
        start, taken, alone = int(flow[2]), int(flow[3]), int(flow[4])
        if flow[5].strip() or taken < alone or not alone:
            raise AnalysisError(
                f"{content.path}: line {line}: is no row of HPCC's: {text.strip()!r}",
                hint="forks append or reorder columns; write the completion times as CSV with a header",
            )
        flows.append((start, taken, alone))
    if any(a[0] + a[1] > b[0] + b[1] for a, b in pairwise(flows)):
        found.remark("the flows are not in the order of their completion")
    trial, starts = Trial(found=found), [start / 1e9 for start, _, _ in flows]
    times, slowdowns = [taken / 1e9 for _, taken, _ in flows], [taken / alone for _, taken, alone in flows]
    for metric, unit, values in (("fct", "s", times), ("slowdown", "1", slowdowns)):
        trial.add(f"{metric}_mean", mean(values), unit, "lower", samples=Inside("flow", values, starts))
        add_quantiles(trial, metric, values, unit)


READERS = (
    Reader(
        name="hpcc-fct",
        tool="HPCC",
        how="`fct.txt` of its ns-3 simulation",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
