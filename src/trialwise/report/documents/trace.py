"""What `trialwise trace show` says."""

from __future__ import annotations

from trialwise.measurement.opportunities import TraceSummary
from trialwise.report.document import Document, Items, Name, Note, Text, Verdict, joined
from trialwise.report.numbers import Number, counted


def document(name: str, found: TraceSummary) -> Document:
    """Return the mean rate, then how many opportunities there are, the rate in bins, and the longest gap."""
    mean, mahimahi = (
        Number(found.mean_rate, "/mean_rate", "Mbit/s"),
        Number(found.mean_rate_mahimahi, "/mean_rate_mahimahi"),
    )
    said = (" of IP packets in the mean (mm-link, which counts 4 bytes more, ", mahimahi, ")")
    verdict = Verdict("plain", ("Trace ", Name(name), ": ", mean, *said))
    repeated = f"{counted(found.opportunities, 'opportunity', 'opportunities')}, repeated every "
    lines: tuple[Text, ...] = (
        (repeated, _time(found.period_ms)),
        *_bins(found),
        ("longest gap ", _time(found.longest_gap_ms), ", from ", _time(found.longest_gap_at_ms), " on"),
        (f"at most {found.most_in_a_millisecond} in a millisecond",),
    )  # fmt: skip
    return Document("trace", verdict, (Items(lines), *(Note((each,), "warning") for each in found.warnings)))


def _bins(found: TraceSummary) -> tuple[Text, Text]:
    smallest, *between, largest = (
        (rank, Number(value, f"/percentiles/{rank}")) for rank, value in found.percentiles.items()
    )
    ranks = joined((f"{rank}: ", number) for rank, number in between)
    ends = (smallest[1], " to ", largest[1], " Mbit/s")
    return ("in bins of ", _time(found.bin_ms), ": ", *ends), ("percentiles ", *ranks)


def _time(milliseconds: int) -> Number:
    if milliseconds < 10_000:
        return Number(milliseconds, unit="ms")
    return Number(milliseconds / 1000, unit="s", kind="given")
