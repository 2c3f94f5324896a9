from __future__ import annotations

from json_pointer import resolve
from trialwise.analysis.results import Analysis
from trialwise.exchange.plain import Json
from trialwise.report.numbers import Number
from trialwise.report.plan_tables import (
    design_table,
    environment_tables,
    failure_table,
    objective_table,
    population_table,
    session_table,
)
from trialwise.report.tables import Table, result_tables
from trialwise.report.trial_tables import convergence_tables, trial_table


def _all(analysis: Analysis) -> list[Table]:
    single = (design_table, failure_table, objective_table, population_table, session_table, trial_table)
    found = [make(analysis) for make in single]
    tables = [*result_tables(analysis), *convergence_tables(analysis), *environment_tables(analysis)]
    return [*tables, *(table for table in found if table is not None)]


def test_every_number_of_a_table_is_that_of_the_document(
    analysis: Analysis, document: dict[str, Json]
) -> None:
    numbers = [
        cell for table in _all(analysis) for row in table.rows for cell in row if isinstance(cell, Number)
    ]
    assert len(numbers) > 1000
    for number in numbers:
        assert resolve(document, number.pointer) == number.value, number.pointer


def test_rows_are_as_wide_as_their_heading(analysis: Analysis) -> None:
    for table in _all(analysis):
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.key


def test_keys_are_unique(analysis: Analysis) -> None:
    keys = [table.key for table in _all(analysis)]
    assert len(keys) == len(set(keys))


def test_rows_stand_in_the_order_of_the_file(analysis: Analysis) -> None:
    table = result_tables(analysis)[0]
    first = [getattr(row[0], "text", "") for row in table.rows if row[1] == "1"]
    assert first == list(analysis.treatments)
    assert [name.split()[0] for name in first[::2]] == [
        "algorithm=xz",
        "algorithm=bz2",
        "algorithm=<script>alert(1)</script>",
    ]


def test_the_twelve_parameters_are_there(analysis: Analysis) -> None:
    objectives, design = objective_table(analysis), design_table(analysis)
    assert design is not None
    titles = [column.title for column in objectives.columns]
    assert {"measure", "converges", "conf. %", "tol. %", "KPI percentile", "KPI conf. %"} <= set(titles)
    assert {"score percentile", "score conf. %"} <= set(titles)
    names = [row[0] for row in design.rows]
    assert {"rounds in a series", "series", "span of a series", "runtime of a trial, stated"} <= set(names)


def test_failures_have_the_end_of_their_log(analysis: Analysis) -> None:
    assert analysis.failures
    assert analysis.failures[0].tail == ("began", "the disk is <b>full</b> & gone")
