"""The folder of a re-run: its record, and for each packed experiment its programs and a directory of our own.

`verify-1/FOLDER/` is an experiment directory, `verify-1/programs/FOLDER/` the folder of its experiment. `verify.json` says which
artifact is re-run, since when, and when its claims were judged.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import tomlkit
from pydantic import ValidationError

from trialwise.analysis.claims.looks import Look
from trialwise.analysis.context import session_facts
from trialwise.errors import StoreError, not_written
from trialwise.exchange.artifact.reading import Artifact
from trialwise.experiment.file.sections import adapter
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.foreign_files import read_foreign
from trialwise.measurement.identity import Identity
from trialwise.store.directory import EXPERIMENT, FOLDERS, LEDGER, ExperimentDirectory
from trialwise.store.files import write_whole
from trialwise.study.artifact.chains import PROGRAMS
from trialwise.study.locating import frozen_text, opened

RECORD = "verify.json"
FORMAT: Literal["trialwise.rerun/1"] = "trialwise.rerun/1"
_MAX_RECORD = 4 << 20
_MOST_FOLDERS = 10_000
_SEEDS = 1 << 53
_RUN = ("program", "interpreter", "script")
_STOPS = ("stop", "looks", "pilot", "max_trials", "budget", "span", "between")
"""Keys of the design that say when to run or to stop: the re-run decides that itself."""


@dataclass(frozen=True, slots=True)
class Record:
    """What `verify.json` says: the identity of the artifact, the beginning (Unix seconds), the seed of the orders.

    `planned` are the rounds planned for each claim, `looks` those taken, and `spent` the seconds in which trials ran.
    """

    format: Literal["trialwise.rerun/1"]
    identity: str
    began: float
    seed: int
    planned: Mapping[str, int] = field(default_factory=dict[str, int])
    looks: tuple[Look, ...] = ()
    spent: float = 0.0


class RerunFolder:
    """The folder of one re-run of an artifact."""

    def __init__(self, path: Path, record: Record) -> None:
        self.path = path
        self.record = record

    def directory(self, folder: str) -> Path:
        """Return the experiment directory in which a packed experiment is measured again."""
        return self.path / folder

    def note(self, **changed: Any) -> None:  # noqa: ANN401 fields of the record
        """Change the record, on disk too."""
        self.record = replace(self.record, **changed)
        content = json.dumps(asdict(self.record), indent=1).encode()
        try:
            write_whole(self.path / RECORD, lambda file: file.write(content))
        except OSError as error:
            raise not_written(self.path / RECORD, error) from error

    def prepared(self, artifact: Artifact, folder: str, name: str, rounds: int) -> tuple[str, Experiment]:
        """Return text and experiment of a re-run of at least `rounds` rounds, with its programs in place.

        It goes into the directory `name`, and keeps the seed of the packed experiment if that is not called as its `folder` is.

        Raises
        ------
        StoreError
            Files cannot be written.
        PlanError
            The experiment is wrong.
        """
        place = self.path / PROGRAMS / name
        if not place.exists():
            _copy_files(artifact, folder, place)
        packed = ExperimentDirectory(artifact.folder / folder)
        own = ExperimentDirectory(self.directory(name))
        before = load_rounds(frozen_text(own)) if own.is_begun else 0
        seed = self.record.seed if name == folder else None
        text = rerun_text(frozen_text(packed), seed, max(rounds, before))
        write_whole(place / EXPERIMENT, lambda file: file.write(text.encode()))
        return text, parse_experiment(text, place / EXPERIMENT)


def begin(path: Path, identity: str) -> RerunFolder:
    """Make the folder of a re-run that begins now.

    Raises
    ------
    StoreError
        It exists, or cannot be written.
    """
    try:
        path.mkdir()
    except FileExistsError as error:
        raise StoreError(f"{path}: exists", hint="name a new folder with -o") from error
    except OSError as error:
        raise not_written(path, error) from error
    folder = RerunFolder(path, Record(FORMAT, identity, time.time(), secrets.randbelow(_SEEDS)))
    folder.note()
    return folder


def opened_rerun(path: Path, identity: str) -> RerunFolder:
    """Open the folder of a re-run of the artifact with this identity.

    Raises
    ------
    StoreError
        It is none, or that of another artifact.
    """
    content = read_foreign(path / RECORD, _MAX_RECORD, within=path, error=StoreError)
    try:
        record = cast("Record", adapter(Record).validate_json(content))
    except ValidationError as error:
        raise StoreError(
            f"{path / RECORD}: says nothing of a re-run", hint="name a new folder with -o"
        ) from error
    if record.identity != identity:
        raise StoreError(
            f"{path}: is the re-run of another artifact (identity sha256:{record.identity[:12]}…)",
            hint="name a new folder with -o",
        )
    return RerunFolder(path, record)


def is_rerun(path: Path) -> bool:
    """Return True for the folder of a re-run."""
    return (path / RECORD).is_file()


def latest_rerun(artifact: Path, identity: str) -> RerunFolder | None:
    """Return the latest re-run of an artifact beside it."""
    for number in range(_first_free(artifact) - 1, 0, -1):
        path = _beside(artifact, number)
        if is_rerun(path):
            with contextlib.suppress(StoreError):
                return opened_rerun(path, identity)
    return None


def new_path(artifact: Path) -> Path:
    """Return where the next re-run goes: verify-1, verify-2, … beside the artifact."""
    return _beside(artifact, _first_free(artifact))


def _beside(artifact: Path, number: int) -> Path:
    return artifact.resolve().parent / f"verify-{number}"


def _first_free(artifact: Path) -> int:
    try:
        for number in range(1, _MOST_FOLDERS):
            if not _beside(artifact, number).exists():
                return number
    except OSError as error:
        raise not_written(artifact.parent, error, hint="name a folder that you may write with -o") from error
    raise StoreError(f"{artifact.parent}: holds too many re-runs", hint="name a folder with -o")


def rerun_text(packed: str, seed: int | None, rounds: int) -> str:
    """Return the file of an experiment for a re-run: one series of `rounds` rounds, all on this machine.

    It has a `seed` of its own, or that of the authors if there is none.
    """
    document = cast("dict[str, Any]", tomlkit.parse(packed))
    if seed is not None:
        document["experiment"]["seed"] = seed
    design = document.setdefault("design", tomlkit.table())
    for name in _STOPS:
        design.pop(name, None)
    design["series"], design["rounds"] = 1, rounds
    document.pop("workers", None)
    _without_stops(document)
    return tomlkit.dumps(cast("tomlkit.TOMLDocument", document))


def _without_stops(document: dict[str, Any]) -> None:
    """Take out of the metrics what would end the run by its results."""
    for metrics in (document.get("metrics", {}), document.get("results", {}).get("metrics", {})):
        for metric in metrics.values():
            kpis: list[Any] | dict[str, Any] = metric.get("kpi", [])  # several tables, or one
            tables: list[dict[str, Any]] = [kpis] if isinstance(kpis, dict) else kpis
            for table in (metric, *tables, metric.get("variability", {})):
                table.pop("stop", None)


def load_rounds(text: str) -> int:
    """Return the rounds that the file of a re-run plans."""
    return int(cast("dict[str, Any]", tomlkit.parse(text))["design"]["rounds"])


def files_of(artifact: Artifact, folder: str) -> dict[str, str]:
    """Return what a re-run of an experiment may run and read, by name in the folder of the experiment: the names in the artifact.

    These are the packed programs, and the inputs that were frozen when it began: what factors are drawn from, traces, flows.
    """
    programs, frozen = f"{PROGRAMS}/{folder}/", f"{folder}/"
    inputs = {
        relative: name
        for name in artifact.names
        if name.startswith(frozen)
        and (relative := name.removeprefix(frozen)).partition("/")[0] not in (*FOLDERS, EXPERIMENT, LEDGER)
    }
    return inputs | {
        name.removeprefix(programs): name for name in artifact.names if name.startswith(programs)
    }


def _copy_files(artifact: Artifact, folder: str, place: Path) -> None:
    """Copy the packed programs and inputs of an experiment, and make executable what its trials executed."""
    executed = _executed(artifact.folder / folder)
    aside = place.with_name(f"{place.name}.tmp")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for relative, name in files_of(artifact, folder).items():
            target = aside / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(artifact.folder / name, target)
            target.chmod(0o755 if relative in executed else 0o644)
        aside.rename(place)
    except OSError as error:
        raise not_written(place, error) from error


def _executed(packed: Path) -> set[str]:
    with opened(packed) as (_, directory, ledger):
        records = [facts.environment for facts in session_facts(directory, ledger) if facts.environment]
    found: set[str] = set()
    for record in records:
        try:
            found |= {file.name for file in Identity.from_json(record).files if file.role in _RUN}
        except ValueError:
            continue
    return found
