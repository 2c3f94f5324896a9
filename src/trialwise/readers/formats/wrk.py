"""What wrk and wrk2 print; a file is a trial. Sizes are in powers of two (`units.c`), and `Req/Sec` is the rate of one thread."""

from __future__ import annotations

import re
from dataclasses import replace

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, runs
from trialwise.readers.trial import Trial

_SIGNATURE = re.compile(r"^Running \S+ test @ (\S+)", re.MULTILINE)
_HISTOGRAM = "Latency Distribution (HdrHistogram"
_THREADS = re.compile(rf"^ *({COUNT}) threads and ({COUNT}) connections")
_LATENCY = re.compile(
    rf"^ *Latency +({NUMBER})(us|ms|s|m|h) +({NUMBER})(us|ms|s|m|h) +({NUMBER})(us|ms|s|m|h) "
)
_PERCENT = re.compile(rf"^ *({NUMBER})% +({NUMBER})(us|ms|s|m|h)$")
_REQUESTS = re.compile(rf"^ *({COUNT}) requests in ")
_RECORDED = re.compile(rf"^#\[Max +=.*Total count += +({COUNT})\]")
_MEAN = re.compile(rf"^#\[Mean += +({NUMBER}),")
_RATE = re.compile(rf"^Requests/sec: +({NUMBER})$")
_TRANSFER = re.compile(rf"^Transfer/sec: +({NUMBER})(B|KB|MB|GB|TB)$")
_STATUS = re.compile(rf"^ *Non-2xx or 3xx responses: ({COUNT})")
_SOCKET = re.compile(
    rf"^ *Socket errors: connect ({COUNT}), read ({COUNT}), write ({COUNT}), timeout ({COUNT})"
)
_REFUSED = re.compile(r"^unable to connect to (.{1,200})", re.MULTILINE)
_BEGIN = re.compile(rf"{_SIGNATURE.pattern}|{_REFUSED.pattern}")
_SIZES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def _is_wrk(content: Content) -> bool:
    return _is_either(content) and _HISTOGRAM not in content.head


def _is_wrk2(content: Content) -> bool:
    return _is_either(content) and _HISTOGRAM in content.head


def _is_either(content: Content) -> bool:
    return not content.is_binary and (
        _SIGNATURE.search(content.head) is not None or _REFUSED.search(content.head) is not None
    )


def _read(content: Content, found: Found) -> None:
    for lines, levels in runs(content, _BEGIN):
        _add_run(Trial(found=found, levels=levels), lines)


def _add_run(trial: Trial, lines: list[str]) -> None:
    threads = first(_THREADS, lines)
    if threads is not None:
        trial = replace(trial, treatment={"threads": threads[1], "connections": threads[2]})
    rate = first(_RATE, lines)
    if rate is None:
        refused = first(_REFUSED, lines)
        reason = "it ended before its summary" if refused is None else f"unable to connect to {refused[1]}"
        trial.add("requests", None, "1/s", "higher", reason=reason)
        trial.add("latency_mean", None, "s", "lower", reason=reason)
        return
    if (url := _SIGNATURE.match(lines[0])) is not None:
        trial.found.options["url"] = url[1]
    trial.add("requests", float(rate[1]), "1/s", "higher")
    if (transfer := first(_TRANSFER, lines)) is not None:
        trial.add("transfer", float(transfer[1]) * _SIZES[transfer[2]], "byte/s", "higher")
    requests = first(_REQUESTS, lines)
    _add_latencies(trial, lines, None if requests is None else int(requests[1]))
    _add_errors(trial, lines, None if requests is None else int(requests[1]))


def _add_latencies(trial: Trial, lines: list[str], requests: int | None) -> None:
    """Add what is known of latencies; wrk2 records fewer than it requests, since it calibrates itself first."""
    recorded, exact = first(_RECORDED, lines), first(_MEAN, lines)
    count = requests if recorded is None else int(recorded[1])
    latency = first(_LATENCY, lines)
    if exact is not None:
        trial.add("latency_mean", float(exact[1]), "ms", "lower")
    elif latency is not None:
        trial.add("latency_mean", float(latency[1]), latency[2], "lower")
    else:
        trial.add("latency_mean", None, "s", "lower")
    if latency is not None:
        trial.add("latency_max", float(latency[5]), latency[6], "lower")
    for line in lines:
        if (found := _PERCENT.match(line)) is not None and float(found[1]) < 100:
            trial.add_quantile("latency", float(found[1]), float(found[2]), found[3], count)
    if any(_HISTOGRAM in line for line in lines) and not any("Thread calibration" in line for line in lines):
        trial.found.note("not_calibrated")


def _add_errors(trial: Trial, lines: list[str], requests: int | None) -> None:
    """Add failed requests; latencies contain those that were answered with an error."""
    status, socket = first(_STATUS, lines), first(_SOCKET, lines)
    failed = int(status[1]) if status is not None else 0
    broken = 0 if socket is None else sum(map(int, socket.groups()))
    trial.add_errors(failed + broken, None if requests is None else requests + broken)


READERS = (
    Reader(
        name="wrk-text",
        tool="wrk",
        how="`wrk --latency URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_wrk,
        read=_read,
    ),
    Reader(
        name="wrk2-text",
        tool="wrk2",
        how="`wrk2 --latency URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_wrk2,
        read=_read,
    ),
)
