"""What network and load tools wrote when they ran here (`make_load_tools.py`) is read as it stands in the files."""

import csv
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


def test_percentiles_of_few_requests_of_fio_are_left_out():
    """256 KiB in blocks of 4 KiB are 64 requests, of which less than one lies beyond the 99th percentile."""
    found = read("fio/terse.txt")
    assert value(found, "clat_p99") == value(found, "clat_p99.99") == []
    assert "percentile_of_few" in codes(found)


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


def test_a_stream_of_iperf3_with_omitted_intervals():
    """The interval that began while the first second was omitted tells two lengths: 1.2 ms and 1 s."""
    found = read("iperf3/omitted.jsonl")
    events = [json.loads(line) for line in (DATA / "iperf3/omitted.jsonl").read_text().splitlines()]
    sums = [event["data"]["sum"] for event in events if event["event"] == "interval"]
    (end,) = (event["data"] for event in events if event["event"] == "end")
    assert found.version == "3.21+"
    assert value(found, "goodput") == [end["sum_received"]["bits_per_second"]]
    assert value(found, "rtt_mean") == pytest.approx([end["streams"][0]["sender"]["mean_rtt"] / 1e6])
    (samples,) = [row.samples for row in found.rows if row.samples is not None]
    kept = [each["bits_per_second"] for each in sums if not each["omitted"]]
    assert list(samples.values) == kept
    assert len(kept) == len(sums) - 1
    said = next(note.text for note in found.notes if note.code == "interval_times_inconsistent")
    assert "number 2 lasts 1.005 s, from 0.501722 s to 0.502931 s" in said


def test_a_test_of_iperf3_that_did_not_begin_has_failed():
    found = read("iperf3/refused.jsonl")
    ((status, reason),) = statuses(found, "goodput")
    assert status == "failed"
    assert reason.endswith("Connection refused")


def statuses(found, metric):
    return [(row.status, row.reason) for row in found.rows if row.metric == metric]


def entries(name):
    return list(csv.reader((DATA / name).read_text().splitlines()))


def test_requests_of_vegeta_in_csv_are_those_of_its_report():
    """Columns 2 and 3 are the code and the latency in ns; the report has the same, its mean rounded down."""
    rows, report = entries("vegeta/answers.csv"), json.loads((DATA / "vegeta/answers.json").read_text())
    found = read("vegeta/answers.csv")
    latencies = [int(row[2]) / 1e9 for row in rows]
    assert value(found, "latency_mean") == pytest.approx([sum(latencies) / len(latencies)])
    assert value(found, "latency_mean") == pytest.approx([report["latencies"]["mean"] / 1e9], rel=1e-5)
    assert value(found, "errors") == [sum(row[1] != "200" for row in rows)] == [10]
    assert value(found, "throughput") == pytest.approx([report["throughput"]], rel=1e-5)
    assert value(read("vegeta/answers.json"), "throughput") == [report["throughput"]]


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("vegeta/refused.csv", "throughput"),
        ("vegeta/refused.json", "throughput"),
        ("bombardier/refused.json", "requests"),
    ],
)
def test_requests_that_nobody_answered_are_no_fast_answers(name, rate):
    found = read(name)
    for metric in (rate, "latency_mean"):
        ((status, reason),) = statuses(found, metric)
        assert status == "failed"
        assert "connection refused" in reason
    assert value(found, "errors") == [40 if name.startswith("vegeta") else 20]
    assert not [row for row in found.rows if "_p" in row.metric]


def test_answers_of_bombardier_are_counted_by_their_status():
    result = json.loads((DATA / "bombardier/answers.json").read_text())["result"]
    assert (result["req2xx"], result["req5xx"]) == (15, 5)
    found = read("bombardier/answers.json")
    assert value(found, "requests") == pytest.approx([20 / result["timeTakenSeconds"]])
    assert value(found, "errors") == [5]


def test_printed_percentiles_are_no_trials():
    (row,) = read("vegeta/percentiles.txt").rows
    told = [line.split() for line in (DATA / "vegeta/percentiles.txt").read_text().splitlines()[1:]]
    assert (row.status, row.value, row.unit, row.summary.n) == ("aggregated", None, "ms", 40)
    assert row.summary.percentiles[50] == next(float(each[0]) for each in told if float(each[1]) == 0.5)
    assert 0 not in row.summary.percentiles


