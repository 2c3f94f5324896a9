"""What a page shows on request: one trial, a comparison of two experiments, the history of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from markupsafe import Markup

from trialwise import study
from trialwise.analysis.comparison.comparing import compare
from trialwise.errors import StoreError, TrialwiseError
from trialwise.foreign_files import read_foreign
from trialwise.report.document import Listing
from trialwise.report.documents import compare as comparisons
from trialwise.report.documents import history as histories
from trialwise.report.documents import trial as trials
from trialwise.serve.parts import refused_document, rendered
from trialwise.serve.places import Place
from trialwise.study.history import look_back
from trialwise.study.one_trial import one_trial
from trialwise.study.sides import with_pantheon_names

View = Callable[[], Markup]
_LARGEST_LOG = 4 << 20
_LOG_LINES = 200
_LONGEST_LINE = 500


def trial(place: Place, number: int, attempt: int | None) -> Markup:
    """Return how an attempt at a trial went, with what was kept of its output and its log."""
    found = one_trial(place.path, number, attempt)
    outputs = {name: kept.data for name, kept in found.outputs.items()}
    document = trials.document(found.document, outputs)
    log = found.document.log
    listing = (_log(place, log),) if log is not None else ()
    return rendered(replace(document, evidence=(*document.evidence, *listing)))


def _log(place: Place, name: str) -> Listing:
    try:
        text = read_foreign(place.path / name, _LARGEST_LOG, within=place.path, error=StoreError).decode(
            errors="replace"
        )
    except StoreError as error:
        return Listing((error.message,), (f"{name}:",))
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()]
    last = f", its last {_LOG_LINES} of {len(lines)} lines" if len(lines) > _LOG_LINES else ""
    return Listing(tuple(lines[-_LOG_LINES:]), (f"{name}{last}:",))


def comparison(a: Place, b: Place) -> Markup:
    """Return what `trialwise compare` says of two experiments."""
    sides = [replace(study.comparison_set(place.path), name=place.title) for place in (a, b)]
    one, other = with_pantheon_names(sides)
    return rendered(comparisons.document(compare(one, other)))


def history(places: Sequence[Place]) -> Markup:
    """Return what `trialwise history` says of experiments."""
    return rendered(histories.document(look_back([place.path for place in places])))


def refused(error: TrialwiseError) -> Markup:
    """Return why a view cannot be had."""
    return rendered(refused_document(error))
