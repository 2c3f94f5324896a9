"""From experiment directories to one archive that a stranger can verify: checked, without private names, whole or absent."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import tomlkit

from trialwise.analysis.artifacts import Packed, PackedExperiment, Rehearsal
from trialwise.analysis.progress import Progress
from trialwise.errors import AnalysisError, PlanError, StoreError, TrialwiseError, not_written
from trialwise.exchange.artifact import appendix, citation, crate, readme, tables
from trialwise.exchange.artifact.archive import Entry, check_name, with_manifest, write_archive
from trialwise.exchange.artifact.description import (
    LICENCE,
    Author,
    Description,
    Needs,
    PackedFile,
)
from trialwise.exchange.artifact.integrity import SIGNATURE
from trialwise.exchange.artifact.manifest import NAME as MANIFEST
from trialwise.exchange.artifact.manifest import problem_of
from trialwise.exchange.artifact.tables import PackedTable, trials_table
from trialwise.exchange.claims_json import claims_document
from trialwise.experiment.claims import NAME as CLAIMS
from trialwise.experiment.claims import ClaimData, ClaimsFile
from trialwise.foreign_files import read_foreign
from trialwise.measurement.inherited import hidden
from trialwise.store.directory import latest
from trialwise.study.artifact.chains import PROGRAMS
from trialwise.study.artifact.contents import (
    Contents,
    Opened,
    contents_of,
    open_for_packing,
    stated_variables,
)
from trialwise.study.artifact.costs import costs, spent_of
from trialwise.study.artifact.private import names_of, staying
from trialwise.study.artifact.signing import sign
from trialwise.study.artifact.verifying import RESULTS, verify
from trialwise.study.claims import JudgedClaims, claims_file, data_files, digest_over, judged_claims
from trialwise.study.reading import comparison_set
from trialwise.temporary import vanishing_folder
from trialwise.visible import visible
from trialwise.whole_files import whole_file

_MAX_TEXT = 16 << 20
_OUR_TEXTS = (
    *(LICENCE, CLAIMS, RESULTS, MANIFEST, SIGNATURE),
    *(readme.NAME, crate.NAME, citation.CITATION, citation.ZENODO, tables.NAME, tables.FOLDER),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """What the authors say: `licence` is an SPDX identifier; without it a file LICENSE lies beside the claims.

    `rehearsal` is the time in seconds for a re-run by another user before the archive gets its name; None for none.
    """

    claims: Path | None = None
    title: str = ""
    licence: str = ""
    authors: tuple[Author, ...] = ()
    doi: str = ""
    not_secret: tuple[str, ...] = ()
    allowed_names: tuple[str, ...] = ()
    key: Path | None = None
    appendix: Path | None = None
    rehearsal: float | None = None


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
    check_name(out)
    opened = _opened(directories)
    for each in opened:
        _refuse_secrets(each, options)
    file = _claims_file(directories, options)
    judged = None if file is None else judged_claims(file, told)
    if judged is not None:
        _refuse_unsupported(judged)
    folder = directories[0].parent if file is None else file.parent
    licence = _licence(folder, options)
    names = names_of(opened)
    with vanishing_folder("trialwise-") as workshop:
        contents = [contents_of(each, names, workshop) for each in opened]
        entries = [entry for each in contents for entry in each.entries]
        left_out = [name for each in contents for name in each.left_out]
        entries += [] if judged is None else _claims(judged, folder, opened)
        entries += [] if judged is None else figures(judged.stated, folder, left_out)
        entries += [] if licence is None else [Entry(LICENCE, licence)]
        description = _description(contents, judged, options)
        replaced = staying(names, entries, options.allowed_names)
        entries = [*entries, *_texts(description, entries, _tables(opened, told))]
        whole, identity = with_manifest(entries)
        if options.key is not None:
            whole = signed(whole, options.key)
        with whole_file(out) as aside:
            write_archive(aside, out.name, whole, description.moment)
            _check_again(aside, identity)
            rehearsal = None if options.rehearsal is None else _rehearsed(aside, out.name, options.rehearsal)
            size = aside.stat().st_size
        _write_appendix(description, out, identity, options)
    return Packed(
        path=str(out),
        identity=identity,
        files=len(whole) - 1,
        size=size,
        experiments=tuple(description.experiments),
        claims=tuple(description.claims),
        replaced=replaced,
        removed=tuple(sorted(names.removed)),
        left_out=tuple(left_out),
        authors=len(options.authors),
        doi=options.doi,
        signed=options.key is not None,
        rehearsal=rehearsal,
    )


def _rehearsed(archive: Path, name: str, budget: float) -> Rehearsal:
    from trialwise.study.artifact.rehearsing import rehearse  # users are those of Unix

    return rehearse(archive, name, budget)


def _write_appendix(description: Description, out: Path, identity: str, options: PackOptions) -> None:
    if options.appendix is not None:
        with whole_file(options.appendix) as aside:
            aside.write_text(appendix.appendix_text(description, out.name, identity), encoding="utf-8")


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
        if result.verdict == "supported" or (result.verdict == "undecided" and claim.may_be_undecided):
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
        files = data_files(folder, data) if data.files else []
        if files:
            table["sha256"] = digest_over(folder, files)
        yield from (Entry(file.relative_to(folder).as_posix(), file) for file in files)
    yield Entry(CLAIMS, tomlkit.dumps(document).encode())
    check = claims_document(judged.check) | {"file": CLAIMS}
    yield Entry(RESULTS, _json(check))


def figures(stated: ClaimsFile, folder: Path, left_out: list[str]) -> Iterator[Entry]:
    """Yield the figures that claims name, which lie beside them; those that do not are left out and said."""
    for claim in stated.claims:
        if claim.figure is None or problem_of(claim.figure) is not None:
            continue
        try:
            content = read_foreign(folder / claim.figure, _MAX_TEXT, within=folder, error=StoreError)
        except TrialwiseError:
            left_out.append(f"{claim.figure}, the figure of {claim.id}, is not there")
            continue
        yield Entry(claim.figure, content)


def signed(whole: Sequence[Entry], key: Path) -> tuple[Entry, ...]:
    """Return the files of an artifact with the signature of its manifest."""
    manifest = next(entry.content for entry in whole if entry.name == MANIFEST)
    if not isinstance(manifest, bytes):
        raise TypeError("the manifest is made here")
    return tuple(sorted((*whole, Entry(SIGNATURE, sign(manifest, key))), key=lambda each: each.name.encode()))


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
        claims=[] if judged is None else list(costs(judged, [spent_of(each) for each in contents])),
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


def _tables(opened: Sequence[Opened], told: Progress | None) -> Iterator[PackedTable]:
    """Yield a table of the trials of each experiment that has values."""
    for each in opened:
        with contextlib.suppress(AnalysisError):
            yield trials_table(each.folder, comparison_set(each.path, paired=False, told=told))


def _texts(
    description: Description, entries: Sequence[Entry], packed: Iterable[PackedTable]
) -> Iterator[Entry]:
    found = list(packed)
    texts = [
        *(Entry(table.name, table.content) for table in found),
        *([Entry(tables.NAME, tables.package_text(description, found))] if found else []),
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
        bad += [*found.integrity.changed, *(text for ledger in found.ledgers for text in ledger.problems)]
        raise StoreError(
            f"the archive does not verify: {', '.join(bad)}",
            hint="a ledger or what was kept of trials was changed after it was recorded, or this is a fault of Trialwise",
        )