def test_rates_counters_and_trends_of_k6_in_all_its_files():
    points = [json.loads(line) for line in (DATA / "k6/points.jsonl").read_text().splitlines()]

    def of(name):
        return [
            each["data"]["value"] for each in points if each["type"] == "Point" and each["metric"] == name
        ]

    found = read("k6/points.jsonl")
    assert value(found, "my_wait_mean") == pytest.approx([sum(of("my_wait")) / 4 / 1000])
    assert value(found, "my_good") == [sum(of("my_good")) / 4] == value(found, "checks")
    assert value(found, "my_calls") == value(found, "requests")
    duration = sum(of("http_req_duration")) / 4 / 1000
    for name in ("k6/points.csv", "k6/export.json", "k6/points.jsonl"):
        assert value(read(name), "http_req_duration_mean") == pytest.approx([duration], rel=1e-5)
        assert value(read(name), "errors") == [sum(of("http_req_failed"))] == [1]
        assert value(read(name), "checks") == [0.75]


def test_csv_of_k6_has_whole_seconds_and_so_no_rates_of_a_short_run():
    found = read("k6/points.csv")
    assert not value(found, "requests")
    assert "coarse_clock" in codes(found)


def test_what_k6_hands_to_its_summary():
    metrics = json.loads((DATA / "k6/handled.json").read_text())["metrics"]
    found = read("k6/handled.json")
    assert value(found, "my_good") == [metrics["my_good"]["values"]["rate"]]
    assert value(found, "requests") == [metrics["http_reqs"]["values"]["rate"]]
    assert value(found, "my_wait_mean") == pytest.approx([metrics["my_wait"]["values"]["avg"] / 1000])
    assert value(found, "vus") == []
    assert "threshold_crossed" in codes(found)
    assert metrics["http_req_failed"]["thresholds"] == {"rate<0.01": {"ok": False}}


def test_a_rate_over_a_time_that_rounds_to_nothing_is_left_out():
    assert told("sysbench/mutex.txt", r"total time: +([\d.]+)s")[0] < 0.005
    found = read("sysbench/mutex.txt")
    assert value(found, "events") == [None]
    assert "rounded" in codes(found)


def test_sysbench_that_does_not_name_its_test_says_so():
    found = read("sysbench/mutex.txt")
    assert {tuple(row.treatment) for row in found.rows} == {("threads",)}
    assert any("does not name the test" in note.text for note in found.notes)
    (rounded,) = [note.text for note in found.notes if note.code == "rounded"]
    assert "a rate over 0.0001 s is left out" in rounded
    assert "a latency of 0.00 ms is left out" in rounded


def test_sysbench_names_its_test_in_full_words():
    assert {row.treatment["test"] for row in read("sysbench/mutex_named.txt").rows} == {"mutex"}


@pytest.mark.parametrize(("name", "unit"), [("microseconds.txt", 1e-6), ("seconds.txt", 1)])
def test_delays_of_owping_in_each_unit_and_with_exponents(name, unit):
    """In seconds, owping writes no unit; numbers above 1000 or below 0.0001 have exponents."""
    (least, median, most) = re.search(
        r"min/median/max = (\S+)/(\S+)/(\S+) ", (DATA / "owping" / name).read_text()
    ).groups()
    found = read(f"owping/{name}")
    told = [float(each) * unit for each in (least, median, most)]
    assert [value(found, metric)[0] for metric in ("delay_min", "delay_p50", "delay_max")] == pytest.approx(
        told
    )
    assert {"one_way_needs_clocks", "rounded"} <= codes(found)


def test_packets_of_owping_are_samples_of_one_session():
    delays = [each / 1000 for each in told("owping/packets.txt", r"delay=(\S+) ms")]
    found = read("owping/packets.txt")
    (row,) = [row for row in found.rows if row.metric == "delay_mean"]
    assert len(delays) == 5
    assert row.samples.values == pytest.approx(delays)
    assert value(found, "delay_p50") == [0.0007]


def test_parts_of_a_session_of_owping_are_repetitions_in_one_process():
    found = read("owping/parts.txt")
    assert [row.levels for row in found.rows if row.metric == "loss"] == [
        {"repetition": "0"},
        {"repetition": "1"},
    ]
    assert (found.replicated, "within_process" in codes(found)) == ("repetition", True)


def test_keys_of_owping_stand_after_words_about_its_clock():
    lines = [
        line.split("\t") for line in (DATA / "owping/machine.txt").read_text().splitlines() if "\t" in line
    ]
    pairs = {line[0]: line[1] for line in lines}
    found = read("owping/machine.txt")
    assert value(found, "delay_max") == [float(pairs["MAX"])]
    assert value(found, "jitter") == [float(pairs["PDV"])]
    assert found.rows[0].start == int(pairs["START_TIME"]) / 2**32 - 2208988800


