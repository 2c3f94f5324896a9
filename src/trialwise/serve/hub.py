"""One watcher for all pages: it looks at ledgers while somebody is there, reads what has changed, and tells every page.

What it does while an experiment runs takes 1 % of a core: after work that took t seconds of processor time, each of four kinds of
work rests 300 t. When a run has ended, it reads at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from trialwise.errors import TrialwiseError
from trialwise.serve import parts
from trialwise.serve.parts import PARTS, Drawn, Level, Part, Quick, Slow
from trialwise.serve.places import Place, places
from trialwise.store.connection import BusyLedgerError
from trialwise.store.directory import LEDGER, ExperimentDirectory, is_locked
from trialwise.store.untouched import untouched

LOOK = 1.0
"""Seconds between looks at the ledgers that somebody watches."""
FIND = 5.0
"""Seconds between looks for new experiments."""
REST = 300.0
"""Rest per processor time while an experiment runs, of each kind of work: the levels, and to look for experiments."""
Answer = TypeVar("Answer")
_LEVELS: tuple[Level, ...] = tuple(PARTS)
_TELL = "`trialwise status` and `trialwise analyze` may say more"
LIST = "list"
"""Name of the part that says which experiments there are; it belongs to none."""


@dataclass(slots=True)
class Watched:
    """What is known of an experiment: its parts with their versions, and when it may be read again."""

    place: Place
    signature: tuple[object, ...] = ()
    is_active: bool = False
    stale: dict[Level, bool] = field(default_factory=lambda: dict.fromkeys(_LEVELS, True))
    due: dict[Level, float] = field(default_factory=lambda: dict.fromkeys(_LEVELS, 0.0))
    parts: dict[str, Part] = field(default_factory=dict[str, Part])
    versions: dict[str, int] = field(default_factory=dict[str, int])
    quick: Quick | None = None
    drawn: Drawn | None = None
    slow: Slow | None = None


class Page:
    """A page that listens: which experiments and levels it shows, and what it has not got yet; no more than that is kept for it."""

    def __init__(self, keys: Iterable[str], levels: Sequence[Level]) -> None:
        self.keys = tuple(keys)
        self.levels = levels
        self.waiting: dict[tuple[str, str], None] = {}
        self.news = asyncio.Event()


class Hub:
    """Watches experiments for all pages."""

    def __init__(self, roots: Sequence[Path], scratch: Path) -> None:
        self._roots = roots
        self._scratch = scratch
        self._pages: set[Page] = set()
        self._count = 0
        self._find_again = 0.0
        self._someone = asyncio.Event()
        self._threads = {level: ThreadPoolExecutor(1, f"read {level}") for level in _LEVELS}
        self._wake = {level: asyncio.Event() for level in _LEVELS}
        self.epoch = secrets.token_hex(4)
        self.experiments: dict[str, Watched] = {}
        self.is_closed = False
        self.find()

    # Experiments

    def find(self) -> None:
        """Look for experiments, and forget those that are gone."""
        before = time.process_time()
        there = places(self._roots)
        self._find_again = time.monotonic() + max(FIND, REST * (time.process_time() - before))
        if list(there) == list(self.experiments):
            return
        self.experiments = {key: self.experiments.get(key) or Watched(place) for key, place in there.items()}
        self._count += 1
        for page in self._pages:
            self._tell(page, "", LIST)

    # Pages

    @contextlib.asynccontextmanager
    async def page(
        self, keys: Iterable[str], levels: Sequence[Level], since: str | None
    ) -> AsyncGenerator[Page]:
        """Listen for a page; `since` is the last event that it got (SSE's Last-Event-ID), None if it got none."""
        page = Page((key for key in keys if key in self.experiments), levels)
        known = self._known(since)
        wanted = [name for level in levels for name in PARTS[level]]
        for key in page.keys:
            watched = self.experiments[key]
            for name, version in watched.versions.items():
                if name in wanted and version > known:
                    self._tell(page, key, name)
        self._pages.add(page)
        self._someone.set()
        for event in self._wake.values():
            event.set()
        try:
            yield page
        finally:
            self._pages.discard(page)
            if not self._pages:
                self._someone.clear()

    def _known(self, since: str | None) -> int:
        epoch, _, count = (since or "").partition(".")
        is_ours = epoch == self.epoch and count.isascii() and count.isdigit() and len(count) < 16
        return int(count) if is_ours else -1

    def next_of(self, page: Page) -> tuple[str, str, str, Part] | None:
        """Take what a page waits for: identity of the event, experiment, name and part; None if it waits for nothing.

        The oldest comes first, so that what a page has not got is newer than the last event that it got.
        """
        while page.waiting:
            key, name = min(page.waiting, key=lambda each: self._version(*each))
            del page.waiting[key, name]
            if name == LIST:
                return "", "", LIST, Part("")
            if key in self.experiments:
                watched = self.experiments[key]
                return f"{self.epoch}.{watched.versions[name]}", key, name, watched.parts[name]
        return None

    def _version(self, key: str, name: str) -> int:
        return self.experiments[key].versions[name] if key in self.experiments else 0

    def close(self) -> None:
        """Let every page go."""
        self.is_closed = True
        for page in self._pages:
            page.news.set()

    def _tell(self, page: Page, key: str, name: str) -> None:
        page.waiting[key, name] = None
        page.news.set()

    # Watching

    async def watch(self) -> None:
        """Look at what is watched while somebody watches; asleep otherwise."""
        workers = [asyncio.create_task(self._work(level)) for level in _LEVELS]
        try:
            while True:
                await self._someone.wait()
                if time.monotonic() >= self._find_again:
                    self.find()
                for watched in self._watched():
                    self._look(watched)
                await asyncio.sleep(LOOK)
        finally:
            for worker in workers:
                worker.cancel()
            for threads in self._threads.values():
                threads.shutdown(wait=False, cancel_futures=True)

    def _watched(self, level: Level | None = None) -> list[Watched]:
        keys = dict.fromkeys(
            key for page in self._pages if level is None or level in page.levels for key in page.keys
        )
        return [self.experiments[key] for key in keys if key in self.experiments]

    def _look(self, watched: Watched) -> None:
        """Notice whether the files of a ledger have changed, or the run has ended."""
        path = watched.place.path
        is_active = watched.is_active and is_locked(ExperimentDirectory(path))
        claims = watched.place.claims()
        signature = (
            *(_stamp(path / name) for name in (LEDGER, f"{LEDGER}-wal", "experiment.toml")),
            *(_stamp(claims) if claims is not None else ()),
            is_active,
        )
        if signature == watched.signature:
            return
        if watched.is_active and not is_active:
            watched.due = dict.fromkeys(_LEVELS, 0.0)
        watched.signature = signature
        watched.stale = dict.fromkeys(_LEVELS, True)
        for event in self._wake.values():
            event.set()

    async def _work(self, level: Level) -> None:
        """Read what is stale, one experiment after the other."""
        while True:
            stale = [each for each in self._watched(level) if each.stale[level]]
            now = time.monotonic()
            ready = [each for each in stale if each.due[level] <= now]
            if ready:
                await self._read(min(ready, key=lambda each: each.due[level]), level)
                continue
            self._wake[level].clear()
            patience = min((each.due[level] for each in stale), default=float("inf")) - now
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake[level].wait(), None if patience > 1e6 else patience)

    async def read(self, watched: Watched, level: Level) -> None:
        """Read an experiment unless it was read since it changed, or is to rest."""
        self._look(watched)
        if watched.stale[level] and watched.due[level] <= time.monotonic():
            await self._read(watched, level)

    async def _read(self, watched: Watched, level: Level) -> None:
        watched.stale[level] = False
        before = time.process_time()
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads[level], self._compute, watched, level)
        if isinstance(found, BusyLedgerError) and watched.quick is not None:
            watched.stale[level] = True  # what is shown stays until it can be copied
        elif isinstance(found, Quick):
            watched.quick, watched.is_active = found, found.state.is_active
        elif isinstance(found, Drawn):
            watched.drawn = found
        elif isinstance(found, Slow):
            if found.stopping != (watched.slow.stopping if watched.slow else None):
                watched.stale["quick"] = True
                self._wake["quick"].set()
            watched.slow = found
        share = REST * max(sum(each.is_active for each in self._watched()), 1)
        rest = share * (time.process_time() - before) if watched.is_active else 0.0
        watched.due[level] = time.monotonic() + max(rest, LOOK)
        if not isinstance(found, BusyLedgerError) or watched.quick is None:
            self._publish(watched, _parts(found, level))

    def _compute(self, watched: Watched, level: Level) -> Quick | Drawn | Slow | TrialwiseError:
        with untouched(self._scratch):
            try:
                if level == "slow":
                    return parts.slow(watched.place)
                if level == "drawn":
                    return parts.drawn(watched.place)
                return parts.quick(watched.place, watched.slow.stopping if watched.slow else None)
            except TrialwiseError as error:
                return error
            except Exception as error:
                return TrialwiseError(
                    f"cannot be read, for a reason that nobody foresaw: {type(error).__name__}: {error}",
                    hint=_TELL,
                )

    async def compute(self, work: Callable[[], Answer]) -> Answer:
        """Do something that reads experiments without touching them, after what is being analysed."""

        def untouching() -> Answer:
            with untouched(self._scratch):
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._threads["slow"], untouching)

    def _publish(self, watched: Watched, found: dict[str, Part]) -> None:
        """Keep parts that have changed, and tell the pages that show them."""
        for name, part in found.items():
            if watched.parts.get(name) == part:
                continue
            self._count += 1
            watched.parts[name], watched.versions[name] = part, self._count
            level = next(level for level, names in PARTS.items() if name in names)
            for page in self._pages:
                if watched.place.key in page.keys and level in page.levels:
                    self._tell(page, watched.place.key, name)


def _parts(found: Quick | Drawn | Slow | TrialwiseError, level: Level) -> dict[str, Part]:
    if not isinstance(found, TrialwiseError):
        return found.parts
    return dict.fromkeys(PARTS[level], parts.refusal(found) if level != "drawn" else Part(""))


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
