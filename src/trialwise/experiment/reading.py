"""Reading and checking an experiment file."""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from trialwise.errors import PlanError
from trialwise.experiment import document as doc
from trialwise.experiment import model
from trialwise.experiment.placeholders import BUILT_IN, names_in

LARGEST_FILE = 4 * 1024 * 1024


def read_experiment(path: Path) -> model.Experiment:
    """Read the experiment file at `path`.

    Raises
    ------
    PlanError
        When the file cannot be read or says something that cannot be carried out: names file and key, what is
        wrong, and the nearest known key or the allowed values.
    """
    return parse_experiment(read_text(path), path)


def read_text(path: Path) -> str:
    """Read a small text file written by a person, or say why not."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise PlanError(f"{path}: larger than {LARGEST_FILE} bytes; this is not an experiment file")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        hint = (
            "`trialwise new` writes an experiment file to start from"
            if isinstance(error, FileNotFoundError)
            else None
        )
        raise PlanError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: byte {error.start} is not UTF-8; this is not a text file") from error


def parse_experiment(text: str, path: Path) -> model.Experiment:
    """Check the text of an experiment file; `path` is where it stands, for messages and relative paths."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path}: not TOML: {error}", hint="see https://toml.io for the syntax") from error
    try:
        document = doc.Document.model_validate(table)
    except ValidationError as error:
        raise PlanError(_problems(error, text, path)) from error
    return _Builder(path, text, document).experiment()


# Messages


def _problems(error: ValidationError, text: str, path: Path) -> str:
    lines = dict.fromkeys(_problem(item, text, path) for item in _relevant(error.errors()))
    return "\n".join(lines)


def _relevant(errors: Sequence[Any]) -> Iterable[Any]:
    """Of the branches of a union keep those that come nearest: the deepest location for each key."""
    by_key: dict[tuple[str, ...], list[Any]] = {}
    for item in errors:
        by_key.setdefault(_key(item["loc"])[:3], []).append(item)
    for items in by_key.values():
        deepest = max(len(_key(item["loc"])) for item in items)
        yield from (item for item in items if len(_key(item["loc"])) == deepest)


_BRANCH = re.compile(
    r"^(function-|constrained-|literal\[|list\[|str$|int$|float$|bool$|[A-Z]\w*Section$|Draw$|Range$)"
)


def _key(location: Sequence[str | int]) -> tuple[str, ...]:
    """The keys of a location, without the names of union branches that pydantic puts in between."""
    kept = [str(part) for index, part in enumerate(location) if index < 2 or not _BRANCH.match(str(part))]
    return tuple("json" if part == "json_" else part for part in kept)


def _problem(item: Mapping[str, Any], text: str, path: Path) -> str:
    key = _key(item["loc"])
    where = f"{path}{_line(text, key)}: {'.'.join(key)}"
    if item["type"] == "extra_forbidden":
        return f"{where}: unknown key{_nearest(key[-1], _known_keys(key[:-1]))}"
    if item["type"] == "missing":
        return f"{where}: missing"
    message = str(item["msg"]).removeprefix("Value error, ")
    given = item.get("input")
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{where}: {message[:1].lower()}{message[1:]}{shown}"