def test_raw_packets_of_owping_have_times_of_64_bits():
    """Columns 2 and 5 are NTP's times; a packet that arrived at 0 was lost."""
    packets = [
        line.split() for line in (DATA / "owping/raw.txt").read_text().splitlines() if re.match(r"\d+ ", line)
    ]
    delays = [(int(each[4]) - int(each[1])) / 2**32 for each in packets if int(each[4])]
    found = read("owping/raw.txt")
    assert value(found, "delay_mean") == pytest.approx([sum(delays) / len(delays)])
    assert value(found, "loss") == pytest.approx([14 / 30])


@pytest.mark.parametrize(
    ("name", "metric", "unit", "factor", "pattern"),
    [
        ("omni.txt", "throughput", "bit/s", 1e6, r" ([\d.]+) +10\^6bits/s *\n"),
        ("named.txt", "transactions", "1/s", 1, r"\n([\d.]+) +Trans/s"),
        ("bits_of_requests.txt", "throughput", "bit/s", 1e6, r"\n\d+ +\d+ 1 +1 +[\d.]+ +([\d.]+)"),
        ("megabytes.txt", "throughput", "byte/s", 2**20, r"\n\d+ +\d+ +\d+ +[\d.]+ +([\d.]+)"),
        ("datagrams.txt", "goodput", "byte/s", 2**10, r"\n\d+ +[\d.]+ +\d+ +([\d.]+)\n"),
        ("rate.txt", "throughput", "", 1, r"\n([\d.]+) *\n"),
    ],
)
def test_tables_of_netperf_in_each_unit(name, metric, unit, factor, pattern):
    """Of `-c -f M` the unit is written "MBytes  /s"; `-v 0` has none; the omni tests name their columns over several lines."""
    found = read(f"netperf/{name}")
    (row,) = [row for row in found.rows if row.metric == metric]
    assert row.unit == unit
    assert [row.value] == pytest.approx([told(f"netperf/{name}", pattern)[0] * factor])
    assert ("unit_unknown" in codes(found)) == (not unit)


def test_named_columns_of_netperf_have_latencies():
    cells = (DATA / "netperf/named.txt").read_text().splitlines()[-1].split()
    found = read("netperf/named.txt")
    assert [*value(found, "latency_p50"), *value(found, "latency_mean")] == pytest.approx(
        [float(cells[2]) / 1e6, float(cells[3]) / 1e6]
    )


def test_oha_in_all_its_files():
    """oha's JSON is in seconds, and what it prints in milliseconds here; a fourth of the answers are errors."""
    summary = json.loads((DATA / "oha/answers.json").read_text())["summary"]
    found = read("oha/answers.json")
    assert value(found, "requests") == [summary["requestsPerSec"]]
    assert value(found, "latency_mean") == [summary["average"]]
    printed = read("oha/printed.txt")
    assert (printed.tool, value(printed, "requests")) == (
        "oha",
        told("oha/printed.txt", r"Requests/sec:\s+(\S+)"),
    )
    for metric, pattern in (
        ("latency_mean", r"Average:\s+(\S+) ms"),
        ("latency_max", r"Slowest:\s+(\S+) ms"),
        ("latency_p95", r"95\.00% in (\S+) ms"),
    ):
        assert value(printed, metric) == pytest.approx(
            [each / 1000 for each in told("oha/printed.txt", pattern)]
        )
    lasted = [float(row[4]) for row in entries("oha/answers.csv")[1:]]
    assert value(read("oha/answers.csv"), "latency_mean") == pytest.approx([sum(lasted) / 40])
    for name in ("answers.json", "printed.txt", "answers.csv"):
        assert value(read(f"oha/{name}"), "errors") == [10]


def test_oha_without_a_server_has_failed():
    found = read("oha/refused.json")
    assert statuses(found, "requests") == [("failed", "Connection refused (os error 111)")]
    assert value(found, "errors") == [40]


def test_counts_of_fping():
    found = read("fping/counted.txt")
    (least, mean, most) = (each / 1000 for each in told("fping/counted.txt", r"(?<!\d)(0\.\d{3})"))
    assert [value(found, f"rtt_{each}")[0] for each in ("min", "mean", "max")] == pytest.approx(
        [least, mean, most]
    )
    assert value(found, "loss") == [0]
