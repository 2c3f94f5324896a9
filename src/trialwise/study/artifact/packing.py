"""From experiment directories to one archive that a stranger can verify: checked, without private names, whole or absent."""

from __future__ import annotations

import getpass
import gzip
import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl
import tomlkit

from trialwise.analysis.artifacts import Packed, PackedClaim, PackedExperiment, Replaced
from trialwise.analysis.claims.results import ClaimResult
from trialwise.analysis.claims.treatments import claimed_treatments
from trialwise.analysis.progress import Progress
from trialwise.errors import AnalysisError, PlanError, StoreError, not_written
from trialwise.exchange.artifact import citation, crate, readme
from trialwise.exchange.artifact.archive import Entry, with_manifest, write_zip
from trialwise.exchange.artifact.description import (
    LICENCE,
    Author,
    Description,
    Needs,
    PackedFile,
)
from trialwise.exchange.artifact.manifest import NAME as MANIFEST
from trialwise.exchange.artifact.privacy import Names
from trialwise.exchange.claims_json import claims_document
from trialwise.experiment.claims import NAME as CLAIMS
from trialwise.experiment.claims import ClaimData, ClaimsFile, StatedClaim
from trialwise.foreign_files import read_foreign
from trialwise.measurement.inherited import hidden
from trialwise.store.directory import latest
from trialwise.study.artifact.chains import PROGRAMS
from trialwise.study.artifact.contents import (
    Contents,
    Opened,
    contents_of,
    names_in,
    open_for_packing,
    stated_variables,
)
from trialwise.study.artifact.verifying import RESULTS, verify
from trialwise.study.claims import JudgedClaims, claims_file, data_files, judged_claims
from trialwise.temporary import vanishing_folder
from trialwise.visible import visible
from trialwise.whole_files import whole_file

