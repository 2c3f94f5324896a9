"""From a file of claims to what its data say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.results import ClaimResult, ClaimsCheck
from trialwise.analysis.exclusions import changed_verdicts
from trialwise.analysis.progress import Progress
from trialwise.analysis.recorded import Recorded
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.artifact.manifest import identity_of, manifest_text
from trialwise.exchange.result_files import of_one_tool
from trialwise.experiment.claims import NAME, ClaimData, ClaimsFile, StatedClaim, read_claims
from trialwise.measurement.file_identity import digest_of
from trialwise.readers.gathering import gather
from trialwise.store.directory import latest
from trialwise.study import looking, reading
from trialwise.study.claimed_contents import with_contents
from trialwise.study.sources import Directory, is_ours, source

_MOST_FILES = 100_000


@dataclass(frozen=True, slots=True)
class JudgedClaims:
    """A file of claims, the trials of each of its data by name, and what they say."""

    stated: ClaimsFile
    trials: Mapping[str | None, TrialSet]
    check: ClaimsCheck

    def trials_of(self, claim: StatedClaim) -> TrialSet:
        """Return the trials that a claim is about."""
        return self.trials[claim.data if claim.data is not None else next(iter(self.trials))]


def check_claims(path: Path, told: Progress | None = None) -> ClaimsCheck:
    """Check the claims of a file, or of `claims.toml` in a folder, as `judged_claims` does."""
    return judged_claims(path, told).check


def judged_claims(path: Path, told: Progress | None = None) -> JudgedClaims:
    """Judge the claims of a file, or of `claims.toml` in a folder.

    Parameters
    ----------
    told
        Receives the progress of reading.

    Raises
    ------
    PlanError
        The file is wrong.
    AnalysisError
        There is none, its data cannot be read, or a claim names what the data do not have; the message names the claim.
    """
    file = claims_file(path)
    stated = read_claims(file)
    sets = {
        data.name: _trials(file.parent, data, stated.claims, told)
        for data in stated.data or (ClaimData(directory="."),)
    }
    found = JudgedClaims(stated, sets, ClaimsCheck(str(file), (), ()))
    results = _judged(found)
    notes = tuple(dict.fromkeys(note for trials in sets.values() for note in trials.notes))
    return replace(found, check=ClaimsCheck(str(file), results, (*notes, *_with_left_out(found, results))))


def _judged(found: JudgedClaims) -> tuple[ClaimResult, ...]:
    results: list[ClaimResult] = []
    for claim in found.stated.claims:
        try:
            level = claim.level or found.stated.defaults.level
            results.append(judge_claim(found.trials_of(claim), claim, level))
        except AnalysisError as error:
            where = f"{found.check.file}: claim {claim.id}"
            raise AnalysisError(f"{where}: {error.message}", hint=error.hint) from error
    return tuple(results)


def _with_left_out(found: JudgedClaims, results: Sequence[ClaimResult]) -> Iterator[str]:
    """Say which verdicts are others with the trials that somebody left out of experiment directories."""
    folder = Path(found.check.file).parent
    others = {
        data.name: trials
        for data in found.stated.data or (ClaimData(directory="."),)
        if data.directory is not None
        and (trials := reading.comparison_set_with_left_out(folder / data.directory)) is not None
    }
    if others:
        again = _judged(replace(found, trials={**found.trials, **others}))
        yield from changed_verdicts(
            *({f"claim {one.id}": one.verdict for one in each} for each in (results, again))
        )


def claims_file(path: Path) -> Path:
    """Return the file of claims that a path stands for: itself, the one in a folder, or the one beside an experiment directory.

    Raises
    ------
    AnalysisError
        There is none.
    """
    file = path / NAME if path.is_dir() else path
    if not file.is_file() and is_ours(path):
        beside = (
            each.parent / NAME for each in (path.absolute(), path.resolve())
        )  # as it is named, then where it is
        file = next((each for each in beside if each.is_file()), file)
    if not file.is_file():
        hint = (
            f"write one, or begin with `trialwise claims {path} --suggest`"
            if path.is_dir()
            else "name a file or a folder"
        )
        raise AnalysisError(f"{file}: there is no file of claims", hint=hint)
    return file


def _trials(folder: Path, data: ClaimData, claims: Sequence[StatedClaim], told: Progress | None) -> TrialSet:
    if data.directory is not None:
        place = folder / data.directory
        if not is_ours(place):
            raise AnalysisError(
                f"{place}: is no experiment directory",
                hint="name one in [data] directory, or result files in files",
            )
        return with_contents(trials_of([place], None, told), latest(place), claims)
    files = data_files(folder, data)
    if data.sha256 is not None and digest_over(folder, files) != data.sha256:
        raise AnalysisError(
            f"{folder}: {', '.join(data.files)}: not the files whose hash stands in [data] sha256",
            hint="put those files back, or take sha256 out if the others are meant",
        )
    return trials_of(files, data.factor, told)


def digest_over(folder: Path, files: Sequence[Path]) -> str:
    """Return the SHA-256 over files in a folder: that of the lines that `sha256sum` writes for them, sorted by name."""
    return identity_of(
        manifest_text({each.relative_to(folder).as_posix(): digest_of(each) for each in files})
    )


def data_files(folder: Path, data: ClaimData) -> list[Path]:
    """Return the files of other tools that data of claims in a folder name.

    Raises
    ------
    AnalysisError
        There is none, or there are very many.
    """
    paths = list(dict.fromkeys(each for pattern in data.files for each in _matching(folder, pattern)))
    if not paths:
        raise AnalysisError(
            f"{folder}: no file matches {', '.join(data.files)}", hint="correct files in [data]"
        )
    return paths


def _matching(folder: Path, pattern: str) -> list[Path]:
    found: list[Path] = []
    for each in folder.glob(pattern):
        if each.name == NAME:
            continue
        found.append(each)
        if len(found) > _MOST_FILES:
            raise AnalysisError(
                f"{folder / pattern}: matches more than {_MOST_FILES} files", hint="name fewer"
            )
    return sorted(found)


def trials_of(paths: list[Path], factor: str | None, told: Progress | None = None) -> TrialSet:
    """Return the trials of an experiment directory or of files, as `compare` takes them.

    Raises
    ------
    AnalysisError
        They cannot be read.
    """
    found = source(paths, factor)
    if isinstance(found, Directory):
        return reading.comparison_set(found.path, told=told)
    if isinstance(found, Recorded):
        return found.trials
    return looking.trials_of(of_one_tool(gather(paths), str(paths[0])))  # a table, whose columns nobody names
