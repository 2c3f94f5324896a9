"""Judge a path that somebody fitted, by trials over it that have run: against the trials of a real path, or their printed means."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise import __version__
from trialwise.analysis.comparison.comparing import CompareOptions
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.likeness.judging import betrayed_by, farness, only, outcome_of, rows_of
from trialwise.analysis.likeness.results import Certificate, JudgedRow, Search
from trialwise.analysis.trial_set import TrialSet
from trialwise.design.subset import matches, subset
from trialwise.errors import AnalysisError, PlanError
from trialwise.experiment.path_files import PathCertificate, digest_in, judged_as, path_file
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.trials import PathEngine, PathSettings, PathTrial, way_text
from trialwise.store.first_value import first_value_by
from trialwise.study.locating import opened
from trialwise.study.path_fitting import FittedPath
from trialwise.study.real_trials import now, one_path

_NOT_SEARCHED = Search(0, 0, float("nan"), float("nan"), 0.0, "given")


def judge_path(
    real: TrialSet,
    emulated: TrialSet,
    over: Path,
    of: tuple[str, ...],
    options: CompareOptions,
    hold_out: tuple[str, ...] = (),
) -> FittedPath:
    """Certify the path of an experiment directory by its trials.

    All treatments count as held out, unless some are: then, of all paths of the experiment, the one is judged on them whose means are
    nearest in the others.

    Parameters
    ----------
    real, emulated
        The two sides, with the metrics of the experiments.
    over, of
        The directory of the emulated trials, and texts as `path=hand` that choose those over one path.
    hold_out
        Texts as `scheme=bbr,copa`, of the real side.

    Raises
    ------
    PlanError
        The trials are over several paths and nothing is held out, or everything is.
    AnalysisError
        They are over none, or the sides have nothing in common.
    """
    search, fit = _NOT_SEARCHED, ()
    if hold_out:
        real, emulated, choice = _chosen(real, emulated, options, hold_out)
        of, search, fit = (*of, *choice.of), choice.search, choice.fitted
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
        fitted=fit,
        held_out=held,
        not_simulated=(),
        search=search,
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


@dataclass(frozen=True, slots=True)
class _Choice:
    """A path of an experiment by texts as `rate=10Mbit/s`, how it was found, and the treatments by which."""

    of: tuple[str, ...]
    search: Search
    fitted: tuple[str, ...]


def _chosen(
    real: TrialSet, emulated: TrialSet, options: CompareOptions, hold_out: tuple[str, ...]
) -> tuple[TrialSet, TrialSet, _Choice]:
    """Return the real trials held out, the emulated ones over the path that is nearest in the others, and how it was chosen."""
    held = subset(hold_out, [dict(levels) for levels in real.treatments.values()], "--hold-out")
    names = [name for name, levels in real.treatments.items() if matches(levels, held)]
    others = [name for name in real.treatments if name not in names]
    if not others:
        raise PlanError(
            "every treatment is held out, and no path can be chosen by the others",
            hint="hold out fewer with --hold-out",
        )
    paths = _paths(real, emulated)
    judged = [rows_of(only(real, others), _over(emulated, path), options)[0] for path in paths]
    far = [farness(rows) for rows in judged]
    best = far.index(min(far))
    trials = max((row.n[1] for row in judged[best]), default=0)
    search = Search(len(paths), trials, far[0], far[best], 0.0, "chosen")
    of = tuple(f"{factor}={level}" for factor, (level,) in paths[best].items())
    fitted = tuple(dict.fromkeys(row.treatment for row in judged[best]))
    return only(real, names), _over(emulated, paths[best]), _Choice(of, search, fitted)


def _paths(real: TrialSet, emulated: TrialSet) -> list[dict[str, list[str]]]:
    """Return the levels of the factors that the emulated trials alone have, as they stand in their treatments."""
    known = {factor for levels in real.treatments.values() for factor in levels}
    found: list[dict[str, list[str]]] = []
    for levels in emulated.treatments.values():
        own = {factor: [level_text(level)] for factor, level in levels.items() if factor not in known}
        if own not in found:
            found.append(own)
    return found


def _over(emulated: TrialSet, path: Mapping[str, Sequence[str]]) -> TrialSet:
    return selected(emulated, {name: list(levels) for name, levels in path.items()}, emulated.name)


def _path(over: Path, of: tuple[str, ...]) -> tuple[PathSettings, PathEngine, int]:
    """Return the path of the chosen trials, their engine and the seed of their experiment."""
    with opened(over) as (experiment, _, ledger):
        trial = experiment.trial
        if not isinstance(trial, PathTrial):
            raise AnalysisError(
                f"{over}: its trials are of kind {trial.kind}, and those to judge are over a path"
            )
        rows = [
            row
            for row in ledger.present_trials()
            if row.status == "finished" and experiment.includes(row.factors)
        ]
        if not rows:
            raise AnalysisError(
                f"{over}: no trial has finished", hint=first_value_by(ledger.present_trials())
            )
        chosen = subset(of, [row.factors for row in rows], "--b")
        rows = [row for row in rows if matches(row.factors, chosen)]
        return one_path(experiment, rows, over, "--b"), trial.engine, experiment.seed


def _as_judged(row: JudgedRow) -> list[JudgedRow]:
    """Return a row under the names that path files have for its metric; one of another kind has none."""
    return [dataclasses.replace(row, metric=name) for name in judged_as(row.metric, 95.0)]
