"""What the trials of an experiment directory reported and wrote, as hashes, for claims that it repeats."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.trial_set import CONTENTS, TrialSet
from trialwise.experiment.claims import StatedClaim
from trialwise.late import pl
from trialwise.measurement.keeping import kept_digests
from trialwise.store.outputs import read_files, read_output
from trialwise.store.records import TrialRow
from trialwise.study.locating import opened


def with_contents(trials: TrialSet, path: Path, claims: Iterable[StatedClaim]) -> TrialSet:
    """Add `TrialSet.contents` to the trials of a directory if one of the claims says that something repeats."""
    identities = [claim.identical for claim in claims if claim.identical is not None]
    if not identities:
        return trials
    written = any(each.written for each in identities)
    with opened(path) as (experiment, directory, ledger):
        store = StoreObservations(experiment, directory, ledger)
        rows = [row for row in store.rows if row.status == "finished" and not row.warmup]
        found = [("", row, "") for row in rows]
        for metric in experiment.metrics:
            by_trial = {(each.number, each.attempt): each for each in store.of(metric)}
            for row in rows:
                if (one := by_trial.get((row.number, row.attempt))) is not None:
                    parts = [one.values.tobytes(), b"" if one.times is None else one.times.tobytes()]
                    found.append((f"metric:{metric.name}", row, hashlib.sha256(b"|".join(parts)).hexdigest()))
        if written:
            found += [(what, row, sha256) for row in rows for what, sha256 in _kept(path, row)]
        cells = [
            (what, row.treatment, f"{store.series_of(row)}.{row.round}", sha256)
            for what, row, sha256 in found
        ]
    return replace(trials, contents=pl.DataFrame(cells, schema=CONTENTS, orient="row"))


def _kept(folder: Path, row: TrialRow) -> Iterator[tuple[str, str | None]]:
    """Yield what a trial printed and the files that it kept, each with its SHA-256, or None if it is not whole."""
    for what in ("stdout", "stderr"):
        if (output := read_output(folder, row.number, row.attempt, what)) is not None:
            yield what, None if output.cut else hashlib.sha256(output.data).hexdigest()
    for name, sha256 in kept_digests(read_files(folder, row.number, row.attempt) or b"").items():
        yield f"file:{name}", sha256
