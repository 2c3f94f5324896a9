"""What `trialwise simulate` tells people of a trial."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.cli.text import columns
from trialwise.report.numbers import counted
from trialwise.trials.simulated_document import SimulateDocument


def simulation_lines(document: SimulateDocument) -> Iterator[str]:
    """A table of completion times by class of size, and what was counted."""
    if not document.classes:
        yield f"{document.controller} over {document.topology}: 0 flows; with seed {document.seed} the workload draws none"
        yield "  a longer --duration, a higher --load or another --seed gives some"
        return
    yield (
        f"{document.controller} over {document.topology}: {counted(document.classes[-1].flows, 'flow')}, "
        f"{document.simulated * 1e3:.4g} ms"
    )
    if document.offered is not None:
        yield f"  {document.offered.text}"
    yield ""
    percentiles = [f"{each.percentile:g}%" for each in document.classes[-1].quantiles]
    rows = [
        [
            "sizes",
            "flows",
            *(f"FCT {name}" for name in percentiles),
            *(f"slowdown {name}" for name in percentiles),
        ]
    ]
    for each in document.classes:
        fct = [f"{quantile.fct * 1e6:.4g} us" for quantile in each.quantiles]
        slowdown = [f"{quantile.slowdown:.4g}" for quantile in each.quantiles]
        missing = [""] * (2 * (len(percentiles) - len(each.quantiles)))
        rows.append([each.sizes, str(each.flows), *fct, *slowdown, *missing])
    yield from columns(rows)
    if unfinished := document.classes[-1].unfinished:
        verb = "is" if unfinished == 1 else "are"
        yield f"  {counted(unfinished, 'flow')} did not finish and {verb} left out"
    yield ""
    yield from _counts(document)


def _counts(document: SimulateDocument) -> Iterator[str]:
    totals = document.totals
    dropped = totals["dropped_buffer"] + totals["dropped_link"] + totals["dropped_fault"]
    if document.engine == "ns3":
        yield f"{totals['data_resent']} data packets sent again, {dropped} dropped, {totals['marks']} marked"
        yield (
            f"{totals['hops']} packet-hops, {totals['events']} events in {document.seconds:.3g} s of ns-3's Simulator::Run "
            f"({document.hops_per_second / 1e6:.3g} million packet-hops/s)"
        )
        return
    yield (
        f"{totals['data_sent']} data packets ({totals['data_resent']} sent again), {dropped} dropped, {totals['marks']} marked, "
        f"{totals['pauses']} pauses, at most {totals['peak_buffer'] / 1e3:.4g} kB in a switch"
    )
    yield (
        f"{totals['hops']} packet-hops, {totals['events']} events in {document.seconds:.3g} s "
        f"({document.hops_per_second / 1e6:.3g} million packet-hops/s)"
    )
