"""Follow the chain of a ledger from its beginning, and name the first row that is not as it was recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trialwise.errors import StoreError
from trialwise.foreign_files import open_foreign
from trialwise.store.chain import AMENDMENT, TRIAL, amendment_text, link_of, start_of, trial_text
from trialwise.store.directory import EXPERIMENT, ExperimentDirectory
from trialwise.store.ledger_chain import EXPERIMENT_TEXT, LedgerChain
from trialwise.store.records import PLAN, REREAD, UPGRADE, Head

_PIECE = 1 << 20
CANNOT_SHOW = (
    "a chain cannot show that it was computed anew by somebody who has the directory, that trials ran and were never recorded, "
    "or that a program reported false numbers"
)
"""What no hash can show."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The first thing that is not as it was recorded; the trial that it is about, if one is known."""

    text: str
    trial: int | None = None
    attempt: int | None = None
    treatment: str | None = None


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What following the chain showed.

    `head` is None if the format of the ledger has no chain. `files` files of samples were compared with their hashes. Of `later` rows
    it is known only that they have not changed since the ledger was upgraded.
    """

    head: Head | None
    broken: Broken | None = None
    files: int = 0
    later: int = 0


@dataclass(frozen=True, slots=True)
class _Link:
    """A row with its place in the chain."""

    link: int | None
    sha256: str | None
    columns: Mapping[str, Any]
    row: Sequence[Any]

    @property
    def is_trial(self) -> bool:
        return "treatment" in self.columns

    @property
    def name(self) -> str:
        """Name the row for people."""
        of = self.columns
        if not self.is_trial:
            about = f" of trial {of['trial']}" if of["trial"] is not None else ""
            return f"amendment {of['number']} ({of['kind']}{about})"
        return (
            f"trial {of['number']}.{of['attempt']} ({of['treatment']}, series {of['series']}, round {of['round']}, "
            f"position {of['position']})"
        )

    def broken(self, what: str) -> Broken:
        """Return what is wrong with it."""
        of = self.columns
        if self.is_trial:
            return Broken(f"{self.name} {what}", of["number"], of["attempt"], of["treatment"])
        return Broken(f"{self.name} {what}", of["trial"], of["attempt"])


_Values = dict[tuple[int, int], list[tuple[Any, ...]]]


def verify(directory: ExperimentDirectory, ledger: LedgerChain) -> ChainCheck:
    """Check the chain of a ledger, the experiment file, and the files of samples that its values name.

    Raises
    ------
    StoreError
        The ledger cannot be read.
    """
    head = ledger.head()
    if head is None:
        return ChainCheck(None)
    links = sorted(_links(ledger), key=lambda each: (each.link is None, each.link or 0))
    values: _Values = {}
    for number, attempt, *value in ledger.linked_values():
        values.setdefault((number, attempt), []).append(tuple(value))
    broken = _chain(ledger, links, values, head) or _experiment(directory, ledger, links)
    files = 0
    if broken is None:
        broken, files = _files(directory, links, values)
    return ChainCheck(head, broken, files, _later(links))


def _links(ledger: LedgerChain) -> Iterator[_Link]:
    for names, rows in ((TRIAL, ledger.linked_trials()), (AMENDMENT, ledger.linked_amendments())):
        for link, sha256, *row in rows:
            yield _Link(link, sha256, dict(zip(names, row, strict=True)), row)


def _chain(ledger: LedgerChain, links: Sequence[_Link], values: _Values, head: Head) -> Broken | None:
    """Compute every hash from the row and the hash before it; return the first that differs."""
    reread = _reread(links)
    before, last = ledger.start(), None
    for expected, each in enumerate(links, start=1):
        if each.link is None:
            return each.broken("is not in the chain: it was put in, or its link was taken away")
        if each.link != expected:
            return _missing(ledger, links, expected, last, each)
        if each.sha256 != link_of(before, _canonical(each, values, reread)):
            return each.broken("was changed after it was recorded")
        if not each.is_trial and (problem := _unequal(each, values)):
            return each.broken(problem)
        before, last = str(each.sha256), each
    if head.rows != len(links) or head.hash != before:
        return _missing(ledger, links, len(links) + 1, last, None, f"its head names {head.rows} rows")
    return None


def _canonical(each: _Link, values: _Values, reread: Mapping[tuple[int, int], set[str]]) -> str:
    link = each.link or 0
    if not each.is_trial:
        return amendment_text(link, each.row)
    place = each.columns["number"], each.columns["attempt"]
    later = reread.get(place, set())
    return trial_text(link, each.row, [value for value in values.get(place, []) if value[0] not in later])


def _missing(
    ledger: LedgerChain,
    links: Sequence[_Link],
    link: int,
    before: _Link | None,
    after: _Link | None,
    why: str = "",
) -> Broken:
    """Name a row that is gone: by the attempts and numbers that the plan leaves open, or by its neighbours."""
    places = set(ledger.places())
    gone = [
        f"attempt {attempt - 1} at trial {number}"
        for number, attempt in sorted(places)
        if attempt > 1 and (number, attempt - 1) not in places
    ]
    numbers = sorted({number for number, _ in places})
    if not any(map(_withdraws, links)):
        gone += [f"trial {first + 1}" for first, then in pairwise([0, *numbers]) if then > first + 1]
    sides = [
        f"{word} {each.name}" for word, each in (("after", before), ("before", after)) if each is not None
    ]
    where = f", {' and '.join(sides)}" if sides else ""
    which = f"; {gone[0]} has no row" if gone else ""
    reason = f" ({why})" if why else ""
    return Broken(f"row {link} of the chain is missing{where}{reason}{which}")


def _withdraws(each: _Link) -> bool:
    """Return True if a change of the plan took planned trials away: their numbers have no row, and nobody removed one."""
    if each.columns.get("kind") != PLAN:
        return False
    try:
        return json.loads(each.columns["detail"])["withdrawn"] != 0
    except (ValueError, TypeError, KeyError, RecursionError):
        return True


def _reread(links: Sequence[_Link]) -> dict[tuple[int, int], set[str]]:
    """Return the sources that were read later, by number and attempt."""
    found: dict[tuple[int, int], set[str]] = {}
    for each in links:
        place = each.columns.get("trial"), each.columns.get("attempt")
        found.setdefault((place[0] or 0, place[1] or 0), set()).update(
            str(value[0]) for value in _added(each)
        )
    return found


def _added(each: _Link) -> list[list[Any]]:
    """Return the values that an amendment added; none if it added none or says so in no way that can be read."""
    if each.columns.get("kind") != REREAD:
        return []
    try:
        return [list(value) for value in json.loads(each.columns["detail"])["values"] if value]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _unequal(each: _Link, values: _Values) -> str | None:
    """Return what is wrong with the values that an amendment added, or None."""
    held = {
        value[0]: list(value) for value in values.get((each.columns["trial"], each.columns["attempt"]), [])
    }
    for value in _added(each):
        if held.get(value[0]) != value:
            return f"added a value of {value[0]}, which was changed after it was recorded"
    return None


def _experiment(directory: ExperimentDirectory, ledger: LedgerChain, links: Sequence[_Link]) -> Broken | None:
    """Compare the experiment file with the last one that the ledger names."""
    named = ledger.start()
    for each in links:
        if each.columns.get("kind") == PLAN:
            try:
                named = json.loads(each.columns["detail"])["experiment"]
            except (ValueError, TypeError, KeyError, RecursionError):
                return each.broken("does not name the file that it is about")
    if _sha256(directory, EXPERIMENT) != named:
        return Broken(f"{EXPERIMENT} is not the file that the trials ran with")
    if start_of(ledger.meta().get(EXPERIMENT_TEXT, "")) != named:
        return Broken(f"the ledger's copy of {EXPERIMENT} is not the file that the trials ran with")
    return None


def _files(
    directory: ExperimentDirectory, links: Sequence[_Link], values: _Values
) -> tuple[Broken | None, int]:
    """Compare the files of samples with the hashes of the values that name them; return the number of files, too."""
    known: dict[str, str] = {}
    for each in links:
        if not each.is_trial:
            continue
        for source, _, _, file, sha256 in values.get((each.columns["number"], each.columns["attempt"]), []):
            if file is None or sha256 is None:
                continue
            try:
                known[file] = known.get(file) or _sha256(directory, file)
            except StoreError as error:
                return each.broken(f"has no file of its samples of {source}: {error.message}"), len(known)
            if known[file] != sha256:
                text = f"has other samples of {source} than were recorded: {file} was changed"
                return each.broken(text), len(known)
    return None, len(known)


def _later(links: Sequence[_Link]) -> int:
    """Return the number of rows that were chained when the ledger was upgraded."""
    return next((place for place, each in enumerate(links) if each.columns.get("kind") == UPGRADE), 0)


def _sha256(directory: ExperimentDirectory, name: str) -> str:
    digest = hashlib.sha256()
    with open_foreign(directory.path / name, within=directory.path, error=StoreError) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
