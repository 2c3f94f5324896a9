"""`trialwise effects`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.defaults import gated
from trialwise.cli.files import write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.plots import check_percentage
from trialwise.cli.reading import ReadingOptions, check_is_table, refuse_told
from trialwise.cli.sources import Data, named_all
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import AnalysisError, TrialwiseError, not_written
from trialwise.experiment.model import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.analysis.effects.directory import EffectsInput
    from trialwise.analysis.effects.paper_results import PaperEffects
    from trialwise.analysis.effects.results import EffectsAnalysis
    from trialwise.report.document import Document
    from trialwise.report.figures.plot_data import ColumnData

EffectsMethod = Literal["welch", "freedman_lane", "ordinary", "raw_permutation", "paper"]
InferenceLevel = Literal["host", "boot", "build", "process", "trial"]
_CODES = {"no factor matters": 0, "factors matter": 1, "undecided": 3}
_MARGIN = re.compile(r"(?:(?P<metric>.+)=)?(?P<size>\d+(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EffectsColumns:
    """Which column of a table is what."""

    group: Annotated[tuple[str, ...], Parameter(help="Column of a factor; repeatable.", negative="")] = ()
    value: Annotated[
        tuple[str, ...], Parameter(help="Column of a metric's values; repeatable.", negative="")
    ] = ()
    trial: Annotated[
        str | None, Parameter(help="Column that tells trials apart; then each row is a sample.")
    ] = None
    time: Annotated[
        str | None, Parameter(help="Column of times: of samples with --trial, else of trials.")
    ] = None
    measure: Annotated[
        str, Parameter(help="What reduces samples: mean, median, min, max, or a percentile as p95.")
    ] = "mean"

    def given(self) -> bool:
        """True if any of them was given."""
        return self != EffectsColumns()


def effects(
    *data: Data,
    by: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    base: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    margin: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    metric: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    factor: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    method: EffectsMethod = "welch",
    confidence: float = 95,
    interactions: int | None = None,
    level: InferenceLevel | None = None,
    permutations: int = 9999,
    seed: int = 0,
    resample: Annotated[bool, Parameter(negative="")] = False,
    gate: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    full: Annotated[bool, Parameter(negative="")] = False,
    csv: Path | None = None,
    latex: Path | None = None,
    svg: Path | None = None,
    columns: EffectsColumns | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    r"""Say which factors matter, alone and together, and by how much.

    The data are an experiment directory, files of a tool, or a CSV or Parquet file with a column for each factor; also names of files
    give factors (--factor '{cc}_{rate}_{rep}.json'). Every main effect and interaction is tested for every metric; where an
    interaction matters, simple effects come first; each level is compared with its base and judged by the margin.

    For example:

    ```text
    trialwise effects probes.results --base flavour=none --margin 3%
    trialwise effects probes.results --by rate --svg figures
    trialwise effects runs.csv --group flavour --group load --value delay
    trialwise effects samples.csv --group oml --group threads --value rate \
        --trial run --by speed --method paper
    ```

    Exit codes: 0 done, and with --gate no factor matters: every level is within the margin of its base; 1 with --gate a factor
    matters (beyond the margin where one is given); 2 wrong options; 3 undecided; 5 a directory that cannot be used or a place that
    cannot be written; 7 data that cannot be read.

    Parameters
    ----------
    data
        The experiment directory (also an imported one), a Pantheon folder (also packed), files or folders of a tool that
        `trialwise look` knows, or a CSV or Parquet file.
    by
        Factor whose levels are analysed each by itself; repeatable.
    base
        FACTOR=LEVEL that the factor's other levels are compared with; repeatable. Default: what the experiment says, else the
        first level.
    margin
        The difference that would matter, in percent of the base (3%) or in the metric's unit (0.5), also METRIC=3%; repeatable.
        Default: that of the experiment.
    metric
        Metric to analyse, repeatable; default all. Of a table: entries of its column "metric".
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    method
        welch: each treatment has a spread of its own; ordinary; freedman_lane or raw_permutation: by permutations; paper: the
        OML study's procedure, on samples.
    confidence
        Of each interval and of each family of tests, in percent.
    interactions
        How many factors interact at most; default all.
    level
        Level of inference: host, boot, build, process or trial; default the highest that varies.
    permutations
        How many arrangements are drawn.
    seed
        Of permutations and of resampling.
    resample
        In the paper's method, draw every series anew with replacement.
    gate
        Exit with 1 where a factor matters.
    json
        Print the analysis as JSON (format trialwise.effects/1, docs/reference/effects-json.md).
    full
        Print every table of every metric; by default, more than 12 metrics are given one row each, the largest effects first.
    csv
        Write a row for each term to this file.
    latex
        Write tables in the form of the paper's to this file.
    svg
        Folder for figures for print: interactions, and sizes of effects.
    """
    check_percentage(confidence, "--confidence", least=50)
    _check(method, resample=resample, permutations=permutations, seed=seed, interactions=interactions)
    _check_places([csv, latex])
    margins, bases, pattern = _margins(margin), _bases(base), _pattern(factor)
    with StatusLine(f"reading {named_all(data)}") as patience:
        given = _read(
            data,
            columns or EffectsColumns(),
            reading or ReadingOptions(),
            metric,
            by,
            pattern,
            samples=method == "paper",
        )
        # The order of levels in a table is unknown: the base comes first.
        orders = {**{name: (one,) for name, one in bases.items()}, **given.orders}
        patience.say("looking for effects")
        if method == "paper":
            found: EffectsAnalysis | PaperEffects = _paper(
                given, by, resample, permutations, seed, confidence
            )
        else:
            from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
            from trialwise.analysis.effects.trials import factor_trials

            _check_metrics(margins, given)
            options = EffectsOptions(
                method=method,
                confidence=confidence,
                margin=margins.get(None),
                margins={name: one for name, one in margins.items() if name is not None},
                by=by,
                base={**given.base, **bases},
                level=level,
                interactions="all" if interactions is None else interactions,
                permutations=permutations,
                seed=seed,
            )
            found = analyse_effects(
                factor_trials(given.trials, orders),
                options,
                lambda done, total: patience.say(
                    f"looking for effects: {done} of {total} metrics and parts done"
                ),
            )
    _show(found, json=json, full=full)
    _write(found, csv, latex, svg)
    return gated(_CODES[found.verdict], gate=gate)


def _check(
    method: EffectsMethod, *, resample: bool, permutations: int, seed: int, interactions: int | None
) -> None:
    if resample and method != "paper":
        raise TrialwiseError("--resample is a step of the paper's procedure", hint="add --method paper")
    if not 1 <= permutations <= 1_000_000:
        raise TrialwiseError(f"--permutations {permutations}: expected an integer from 1 to 1000000")
    if not 0 <= seed < 2**63:
        raise TrialwiseError(f"--seed {seed}: expected an integer ≥ 0")
    if interactions is not None and interactions < 1:
        raise TrialwiseError(
            f"--interactions {interactions}: how many factors interact at most, from 1",
            hint="1 means none do",
        )


def _pattern(factor: tuple[str, ...]) -> str | None:
    """Return the pattern of names of files; refuse columns, which had this option once."""
    columns = [name for name in factor if "{" not in name] or factor[1:]
    if columns:
        raise TrialwiseError(
            f"--factor {columns[0]}: expected one pattern of the names of files, as '{{cc}}_{{rep}}.json'",
            hint=f"name columns of a table with {' '.join(f'--group {name}' for name in columns)}",
        )
    return factor[0] if factor else None


def _check_places(places: list[Path | None]) -> None:
    for path in places:
        if path is not None and not path.parent.is_dir():
            raise TrialwiseError(
                f"{path}: there is no folder {path.parent}", hint="make it, or choose another place"
            )


def _margins(texts: tuple[str, ...]) -> dict[str | None, Extent]:
    found: dict[str | None, Extent] = {}
    for text in texts:
        parsed = _MARGIN.fullmatch(text.strip())
        if parsed is None or not float(parsed["size"]) > 0:
            raise TrialwiseError(
                f"--margin {text}: expected a percentage or a number above 0",
                hint="write 3%, 0.5 or METRIC=3%",
            )
        found[parsed["metric"]] = Extent(float(parsed["size"]), bool(parsed["percent"]))
    return found


def _check_metrics(margins: dict[str | None, Extent], given: EffectsInput) -> None:
    for name in margins:
        if name is not None and name not in given.trials.metrics:
            raise TrialwiseError(
                f"--margin {name}=…: no such metric", hint=f"metrics: {', '.join(given.trials.metrics)}"
            )


def _bases(texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, one = text.partition("=")
        if not equals or not name or not one:
            raise TrialwiseError(
                f"--base {text}: expected a factor and its level", hint="write --base flavour=none"
            )
        found[name] = one
    return found


def _read(
    paths: Sequence[Path],
    columns: EffectsColumns,
    reading: ReadingOptions,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    pattern: str | None,
    *,
    samples: bool,
) -> EffectsInput:
    from trialwise.study.sources import TableFile, effects_of, source

    told = columns.given() or reading.given()
    found = source(paths, pattern, told=told)
    if not isinstance(found, TableFile):
        refuse_told(named_all(paths), given=told)
        return effects_of(found, metrics, samples=samples)
    data = found.path
    if not columns.group or not columns.value:
        check_is_table(data)
        raise AnalysisError(
            f"{data}: a table needs to know its columns", hint="add --group COLUMN and --value COLUMN"
        )
    from trialwise.analysis.effects.directory import EffectsInput
    from trialwise.analysis.effects.table import EffectColumns, read_effects_table
    from trialwise.cli.tables import measure_named

    trials, series = read_effects_table(
        data,
        EffectColumns(
            tuple(dict.fromkeys((*columns.group, *by))),
            tuple(dict.fromkeys(columns.value)),
            columns.trial,
            columns.time,
            metrics,
            measure_named(columns.measure),
        ),
        reading.dialect(),
    )
    return EffectsInput(trials, {}, {}, series)


def _paper(
    given: EffectsInput, by: tuple[str, ...], resample: bool, permutations: int, seed: int, confidence: float
) -> PaperEffects:
    from trialwise.analysis.effects.paper import PaperOptions, paper_effects
    from trialwise.analysis.effects.trials import factor_trials

    options = PaperOptions(by, resample, permutations, seed, confidence)
    return paper_effects(factor_trials(given.trials, given.orders), given.series, options)


def _show(found: EffectsAnalysis | PaperEffects, *, json: bool, full: bool) -> None:
    if json:
        from trialwise.exchange.effects_json import effects_document

        print_json(effects_document(found))
    else:
        say_document(_document(found, full=full), full=full, rest="--full")


def _document(found: EffectsAnalysis | PaperEffects, *, full: bool = True) -> Document:
    from trialwise.analysis.effects.paper_results import PaperEffects
    from trialwise.report.documents import effects, effects_paper

    return (
        effects_paper.document(found)
        if isinstance(found, PaperEffects)
        else effects.document(found, full=full)
    )


def _write(
    found: EffectsAnalysis | PaperEffects, csv: Path | None, latex: Path | None, svg: Path | None
) -> None:
    written: list[Path] = []
    try:
        if csv is not None:
            from trialwise.exchange.effects_json import effects_csv

            write_text(csv, effects_csv(found))
            written.append(csv)
        if latex is not None:
            from trialwise.report.documents.effects import tables_for_print
            from trialwise.report.render.latex import latex_file

            tables = tables_for_print(_document(found))
            write_text(latex, latex_file(tables, "trialwise effects --latex"))
            written.append(latex)
        if svg is not None:
            from trialwise.report.figures.effects import effects_figures
            from trialwise.report.figures.paint import write_all

            sheets: dict[str, ColumnData] = {}
            written += write_all(effects_figures(found, sheets), sheets, svg, "svg")
    except OSError as error:
        raise not_written(error.filename or found.source, error) from error
    for path in written:
        stderr_console().print(f"wrote {path}", markup=False)
