"""The trials of an artifact as tables that any program reads: CSV, with a Frictionless Table Schema in `datapackage.json`.

https://specs.frictionlessdata.io/tabular-data-package, version 1
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trialwise.analysis.trial_set import TrialSet
from trialwise.exchange.artifact.description import Description, slug
from trialwise.exchange.csv_text import csv_text
from trialwise.exchange.plain import Json

NAME = "datapackage.json"
FOLDER = "tables"
_FIELDS = {
    "metric": ("string", "What was measured"),
    "unit": ("string", "Its unit; empty for pure numbers"),
    "treatment": ("string", "The treatment, with its levels"),
    "trial": ("string", "Number of the trial in the ledger"),
    "series": ("string", "Series of rounds in which nothing changed that makes them incomparable"),
    "round": ("string", "Series and round of the plan"),
    "started": ("number", "When it started, in Unix seconds; empty for simulated trials"),
    "seconds": (
        "number",
        "Time from one trial to the next, in seconds; of simulated ones, the computing time",
    ),
    "value": ("number", "The value of the metric in the trial, in its unit"),
}
_KEY = ("metric", "trial")


@dataclass(frozen=True, slots=True)
class PackedTable:
    """A table of an artifact: its name there, its content, and the names of the factors that have columns of their own."""

    name: str
    content: bytes
    factors: tuple[str, ...]


def trials_table(folder: str, trials: TrialSet) -> PackedTable:
    """Return the table of the trials of an experiment: a row for each metric of each trial that has a value."""
    names = dict.fromkeys(name for levels in trials.treatments.values() for name in levels)
    factors = tuple(name for name in names if name not in _FIELDS)
    text = csv_text((*_FIELDS, *factors), _rows(trials, factors))
    return PackedTable(f"{FOLDER}/{folder}.csv", text.encode(), factors)


def _rows(trials: TrialSet, factors: Sequence[str]) -> Iterator[list[object]]:
    for row in trials.table.iter_rows(named=True):
        levels = trials.treatments.get(row["treatment"], {})
        own = {**row, "unit": trials.metrics[row["metric"]].unit, "trial": row["trial"].rpartition("/")[2]}
        yield [*(own[name] for name in _FIELDS), *(levels.get(name) for name in factors)]


def package_text(description: Description, tables: Sequence[PackedTable]) -> bytes:
    """Return datapackage.json, which says what the columns of the tables are."""
    document: dict[str, Json] = {
        "profile": "tabular-data-package",
        "name": slug(description.title),
        "title": description.title,
        "description": description.about,
        "resources": [_resource(table) for table in tables],
    }
    if description.licence:
        document["licenses"] = [{"name": description.licence}]
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _resource(table: PackedTable) -> Json:
    known = {**_FIELDS, **dict.fromkeys(table.factors, ("string", "Level of this factor"))}
    fields: list[Json] = [
        {"name": name, "type": kind, "description": what} for name, (kind, what) in known.items()
    ]
    return {
        "name": slug(table.name.rpartition("/")[2].removesuffix(".csv")),
        "path": table.name,
        "profile": "tabular-data-resource",
        "encoding": "utf-8",
        "schema": {"fields": fields, "missingValues": [""], "primaryKey": [*_KEY]},
    }
