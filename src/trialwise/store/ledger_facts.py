"""Queries of a ledger's facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from trialwise.errors import StoreError
from trialwise.experiment.model import Level
from trialwise.experiment.sources import RESULTS
from trialwise.store.connection import RESTORE
from trialwise.store.ledger_file import LedgerFile
from trialwise.store.records import (
    EXCLUDE,
    INCLUDE,
    SKIP,
    TREATMENT,
    UNSKIP,
    Amendment,
    Blocks,
    Event,
    Head,
    Session,
    Status,
    TrialRow,
)
from trialwise.store.tables import Parts, factors_of, having, marks, shared, trial_row, trial_rows

HEAD = "chain head"
"""Key of `meta`: the number of rows in the chain, and the SHA-256 of the last."""
_MOST_DIGITS = 18
"""Of a number of rows."""
_ENDED: tuple[Status, ...] = ("finished", "failed", "invalid")
_AMENDED: frozenset[Status] = frozenset({"finished", "excluded", "planned", "skipped"})
"""Statuses that amendments make of others."""
CLOSED = "closed series"
"""Key of `meta`: the number of leading series that are closed because their rounds have other treatments than the file has now."""
APART = "set apart series"
"""Key of `meta`: the number of leading series whose trials were others than the file now has, so that they count no longer."""
FILE_OF_SERIES = "experiment until series {}"
"""Key of `meta`: the text of the experiment file by which series ran that are set apart, up to this one."""


class LedgerFacts(LedgerFile):
    """The facts of a ledger, as records."""

    def planned_number(self) -> int:
        """Return the number of trials in the plan, counting each once.

        Trials that were begun, given up and withdrawn do not count, nor do those that are skipped.
        """
        query = (
            f"SELECT count(*) FROM trial AS last WHERE {self._status} NOT IN ('abandoned', 'skipped') AND NOT EXISTS "  # noqa: S608 ours
            "(SELECT 1 FROM trial AS later WHERE later.number = last.number AND later.attempt > last.attempt)"
        )
        return int(self._select(query)[0][0])

    def last_epoch(self) -> int:
        """Return the highest epoch of a session or a trial; 0 if there is none."""
        query = "SELECT max((SELECT coalesce(max(epoch), 0) FROM session), (SELECT coalesce(max(epoch), 0) FROM trial))"
        return int(self._select(query)[0][0])

    def closed_series(self) -> int:
        """Return the number of leading series that ran with other treatments than the file has now; they get no more trials."""
        return int(self.meta().get(CLOSED, 0))

    def apart_series(self) -> int:
        """Return the number of leading series that are set apart: by the file of then, their trials were others."""
        return int(self.meta().get(APART, 0))

    def present_trials(self, *statuses: Status) -> list[TrialRow]:
        """Return what `trials` does, without those that are set apart."""
        apart = self.apart_series()
        return [row for row in self.trials(*statuses) if row.series > apart]

    def trials(self, *statuses: Status) -> list[TrialRow]:
        """Return all attempts in plan order, or those with one of the statuses."""
        where = f" WHERE {self._status_of(statuses)} IN ({marks(statuses)})" if statuses else ""
        query = f"SELECT {self._columns} FROM trial{where} ORDER BY number, attempt"  # noqa: S608 only our own words
        return self._with_reasons(trial_rows(self._select(query, statuses)))

    def _status_of(self, statuses: Sequence[Status]) -> str:
        """Return the SQL of a trial's status to compare with `statuses`: the column, which has an index, where that is the same."""
        return self._status if _AMENDED & set(statuses) else "status"

    def _with_reasons(self, rows: list[TrialRow]) -> list[TrialRow]:
        """Return the rows, those that are excluded with who left them out, when and why."""
        if all(row.status != "excluded" for row in rows):
            return rows
        why = self.exclusions()
        return [
            replace(row, reason=excluded_text(why[row.number, row.attempt]))
            if row.status == "excluded"
            else row
            for row in rows
        ]

    def amendments(self, *kinds: str, after: int = 0) -> list[Amendment]:
        """Return what was amended, oldest first; only of some kinds, default all, and only what followed the first `after` of all."""
        if self._format < 3:
            return []
        where = f" AND kind IN ({marks(kinds)})" if kinds else ""
        query = (
            "SELECT time, kind, who, because, trial, attempt, detail FROM amendment "  # noqa: S608 only our own words
            f"WHERE number > ?{where} ORDER BY number"
        )
        return [
            Amendment(*row, detail=_detail(detail)) for *row, detail in self._select(query, [after, *kinds])
        ]

    def last_amendment(self) -> int:
        """Return the number of the last amendment; 0 if there is none."""
        return (
            0
            if self._format < 3
            else int(self._select("SELECT coalesce(max(number), 0) FROM amendment")[0][0])
        )

    def skips(self) -> dict[str, Amendment]:
        """Return the treatments that are skipped, each with the amendment that says why."""
        last = {str(each.detail.get(TREATMENT)): each for each in self.amendments(SKIP, UNSKIP)}
        return {name: each for name, each in last.items() if each.kind == SKIP}

    def exclusions(self) -> dict[tuple[int, int], Amendment]:
        """Return the trials that are left out, by number and attempt, each with the amendment that says why."""
        last = {(each.trial or 0, each.attempt or 0): each for each in self.amendments(EXCLUDE, INCLUDE)}
        return {place: each for place, each in last.items() if each.kind == EXCLUDE}

    def head(self) -> Head | None:
        """Return the last link of the chain; None if the format has none (1 and 2).

        Raises
        ------
        StoreError
            The record of it cannot be read.
        """
        if self._format < 3:
            return None
        found = self._select("SELECT value FROM meta WHERE key = ?", (HEAD,))
        text = str(found[0][0]) if found else ""
        rows, _, digest = text.partition(" ")
        if not (rows.isascii() and rows.isdecimal() and len(rows) <= _MOST_DIGITS):
            raise StoreError(
                f"{self.path}: its chain has no head that can be read: {text!r:.100}", hint=RESTORE
            )
        return Head(int(rows), digest)

    def next_planned(self, wanted: Parts | None = None, blocks: Blocks | None = None) -> TrialRow | None:
        """Return the next planned trial, or None; with `wanted`, only one that belongs to one of these parts.

        `blocks` limits the search to ranges of trial numbers, ends included; default all.
        """
        where, parameters = having(wanted, blocks)
        query = (
            f"SELECT {self._columns} FROM trial WHERE status = 'planned' AND {self._status} = 'planned'{where} "  # noqa: S608
            "ORDER BY number, attempt LIMIT 1"
        )
        return next((trial_row(row) for row in self._select(query, parameters)), None)

    def is_planned(self, row: TrialRow) -> bool:
        """Return True if an attempt is still to run: nobody has skipped its treatment."""
        query = f"SELECT 1 FROM trial WHERE number = ? AND attempt = ? AND {self._status} = 'planned'"  # noqa: S608 only our own words
        return bool(self._select(query, (row.number, row.attempt)))

    def next_open(self) -> TrialRow | None:
        """Return the first trial that is planned or running, or None."""
        query = f"SELECT {self._columns} FROM trial WHERE status IN ('planned', 'running') ORDER BY number, attempt LIMIT 1"  # noqa: S608 only our own words
        return next((trial_row(row) for row in self._select(query)), None)

    def count(
        self,
        statuses: Sequence[Status],
        wanted: Parts | None = None,
        blocks: Blocks | None = None,
    ) -> int:
        """Count the attempts with one of the statuses; only those of the parts `wanted` and with numbers in `blocks`."""
        where, parameters = having(wanted, blocks)
        query = f"SELECT count(*) FROM trial WHERE {self._status_of(statuses)} IN ({marks(statuses)}){where}"  # noqa: S608
        return int(self._select(query, [*statuses, *parameters])[0][0])

    def ended(self, wanted: Parts | None = None, blocks: Blocks | None = None) -> int:
        """Count the trials that have ended, each once: their last attempt finished, failed or is invalid.

        Only trials of the parts `wanted` and with numbers in `blocks` count.
        """
        where, parameters = having(wanted, blocks)
        query = (
            f"SELECT count(*) FROM trial AS last WHERE status IN ({marks(_ENDED)}){where} AND NOT EXISTS "  # noqa: S608 only our own words
            "(SELECT 1 FROM trial AS later WHERE later.number = last.number AND later.attempt > last.attempt)"
        )
        return int(self._select(query, [*_ENDED, *parameters])[0][0])

    def counts(self) -> dict[str, int]:
        """Count the attempts of each status."""
        return {
            str(status): int(n)
            for status, n in self._select(f"SELECT {self._status}, count(*) FROM trial GROUP BY 1")  # noqa: S608 only our own words
        }

    def values(
        self, sources: Sequence[str] = ()
    ) -> list[tuple[int, int, str, float | None, int, str | None]]:
        """Return what the trials reported, from all or some sources: (number, attempt, source, value, samples, file)."""
        where = f" WHERE source IN ({marks(sources)})" if sources else ""
        rows = self._select(
            f"SELECT number, attempt, source, value, samples, file FROM value{where} ORDER BY number, attempt, source",  # noqa: S608
            sources,
        )
        return shared(rows)

    def latest_values(self, source: str) -> list[tuple[str, str, int | None, float | None, bool]]:
        """Return what finished trials of the series that began last reported from a source, in the order in which they began.

        Of each: treatment, factors as JSON, epoch, the value, and whether samples in a file stand in its place. Warm-ups and trials
        that are set apart are left out.
        """
        counts = f"warmup = 0 AND series > ? AND {self._status} = 'finished'"
        query = (
            "SELECT treatment, factors, epoch, value, file IS NOT NULL FROM trial JOIN value USING (number, attempt) "  # noqa: S608 ours
            f"WHERE source = ? AND {counts} AND series = (SELECT max(series) FROM trial WHERE {counts}) ORDER BY started, number"
        )
        apart = self.apart_series()
        rows = self._select(query, [source, apart, apart])
        return [(str(a), str(b), c, d, bool(e)) for a, b, c, d, e in rows]

    def found_sources(self, treatment: str | None = None) -> list[str]:
        """Return the sources that trials found in what harnesses print (`ResultSource.key`), by the first trial that has them.

        With `treatment`, those of its trials alone.
        """
        of_one = "" if treatment is None else " AND number IN (SELECT number FROM trial WHERE treatment = ?)"
        query = f"SELECT source FROM value WHERE source GLOB ?{of_one} GROUP BY source ORDER BY min(number), source"  # noqa: S608 only our own words
        parameters = [f"{RESULTS}*", *([] if treatment is None else [treatment])]
        return [str(source) for (source,) in self._select(query, parameters)]

    def sessions(self) -> list[Session]:
        """Return all runs of the runner, oldest first."""
        return [Session(*row) for row in self._select("SELECT * FROM session ORDER BY number")]

    def events(self) -> list[Event]:
        """Return all events outside the trials, in order."""
        return [Event(*row) for row in self._select("SELECT time, kind, text FROM event ORDER BY rowid")]

    def factors(self) -> list[dict[str, Level]]:
        """Return the distinct factors of all trials, including sampled ones, in plan order."""
        rows = self._select("SELECT factors FROM trial GROUP BY factors ORDER BY min(number)")
        return [factors_of(text) for (text,) in rows]

    def rounds_planned(self, blocks: Blocks | None = None) -> set[tuple[str, int, int, bool]]:
        """Return the (treatment, series, round, warm-up) combinations in the ledger; only of trials with numbers in `blocks`."""
        where, numbers = having(None, blocks)
        query = f"SELECT DISTINCT treatment, series, round, warmup FROM trial WHERE true{where}"  # noqa: S608 only our own words
        rows = self._select(query, numbers)
        return {(str(treatment), series, round_, bool(warmup)) for treatment, series, round_, warmup in rows}

    def unsuccessful_attempts(self, number: int) -> int:
        """Count the attempts at a trial that failed or are invalid."""
        query = "SELECT count(*) FROM trial WHERE number = ? AND status IN ('failed', 'invalid')"
        return int(self._select(query, [number])[0][0])

    def longest(self, treatment: str) -> float | None:
        """Return the seconds that the longest finished trial of a treatment took; None if none has finished."""
        query = "SELECT max(finished - started) FROM trial WHERE treatment = ? AND status = 'finished'"
        return self._select(query, [treatment])[0][0]

    def last_number(self) -> int:
        """Return the highest trial number; 0 if there are no trials."""
        return int(self._select("SELECT coalesce(max(number), 0) FROM trial")[0][0])

    def counts_by_treatment(self) -> dict[str, dict[str, int]]:
        """Count the attempts of each status, by treatment."""
        found: dict[str, dict[str, int]] = {}
        query = f"SELECT treatment, {self._status}, count(*) FROM trial GROUP BY 1, 2 ORDER BY 1"  # noqa: S608 only our own words
        for treatment, status, number in self._select(query):
            found.setdefault(str(treatment), {})[str(status)] = int(number)
        return found

    def order_of_begun(self, most: int) -> list[tuple[int, str, str, int, int]]:
        """Return treatment and status of the last `most` attempts that began, in that order: number, both, round, position."""
        query = (
            f"SELECT number, treatment, {self._status}, round, position FROM trial WHERE claimed IS NOT NULL "  # noqa: S608 ours
            "ORDER BY claimed DESC, number DESC, attempt DESC LIMIT ?"
        )
        return [(int(a), str(b), str(c), int(d), int(e)) for a, b, c, d, e in self._select(query, [most])][
            ::-1
        ]

    def counts_by_position(self) -> list[tuple[str, int, int]]:
        """Count the attempts that began, by treatment and by position in their round."""
        query = "SELECT treatment, position, count(*) FROM trial WHERE claimed IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        return [(str(name), int(position), int(count)) for name, position, count in self._select(query)]

    def claim_times(self) -> list[float]:
        """Return the times at which trials were claimed, in plan order, Unix seconds."""
        query = "SELECT claimed FROM trial WHERE claimed IS NOT NULL ORDER BY number, attempt"
        return [float(moment) for (moment,) in self._select(query)]

    def last_planned_start(self) -> float | None:
        """Return the latest planned start among trials still planned, in seconds after `created`."""
        return self._select("SELECT max(planned_start) FROM trial WHERE status = 'planned'")[0][0]

    def unsuccessful(self) -> list[TrialRow]:
        """Return the last attempts of trials that ended as failed or invalid."""
        statuses: tuple[Status, ...] = ("failed", "invalid")
        query = (
            f"SELECT {self._columns} FROM trial AS last WHERE {self._status_of(statuses)} IN ({marks(statuses)}) AND NOT EXISTS "  # noqa: S608
            "(SELECT 1 FROM trial AS later WHERE later.number = last.number AND later.attempt > last.attempt) ORDER BY number, attempt"
        )
        return trial_rows(self._select(query, statuses))


def excluded_text(why: Amendment) -> str:
    """Say who left a trial out, or amended something else, when (UTC) and why."""
    day = datetime.fromtimestamp(why.time, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"by {why.who} on {day}: {why.because}"


def _detail(text: object) -> Mapping[str, object]:
    """Parse the detail of an amendment; raise StoreError if it is not a JSON object."""
    try:
        return dict(json.loads(str(text)))
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(
            f"the ledger holds an amendment that cannot be read: {text!r:.100}", hint=RESTORE
        ) from error