def _line(text: str, key: Sequence[str]) -> str:
    """Where a key stands, as ":LINE", as well as can be told from the text; empty where it cannot."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            section = header.group(1).replace('"', "").replace(" ", "")
            if section == ".".join(key):
                return f":{number}"
        elif assignment := re.match(r"\s*[\"']?([\w.\-]+)[\"']?\s*=", line):
            full = f"{section}.{assignment.group(1)}".strip(".")
            if full == ".".join(key[: full.count(".") + 1]) and full.count(".") >= min(1, len(key) - 1):
                return f":{number}"
    return ""


def _known_keys(section: Sequence[str]) -> list[str]:
    fields: Mapping[str, Any] = doc.Document.model_fields
    if not section:
        return list(fields)
    sections: dict[str, type[doc.Section]] = {
        "experiment": doc.ExperimentSection,
        "factors": doc.Draw,
        "trial": doc.TrialSection,
        "metrics": doc.MetricSection,
        "design": doc.DesignSection,
        "reset": doc.ResetSection,
        "convergence": doc.ConvergenceSection,
        "kpi": doc.KpiSection,
        "variability": doc.VariabilitySection,
        "draw": doc.Range,
    }
    for part in reversed(section):
        if part in sections:
            return [info.alias or name for name, info in sections[part].model_fields.items()]
    return []


def _nearest(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    suggestion = f"; did you mean {close[0]!r}?" if close else ""
    return f"{suggestion} (known here: {', '.join(known)})" if known else suggestion


# From document to model


class _Builder:
    """Turns a checked document into the model and checks what spans several keys."""

    def __init__(self, path: Path, text: str, document: doc.Document) -> None:
        self.path = path
        self.text = text
        self.document = document

    def experiment(self) -> model.Experiment:
        factors = tuple(self._factor(name, section) for name, section in self.document.factors.items())
        self._check_placeholders({factor.name for factor in factors})
        design = self.document.design
        trial = self.document.trial
        return model.Experiment(
            name=self.document.experiment.name,
            folder=self.path.resolve().parent,
            trial=self._trial(trial),
            metrics=tuple(self._metric(name, section) for name, section in self.document.metrics.items()),
            seed=self.document.experiment.seed,
            description=self.document.experiment.description,
            factors=factors,
            design=model.Design(
                order=design.order,
                series=None if design.series == "auto" else design.series,
                rounds=None if design.rounds == "auto" else design.rounds,
                span=design.span,
                robustness=design.robustness,
                warmup_trials=design.warmup_trials,
            ),
            reset=self._reset(),
            runtime=trial.runtime,
            warmup=trial.warmup,
        )

    def _fail(self, key: str, message: str, hint: str | None = None) -> PlanError:
        return PlanError(f"{self.path}{_line(self.text, key.split('.'))}: {key}: {message}", hint=hint)

    # Factors

    def _factor(self, name: str, section: Sequence[doc.Level] | doc.Draw) -> model.Factor:
        if name in BUILT_IN:
            raise self._fail(
                f"factors.{name}", f"this name is taken; built-in placeholders: {', '.join(BUILT_IN)}"
            )
        if isinstance(section, doc.Draw):
            return self._drawn(name, section.draw)
        levels = tuple(section)
        if repeated := next((level for index, level in enumerate(levels) if level in levels[:index]), None):
            raise self._fail(f"factors.{name}", f"the level {repeated!r} stands twice")
        return model.FixedFactor(name, levels)

    def _drawn(self, name: str, draw: str | Sequence[doc.Level] | doc.Range) -> model.DrawnFactor:
        key = f"factors.{name}.draw"
        if isinstance(draw, doc.Range):
            return self._drawn_from_range(name, draw)
        if isinstance(draw, str):
            values: tuple[doc.Level, ...] = tuple(
                line.strip() for line in read_text(self.path.parent / draw).splitlines() if line.strip()
            )
            origin = draw
        else:
            values, origin = tuple(draw), "list"
        if not values:
            raise self._fail(key, "nothing to draw from", "write one value on each line")
        return model.DrawnFactor(name, values=values, origin=origin)

    def _drawn_from_range(self, name: str, draw: doc.Range) -> model.DrawnFactor:
        key = f"factors.{name}.draw"
        if not draw.low < draw.high:
            raise self._fail(key, f"low must be less than high (given: {draw.low} and {draw.high})")
        if draw.scale == "log" and draw.low <= 0:
            raise self._fail(key, f"a range on a log scale must be positive (given: low = {draw.low})")
        return model.DrawnFactor(
            name,
            low=float(draw.low),
            high=float(draw.high),
            integer=isinstance(draw.low, int) and isinstance(draw.high, int),
            logarithmic=draw.scale == "log",
            origin=f"{draw.low} to {draw.high}",
        )

    # Trial

    def _trial(self, section: doc.TrialSection) -> model.Trial:
        environment = tuple(sorted(section.environment.items()))
        if section.kind == "python":
            return self._python_trial(section, environment)
        if section.call is not None:
            raise self._fail("trial.call", 'goes with kind = "python"; a command is in trial.command')
        if section.command is None:
            raise self._fail(
                "trial.command", "missing", 'write the command line, as in command = "sleep {duration}"'
            )
        return model.CommandTrial(
            command=self._words("trial.command", section.command),
            environment=environment,
            directory=section.directory,
            prepare=None if section.prepare is None else self._words("trial.prepare", section.prepare),
            conclude=None if section.conclude is None else self._words("trial.conclude", section.conclude),
            timeout=section.timeout,
            exit_codes=tuple(section.exit_codes),
            output_limit=section.output_limit,
            leftovers=section.leftovers,
        )

    def _python_trial(
        self, section: doc.TrialSection, environment: tuple[tuple[str, str], ...]
    ) -> model.PythonTrial:
        for name in ("command", "prepare", "conclude"):
            if getattr(section, name) is not None:
                raise self._fail(f"trial.{name}", 'goes with kind = "command"')
        if section.call is None or not re.fullmatch(r"[\w.]+:[\w.]+", section.call):
            raise self._fail("trial.call", 'must be "module:function"')
        return model.PythonTrial(section.call, environment, section.directory, section.timeout)

    def _words(self, key: str, command: str | Sequence[str]) -> tuple[str, ...]:
        try:
            words = tuple(shlex.split(command) if isinstance(command, str) else command)
        except ValueError as error:
            raise self._fail(key, f"cannot be split as a shell would: {error}") from error
        if not words or not words[0]:
            raise self._fail(key, "is empty")
        return words

    def _check_placeholders(self, factors: set[str]) -> None:
        used: set[str] = set()
        for key, text in self._texts():
            names = names_in(text)
            for unknown in sorted(names - factors - set(BUILT_IN)):
                known = sorted(factors) + list(BUILT_IN)
                raise self._fail(
                    key,
                    f"{{{unknown}}} is neither a factor nor built in{_nearest(unknown, known)}",
                    f"write {{{{{unknown}}}}} for the literal text {{{unknown}}}",
                )
            used |= names
        if self.document.trial.kind == "command" and (unused := sorted(factors - used)):
            raise self._fail(
                f"factors.{unused[0]}",
                "no text of the trial uses this factor, so all of its levels would run the same program",
                f"put {{{unused[0]}}} into trial.command or trial.environment",
            )

    def _texts(self) -> Iterable[tuple[str, str]]:
        trial = self.document.trial
        for name in ("command", "prepare", "conclude", "directory"):
            value = cast("str | list[str] | None", getattr(trial, name))
            for text in [value] if isinstance(value, str) else value or []:
                yield f"trial.{name}", text
        for name, text in trial.environment.items():
            yield f"trial.environment.{name}", text
        for name, metric in self.document.metrics.items():
            if metric.file is not None:
                yield f"metrics.{name}.file", metric.file
        if self.document.reset is not None:
            command = self.document.reset.command
            for text in [command] if isinstance(command, str) else command:
                yield "reset.command", text

    def _reset(self) -> model.Reset | None:
        section = self.document.reset
        if section is None:
            return None
        return model.Reset(
            self._words("reset.command", section.command), section.every, section.timeout, section.settle
        )

    # Metrics

    def _metric(self, name: str, section: doc.MetricSection) -> model.Metric:
        key = f"metrics.{name}"
        convergence = self._convergence(section.convergence)
        kpi = section.kpi
        sections = [] if kpi is None else kpi if isinstance(kpi, list) else [kpi]
        if section.variability and not sections:
            raise self._fail(
                f"{key}.variability",
                "a variability score needs a kpi",
                "add kpi = { percentile = 50, confidence = 95 }",
            )
        limits = section.limits
        if limits and not limits[0] < limits[1]:
            raise self._fail(f"{key}.limits", f"the first must be less than the second (given: {limits})")
        return model.Metric(
            name=name,
            source=self._source(name, section),
            measure=_measure(section.measure),
            unit=section.unit or _unit(section.resource),
            better=section.better or ("lower" if section.resource else None),
            convergence=convergence,
            kpis=tuple(self._kpi(item, section) for item in sections),
            variability=None
            if section.variability is None
            else model.Variability(section.variability.percentile, section.variability.confidence),
            limits=None if limits is None else (float(limits[0]), float(limits[1])),
        )

    def _convergence(self, section: doc.ConvergenceSection | bool | None) -> model.Convergence | None:
        if section is True:
            return model.Convergence()
        if not section or not section.expected:
            return None
        return model.Convergence(section.confidence, section.tolerance)

    def _kpi(self, section: doc.KpiSection, metric: doc.MetricSection) -> model.Kpi:
        bound = section.bound
        if bound is None and section.percentile == 50:
            bound = "lower" if metric.better == "higher" else "upper"
        return model.Kpi(
            section.percentile, section.confidence, bound or ("lower" if section.percentile < 50 else "upper")
        )

    def _source(self, name: str, section: doc.MetricSection) -> model.Source:
        key = f"metrics.{name}"
        readers = [reader for reader in ("stdout", "json", "csv", "pattern") if _given(section, reader)]
        if section.resource:
            if readers or section.file:
                raise self._fail(key, f"resource and {(readers or ['file'])[0]} are two sources; give one")
            return model.ResourceSource(section.resource)
        if not readers and not section.file and self.document.trial.kind == "python":
            return model.ReturnSource(section.value or name)
        if section.value:
            raise self._fail(f"{key}.value", 'goes with kind = "python" and no other source')
        return self._text_source(key, section, readers)

    def _text_source(self, key: str, section: doc.MetricSection, readers: list[str]) -> model.TextSource:
        if len(readers) != 1:
            problem = (
                f"{' and '.join(readers)} are {len(readers)} sources; give one" if readers else "no source"
            )
            raise self._fail(
                key, problem, "one of resource, stdout, json, csv; or file with json, csv or pattern"
            )
        (reader,) = readers
        if reader == "stdout" and section.file:
            raise self._fail(f"{key}.stdout", "reads standard output; for a file write pattern")
        if reader == "pattern" and not section.file:
            raise self._fail(f"{key}.pattern", "reads a file; add file, or write stdout")
        if section.time and reader not in ("csv", "json"):
            raise self._fail(f"{key}.time", "goes with csv or json")
        pattern = section.stdout if reader == "stdout" else section.pattern
        if pattern is not None:
            self._check_pattern(f"{key}.{reader}", pattern)
        return model.TextSource(section.file, pattern, section.json_, section.csv, section.time)

    def _check_pattern(self, key: str, pattern: str) -> None:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise self._fail(key, f"not a regular expression: {error}") from error
        if groups != 1:
            raise self._fail(
                key,
                f"must have exactly one group ( ) around the number; it has {groups}",
                "(?:…) does not count",
            )


def _given(section: doc.MetricSection, reader: str) -> bool:
    return getattr(section, "json_" if reader == "json" else reader) is not None


def _measure(value: str | float) -> model.Measure:
    if isinstance(value, str) and value[0] in "pP":
        return float(value[1:])
    return cast("model.Measure", value)


def _unit(resource: str | None) -> str:
    return "" if resource is None else "B" if resource == "max_rss" else "s"
