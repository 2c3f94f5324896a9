"""Files of calibrated paths (NAME.path): a path, the metrics for which its certificate lets it stand, and a digest of both."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialwise.errors import PlanError
from trialwise.experiment.file.sections import adapter
from trialwise.experiment.text import frozen_or_named
from trialwise.experiment.trials import Path, PathSettings, path_table
from trialwise.foreign_files import MEBIBYTE, read_foreign

DESPITE = "used despite its certificate"
"""In the source of a path that is used for metrics in which it does not stand for the real one."""
PREFIX = "file:"
FORMAT = "trialwise.path-file/1"
LIKENESS = ("throughput", "queueing_delay_p50", "queueing_delay_p95", "loss", "completion_time")
"""Metrics that a certificate judges."""
_DELAYS = ("queueing_delay_p50", "queueing_delay_p95")


@dataclass(frozen=True, slots=True)
class PathCertificate:
    """The verdicts of a certificate on a path: the metrics that are equivalent, undecided and different, and where it is from.

    `note` says what its delays are; files made before 2026-11-27 have none.
    """

    real: str
    made: str
    held_out: tuple[str, ...]
    equivalent: tuple[str, ...]
    undecided: tuple[str, ...]
    different: tuple[str, ...]
    note: str = ""

    @property
    def text(self) -> str:
        """Say in one line where the path is from and what it may stand for."""
        words = ((name, getattr(self, name)) for name in ("equivalent", "undecided", "different"))
        verdicts = "; ".join(f"{word}: {', '.join(metrics)}" for word, metrics in words if metrics)
        note = f"; {self.note}" if self.note else ""
        return f"calibrated to {self.real}, {self.made[:10]} ({verdicts or 'not judged'}{note})"


def path_file(settings: PathSettings, certificate: PathCertificate) -> str:
    """Return the text of a path file."""
    from trialwise.experiment.toml_writing import toml_value

    content = {"path": path_table(settings), "certificate": _plain(certificate)}
    path = content["path"]
    lines = [
        f"# A path calibrated to {json.dumps(certificate.real)}: path = {json.dumps(PREFIX + 'THIS-FILE')} in an experiment.",
        "# Its digest covers all of it: calibrate again instead of editing it.",
        f"format = {toml_value(FORMAT)}",
        f"digest = {toml_value(_digest(content))}",
        "",
        "[path]",
        *(f"{name} = {toml_value(value)}" for name, value in path.items()),
        "",
        "[certificate]",
        *(f"{name} = {toml_value(value)}" for name, value in content["certificate"].items()),
    ]
    return "\n".join(lines) + "\n"


def digest_in(text: str) -> str:
    """Return the digest that the text of a path file states."""
    return str(tomllib.loads(text)["digest"])


def file_named(text: str) -> tuple[str, tuple[str, ...]]:
    """Split `file:NAME.path,despite=loss,despite=…` into the name and the metrics.

    Raises
    ------
    PlanError
        There is no name, or something else than `despite` stands after it.
    """
    name, *settings = text.removeprefix(PREFIX).split(",")
    despite: list[str] = []
    for setting in settings:
        key, _, value = (part.strip() for part in setting.partition("="))
        if key != "despite" or value not in LIKENESS:
            raise PlanError(
                f"path {text!r}: {setting.strip()!r} does not stand after a file",
                hint=f"write despite=METRIC, where METRIC is one of: {', '.join(LIKENESS)}",
            )
        despite.append(value)
    if not name.strip():
        raise PlanError(f"path {text!r}: names no file", hint="write file:NAME.path")
    return name.strip(), tuple(despite)


def read_path_file(text: str, folder: pathlib.Path) -> PathSettings:
    """Return the path of `file:NAME.path[,despite=METRIC…]`, with what its certificate refuses and says; names begin at `folder`.

    Raises
    ------
    PlanError
        The file cannot be read, is none of this version, or was changed after it was written.
    """
    name, despite = file_named(text)
    where = frozen_or_named(folder, name)
    content = _content(where)
    certificate = _certificate(where, content["certificate"])
    try:
        settings: PathSettings = adapter(Path).validate_python(content["path"])
    except ValueError as error:
        raise _damaged(where, "its path is not one") from error
    overruled = tuple(metric for metric in certificate.different if metric in despite)
    said = f"; {DESPITE}: {', '.join(overruled)}" if overruled else ""
    return dataclasses.replace(
        settings,
        folder=str(where.parent),
        source=f"{name}: {certificate.text}{said}",
        file=str(where),
        named_in=str(pathlib.Path(name).parent),
        refused=tuple(metric for metric in certificate.different if metric not in despite),
    )


def judged_as(quantity: str, measure: str | float | None) -> tuple[str, ...]:
    """Return the metrics of a certificate on which a quantity of a path trial rests; empty if it judges none of its kind.

    A percentile of delay up to the 75th rests on the median, a higher one on the 95th; everything else of delay on both.
    """
    kind = quantity.removeprefix("pantheon_")
    if kind in {"throughput", "utilisation", "utilization", "delivery_rate"}:
        return ("throughput",)
    if kind in {"loss", "completion_time"}:
        return (kind,)
    if kind in {"delay", "queueing_delay", "rtt"}:
        rank = 95.0 if quantity.startswith("pantheon_") else 50.0 if measure == "median" else measure
        if isinstance(rank, int | float):
            return _DELAYS[:1] if rank <= 75 else _DELAYS[1:]
        return _DELAYS
    return ()


def _content(where: pathlib.Path) -> dict[str, Any]:
    raw = read_foreign(where, MEBIBYTE, error=PlanError)
    try:
        found = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(where, "it is not TOML") from error
    if found.get("format") != FORMAT:
        raise PlanError(
            f"{where}: is no path file of this version: format is {found.get('format')!r}, not {FORMAT!r}",
            hint="make it with `trialwise calibrate REAL.results -o NAME.path`",
        )
    if not all(isinstance(found.get(part), dict) for part in ("path", "certificate")):
        raise _damaged(where, "it lacks its path or its certificate")
    if found.get("digest") != _digest({part: found[part] for part in ("path", "certificate")}):
        raise _damaged(where, "it was changed after it was written")
    return found


def _certificate(where: pathlib.Path, table: Mapping[str, Any]) -> PathCertificate:
    names = {field.name for field in dataclasses.fields(PathCertificate)}
    if not names - {"note"} <= set(table) <= names:
        raise _damaged(where, "its certificate has other keys")
    lists: dict[str, Sequence[str]] = {name: table[name] for name in names - {"real", "made", "note"}}
    return PathCertificate(
        str(table["real"]),
        str(table["made"]),
        **{name: tuple(each) for name, each in lists.items()},
        note=str(table.get("note", "")),
    )


def _damaged(where: pathlib.Path, what: str) -> PlanError:
    return PlanError(
        f"{where}: {what}, so that its certificate is void",
        hint="put back the file as it was, or calibrate again; write a path of your own into the experiment",
    )


def _plain(certificate: PathCertificate) -> dict[str, Any]:
    found = dataclasses.asdict(certificate)
    return {name: value if isinstance(value, str) else list(value) for name, value in found.items()}


def _digest(content: Mapping[str, object]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
