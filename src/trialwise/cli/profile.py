"""`trialwise profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.output import messages, print_json
from trialwise.cli.patience import Patience
from trialwise.cli.text import say
from trialwise.experiment.model import Method


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
) -> int:
    """Find the daily, weekly and other cycles in condition data, and the span that a series of trials should cover.

    The data are any measurement of the conditions over time (a link's quality, a machine's load), regular or not, with
    gaps: a CSV (comma, semicolon, tab) or Parquet file with a column of times (ISO 8601, UTC unless said, or seconds)
    and one of values.

    For example:

    ```text
    trialwise profile link_quality.csv
    trialwise profile load.parquet --time when --value cpu --plot load.html
    ```

    Exit codes: 0 also where no period was found; 2 wrong options or columns that have to be named; 5 the plot cannot be
    written; 7 data that cannot be read.

    Parameters
    ----------
    data
        The CSV or Parquet file.
    time
        The column of times; default: the only one there is.
    value
        The column of values; default: the only other one of numbers.
    method
        "default", or "paper" for the method of the TriScale paper.
    confidence
        Level in percent.
    json
        Print the profile as JSON (format trialwise.profile/1, docs/reference/profile-json.md).
    plot
        Write the autocorrelation and the data as a figure: a file ending in .html, .svg, .pdf or .png.
    """
    from trialwise.analysis.condition_table import read_conditions
    from trialwise.analysis.profile import profile_of
    from trialwise.cli.plots import checked_plot, write_plot
    from trialwise.report.condition_text import profile_lines

    checked_plot(plot)
    check_percentage(confidence, "--confidence", least=50)
    table = read_conditions(data, time=time, value=value)
    with Patience(messages(), f"searching {table.values.size} values for periods"):
        found = profile_of(table, method=method, confidence=confidence)
    if json:
        from trialwise.exchange.plain import plain

        print_json({"format": found.format, **_object(plain(found))})
    else:
        say(profile_lines(found))
    if plot is not None:
        from trialwise.report.condition_figures import profile_figure

        write_plot(profile_figure(found, table.times, table.values), plot)
    return 0
