"""`trialwise compare`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.comparison_files import FileOptions
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.plots import check_percentage
from trialwise.cli.reading import ReadingOptions
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError
from trialwise.foreign_files import named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trialwise.analysis.comparison.gate import Outcome
    from trialwise.analysis.comparison.ranking import Ranking
    from trialwise.analysis.comparison.results import Comparison
    from trialwise.analysis.trial_set import Level, TrialSet
    from trialwise.exchange.trials_table import TrialColumns
    from trialwise.report.documents.compare import Order
    from trialwise.study.reading import ComparedControls

_CODES = {"passed": 0, "failed": 1, "undecided": 3}
Several = Annotated[tuple[str, ...], Parameter(negative="")]
Flag = Annotated[bool, Parameter(negative="")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TableColumnOptions:
    """What the columns of a table are, and what is known of metrics that a file does not say."""

    value: Annotated[
        tuple[str, ...],
        Parameter(help="Column of a metric's values in a table; repeatable; default value.", negative=""),
    ] = ()
    group: Annotated[
        tuple[str, ...],
        Parameter(
            help="Column that tells treatments apart; repeatable; default treatment, where it is there.",
            negative="",
        ),
    ] = ()
    trial: Annotated[
        str | None, Parameter(help="Column that tells trials apart; then each row is a sample.")
    ] = None
    measure: Annotated[
        str, Parameter(help="What reduces samples: mean, median, min, max, or a percentile as p95.")
    ] = "mean"
    unit: Annotated[
        tuple[str, ...],
        Parameter(help="Unit of the metrics, or METRIC=UNIT; repeatable.", negative=""),
    ] = ()
    better: Annotated[
        tuple[str, ...],
        Parameter(
            help="Which way is better, higher or lower, or METRIC=higher; repeatable.",
            negative="",
        ),
    ] = ()


def compare(
    a: Path,
    b: Path | None = None,
    /,
    *,
    margin: Several = (),
    confidence: float = 95,
    metric: Several = (),
    from_a: Annotated[tuple[str, ...], Parameter(name="--a", negative="")] = (),
    from_b: Annotated[tuple[str, ...], Parameter(name="--b", negative="")] = (),
    level: Literal["trial", "process", "build", "boot", "host"] | None = None,
    unpaired: Flag = False,
    controls: str | None = None,
    paper: Flag = False,
    rank: Flag = False,
    gate: Flag = False,
    undecided_passes: Flag = False,
    floor: Path | None = None,
    json: Flag = False,
    sort: Literal["verdict", "change", "name", "metric"] = "verdict",
    columns: TableColumnOptions | None = None,
    files: FileOptions | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    r"""Compare B with A: two experiments, results of other tools, or two sets of treatments of one experiment.

    A and B are experiment directories, Pantheon folders, JSON of hyperfine or pyperf, or tables (CSV or Parquet), of
    trials or of printed results (n, mean, sd). Schemes that Pantheon calls otherwise are matched. Every
    treatment and metric that both have ends in a verdict: different, equivalent within the margin, or undecided with the
    number of trials that would decide it. Differences are B minus A.

    For example:

    ```text
    trialwise compare base.json head.json --margin 3%
    trialwise compare monday.results today.results --margin 3% --gate \
        --markdown summary.md
    trialwise compare tcp.results --a scheme=cubic --b scheme=bbr \
        --margin pantheon_delay=5
    trialwise compare nepal emulated --paper
    trialwise compare base.results head.results --margin 3% --floor NAME.aa
    ```

    Exit codes: 0 done, and with --gate every row equivalent or better; with --gate 1 a row is different for the worse, or in a
    metric that does not say which way is better, and 3 (0 with --undecided-passes) a row is undecided or without inference;
    2 wrong options; 5 a place that cannot be written; 7 data that cannot be read.

    Parameters
    ----------
    a
        The base: an experiment directory, a folder or a file.
    b
        What is compared with it; without it --a and --b choose from A, or --rank ranks the treatments of A.
    margin
        The largest difference that does not matter: 3% of A's mean, or METRIC=0.5 in the metric's unit; repeatable. Default
        what the experiment file says.
    confidence
        Of all verdicts together, in percent.
    metric
        Metric to compare; repeatable; default all.
    from_a
        FACTOR=LEVEL of side A; repeatable.
    from_b
        FACTOR=LEVEL of side B; repeatable.
    level
        The level of inference, instead of the highest that varies: what is above it is then taken as fixed.
    unpaired
        Compare treatments of a simulation as independent trials, although those of one round met the same flows.
    controls
        Control variates of differences between treatments that met the same flows, from 200 shared trials on: workload, or engines
        as in fluid,links (docs/how-to/read-estimates.md).
    paper
        The table of Pantheon's replication walkthrough, and below it what replicates, within 10% unless --margin says otherwise.
    rank
        Also rank the treatments of each side: ranks with confidence, the set that may contain the best, and the Pareto set.
    gate
        Let the exit code say whether B passes.
    undecided_passes
        With --gate, exit with 0 instead of 3; what is printed stays the same.
    floor
        A directory of `trialwise aa` on this bench: a difference under its noise floor is undecided.
    json
        Print the comparison as JSON (format trialwise.comparison/1, docs/reference/comparison-json.md).
    sort
        Order of tables and rows for people: what needs a look first, the largest change first, or by name of treatment or metric.
    """
    check_percentage(confidence, "--confidence", least=50)
    columns, files = columns or TableColumnOptions(), files or FileOptions()
    of_pairs = {"--margin": margin, "--gate": gate, "--floor": floor, **files.of_pairs}
    _check(a, b, from_a or from_b, files, of_pairs, rank=rank, paper=paper)
    if undecided_passes and not gate:
        raise TrialwiseError("--undecided-passes is only valid with --gate", hint="add --gate")
    from trialwise.cli.comparison_options import read_side

    with StatusLine(f"reading {named(a)}") as patience:
        table = _table(columns, reading or ReadingOptions())
        adjusted = _controls(controls, confidence, patience, is_one=b is None and not unpaired)
        read = partial(read_side, metrics=metric, columns=table, told=patience.going)
        sides = _sides(a, b, from_a, from_b, columns, partial(read, paired=not unpaired, controls=adjusted))
        from trialwise.analysis.comparison.ranking import rank as rank_side

        patience.say(f"comparing {sum(side.table.height for side in sides)} values")
        rankings = tuple(rank_side(side, confidence, level) for side in sides) if rank else ()
        found = _compared(sides, margin, confidence, level, paper=paper)
        if found is not None and floor is not None:
            found = _floored(found, floor)
    if found is None:
        _show_ranking(rankings, sides[0], confidence, json=json)
    elif not files.fill_output:
        _show(found, rankings, json=json, paper=paper, gate=gate, order=sort)
    for path in files.write(found, rankings, sides, paper=paper, order=sort):
        stderr_console().print(f"wrote {path}", markup=False)
    if not gate or found is None:
        return 0
    outcome = _gate(found, is_told=not (json or paper or files.fill_output))
    return 0 if undecided_passes and outcome == "undecided" else _CODES[outcome]


def _check(
    a: Path,
    b: Path | None,
    chosen: tuple[str, ...],
    files: FileOptions,
    of_pairs: Mapping[str, object],
    *,
    rank: bool,
    paper: bool,
) -> None:
    if b is None and not chosen and not rank:
        raise TrialwiseError(
            "there is one side only",
            hint="name B, or choose two sets of treatments with --a and --b, or add --rank",
        )
    if b is None and not chosen and (asked := [name for name, given in of_pairs.items() if given]):
        raise TrialwiseError(
            f"{asked[0]} is for a comparison, and --rank ranks the treatments of one side",
            hint="name B, or choose two sets of treatments with --a and --b",
        )
    if b is not None and not chosen and a.resolve() == b.resolve():
        raise TrialwiseError(
            f"{a} and {b} are the same", hint="choose two sets of treatments with --a and --b"
        )
    if paper and rank:
        raise TrialwiseError("--paper has no ranks", hint="leave out --rank or --paper")
    files.check()


def _sides(
    a: Path,
    b: Path | None,
    from_a: tuple[str, ...],
    from_b: tuple[str, ...],
    columns: TableColumnOptions,
    read_one: Callable[[Path], TrialSet],
) -> list[TrialSet]:
    from trialwise.analysis.comparison.sides import selected
    from trialwise.cli.comparison_options import selection, told
    from trialwise.study.sides import with_pantheon_names

    first, second = selection(from_a, "--a"), selection(from_b, "--b")
    if b is None and bool(first) != bool(second):
        raise TrialwiseError("one side only is chosen", hint="add both --a FACTOR=LEVEL and --b FACTOR=LEVEL")
    read = {path: read_one(path) for path in dict.fromkeys((a, b or a))}
    sides = [read[a]] if b is None and not first else [read[a], read[b or a]]
    sides = told(sides, columns.better, columns.unit)
    chosen = zip(sides, (first, second), strict=False)
    sides = [selected(side, wanted, _name(side, b, wanted)) if wanted else side for side, wanted in chosen]
    return with_pantheon_names(sides) if len(sides) == 2 else sides


def _controls(
    text: str | None, confidence: float, patience: StatusLine, *, is_one: bool
) -> ComparedControls | None:
    """Return the controls that are asked for; they go with one directory whose treatments are compared in pairs."""
    from trialwise.cli.tables import controls_given

    kind = controls_given(text)
    if kind is None or kind == "none":
        return None
    if not is_one:
        raise TrialwiseError(
            "--controls are for treatments of one directory that met the same flows, compared in pairs",
            hint="choose two sets of treatments with --a and --b, or add --rank, without --unpaired",
        )
    from trialwise.study.reading import ComparedControls

    return ComparedControls(kind, confidence, patience.drawing)


def _name(side: TrialSet, b: Path | None, wanted: dict[str, list[str]]) -> str:
    from trialwise.analysis.comparison.sides import text_of

    return text_of(wanted) if b is None else f"{side.name} {text_of(wanted)}"


def _table(columns: TableColumnOptions, reading: ReadingOptions) -> TrialColumns:
    from trialwise.cli.tables import measure_named
    from trialwise.exchange.trials_table import TrialColumns

    dialect = reading.dialect() if reading.given() else None
    return TrialColumns(columns.value, columns.group, columns.trial, measure_named(columns.measure), dialect)


def _compared(
    sides: list[TrialSet],
    margin: tuple[str, ...],
    confidence: float,
    level: Level | None,
    *,
    paper: bool,
) -> Comparison | None:
    """Compare two sides; None if there is one."""
    from trialwise.analysis.comparison.comparing import PAPER_MARGIN, CompareOptions, compare
    from trialwise.cli.comparison_options import check_named, margins

    common, own = margins(margin)
    check_named(own, sides, "--margin")
    if len(sides) < 2:
        return None
    if paper and common is None:
        common = PAPER_MARGIN
    return compare(sides[0], sides[1], CompareOptions(confidence, common, own, level))


def _floored(found: Comparison, floor: Path) -> Comparison:
    from trialwise import study
    from trialwise.analysis.calibration.noise_floor import with_floor

    return with_floor(found, study.calibration(floor))


def _show(
    found: Comparison, rankings: tuple[Ranking, ...], *, json: bool, paper: bool, gate: bool, order: Order
) -> None:
    if json:
        from trialwise.exchange.comparison_json import comparison_document

        print_json(comparison_document(found, rankings))
        return
    from trialwise.report.documents import compare

    told = compare.document(found, rankings, has_gate=gate, order=order)
    say_document(compare.paper_document(found) if paper else told)


def _show_ranking(rankings: tuple[Ranking, ...], side: TrialSet, confidence: float, *, json: bool) -> None:
    ranking = rankings[0]
    if json:
        from trialwise.exchange.comparison_json import ranking_document

        print_json(ranking_document(ranking, confidence, side.notes))
        return
    from trialwise.report.documents.compare import ranking_document as document_of

    say_document(document_of(ranking, side.notes))


def _gate(found: Comparison, *, is_told: bool) -> Outcome:
    from trialwise.analysis.comparison.gate import gate_of
    from trialwise.wording.gate import sentence

    gate = gate_of(found)
    if not is_told:
        stderr_console().print(f"gate {sentence(found, gate)}", markup=False)
    return gate.outcome
