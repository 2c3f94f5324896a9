"""flent's `.flent` files (`doc/data-format`); a file is a trial, and each of its series a metric.

`results` are interpolated by flent and are never read: samples are `raw_values`, and values the means of `SERIES_META`.
"""

from __future__ import annotations

from trialwise.readers.appended import documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.names import pairs, repetition_of
from trialwise.readers.parts import Part
from trialwise.readers.records import Better, Inside
from trialwise.readers.trial import Trial, mean

_DIRECTIONS: dict[str, Better] = {"Mbits/s": "higher", "ms": "lower", "packets": "higher"}
_OPTIONS = ("NAME", "LENGTH", "HOST", "IP_VERSION", "STEP_SIZE")


def _fits(content: Content) -> bool:
    return {"x_values", "results", "metadata"} <= set(content.keys) and "NAME" in Part(content.keys)[
        "metadata"
    ]


def _read(content: Content, found: Found) -> None:
    document = Part(content.keys)
    metadata = document["metadata"]
    found.version = metadata["FLENT_VERSION"].text
    found.facts |= {
        name: metadata[key].text
        for key, name in (("LOCAL_HOST", "host"), ("KERNEL_RELEASE", "kernel"))
        if metadata[key].text
    }
    found.options |= {name.lower(): metadata[name].level for name in _OPTIONS if metadata[name].level}
    repetition, factors = repetition_of(dict(pairs(metadata["TITLE"].text)))
    parameters = {name: part.level for name, part in metadata["TEST_PARAMETERS"].members() if part.level}
    trial = Trial(
        found=found,
        treatment=factors | parameters,
        levels={} if repetition is None else {"repetition": repetition},
        start=metadata["T0"].moment,
        as_written=True,
    )
    found.note("interpolated")
    described = dict(metadata["SERIES_META"].members())
    for name in dict.fromkeys([*described, *(name for name, _ in document["results"].members())]):
        _add(trial, name, described.get(name, Part(None)), document["raw_values"][name])
    if metadata["FAILED_RUNNERS"].number:
        found.note("partial", what=f"{metadata['FAILED_RUNNERS'].level} of flent's runners failed")


def _add(trial: Trial, name: str, described: Part, raw: Part) -> None:
    """Add a series; one without raw values was computed by flent from others, or failed."""
    unit, told = described["UNITS"].text, described["MEAN_VALUE"].number
    samples = [
        (point["t"].number, value) for point in raw.entries() if (value := point["val"].number) is not None
    ]
    values, times = [value for _, value in samples], [time for time, _ in samples if time is not None]
    if not samples and described and "::" not in name:
        trial.add(name, None, unit, _DIRECTIONS.get(unit), reason="flent has no values of it")
    if not samples:
        return
    trial.add(
        name,
        mean(values) if told is None else told,
        unit,
        _DIRECTIONS.get(unit),
        samples=Inside("sample", values, times if len(times) == len(values) else None),
    )


READERS = (
    Reader(
        name="flent",
        tool="flent",
        how="`flent TEST -H HOST`",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
        runs=documents_apart,
    ),
)
