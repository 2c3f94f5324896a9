"""What a ledger says: its facts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialwise.experiment.model import Level
from trialwise.store.ledger_file import LedgerFile
from trialwise.store.records import Blocks, Event, Session, Status, TrialRow
from trialwise.store.tables import factors_of, having, marks, shared, trial_row, trial_rows

_ENDED: tuple[Status, ...] = ("finished", "failed", "invalid")
CLOSED = "closed series"
"""Key of `meta`: how many series, from the first, are closed, for their rounds have other treatments than the file has now."""


class LedgerFacts(LedgerFile):
    """The facts of a ledger, as records."""

    def planned_number(self) -> int:
        """How many trials the plan has, whatever their attempts; those that were begun, given up and withdrawn do not count."""
        query = (
            "SELECT count(*) FROM trial AS last WHERE status != 'abandoned' AND NOT EXISTS "
            "(SELECT 1 FROM trial AS later WHERE later.number = last.number AND later.attempt > last.attempt)"
        )
        return int(self._select(query)[0][0])

    def closed_series(self) -> int:
        """How many series, from the first, ran with other treatments than the file has now: no trials are added to them."""
        return int(self.meta().get(CLOSED, 0))

    def trials(self, *statuses: Status) -> list[TrialRow]:
        """All attempts in plan order, or those with one of the statuses."""
        where = f" WHERE status IN ({marks(statuses)})" if statuses else ""
        query = f"SELECT {self._columns} FROM trial{where} ORDER BY number, attempt"  # noqa: S608 only our own words
        return trial_rows(self._select(query, statuses))

    def next_planned(
        self, wanted: Mapping[str, Sequence[Level]] | None = None, blocks: Blocks | None = None
    ) -> TrialRow | None:
        """The planned trial that comes next, or None; of those only that have the levels that are wanted of some factors.

        `blocks` are ranges of numbers, ends included, that are looked at; default all.
        """
        where, parameters = having(wanted or {}, blocks)
        query = f"SELECT {self._columns} FROM trial WHERE status = 'planned'{where} ORDER BY number, attempt LIMIT 1"  # noqa: S608
        return next((trial_row(row) for row in self._select(query, parameters)), None)

    def next_open(self) -> TrialRow | None:
        """The first trial that is planned or running, or None."""
        query = f"SELECT {self._columns} FROM trial WHERE status IN ('planned', 'running') ORDER BY number, attempt LIMIT 1"  # noqa: S608 only our own words
        return next((trial_row(row) for row in self._select(query)), None)

    def count(
        self,
        statuses: Sequence[Status],
        wanted: Mapping[str, Sequence[Level]] | None = None,
        blocks: Blocks | None = None,
    ) -> int:
        """How many attempts have one of the statuses; of those only that have the levels wanted, and numbers in `blocks`."""
        where, parameters = having(wanted or {}, blocks)
        query = f"SELECT count(*) FROM trial WHERE status IN ({marks(statuses)}){where}"  # noqa: S608
        return int(self._select(query, [*statuses, *parameters])[0][0])

    def ended(self, wanted: Mapping[str, Sequence[Level]] | None = None, blocks: Blocks | None = None) -> int:
        """Count the trials that have come to an end, whatever their attempts: the last one finished, failed or is invalid.

        Of those only that have the levels wanted, and numbers in `blocks`.
        """
        where, parameters = having(wanted or {}, blocks)
        query = (
            f"SELECT count(*) FROM trial AS last WHERE status IN ({marks(_ENDED)}){where} AND NOT EXISTS "  # noqa: S608 only our own words
            "(SELECT 1 FROM trial AS later WHERE later.number = last.number AND later.attempt > last.attempt)"
        )
        return int(self._select(query, [*_ENDED, *parameters])[0][0])

    def counts(self) -> dict[str, int]:
        """How many attempts there are of each status."""
        return {
            str(status): int(n)
            for status, n in self._select("SELECT status, count(*) FROM trial GROUP BY status")
        }

    def values(
        self, sources: Sequence[str] = ()
    ) -> list[tuple[int, int, str, float | None, int, str | None]]:
        """What the trials reported, from some sources or from all: (number, attempt, source, value, samples, file)."""
        where = f" WHERE source IN ({marks(sources)})" if sources else ""
        rows = self._select(
            f"SELECT number, attempt, source, value, samples, file FROM value{where} ORDER BY number, attempt, source",  # noqa: S608
            sources,
        )
        return shared(rows)

    def sessions(self) -> list[Session]:
        """All runs of the runner, first to last."""
        return [Session(*row) for row in self._select("SELECT * FROM session ORDER BY number")]

    def events(self) -> list[Event]:
        """Everything that happened beside the trials, in order."""
        return [Event(*row) for row in self._select("SELECT time, kind, text FROM event ORDER BY rowid")]

    def factors(self) -> list[dict[str, Level]]:
        """The distinct factors of all trials, drawn ones included, in plan order."""
        rows = self._select("SELECT factors FROM trial GROUP BY factors ORDER BY min(number)")
        return [factors_of(text) for (text,) in rows]

    def rounds_planned(self, blocks: Blocks | None = None) -> set[tuple[str, int, int, bool]]:
        """Which (treatment, series, round, warm-up) the ledger holds; of trials with numbers in `blocks` only."""
        where, numbers = having({}, blocks)
        query = f"SELECT DISTINCT treatment, series, round, warmup FROM trial WHERE true{where}"  # noqa: S608 only our own words
        rows = self._select(query, numbers)
        return {(str(treatment), series, round_, bool(warmup)) for treatment, series, round_, warmup in rows}

    def last_number(self) -> int:
        """The greatest number of a trial; 0 where there is none."""
        return int(self._select("SELECT coalesce(max(number), 0) FROM trial")[0][0])

    def counts_by_treatment(self) -> dict[str, dict[str, int]]:
        """How many attempts there are of each status, for each treatment."""
        found: dict[str, dict[str, int]] = {}
        query = "SELECT treatment, status, count(*) FROM trial GROUP BY treatment, status ORDER BY treatment"
        for treatment, status, number in self._select(query):
            found.setdefault(str(treatment), {})[str(status)] = int(number)
        return found

    def claim_times(self) -> list[float]:
        """When trials were claimed, in plan order, Unix seconds."""
        query = "SELECT claimed FROM trial WHERE claimed IS NOT NULL ORDER BY number, attempt"
        return [float(moment) for (moment,) in self._select(query)]

    def last_planned_start(self) -> float | None:
        """The latest planned start of a trial that is still planned, seconds after `created`."""
        return self._select("SELECT max(planned_start) FROM trial WHERE status = 'planned'")[0][0]

    def unsuccessful(self) -> list[TrialRow]:
        """The trials whose last attempt failed or is invalid: that attempt."""
        last = {row.number: row for row in self.trials()}
        return [row for row in last.values() if row.status in ("failed", "invalid")]
