"""What network and load tools wrote when they ran here (`make_load_tools.py`) is read as it stands in the files."""

import json
import re
from pathlib import Path

import pytest

from trialwise.readers.content import read_content
from trialwise.readers.register import recognised

DATA = Path(__file__).parent / "data"


def read(name):
    content = read_content(DATA / name)
    return recognised(content).reading(content)


def value(found, metric):
    return [row.value for row in found.rows if row.metric == metric]


def told(name, pattern):
    return [float(number) for number in re.findall(pattern, (DATA / name).read_text())]


def codes(found):
    return {note.code for note in found.notes}


def test_terse_lines_of_fio():
    """Fields 7 and 8 are bandwidth in KiB/s and operations per second; the mean completion latency is field 16, in µs."""
    fields = (DATA / "fio/terse.txt").read_text().split(";")
    found = read("fio/terse.txt")
    assert value(found, "bandwidth") == [float(fields[6]) * 1024]
    assert value(found, "iops") == [float(fields[7])]
    assert value(found, "clat_mean") == pytest.approx([float(fields[15]) / 1e6])
    assert value(found, "clat_p50") == pytest.approx(
        [float(re.search(r"50\.000000%=(\d+)", ";".join(fields))[1]) / 1e6]
    )


def test_clones_of_fio_add_up():
    text = (DATA / "fio/clones.json").read_text()
    jobs = json.loads(text)["jobs"]
    found = read("fio/clones.json")
    assert len(jobs) == 2
    assert value(found, "iops") == pytest.approx(
        [sum(job[half]["iops"] for job in jobs) for half in ("read", "write")]
    )


def test_json_of_fio_after_its_text():
    text = (DATA / "fio/after_text.json").read_text()
    iops = json.JSONDecoder().raw_decode(text, text.index("\n{") + 1)[0]["jobs"][0]["read"]["iops"]
    assert value(read("fio/after_text.json"), "iops") == [iops]


def test_replies_of_fping():
    replies = told("fping/quiet.txt", r" (\d+\.\d+)")
    assert value(read("fping/quiet.txt"), "rtt_mean") == pytest.approx([sum(replies) / len(replies) / 1000])


def test_processors_of_perf_add_up():
    clocks = told("perf-stat/processors.csv", r"CPU\d+,([\d.]+),msec")
    assert value(read("perf-stat/processors.csv"), "task-clock") == pytest.approx([sum(clocks)])


def test_an_interval_of_perf_that_was_not_counted_gives_no_sum():
    found = read("perf-stat/intervals.csv")
    clocks = told("perf-stat/intervals.csv", r",([\d.]+),msec,task-clock")
    uncounted = "<not counted>,msec" in (DATA / "perf-stat/intervals.csv").read_text()
    assert value(found, "task-clock") == [None if uncounted else pytest.approx(sum(clocks))]
    assert value(found, "cycles") == [None]
    assert "counter_not_supported" in codes(found)


def test_semicolons_of_perf():
    assert value(read("perf-stat/semicolons.csv"), "task-clock") == told(
        "perf-stat/semicolons.csv", r"([\d.]+);msec"
    )


@pytest.mark.parametrize("name", ["wrk/refused.txt", "ab/refused.txt", "hey/refused.txt"])
def test_a_server_that_refuses_gives_failed_trials(name):
    found = read(name)
    rates = [row for row in found.rows if row.metric in ("requests", "latency_mean", "time_per_request")]
    assert {row.status for row in rates} == {"failed"}


def test_why_apachebench_failed_is_told():
    assert {row.reason for row in read("ab/refused.txt").rows} == {
        "apr_socket_recv: Connection refused (111)"
    }


def test_a_test_of_sysbench_without_a_rate_has_that_of_its_events():
    (events,), (seconds,) = (
        told("sysbench/threads.txt", pattern)
        for pattern in (r"number of events: +(\d+)", r"total time: +([\d.]+)s")
    )
    assert value(read("sysbench/threads.txt"), "events") == pytest.approx([events / seconds])


def test_round_trips_of_irtt():
    """The table gives three digits; the lines of packets give the same mean within these."""
    trips = [
        float(number) * {"µs": 1e-6, "ms": 1e-3}[unit]
        for number, unit in re.findall(r"rtt=([\d.]+)(µs|ms)", (DATA / "irtt/client.txt").read_text())
    ]
    found = read("irtt/client.txt")
    assert value(found, "rtt_mean") == pytest.approx([sum(trips) / len(trips)], rel=0.01)
    assert value(found, "rtt_max") == pytest.approx([max(trips)], rel=0.01)
    assert {"one_way_needs_clocks", "rounded"} <= codes(found)


def test_a_client_of_iperf_without_a_report_tells_what_it_sent():
    found = read("iperf2/udp_client.csv")
    assert value(found, "loss") == [None]
    assert value(found, "goodput") == []
    assert {"sender_side", "time_unusable"} <= codes(found)


def test_omitted_intervals_of_iperf3_are_left_out():
    found = read("iperf3/omitted.json")
    end = json.loads((DATA / "iperf3/omitted.json").read_text())["end"]
    assert value(found, "goodput") == [end["sum_received"]["bits_per_second"]]
    assert "warmup_dropped" in codes(found)
    (samples,) = [row.samples for row in found.rows if row.samples is not None]
    assert len(samples.values) == 2
