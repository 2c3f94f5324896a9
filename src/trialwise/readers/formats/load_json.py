"""The JSON summaries of bombardier (`--format json`) and oha (`--output-format json`, schema 1.15); a file is a trial."""

from __future__ import annotations

from trialwise.readers.appended import documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import number
from trialwise.readers.parts import Part
from trialwise.readers.trial import Trial, unanswered

_ANSWERED = ("req1xx", "req2xx", "req3xx", "req4xx", "req5xx")
_FAILED = ("req4xx", "req5xx", "others")


def _is_bombardier(content: Content) -> bool:
    keys = Part(content.keys)
    return "numberOfConnections" in keys["spec"] and "req2xx" in keys["result"]


def _read_bombardier(content: Content, found: Found) -> None:
    """Latencies are in µs; `rps.mean` is a mean of short windows, so the rate is that of all requests over the time."""
    spec, result = Part(content.keys)["spec"], Part(content.keys)["result"]
    connections = spec["numberOfConnections"].level
    trial = Trial(found=found, treatment={"connections": connections} if connections else {})
    found.options |= {
        name: spec[name].level for name in ("url", "method", "client", "rate") if spec[name].level
    }
    answered = sum(result[name].number or 0 for name in _ANSWERED)
    total = answered + (result["others"].number or 0)
    errors = [error["description"].text for error in result["errors"].entries()]
    reason = unanswered(answered, errors)
    seconds = result["timeTakenSeconds"].number
    trial.add("requests", total / seconds if seconds else None, "1/s", "higher", reason=reason)
    latency = result["latency"]
    trial.add("latency_mean", latency["mean"].number, "us", "lower", reason=reason)
    if answered:
        trial.add_known("latency_max", latency["max"].number, "us", "lower")
        for percent, value in latency["percentiles"].members():
            if (asked := number(percent)) is not None and 0 < asked < 100:
                trial.add_quantile("latency", asked, value.number, "us", total)
    trial.add_errors(sum(result[name].number or 0 for name in _FAILED), total)


def _is_oha(content: Content) -> bool:
    return "requestsPerSec" in Part(content.keys)["summary"] and "latencyPercentiles" in content.keys


def _read_oha(content: Content, found: Found) -> None:
    """Times are in seconds; `successRate` counts completed requests, also those that were answered with an error."""
    document = Part(content.keys)
    summary, trial = document["summary"], Trial(found=found)
    answered = {code: count.number or 0 for code, count in document["statusCodeDistribution"].members()}
    broken = sum(count.number or 0 for _, count in document["errorDistribution"].members())
    total = sum(answered.values())
    reason = unanswered(total, [told for told, _ in document["errorDistribution"].members()])
    trial.add("requests", summary["requestsPerSec"].number, "1/s", "higher", reason=reason)
    trial.add("latency_mean", summary["average"].number, "s", "lower", reason=reason)
    if total:
        trial.add_known("latency_max", summary["slowest"].number, "s", "lower")
        for name, value in document["latencyPercentiles"].members():
            if (asked := number(name.removeprefix("p"))) is not None and 0 < asked < 100:
                trial.add_quantile("latency", asked, value.number, "s", total)
    failed = sum(count for code, count in answered.items() if not code.startswith(("2", "3")))
    trial.add_errors(failed + broken, total + broken)


READERS = (
    Reader(
        name="bombardier-json",
        tool="bombardier",
        how="`bombardier -l -o json -p r URL`",
        replicated="file",
        unit="file",
        fits=_is_bombardier,
        read=_read_bombardier,
        runs=documents_apart,
    ),
    Reader(
        name="oha-json",
        tool="oha",
        how="`oha --output-format json URL`",
        replicated="file",
        unit="file",
        fits=_is_oha,
        read=_read_oha,
        runs=documents_apart,
    ),
)
