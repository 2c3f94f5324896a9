"""What `trialwise simulate` says of a trial: completion times by class of size, and what was counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trialwise.experiment.engines import parts_text
from trialwise.report.document import (
    Block,
    Cell,
    Document,
    Name,
    Note,
    Table,
    Text,
    Verdict,
    table_of,
)
from trialwise.report.numbers import Number, counted, given
from trialwise.report.units import Scale, scale

if TYPE_CHECKING:
    from trialwise.trials.simulated_document import ClassDocument, JobDocument, SimulateDocument
_BEYOND = 5
"""So many flows are wanted beyond a percentile of one trial."""
_JOBS = 10
"""Jobs that are told at most."""


def document(found: SimulateDocument) -> Document:
    """Return how many flows there were, their completion times, then packets, and last what it took."""
    if not found.classes:
        none = f"0 flows; with seed {found.seed} the workload draws none"
        advice = Note(("a longer --duration, a higher --load or another --seed gives some",), is_aside=True)
        return Document("simulate", Verdict("open", (*_what(found), none)), (advice,))
    flows = counted(found.classes[-1].flows, "flow")
    lasted = Number(found.simulated, "/simulated", "ms", power=-3)
    evidence = (
        *([Note((found.offered.text,), is_aside=True)] if found.offered else []),
        *(Note((caution,), "warning") for caution in found.cautions),
        *(Note(_job(each, f"/jobs/{at}")) for at, each in enumerate(found.jobs[:_JOBS])),
        _times(found.classes),
        *([Note(_packets(found))] if "events" in found.totals else []),
    )
    verdict = Verdict("plain", (*_what(found), f"{flows}, ", lasted))
    return Document("simulate", verdict, evidence, tuple(_cost(found)))


def _job(found: JobDocument, at: str) -> Text:
    flows = counted(found.flows, "flow")
    if found.jct is None:
        return (f"job of {flows}: not ended",)
    return (f"job of {flows}: completed after ", Number(found.jct, f"{at}/jct", "ms", power=-3))


def _what(found: SimulateDocument) -> Text:
    return (Name(found.controller), " over ", Name(found.topology), ": ")


def _times(classes: Sequence[ClassDocument]) -> Table:
    """Choose the unit by the lowest percentile of all, so that small flows, of which there are most, have whole numbers."""
    percentiles = [given(each.percentile).with_unit.replace(" ", "") for each in classes[-1].quantiles]
    shown = scale([each.fct for each in classes[-1].quantiles[:1]], "s")
    titles = _titles(f"FCT {{}} [{shown.unit}]", percentiles) + _titles("slowdown {}", percentiles)
    rows = [_class(each, f"/classes/{at}", shown, len(percentiles)) for at, each in enumerate(classes)]
    facts = tuple((fact,) for fact in _facts(classes[-1]))
    table = table_of("fct", "", ("sizes", "flows", *titles), rows, range(1, 2 + len(titles)))
    return Table(table.key, (), table.columns, table.rows, facts, None)


def _titles(kind: str, percentiles: Sequence[str]) -> list[str]:
    """Return the titles: what columns are stands over the first of their kind alone, so that the table fits into 80 columns."""
    return [kind.format(name) if place == 0 else name for place, name in enumerate(percentiles)]


def _class(found: ClassDocument, at: str, shown: Scale, count: int) -> tuple[Cell, ...]:
    missing = [""] * (count - len(found.quantiles))
    places = [(each, f"{at}/quantiles/{place}") for place, each in enumerate(found.quantiles)]
    return (
        found.sizes,
        Number(found.flows, f"{at}/flows"),
        *(shown.number(each.fct, f"{place}/fct") for each, place in places),
        *missing,
        *(Number(each.slowdown, f"{place}/slowdown") for each, place in places),
        *missing,
    )


def _facts(flows: ClassDocument) -> Iterator[str]:
    if flows.quantiles:
        yield f"percentiles by nearest rank{_few(flows)}"
    if flows.unfinished:
        verb = "is" if flows.unfinished == 1 else "are"
        yield f"{counted(flows.unfinished, 'flow')} did not finish and {verb} left out"


def _few(flows: ClassDocument) -> str:
    """Say that the highest percentile is one of the slowest few flows, where it is."""
    highest = max(each.percentile for each in flows.quantiles)
    if (flows.flows - flows.unfinished) * (100 - highest) >= 100 * _BEYOND:
        return ""
    rank = given(highest).with_unit.replace(" ", "")
    return f"; fewer than {_BEYOND} flows lie beyond {rank}: many trials say more (trialwise run)"


def _packets(found: SimulateDocument) -> Text:
    totals = found.totals
    dropped = totals["dropped_buffer"] + totals["dropped_link"] + totals["dropped_fault"]
    if found.engine == "ns3":
        return (
            f"{totals['data_resent']} data packets sent again, {dropped} dropped, {totals['marks']} marked",
        )
    peak = Number(totals["peak_buffer"] / 1e3, unit="kB")
    sent = f"{counted(totals['data_sent'], 'data packet')} ({totals['data_resent']} sent again)"
    lost = f"{dropped} dropped, {totals['marks']} marked, {counted(totals['pauses'], 'pause')}"
    return (f"{sent}, {lost}, at most ", peak, " in a switch")


def _cost(found: SimulateDocument) -> Iterator[Block]:
    took, start = (_seconds(found, key) for key in ("seconds", "start_seconds"))
    if not found.totals:
        yield Note(("rates of all flows in ", took, ", after ", start, " for the network and the flow list"))
        return
    if "parts" in found.totals:
        parts = parts_text(found.engine, found.totals)
        yield Note(
            (
                f"{parts}, {found.totals['hops']} packet-hops in ",
                took,
                ", after ",
                start,
                " for the network and the flow list",
            )
        )
        return
    where = " of ns-3's Simulator::Run" if found.engine == "ns3" else ""
    pace = Number(found.hops_per_second / 1e6, digits=3)
    yield Note(
        (
            f"{found.totals['hops']} packet-hops, {found.totals['events']} events in ", took, f"{where} (", pace,
            " million packet-hops/s), after ", start, " for the network and the flow list",
        )
    )  # fmt: skip


def _seconds(found: SimulateDocument, key: str) -> Number:
    return Number(getattr(found, key), f"/{key}", "s", digits=3)