_MAX_TEXT = 16 << 20
_OF_TRIAL = re.compile(r"/(\d{6,})-\d+[^/]*$")
"""The names of files that a trial left: its number, and its attempt."""
_OUR_TEXTS = (LICENCE, CLAIMS, RESULTS, readme.NAME, crate.NAME, citation.CITATION, citation.ZENODO, MANIFEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """What the authors say: `licence` is an SPDX identifier; without it a file LICENSE lies beside the claims."""

    claims: Path | None = None
    title: str = ""
    licence: str = ""
    authors: tuple[Author, ...] = ()
    doi: str = ""
    not_secret: tuple[str, ...] = ()


def pack(
    directories: Sequence[Path], out: Path, options: PackOptions | None = None, told: Progress | None = None
) -> Packed:
    """Pack experiment directories with the claims on them; the archive appears whole, once it verifies, or not at all.

    Raises
    ------
    PlanError
        Claims or options are wrong, a claim is not supported, or a variable looks like a secret.
    AnalysisError
        Data cannot be read.
    StoreError
        A directory is in use, or the archive cannot be written.
    """
    try:
        return _packed(directories, out, options or PackOptions(), told)
    except OSError as error:
        raise not_written(out, error) from error


def _packed(directories: Sequence[Path], out: Path, options: PackOptions, told: Progress | None) -> Packed:
    opened = _opened(directories)
    for each in opened:
        _refuse_secrets(each, options)
    file = _claims_file(directories, options)
    judged = None if file is None else judged_claims(file, told)
    if judged is not None:
        _refuse_unsupported(judged)
    folder = directories[0].parent if file is None else file.parent
    licence = _licence(folder, options)
    names = _names(opened)
    with vanishing_folder("trialwise-") as workshop:
        contents = [contents_of(each, names, workshop) for each in opened]
        entries = [entry for each in contents for entry in each.entries]
        entries += [] if judged is None else _claims(judged, folder, opened)
        entries += [] if licence is None else [Entry(LICENCE, licence)]
        description = _description(contents, judged, options)
        entries = [*entries, *_texts(description, entries)]
        whole, identity = with_manifest(entries)
        with whole_file(out) as aside:
            write_zip(aside, whole, description.moment)
            _check_again(aside, identity)
            size = aside.stat().st_size
        replaced = _replaced(names, entries)
    return Packed(
        path=str(out),
        identity=identity,
        files=len(whole) - 1,
        size=size,
        experiments=tuple(description.experiments),
        claims=tuple(description.claims),
        replaced=replaced,
        removed=tuple(sorted(names.removed)),
        left_out=tuple(name for each in contents for name in each.left_out),
        authors=len(options.authors),
        doi=options.doi,
    )


# What is packed


def _opened(directories: Sequence[Path]) -> list[Opened]:
    names = Counter(latest(path).resolve().name for path in directories)
    twice = next((name for name, number in names.items() if number > 1), None)
    if twice is not None:
        raise PlanError(
            f"two directories are called {twice}", hint="rename one: each is a folder of the artifact"
        )
    taken = next((name for name in names if name in (*_OUR_TEXTS, PROGRAMS)), None)
    if taken is not None:
        raise PlanError(f"{taken}: is the name of a part of an artifact", hint="rename the directory")
    return [open_for_packing(path, latest(path).resolve().name) for path in directories]


def _refuse_secrets(each: Opened, options: PackOptions) -> None:
    for name, value in stated_variables(each).items():
        if name not in options.not_secret and hidden(name, value, b"") != value:
            raise PlanError(
                f"{each.path}: the experiment file states the variable {name}, which looks like a secret",
                hint=f"do not publish it; if it is none, add --not-secret {name}",
            )


def _claims_file(directories: Sequence[Path], options: PackOptions) -> Path | None:
    if options.claims is not None:
        return claims_file(options.claims)
    place = directories[0] if len(directories) == 1 else directories[0].parent
    try:
        return claims_file(place)
    except AnalysisError:
        return None


def _refuse_unsupported(judged: JudgedClaims) -> None:
    """Refuse to pack claims that the authors' own data do not support."""
    for claim, result in zip(judged.stated.claims, judged.check.claims, strict=True):
        if result.verdict == "supported" or (result.verdict == "undecided" and claim.expected is not None):
            continue
        hint = (
            'measure more, or write expected = "undecided" into the claim'
            if result.verdict == "undecided"
            else "correct the claim, or leave it out"
        )
        raise PlanError(
            f"{judged.check.file}: claim {claim.id} is {result.verdict} by its own data", hint=hint
        )


def _licence(folder: Path, options: PackOptions) -> bytes | None:
    """Return the text of the licence beside the claims, or of its identifier."""
    if (folder / LICENCE).is_file():
        return read_foreign(folder / LICENCE, _MAX_TEXT, within=folder, error=StoreError)
    if options.licence:
        return f"SPDX-License-Identifier: {options.licence}\n".encode()
    raise PlanError(
        "there is no licence: without one nobody may use the artifact",
        hint=f"add --licence CC-BY-4.0, or put a file {LICENCE} beside the claims",
    )


def _names(opened: Sequence[Opened]) -> Names:
    found = [names_in(each) for each in opened]
    hosts = {os.uname().nodename}.union(*(each for each, _ in found))
    users = {getpass.getuser()}.union(*(each for _, each in found))
    return Names(hosts, users)


def _claims(judged: JudgedClaims, folder: Path, opened: Sequence[Opened]) -> Iterator[Entry]:
    """Yield the file of claims with the places of its data in the artifact, its results, and the files of other tools."""
    document = tomlkit.parse((folder / Path(judged.check.file).name).read_text(encoding="utf-8"))
    places = {each.path.resolve(): each for each in opened}
    if "data" not in document:
        document["data"] = tomlkit.table()
    stated: Any = document["data"]
    tables = cast("list[Any]", stated if isinstance(stated, list) else [stated])
    for data, table in zip(judged.stated.data or (ClaimData(directory="."),), tables, strict=True):
        if data.directory is not None:
            place = _place_of(folder / data.directory, places)
            table["directory"] = place.folder
            if place.head is not None:
                table["head"] = place.head.hash
        for file in data_files(folder, data) if data.files else ():
            yield Entry(file.relative_to(folder).as_posix(), file)
    yield Entry(CLAIMS, tomlkit.dumps(document).encode())
    check = claims_document(judged.check) | {"file": CLAIMS}
    yield Entry(RESULTS, _json(check))


def _place_of(directory: Path, places: Mapping[Path, Opened]) -> Opened:
    found = places.get(latest(directory).resolve())
    if found is None:
        raise PlanError(
            f"{CLAIMS}: its data are in {directory}, which is not packed", hint=f"name {directory} as well"
        )
    return found


def _json(document: Mapping[str, object]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


# What describes it


def _description(
    contents: Sequence[Contents], judged: JudgedClaims | None, options: PackOptions
) -> Description:
    experiments = [each.experiment for each in contents]
    title = options.title or ", ".join(each.name for each in experiments)
    return Description(
        title=visible(title),
        about=visible("; ".join(dict.fromkeys(each.about for each in experiments))),
        moment=_moment(experiments),
        licence=options.licence,
        authors=options.authors,
        doi=options.doi,
        experiments=experiments,
        claims=[] if judged is None else list(_costs(judged, contents)),
        needs=_needs(judged and judged.stated),
    )


def _moment(experiments: Sequence[PackedExperiment]) -> float:
    """Return the one time stamp of the artifact: SOURCE_DATE_EPOCH, or the end of the last trial."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    return float(stated) if stated.isdecimal() else max(each.ended for each in experiments)


def _needs(stated: ClaimsFile | None) -> Needs:
    if stated is None:
        return Needs(None, "", "", root=False, other=())
    needs = stated.needs
    return Needs(needs.cores, needs.memory or "", needs.disk or "", needs.root, needs.other)


def _costs(judged: JudgedClaims, contents: Sequence[Contents]) -> Iterator[PackedClaim]:
    for claim, result in zip(judged.stated.claims, judged.check.claims, strict=True):
        yield _cost(judged, claim, result, contents)


def _cost(
    judged: JudgedClaims, claim: StatedClaim, result: ClaimResult, contents: Sequence[Contents]
) -> PackedClaim:
    """Return what the trials that a claim rests on cost: of trials of our own, from the ledger."""
    trials = judged.trials_of(claim)
    wanted = claimed_treatments(trials, claim)
    own = trials.of(claim.metric).filter(pl.col("treatment").is_in(wanted)).unique("trial")
    seconds = own["seconds"].fill_null(0.0).sum()
    data = next((each for each in judged.stated.data if each.name == claim.data), None)
    folder = _folder_of(data, contents)
    numbers = {name.rpartition("/")[2] for name in own["trial"].to_list()}
    return PackedClaim(
        result=result,
        folder=folder,
        trials=own.height,
        seconds=float(seconds),
        size=_size(folder, numbers, contents),
        expected=claim.expected is not None,
        rerun=claim.rerun and bool(folder),
    )


def _folder_of(data: ClaimData | None, contents: Sequence[Contents]) -> str:
    """Return the folder of a claim's data in the artifact; empty for files of other tools."""
    if data is not None and data.directory is None:
        return ""
    folders = [each.experiment.folder for each in contents]
    named = "" if data is None or data.directory is None else Path(data.directory).name
    return named if named in folders else folders[0]


def _size(folder: str, numbers: set[str], contents: Sequence[Contents]) -> int:
    """Return the bytes that trials left: files that begin with their number."""
    entries = next((each.entries for each in contents if each.experiment.folder == folder), ())
    return sum(
        entry.measured[1]
        for entry in entries
        if (found := _OF_TRIAL.search(entry.name)) and str(int(found[1])) in numbers
    )


def _texts(description: Description, entries: Sequence[Entry]) -> Iterator[Entry]:
    texts = [
        Entry(readme.NAME, readme.readme_text(description)),
        Entry(citation.CITATION, citation.citation_text(description)),
        Entry(citation.ZENODO, citation.zenodo_text(description)),
    ]
    yield from texts
    files = sorted(
        (PackedFile(each.name, each.measured[1], each.measured[0]) for each in (*entries, *texts)),
        key=lambda file: file.name.encode(),
    )
    yield Entry(crate.NAME, crate.crate_text(description, files))


# What is checked


def _check_again(archive: Path, identity: str) -> None:
    """Verify the archive as a stranger does, before it gets its name."""
    found = verify(archive)
    if found.integrity.identity != identity or found.exit_code != 0:
        bad = [claim.result.id for claim in found.claims if not claim.holds]
        bad += [*found.integrity.changed, *(text for ledger in found.ledgers for text in ledger.broken)]
        raise StoreError(
            f"the archive does not verify: {', '.join(bad)}",
            hint="what a ledger holds was changed after it was recorded, or this is a fault of Trialwise",
        )


_MOST_SEARCHED = 64 << 20


def _replaced(names: Names, entries: Sequence[Entry]) -> tuple[Replaced, ...]:
    """Return what was replaced, with the number of files that still hold each name."""
    stays: Counter[str] = Counter()
    for entry in entries:
        stays.update(names.found_in(_searched(entry)))
    known = (name for name in names.stand_ins if names.replaced[name] or stays[name])
    return tuple(Replaced(name, names.stand_ins[name], names.replaced[name], stays[name]) for name in known)


def _searched(entry: Entry) -> bytes:
    """Return the content of a file, unpacked, of which only the beginning is searched."""
    content = b""
    for chunk in entry.chunks():
        content += chunk
        if len(content) > _MOST_SEARCHED:
            break
    if not entry.name.endswith(".gz"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
            return unpacked.read(_MOST_SEARCHED)
    except (OSError, EOFError, zlib.error):
        return b""
