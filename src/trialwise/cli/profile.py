"""`trialwise profile`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json
from trialwise.cli.path_profile import PathOptions, is_experiment, profile_path
from trialwise.cli.plots import check_percentage, checked_plot, write_plot
from trialwise.cli.reading import ReadingOptions, refuse_told
from trialwise.cli.sources import Factor
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError
from trialwise.experiment.model import Method
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.analysis.conditions.profile import Profile
    from trialwise.analysis.conditions.table import Array, ConditionTable


def profile(
    data: Path,
    /,
    *,
    time: str | None = None,
    value: str | None = None,
    method: Method = "default",
    confidence: float = 95,
    json: Annotated[bool, Parameter(negative="")] = False,
    plot: Path | None = None,
    factor: Factor = None,
    probing: PathOptions | None = None,
    reading: ReadingOptions | None = None,
) -> int:
    """Find the daily, weekly and other cycles in condition data, and the span that a series of trials should cover.

    Of an experiment file, a real path is profiled before any trial: small probes both ways, for minutes to days, tell how far the
    path moves by itself, and how many rounds the margin asks for. A run adds to the rows of earlier ones, and Ctrl-C keeps what
    there is.

    The data are any measurement of the conditions over time (a link's quality, a machine's load), regular or not, with
    gaps: a CSV or Parquet file with a column of times (UTC unless said) and one of values. Dialects and spellings of times
    are found out and said; docs/reference/tables.md lists them.

    For example:

    ```text
    trialwise profile link_quality.csv
    trialwise profile load.parquet --time when --value cpu --plot load.html
    trialwise profile messung.csv --time Zeit --value Rate --decimal ,
    trialwise profile real.toml --path to-berlin --for 2d
    trialwise profile real.toml --margin 3%   # of what is kept
    ```

    Exit codes: 0 also where no period was found; 2 wrong options or columns that have to be named; 6 an end of the path cannot be
    reached; 4 its ends do not hear each other; 5 a file cannot be written; 7 data that cannot be read.

    Parameters
    ----------
    data
        The CSV or Parquet file, an experiment directory (also an imported one), files of a tool that say when each trial ran,
        or an experiment file (.toml) with a real path.
    time
        The column of times; default: the only one there is.
    value
        The column of values, or the metric of trials; default: the only one.
    method
        "default", or "paper" for the method of the TriScale paper.
    confidence
        Level in percent.
    json
        Print the profile as JSON (format trialwise.profile/1, of a path trialwise.path-profile/1,
        docs/reference/condition-json.md).
    plot
        Write the autocorrelation and the data as a figure: a file ending in .html, .svg, .pdf or .png.
    factor
        How names of files give factors, as '{cc}_{rep}.json'; default guessed where the files do not tell.
    """
    checked_plot(plot)
    check_percentage(confidence, "--confidence", least=50)
    options = probing or PathOptions()
    if is_experiment(data):
        _refuse_of_data(time=time, value=value, plot=plot, factor=factor)
        return profile_path(data, options, confidence=confidence, json=json)
    options.refuse()
    from trialwise.analysis.conditions.profile import profile_of

    table = _conditions(data, time, value, reading or ReadingOptions(), factor)
    with StatusLine(f"searching {counted(table.values.size, 'value')} for periods"):
        found = profile_of(table, method=method, confidence=confidence)
    if json:
        from trialwise.exchange.condition_json import condition_document

        print_json(condition_document(found))
    else:
        from trialwise.report.documents.profile import document

        say_document(document(found, has_sketch=plot is None))
    if plot is not None and table.times is not None:
        times, values = table.times, table.values
        write_plot(plot, lambda: _page(found, times, values), lambda path: _print(found, times, values, path))
    return 0


def _conditions(
    data: Path, time: str | None, value: str | None, reading: ReadingOptions, factor: str | None
) -> ConditionTable:
    """Read values over time: of trials that ran, or of a table."""
    from trialwise.analysis.conditions.recorded import conditions_of
    from trialwise.analysis.conditions.table import read_conditions
    from trialwise.analysis.recorded import Recorded
    from trialwise.study import reading as study_reading
    from trialwise.study.sources import Directory, source

    found = source([data], factor, told=time is not None or reading.given())
    if isinstance(found, Directory):
        found = Recorded(trials=study_reading.trial_set(found.path))
    if isinstance(found, Recorded):
        refuse_told(data, given=time is not None or reading.given())
        return conditions_of(found, value)
    return read_conditions(data, time=time, value=value, dialect=reading.dialect())


def _refuse_of_data(**given: object) -> None:
    """Refuse options that say how data are read, where a path is profiled."""
    for name, value in given.items():
        if value is not None:
            raise TrialwiseError(
                f"--{name} is for data, not for a path",
                hint="profile the file of its rows: trialwise profile FILE.conditions.csv --value round_trip_ms",
            )


def _page(found: Profile, times: Array, values: Array) -> str:
    from trialwise.report.figures.conditions import profile_page

    return profile_page(found, times, values)


def _print(found: Profile, times: Array, values: Array, path: Path) -> None:
    from trialwise.report.figures.conditions import write_profile

    write_profile(found, times, values, path)
