"""Judge a path that somebody fitted, by trials over it that have run: against the trials of a real path, or their printed means."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from trialwise import __version__
from trialwise.analysis.comparison.comparing import CompareOptions
from trialwise.analysis.likeness.judging import betrayed_by, outcome_of, rows_of
from trialwise.analysis.likeness.results import Certificate, JudgedRow, Search
from trialwise.analysis.trial_set import TrialSet
from trialwise.design.subset import matches, subset
from trialwise.errors import AnalysisError
from trialwise.experiment.path_files import PathCertificate, digest_in, judged_as, path_file
from trialwise.experiment.trials import PathEngine, PathSettings, PathTrial, way_text
from trialwise.study.load import opened
from trialwise.study.path_fitting import FittedPath
from trialwise.study.real_trials import now, one_path

_NOT_SEARCHED = Search(0, 0, float("nan"), float("nan"), 0.0, "given")


def judge_path(
    real: TrialSet, emulated: TrialSet, over: Path, of: tuple[str, ...], options: CompareOptions
) -> FittedPath:
    """Certify the path of an experiment directory by its trials; all treatments count as held out.

    Parameters
    ----------
    real, emulated
        The two sides, with the metrics of the experiments.
    over, of
        The directory of the emulated trials, and texts as `path=hand` that choose those over one path.

    Raises
    ------
    PlanError
        The trials are over several paths.
    AnalysisError
        They are over none, or the sides have nothing in common.
    """
    settings, engine, seed = _path(over, of)
    rows, correction = rows_of(real, emulated, options)
    passed, undecided, failed = outcome_of(rows)
    named = outcome_of([part for row in rows for part in _as_judged(row)])
    made, held = now(), tuple(dict.fromkeys(row.treatment for row in rows))
    bare = dataclasses.replace(
        settings, folder=str(Path(settings.folder).resolve()), source="", refused=(), file=""
    )
    text = path_file(bare, PathCertificate(real.name, made, held, *named))
    certificate = Certificate(
        real=real.name,
        span=None,
        made=made,
        version=__version__,
        seed=seed,
        engine=engine,
        uplink=way_text(settings.uplink),
        downlink=way_text(settings.downlink),
        digest=digest_in(text),
        parameters=(),
        doubts=(),
        fitted=(),
        held_out=held,
        not_simulated=(),
        search=_NOT_SEARCHED,
        confidence=options.confidence,
        correction=correction,
        judged=rows,
        left_out=(),
        passed=passed,
        open=undecided,
        failed=failed,
        betrayed=betrayed_by(rows),
        course=(),
        notes=(*real.notes, *emulated.notes),
    )
    return FittedPath(certificate, text)


def _path(over: Path, of: tuple[str, ...]) -> tuple[PathSettings, PathEngine, int]:
    """Return the path of the chosen trials, their engine and the seed of their experiment."""
    with opened(over) as (experiment, _, ledger):
        trial = experiment.trial
        if not isinstance(trial, PathTrial):
            raise AnalysisError(
                f"{over}: its trials are of kind {trial.kind}, and those to judge are over a path"
            )
        rows = [
            row for row in ledger.trials() if row.status == "finished" and experiment.includes(row.factors)
        ]
        if not rows:
            raise AnalysisError(f"{over}: no trial has finished", hint="run the experiment first")
        chosen = subset(of, [row.factors for row in rows], "--b")
        rows = [row for row in rows if matches(row.factors, chosen)]
        return one_path(experiment, rows, over, "--b"), trial.engine, experiment.seed


def _as_judged(row: JudgedRow) -> list[JudgedRow]:
    """Return a row under the names that path files have for its metric; one of another kind has none."""
    return [dataclasses.replace(row, metric=name) for name in judged_as(row.metric, 95.0)]
