"""What `trialwise simulate` tells people of a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.cli.text import columns
from trialwise.report.numbers import about, counted, write
from trialwise.report.terminal_table import Line
from trialwise.report.units import scale
from trialwise.trials.simulated_document import ClassDocument, SimulateDocument

_BEYOND = 5
"""So many flows are wanted beyond a percentile of one trial."""


def simulation_lines(document: SimulateDocument) -> Iterator[Line]:
    """A table of completion times by class of size, and what was counted."""
    if not document.classes:
        yield f"{document.controller} over {document.topology}: 0 flows; with seed {document.seed} the workload draws none"
        yield "  a longer --duration, a higher --load or another --seed gives some"
        return
    yield (
        f"{document.controller} over {document.topology}: {counted(document.classes[-1].flows, 'flow')}, "
        f"{write(document.simulated * 1e3)} ms"
    )
    if document.offered is not None:
        yield f"  {document.offered.text}"
    yield from (f"  ! {caution}" for caution in document.cautions)
    yield ""
    percentiles = [f"{each.percentile:g}%" for each in document.classes[-1].quantiles]
    # By the lowest percentile of all, so that small flows, of which there are most, have whole numbers.
    shown = scale([each.fct for each in document.classes[-1].quantiles[:1]], "s")
    titles = _titles(f"FCT {{}} [{shown.unit}]", percentiles) + _titles("slowdown {}", percentiles)
    rows = [["sizes", "flows", *titles]]
    for each in document.classes:
        fct = [write(quantile.fct * shown.factor) for quantile in each.quantiles]
        slowdown = [write(quantile.slowdown) for quantile in each.quantiles]
        missing = [""] * (2 * (len(percentiles) - len(each.quantiles)))
        rows.append([each.sizes, str(each.flows), *fct, *slowdown, *missing])
    yield columns(rows)
    if percentiles:
        yield "  percentiles by nearest rank" + _few(document.classes[-1])
    if unfinished := document.classes[-1].unfinished:
        verb = "is" if unfinished == 1 else "are"
        yield f"  {counted(unfinished, 'flow')} did not finish and {verb} left out"
    yield ""
    yield from _counts(document)


def _titles(kind: str, percentiles: Sequence[str]) -> list[str]:
    """What columns are stands over the first of their kind alone, so that the table fits into 80 columns."""
    return [kind.format(name) if place == 0 else name for place, name in enumerate(percentiles)]


def _few(flows: ClassDocument) -> str:
    """That the highest percentile is one of the slowest few flows, where it is."""
    highest = max(each.percentile for each in flows.quantiles)
    if (flows.flows - flows.unfinished) * (100 - highest) >= 100 * _BEYOND:
        return ""
    return f"; fewer than {_BEYOND} flows lie beyond {highest:g}%: many trials say more (trialwise run)"


def _counts(document: SimulateDocument) -> Iterator[str]:
    totals = document.totals
    dropped = totals["dropped_buffer"] + totals["dropped_link"] + totals["dropped_fault"]
    if document.engine == "ns3":
        yield f"{totals['data_resent']} data packets sent again, {dropped} dropped, {totals['marks']} marked"
        yield (
            f"{totals['hops']} packet-hops, {totals['events']} events in {about(document.seconds)} s of ns-3's Simulator::Run "
            f"({about(document.hops_per_second / 1e6)} million packet-hops/s)"
        )
        return
    yield (
        f"{totals['data_sent']} data packets ({totals['data_resent']} sent again), {dropped} dropped, {totals['marks']} marked, "
        f"{totals['pauses']} pauses, at most {write(totals['peak_buffer'] / 1e3)} kB in a switch"
    )
    yield (
        f"{totals['hops']} packet-hops, {totals['events']} events in {about(document.seconds)} s "
        f"({about(document.hops_per_second / 1e6)} million packet-hops/s)"
    )
