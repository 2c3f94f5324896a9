"""Building of the section [results]: its format, and the claims of its patterns."""

from __future__ import annotations

from trialwise.experiment.file.sections import made_of
from trialwise.experiment.metric_building import check_claims, completed
from trialwise.experiment.metrics import Better, Metric
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.results import KEY, Claim, Results, ResultsTable
from trialwise.experiment.sources import ResultSource

_DIRECTIONS: tuple[Better | None, ...] = (None, "lower", "higher")


def build_results(table: ResultsTable | None, problems: Problems) -> Results | None:
    """Complete the section, and check its format and claims."""
    if table is None:
        return None
    _check_format(table.format, problems)
    _check_place(table, problems)
    claims = tuple(_claim(pattern, claimed, problems) for pattern, claimed in table.metrics.items())
    return made_of(Results, table, metrics={claim.pattern: claim.metric for claim in claims}, claims=claims)


def _check_format(name: str, problems: Problems) -> None:
    from trialwise.readers.register import families, readers_named  # imports every format

    if name != "auto" and not readers_named(name):
        known = families()
        meant = nearest(name, known)
        did = f'; did you mean "{meant}"?' if meant else ""
        problems.add(("results", "format"), f'"{name}" is not read{did}', f"known: auto, {', '.join(known)}")


def _check_place(table: ResultsTable, problems: Problems) -> None:
    from trialwise.readers.register import readers_named  # imports every format

    found = readers_named(table.format)
    if found and all(each.parts is not None for each in found) and not table.text.may_be_folder:
        problems.add(
            ("results", "from"),
            f'"{table.place}" is no folder of a trial\'s own, as "{table.format}" is',
            'write from = "{directory}/NAME", and have the harness write there',
        )


def _claim(pattern: str, table: Metric, problems: Problems) -> Claim:
    place = (*KEY, pattern)
    by_direction: dict[Better | None, Metric] = {
        better: completed(
            place,
            made_of(Metric, table, name=pattern, source=ResultSource(pattern, better=better)),
            problems,
        )
        for better in _DIRECTIONS
    }
    check_claims(place, by_direction[None], problems)
    return Claim(pattern, by_direction)
