"""The evaluations of a search in a file, a line each: a search that was killed goes on from them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from trialwise.errors import StoreError, reason_of

Distances = Mapping[str, Mapping[str, float]]
"""The distance of each metric, by treatment; 1 is what the real path's noise gives on average."""


_GAIN = 0.1
"""Share of its distance by which a known path has to be outdone."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A point of the unit cube, the distances of its path, and the seconds that they took."""

    point: tuple[float, ...]
    distances: Distances
    seconds: float

    def score(self, without: str | None = None) -> float:
        """Return `score` of its distances."""
        return score(self.distances, without)


def score(distances: Distances, without: str | None = None) -> float:
    """Return the mean distance over metrics and treatments, all but one if that is named; infinite if there are none."""
    found = [
        value for name, of_metric in distances.items() if name != without for value in of_metric.values()
    ]
    return float(np.mean(found)) if found else float("inf")


def is_likelier(one: Distances, known: Distances, without: str | None = None) -> bool:
    """Return whether a path is nearer than a known one by a tenth and by two standard errors over treatments and metrics."""
    cells = [(name, metric) for name, of_metric in known.items() if name != without for metric in of_metric]
    gains = np.array(
        [known[name][metric] - one[name][metric] for name, metric in cells if metric in one[name]]
    )
    if gains.size < 2:
        return False
    error = float(gains.std(ddof=1)) / gains.size**0.5
    return float(gains.mean()) > max(2 * error, _GAIN * score(known, without))


class EvaluationLog:
    """Evaluations of one search, in memory and in a file; those of another one, by its fingerprint, are passed over."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        """Read what the file has.

        Raises
        ------
        StoreError
            The file cannot be read.
        """
        self._path, self._fingerprint = path, fingerprint
        self.all: list[Evaluation] = []
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {reason_of(error)}") from error
        self._known = {
            found.point: found for line in lines if (found := _read(line, fingerprint)) is not None
        }

    def known(self, point: Sequence[float]) -> Evaluation | None:
        """Return the evaluation of a point if the file has it; it counts from now on."""
        found = self._known.get(tuple(map(float, point)))
        if found is not None and found not in self.all:
            self.all.append(found)
        return found

    def add(self, found: Evaluation) -> Evaluation:
        """Write an evaluation durably and return it.

        Raises
        ------
        StoreError
            It cannot be written.
        """
        line = json.dumps({"search": self._fingerprint} | asdict(found)) + "\n"
        try:
            with self._path.open("a", encoding="utf-8") as file:
                if file.tell() and not _ends_line(self._path):
                    file.write("\n")
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written: {reason_of(error)}") from error
        self.all.append(found)
        return found


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _read(line: str, fingerprint: str) -> Evaluation | None:
    """Return the evaluation of a line; None if it is of another search, or was cut off when its writer was killed."""
    try:
        found = json.loads(line)
        if found["search"] != fingerprint:
            return None
        return Evaluation(tuple(found["point"]), found["distances"], float(found["seconds"]))
    except (ValueError, KeyError, TypeError):
        return None
