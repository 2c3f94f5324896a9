"""What `trialwise trace show` and `trialwise trace compare` say of recordings of a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.measurement.recordings import RecordingSummary, WayComparison, WaySummary
from trialwise.report.document import Document, Items, Name, Note, Text, Verdict
from trialwise.report.numbers import Number, counted


def document(name: str, found: RecordingSummary) -> Document:
    """Return the length, then what each direction does."""
    length = Number(found.length_ms / 1000, unit="s", kind="given")
    verdict = Verdict("plain", ("Recording ", Name(name), ": ", length))
    ways = {way: each for way, each in (("uplink", found.uplink), ("downlink", found.downlink)) if each}
    lines = tuple(line for way, each in ways.items() for line in _way(way, each, found.bin_ms))
    origin = (Note((found.origin,)),) if found.origin else ()
    notes = (Note((each,), "warning") for each in found.warnings)
    return Document("trace", verdict, (Items(lines), *origin, *notes))


def _way(way: str, found: WaySummary, bin_ms: float) -> Iterator[Text]:
    if found.mean_rate is not None:
        mean = Number(found.mean_rate, f"/{way}/mean_rate", "Mbit/s")
        ends = _ends(way, "rate", found.least_rate, found.largest_rate, "Mbit/s")
        in_bins = (", in bins of ", Number(bin_ms, "/bin_ms", "ms", kind="given"), " ", *ends) if ends else ()
        yield (way, ": ", mean, " in the mean", *in_bins)
    ends = _ends(way, "delay", found.least_delay, found.largest_delay, "ms")
    if ends:
        yield (way, ": base delay ", *ends)
    if found.mean_loss is not None:
        yield (way, ": loss ", Number(found.mean_loss * 100, "", "%"), " in the mean")
    if found.interruptions:
        longest = Number(found.longest_interruption, f"/{way}/longest_interruption", "ms")
        yield (way, f": {counted(found.interruptions, 'interruption')}, the longest ", longest)


def _ends(way: str, what: str, least: float | None, largest: float | None, unit: str) -> Text:
    if least is None or largest is None:
        return ()
    return (Number(least, f"/{way}/least_{what}"), " to ", Number(largest, f"/{way}/largest_{what}", unit))


def comparison_document(names: tuple[str, str], found: Mapping[str, WayComparison]) -> Document:
    """Return how far apart two recordings are, each way."""
    verdict = Verdict("plain", ("Recordings ", Name(names[0]), " and ", Name(names[1])))
    lines = tuple(line for way, each in found.items() for line in _compared(way, each))
    return Document("trace", verdict, (Items(lines),))


def _compared(way: str, found: WayComparison) -> Iterator[Text]:
    if found.rate_distance is not None:
        distance = Number(found.rate_distance, f"/ways/{way}/rate_distance")
        yield (
            way,
            ": rates in bins of 100 ms differ by ",
            distance,
            " (Kolmogorov-Smirnov distance, 0 to 1)",
        )
    yield from _pair(way, "mean rate", found.mean_rates, "Mbit/s")
    yield from _pair(way, "least base delay", found.least_delays, "ms")
    runs, longest = found.loss_runs, found.longest_loss_runs
    if any(runs):
        yield (
            f"{way}: {runs[0]} and {runs[1]} runs of loss, the longest ",
            Number(longest[0]),
            " and ",
            Number(longest[1], "", "ms"),
        )


def _pair(way: str, what: str, both: tuple[float | None, float | None], unit: str) -> Iterator[Text]:
    one, other = both
    if one is not None and other is not None:
        yield (way, f": {what} ", Number(one), " and ", Number(other, "", unit))
