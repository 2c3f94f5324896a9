"""Readers of network and load tools: what each tool's own traps would make wrong (`FORMATS.md`, parts 3.2 and 3.3)."""

import base64
import json
import struct
import zlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised


def reading(text):
    content = Content(Path("results"), text if isinstance(text, bytes) else text.encode())
    reader = recognised(content)
    assert reader is not None
    return reader.reading(content)


def values(found, metric):
    return [row.value for row in found.rows if row.metric == metric]


def codes(found):
    return {note.code for note in found.notes}


def iperf3(end, intervals=(), **more):
    start = {"version": "iperf 3.12", "timestamp": {"timesecs": 1e9}, "test_start": {"protocol": "TCP"}}
    return json.dumps({"start": start, "intervals": list(intervals), "end": end, **more})


def interval(begin, end, rate, **more):
    return {"sum": {"start": begin, "end": end, "bits_per_second": rate, "omitted": False, **more}}


def test_zero_bytes_received_after_some_were_sent_are_no_goodput_of_zero():
    end = {
        "sum_sent": {"bytes": 4e9, "bits_per_second": 2e10},
        "sum_received": {"bytes": 0, "bits_per_second": 0},
    }
    found = reading(iperf3(end, [interval(0, 1, 2e10)], error="interrupt"))
    (row,) = [row for row in found.rows if row.metric == "goodput"]
    assert (row.value, row.status, row.reason) == (None, "failed", "interrupt")
    assert row.samples.values == [2e10]
    assert {"partial", "failed_units"} <= codes(found)


def test_datagrams_of_both_directions_have_their_loss():
    test = {"protocol": "UDP"}
    end = {
        f"sum_{side}{way}": {"bytes": 9, "bits_per_second": 72, "lost_percent": lost, "jitter_ms": 0.5}
        for side in ("sent", "received")
        for way, lost in (("", 10), ("_bidir_reverse", 25))
    }
    start = {"version": "iperf 3.12", "timestamp": {"timesecs": 1e9}, "test_start": test}
    found = reading(json.dumps({"start": start, "intervals": [], "end": end}))
    assert values(found, "loss") == [0.1, 0.25]
    assert values(found, "jitter") == [0.0005, 0.0005]


def test_a_rate_of_zero_is_one_if_nothing_was_sent():
    end = {"sum_sent": {"bytes": 0}, "sum_received": {"bytes": 0, "bits_per_second": 0}}
    assert values(reading(iperf3(end)), "goodput") == [0]


def test_omitted_intervals_are_no_samples_and_overlaps_are_said():
    """The times are those of 3.12 with `-O 1 -i 0.5 -P 2`."""
    end = {"sum_received": {"bytes": 8, "bits_per_second": 5}}
    omitted = interval(0, 0.501412, 1, omitted=True)
    found = reading(iperf3(end, [omitted, interval(0.500358, 1.5, 5), interval(1.5, 2, 7)]))
    assert next(row.samples.values for row in found.rows if row.samples) == [5, 7]
    assert {"warmup_dropped", "interval_times_inconsistent"} <= codes(found)


def test_times_that_count_from_the_end_of_omitted_intervals_contradict_nothing():
    """The times are those of 3.21+ with `-O 1 -i 0.5`."""
    end = {"sum_received": {"bytes": 8, "bits_per_second": 5}}
    omitted = [interval(0, 0.501124, 1, omitted=True), interval(0.501124, 1.00325, 1, omitted=True)]
    found = reading(iperf3(end, [*omitted, interval(0.000292, 0.501, 5), interval(0.501, 1, 7)]))
    assert "interval_times_inconsistent" not in codes(found)
    found = reading(iperf3(end, [interval(0, 0.5, 1), interval(0.0003, 0.501, 5)]))
    assert "interval_times_inconsistent" in codes(found)


def test_keys_that_stand_twice_count_if_they_agree():
    end = '{"sum_received": {"bits_per_second": 5, "bytes": 1%s}}'
    start = '{"start": {"version": "iperf 3.12", "sock_bufsize": 0, "sock_bufsize": 0}, "intervals": [], "end": %s}'
    assert values(reading(start % (end % "")), "goodput") == [5]
    contradicting = reading(start % (end % ', "bits_per_second": 6'))
    assert values(contradicting, "goodput") == [None]
    assert "missing_values" in codes(contradicting)


def test_a_document_that_is_printed_twice_is_one_trial():
    document = json.loads(iperf3({"sum_received": {"bytes": 1, "bits_per_second": 5}}))
    document["start"]["cookie"] = "x"
    once, other = (
        json.dumps(document),
        json.dumps({**document, "start": {**document["start"], "cookie": "y"}}),
    )
    assert values(reading(f"{once}\n{once}\niperf3: error"), "goodput") == [5]
    assert values(reading(f"{once}\n{other}"), "goodput") == [5, 5]
    assert "superseded_documents" in codes(reading(once + once))


def test_a_title_gives_factors_and_the_number_of_the_repetition():
    end = {"sum_received": {"bytes": 1, "bits_per_second": 5}, "sender_tcp_congestion": "bbr"}
    (row,) = reading(iperf3(end, title="cc=bbr qdisc=fq rep=3")).rows
    assert row.treatment == {"congestion": "bbr", "qdisc": "fq"}
    assert row.levels == {"repetition": "3"}


def test_old_udp_documents_tell_what_was_sent():
    start = {"version": "iperf 3.1", "test_start": {"protocol": "UDP"}}
    end = {"sum": {"bits_per_second": 8e6, "jitter_ms": 2, "lost_percent": 25}}
    found = reading(json.dumps({"start": start, "intervals": [], "end": end}))
    assert values(found, "goodput") == []
    assert values(found, "sent_rate") + values(found, "loss") + values(found, "jitter") == [8e6, 0.25, 0.002]
    assert "sender_side" in codes(found)


def test_a_stream_without_its_end_has_failed_and_keeps_its_intervals():
    lines = [
        {"event": "start", "data": {"version": "iperf 3.17", "test_start": {"protocol": "TCP"}}},
        {"event": "interval", "data": interval(0, 1, 4)},
    ]
    found = reading("\n".join(map(json.dumps, lines)) + '\n{"event":"interval","da')
    (row,) = found.rows
    assert (row.status, row.samples.values) == ("failed", [4])
    assert "partial" in codes(found)


WRK = """Running 2s test @ http://h/
  2 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     {latency}   99.30%
    Req/Sec    10.20k     6.36k   21.65k    70.00%
  1000 requests in 2.00s, 2.42MB read
{errors}Requests/sec:    500.00
Transfer/sec:      1.21MB
"""


@pytest.mark.parametrize(
    ("latency", "mean", "longest"),
    [
        ("1.66ms    3.75ms  42.27ms", 0.00166, 0.04227),
        ("500.00us  1.00us    2.00s ", 0.0005, 2.0),
        ("1.50m     1.00s     2.00m ", 90.0, 120.0),
    ],
)
def test_wrk_tells_the_unit_of_each_latency(latency, mean, longest):
    found = reading(WRK.format(latency=latency, errors=""))
    assert values(found, "latency_mean") == pytest.approx([mean])
    assert values(found, "latency_max") == pytest.approx([longest])
    assert values(found, "requests") == [500]
    assert values(found, "transfer") == [1.21 * 2**20]
    assert values(found, "errors") == [0]


def test_wrk_adds_socket_errors_to_those_of_answers():
    errors = "  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 90\n"
    found = reading(WRK.format(latency="1.66ms    3.75ms  42.27ms", errors=errors))
    assert values(found, "errors") == [100]
    assert "errors_in_load" in codes(found)


def test_wrk_that_could_not_connect_has_failed():
    (row, _) = reading("unable to connect to h:1 Connection refused\n").rows
    assert (row.status, row.value) == ("failed", None)


def k6(thresholds, **document):
    trend = {"avg": 5.0, "med": 4.0, "max": 9.0, "p(95)": 8.0}
    metrics = {
        "http_reqs": {"count": 30, "rate": 3.0},
        "http_req_failed": {"passes": 3, "fails": 27, "value": 0.1},
    }
    return {"metrics": {**metrics, "http_req_duration": {**trend, "thresholds": thresholds}}, **document}


def test_k6_thresholds_have_opposite_senses():
    crossed, held = reading(json.dumps(k6({"a": True}, root_group={}))), reading(json.dumps(k6({"a": False})))
    assert ("threshold_crossed" in codes(crossed), "threshold_crossed" in codes(held)) == (True, False)
    handled = {
        name: {"type": "x", "contains": "time" if "avg" in metric else "default", "values": metric}
        for name, metric in k6({})["metrics"].items()
    }
    for ok in (True, False):
        handled["http_req_duration"]["thresholds"] = {"p(95)<1": {"ok": ok}}
        found = reading(json.dumps({"metrics": handled, "root_group": {}}))
        assert found.format == "k6-handle-summary"
        assert ("threshold_crossed" in codes(found)) is not ok


def test_k6_passes_of_failed_requests_are_failures():
    found = reading(json.dumps(k6({}, root_group={})))
    assert values(found, "errors") == [3]
    assert "errors_in_load" in codes(found)


def test_percentiles_of_too_few_are_left_out():
    """Of 30 requests, 1.5 lie beyond the 95th percentile, and 0.3 beyond the 99th."""
    document = k6({}, root_group={})
    document["metrics"]["http_req_duration"]["p(99)"] = 9.0
    found = reading(json.dumps(document))
    assert values(found, "http_req_duration_p95") == [0.008]
    assert values(found, "http_req_duration_p99") == []
    assert "percentile_of_few" in codes(found)


def ping(replies, summary="3 packets transmitted, 2 received, 33.3333% packet loss, time 2003ms"):
    return f"PING h (10.0.0.1) 56(84) bytes of data.\n{replies}\n--- h ping statistics ---\n{summary}\n"


REPLY = "64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time={} ms{}"


def test_ping_counts_duplicates_once_and_no_answer_yet_as_nothing():
    lines = [
        REPLY.format(1, 1, ""),
        REPLY.format(1, 9, " (DUP!)"),
        "no answer yet for icmp_seq=2",
        REPLY.format(3, 3, ""),
    ]
    found = reading(ping("\n".join(lines)))
    assert values(found, "rtt_mean") == [0.002]
    assert values(found, "loss") == pytest.approx([1 / 3])


@pytest.mark.parametrize(
    ("summary", "loss"),
    [
        ("4 packets transmitted, 0 received, +4 errors, 100% packet loss, time 3s", 1.0),
        ("4 packets transmitted, 3 packets received, 25% packet loss", 0.25),
        ("4 packets transmitted, 2 packets received, 50.0% packet loss", 0.5),
    ],
)
def test_ping_tells_its_loss_in_the_words_of_each_system(summary, loss):
    found = reading(ping("", summary))
    assert values(found, "loss") == [loss]
    assert [row.status for row in found.rows if row.metric == "rtt_mean"] == ["failed"]


@pytest.mark.parametrize(
    "line", ["rtt min/avg/max/mdev", "round-trip min/avg/max/stddev", "round-trip min/avg/max"]
)
def test_a_quiet_ping_has_a_summary_only(line):
    told = "1.0/2.0/4.0/0.5" if "dev" in line else "1.0/2.0/4.0"
    found = reading(ping("", f"3 packets transmitted, 3 received, 0% packet loss\n{line} = {told} ms"))
    assert values(found, "rtt_mean") == [0.002]


def test_fping_says_what_was_lost():
    found = reading("h1 : 1.00 3.00 - 2.00\nh2 : - - -\n")
    assert values(found, "loss") == [0.25, 1.0]
    assert values(found, "rtt_mean") == [pytest.approx(0.002), None]


def test_lines_of_probes_count_once_beside_those_of_all():
    probes = "h1 : [0], 64 bytes, 1.00 ms (1.00 avg, 0% loss)\nh1 : [1], timed out (1.00 avg, 50% loss)\n"
    found = reading(f"{probes}\nh1 : 1.00 -\n")
    assert values(found, "rtt_mean") + values(found, "loss") == [0.001, 0.5]


def fio(*jobs, **document):
    return json.dumps({"fio version": "fio-3.33", "jobs": jobs, **document})


def job(name, ios=1000, **half):
    read = {"total_ios": ios, "iops": 10.0, "bw": 2, "bw_bytes": 2100, **half}
    return {
        "jobname": name,
        "error": 0,
        "read": read,
        "write": {"total_ios": 0, "iops": 0},
        "job options": {"rw": "read"},
    }


def test_fio_halves_that_did_nothing_are_no_rows():
    assert {row.treatment["direction"] for row in reading(fio(job("a"))).rows} == {"read"}


def test_fio_bandwidth_is_in_bytes_or_else_in_kib():
    assert values(reading(fio(job("a"))), "bandwidth") == [2100]
    old = job("a")
    del old["read"]["bw_bytes"]
    assert values(reading(fio(old)), "bandwidth") == [2048]


@pytest.mark.parametrize(("key", "mean"), [("clat_ns", 5e-9), ("clat", 5e-6)])
def test_fio_latencies_are_ns_since_version_3_and_us_before(key, mean):
    assert values(
        reading(fio(job("a", **{key: {"mean": 5.0, "max": 9.0, "N": 1000}}))), "clat_mean"
    ) == pytest.approx([mean])


def test_fio_clones_of_a_job_are_parts_of_one_trial():
    latency = {"clat_ns": {"mean": 5.0, "max": 9.0, "N": 1000}}
    found = reading(fio(job("a", **latency), job("a", **latency)))
    assert values(found, "iops") == [20]
    assert values(found, "clat_mean") == []


def test_of_several_documents_of_fio_the_last_counts():
    text = "banner\n" + fio(job("a", iops=1.0)) + "\n" + fio(job("a", iops=3.0))
    found = reading(text)
    assert values(found, "iops") == [3]
    assert "superseded_documents" in codes(found)


def test_a_job_of_fio_that_failed_has_no_value():
    failed = {**job("a"), "error": 28}
    (row, *_) = reading(fio(failed)).rows
    assert (row.status, row.value, row.reason) == ("failed", None, "error 28")


def test_perf_counters_of_part_of_the_time_are_estimates():
    line = '{{"counter-value" : "5.0", "unit" : "", "event" : "cycles", "event-runtime" : 1, "pcnt-running" : {}}}\n'
    assert any("estimate" in note.text for note in reading(line.format("40.00")).notes)
    assert not any("estimate" in note.text for note in reading(line.format("100.00")).notes)


def test_perf_intervals_add_up_and_are_samples():
    lines = "     1.000,10,,cycles,1000,100.00,,\n     2.000,30,,cycles,1000,100.00,,\n"
    (row,) = reading(lines).rows
    assert (row.value, row.samples.values) == (40, [10, 30])


def test_perf_writes_decimal_commas_in_some_places():
    found = reading("0,99;msec;task-clock;986279;100,00;0,502;CPUs utilized\n")
    assert values(found, "task-clock") == [0.99]
    assert "decimal_comma" in codes(found)


def test_perf_tells_instructions_per_cycle():
    lines = "100,,cycles,1000,100.00,,\n250,,instructions,1000,100.00,2.50,insn per cycle\n"
    found = reading(lines)
    assert [(row.value, row.better) for row in found.rows if row.metric == "ipc"] == [(2.5, "higher")]


TIME = """\tCommand being timed: "x"
\tElapsed (wall clock) time (h:mm:ss or m:ss): {}
\tMaximum resident set size (kbytes): 2
\tExit status: 0
"""


@pytest.mark.parametrize(("told", "seconds"), [("0:00.01", 0.01), ("1:02.50", 62.5), ("2:00:03", 7203.0)])
def test_elapsed_times_have_hours_or_hundredths(told, seconds):
    found = reading(TIME.format(told))
    assert values(found, "elapsed") == pytest.approx([seconds])
    assert values(found, "max_rss") == [2048]


def test_a_signal_is_a_failure_although_the_exit_status_is_zero():
    found = reading("Command terminated by signal 9\n" + TIME.format("0:01.00") + TIME.format("0:02.00"))
    assert values(found, "elapsed") == [None, 2.0]
    assert "failed_units" in codes(found)


def test_vegeta_requests_are_put_in_the_order_of_sending():
    line = '{{"attack":"a","seq":{},"code":{},"timestamp":"2026-01-01T00:00:0{}Z","latency":{},"error":""}}\n'
    found = reading(line.format(1, 200, 1, 3000) + line.format(0, 0, 0, 5000))
    (row,) = [row for row in found.rows if row.metric == "latency_mean"]
    assert row.samples.values == [5e-6, 3e-6]
    assert values(found, "errors") == [1]


def test_vegeta_latencies_are_the_nearest_doubles():
    line = '{{"attack":"a","seq":0,"code":200,"timestamp":"2026-01-01T00:00:01Z","latency":{},"error":""}}\n'
    told = [3308327, 4717297, 39906880, 1841861]
    (row,) = [row for row in reading("".join(map(line.format, told))).rows if row.metric == "latency_mean"]
    assert row.samples.values == [float(f"{latency}e-9") for latency in told]


def test_vegeta_tells_why_nobody_answered():
    line = (
        '{"attack":"a","seq":0,"code":0,"timestamp":"2026-01-01T00:00:01Z","latency":5,"error":"refused"}\n'
    )
    found = reading(line + line.replace("refused", ""))
    assert {row.reason for row in found.rows if row.status == "failed"} == {"refused"}


def test_vegeta_csv_has_no_header():
    line = "1700000000000000000,{},2000000,0,3,Oops,,a,0,GET,http://h/,\n"
    found = reading(line.format(500) + line.format(200).replace("Oops", ""))
    assert values(found, "latency_mean") == [0.002]
    assert values(found, "errors") == [1]


def test_the_binary_format_of_vegeta_is_refused_with_the_command():
    with pytest.raises(AnalysisError) as refused:
        reading(b"\x7f\xff\x00\x06Result\x01\xff\x80\x00\x01\x0b\x01\x06Attack\x01\x0c\x00")
    assert "vegeta encode -to json" in refused.value.hint


def test_the_rate_of_bombardier_is_that_of_all_requests():
    result = {"req2xx": 90, "req5xx": 10, "timeTakenSeconds": 2, "latency": {"mean": 7}, "rps": {"mean": 999}}
    found = reading(json.dumps({"spec": {"numberOfConnections": 4}, "result": result}))
    assert values(found, "requests") + values(found, "errors") == [50, 10]
    assert values(found, "latency_mean") == pytest.approx([7e-6])


def test_ohas_success_rate_counts_answers_with_errors():
    document = {
        "summary": {"successRate": 1.0, "requestsPerSec": 50.0, "average": 0.01},
        "latencyPercentiles": {"p95": 0.02, "p99.99": 0.09},
        "statusCodeDistribution": {"200": 90, "500": 10},
        "errorDistribution": {"aborted due to deadline": 4},
    }
    found = reading(json.dumps(document))
    assert values(found, "errors") + values(found, "latency_p95") == [14, 0.02]
    assert values(found, "latency_p99.99") == []


def test_ab_counts_other_lengths_and_errors_apart():
    text = (
        "This is ApacheBench, Version 2.3\nComplete requests:      40\nFailed requests:        {}\n"
        "Non-2xx responses:      10\nRequests per second:    7.5 [#/sec] (mean)\n"
    )
    assert values(reading(text.format(0)), "errors") == [10]
    assert values(reading(text.format(30)), "errors") == [30]


def test_hey_percentiles_that_it_did_not_reach_are_left_out():
    text = (
        "Summary:\n  Average:\t0.0010 secs\n  Requests/sec:\t10.0\nLatency distribution:\n  90% in 0.0017 secs\n"
        "  0% in 0.0000 secs\nDetails (average, fastest, slowest):\nStatus code distribution:\n  [200]\t57 responses\n"
        "Error distribution:\n  [3]\tGet http://h/: refused\n"
    )
    found = reading(text)
    assert {row.metric for row in found.rows if "_p" in row.metric} == {"latency_p90"}
    assert values(found, "errors") == [3]


def test_sysbench_of_another_version_tells_transactions():
    text = (
        "sysbench 0.5:  multi-threaded system evaluation benchmark\nNumber of threads: 8\n"
        "[  10s] threads: 8, tps: 120.50, reads: 1.0, writes: 1.0, response time: 80.12ms (95%), errors: 0.00\n"
        "OLTP test statistics:\n    transactions:                        10000  (123.45 per sec.)\n"
        "    ignored errors:                      5      (0.06 per sec.)\n"
        "    total number of events:              10000\n         avg:                                 64.78ms\n"
        "         approx.  95 percentile:              80.12ms\n"
    )
    found = reading(text)
    (row,) = [row for row in found.rows if row.metric == "transactions"]
    assert (row.value, row.treatment, row.samples.values) == (
        123.45,
        {"test": "oltp", "threads": "8"},
        [120.5],
    )
    assert values(found, "latency_p95") == pytest.approx([0.08012])
    assert values(found, "errors") == [5]


def test_a_latency_of_sysbench_that_is_rounded_to_zero_is_left_out():
    found = reading(
        "sysbench 1.0.20\n    total number of events:  10\n         avg:       0.00\n         max:      1.50\n"
    )
    assert values(found, "latency_mean") == []
    assert "rounded" in codes(found)


def test_operations_of_ycsb_that_failed_are_errors():
    text = (
        "[OVERALL], RunTime(ms), 296\n[OVERALL], Throughput(ops/sec), 7.5\n[READ], Operations, 90\n"
        "[READ], AverageLatency(us), 50\n[READ], Return=OK, 90\n[READ], Return=ERROR, 4\n[READ-FAILED], Operations, 4\n"
        "[CLEANUP], Operations, 4\n[CLEANUP], AverageLatency(us), 1\n"
    )
    found = reading(text)
    assert values(found, "errors") == [4]
    assert {row.treatment.get("operation") for row in found.rows} == {None, "READ"}


def test_latencies_of_failures_of_ycsb_are_none_of_operations():
    """`-p reportlatencyforeacherror=true` gives each status a block; READ-MODIFY-WRITE is an operation of its own."""
    text = (
        "[OVERALL], RunTime(ms), 296\n[OVERALL], Throughput(ops/sec), 7.5\n[READ], Operations, 90\n[READ], AverageLatency(us), 50\n"
        "[READ], Return=OK, 90\n[READ], Return=NOT_FOUND, 4\n[READ], Return=TIMED_OUT, 3\n[READ-NOT_FOUND], Operations, 4\n"
        "[READ-NOT_FOUND], AverageLatency(us), 1\n[READ-TIMED_OUT], Operations, 3\n[READ-TIMED_OUT], AverageLatency(us), 9000\n"
        "[READ-MODIFY-WRITE], Operations, 20\n[READ-MODIFY-WRITE], AverageLatency(us), 70\n[SCAN], Operations, 0\n"
        "[SCAN], AverageLatency(us), NaN\n[SCAN], Return=ERROR, 6\n[SCAN-ERROR], Operations, 6\n[SCAN-ERROR], AverageLatency(us), 2\n"
    )
    found = reading(text)
    assert values(found, "errors") == [4 + 3 + 6]
    means = {row.treatment.get("operation"): row for row in found.rows if row.metric == "latency_mean"}
    assert {name: row.value for name, row in means.items()} == {
        "READ": pytest.approx(50e-6), "READ-MODIFY-WRITE": pytest.approx(70e-6), "SCAN": None,
    }  # fmt: skip
    assert (means["SCAN"].status, means["SCAN"].reason) == ("failed", "all 6 operations failed")


def zigzag(count):
    value, parts = (count << 1) ^ (count >> 63), b""
    while value >= 0x80:
        parts, value = parts + bytes([value & 0x7F | 0x80]), value >> 7
    return parts + bytes([value])


def hlog(counts):
    """Return a log of one interval, of a histogram of two digits that counts values of 1 to 255 one by one."""
    payload = b"".join(zigzag(count) for count in counts)
    data = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 2, 1, 1 << 40, 1.0) + payload
    packed = zlib.compress(data)
    text = base64.b64encode(struct.pack(">Ii", 0x1C849314, len(packed)) + packed).decode()
    return f"#[Histogram log format version 1.3]\n#[StartTime: 1000.0 (seconds since epoch), x]\n0.0,1.0,5.0,{text}\n"


def test_histograms_are_decoded_with_their_runs_of_zeros():
    """Three values of 2 and one of 9: the mean is 3.75, the median 2."""
    found = reading(hlog([-2, 3, -6, 1]))
    assert values(found, "value") == [3.75]
    assert values(found, "value_p50") == [2]
    assert values(found, "value_max") == [9]
    assert values(found, "count") == [4]


def test_percentiles_of_merged_histograms_are_no_means_of_percentiles():
    """99 values of 1 in one interval, and one of 101 in the next: half of all are 1."""
    first, second = hlog([-1, 99]), hlog([-101, 1]).splitlines()[-1]
    found = reading(f"{first}{second}\n")
    assert values(found, "value_p50") == [1]
    assert values(found, "value") == [2]


@pytest.mark.parametrize(
    "text", ["", "HIST", base64.b64encode(struct.pack(">Ii", 0x1C849314, 1 << 30)).decode()]
)
def test_a_histogram_that_cannot_be_decoded_is_left_out(text):
    found = reading(hlog([-1, 4]) + f"1.0,1.0,5.0,{text}\n")
    assert values(found, "count") == [4]
    assert "partial" in codes(found)


UDP = """MIGRATED UDP UNIDIRECTIONAL SEND TEST from 0.0.0.0 () port 0
Socket  Message  Elapsed      Messages
bytes   bytes    secs            #      #   10^6bits/sec

212992   65507   1.00        1000      0    800.0
212992           1.00         900           720.0
"""
STREAM = """MIGRATED TCP STREAM TEST from 0.0.0.0 to h
bytes  bytes   bytes    secs.    {}/sec

131072  16384  16384    1.00     5.00   {}
"""


def test_the_second_row_of_a_datagram_test_is_what_arrived():
    found = reading(UDP)
    assert values(found, "goodput") + values(found, "sent_rate") == [720e6, 800e6]
    assert values(found, "loss") == pytest.approx([0.1])


@pytest.mark.parametrize(
    ("unit", "value"), [("10^3bits", 5e3), ("10^9bits", 5e9), ("KBytes", 5 * 2**10), ("MBytes", 5 * 2**20)]
)
def test_netperf_units_are_powers_of_two_if_they_are_bytes(unit, value):
    assert values(reading(STREAM.format(unit, "")), "throughput") == [value]


def test_netperf_columns_after_the_rate_are_of_the_processor():
    assert values(reading(STREAM.format("10^6bits", "40.1  40.2  1.2  1.3")), "throughput") == [5e6]


def test_netperf_without_a_server_has_failed():
    found = reading("establish control: are you sure there is a netserver listening on h at port 1?\n")
    assert [row.status for row in found.rows] == ["failed"]


def test_netperf_demo_lines_are_samples():
    text = (
        "MIGRATED TCP STREAM TEST from 0.0.0.0 to h : demo\n"
        "Interim result: 10.0 10^6bits/s over 0.5 seconds ending at 1000.5\n"
        "Interim result: 30.0 10^6bits/s over 0.5 seconds ending at 1001.0\n\n"
        "THROUGHPUT=20.0\nTHROUGHPUT_UNITS=10^6bits/s\n"
    )
    (row,) = reading(text).rows
    assert (row.value, row.samples.values) == (2e7, [1e7, 3e7])


IPERF2 = "20260101000000,10.0.0.1,5,10.0.0.2,6,{},{},100,{}"


def test_streams_of_iperf_add_up_unless_their_sum_stands_there():
    one, two = IPERF2.format(1, "0.0-2.0", 30), IPERF2.format(2, "0.0-2.0", 50)
    assert values(reading(f"{one}\n{two}\n"), "sent_rate") == [80]
    assert values(reading(f"{one}\n{two}\n{IPERF2.format(-1, '0.0-2.0', 81)}\n"), "sent_rate") == [81]


def test_without_the_servers_report_the_loss_of_iperf_is_missing():
    row = IPERF2.format(1, "0.0-2.0", 30)
    found = reading(f"{row}\n{row},0.000,-1,-1,-0.000,0\n")
    assert values(found, "loss") + values(found, "goodput") == [None]
    assert values(found, "sent_rate") == [30]
    assert {"missing_values", "sender_side"} <= codes(found)


def flent(**metadata):
    series = {"TCP upload": {"MEAN_VALUE": 5.0, "UNITS": "Mbits/s"}, "Ping (ms) UDP": {"UNITS": "ms"}}
    return json.dumps(
        {
            "x_values": [0, 1],
            "results": {"TCP upload": [9, 9], "Ping (ms) UDP": [None, None], "avg": [9, 9]},
            "raw_values": {"TCP upload": [{"t": 1000.0, "val": 4.0}, {"t": 1001.0, "val": 6.0}]},
            "metadata": {"NAME": "tcp", "TITLE": "aqm:fq rep:01", "SERIES_META": series, **metadata},
        }
    )


def test_flents_interpolated_values_are_never_read_and_failed_series_have_none():
    found = reading(flent(FAILED_RUNNERS=1))
    upload, udp = found.rows
    assert (upload.value, upload.samples.values) == (5.0, [4.0, 6.0])
    assert (udp.status, udp.value) == ("failed", None)
    assert upload.treatment == {"aqm": "fq"}
    assert {"interpolated", "partial"} <= codes(found)


def irtt(*lost):
    trips = [{"lost": each, "delay": {"rtt": 5000}} for each in lost]
    return json.dumps(
        {
            "version": {"irtt": "0.9"},
            "stats": {"rtt": {"n": 2, "mean": 5000}, "packet_loss_percent": 50},
            "round_trips": trips,
        }
    )


def test_irtt_says_in_words_what_was_lost():
    found = reading(irtt("false", "true", "true_up", "false"))
    (row,) = [row for row in found.rows if row.metric == "rtt_mean"]
    assert (row.value, row.samples.values) == (pytest.approx(5e-6), [5e-6, 5e-6])
    assert values(found, "loss") == [0.5]


OWPING = """--- owping statistics from [10.0.0.1]:5 to [10.0.0.2]:6 ---
SID:	00
100 sent, 5 lost (5.000%), 0 duplicates
one-way delay min/median/max = 0.5/1.5/1.2 ms, (err=0.1 ms)
one-way jitter = 0.2 ms (P95-P50)
"""


def test_each_direction_of_owping_is_a_treatment():
    """A median may exceed the maximum, since it comes from a histogram."""
    found = reading(OWPING + OWPING.replace("10.0.0.1", "10.0.0.9"))
    assert {row.treatment["from"] for row in found.rows} == {"10.0.0.1", "10.0.0.9"}
    assert values(found, "delay_p50") == [0.0015, 0.0015]
    assert values(found, "loss") == [0.05, 0.05]
    assert "one_way_needs_clocks" in codes(found)


def test_raw_lines_of_owping_have_times_of_ntp():
    second = 1 << 32
    lines = [
        f"0 {3e9:.0f} 1 1e-5 {0} 1 0 255",
        f"1 {4000 * second} 1 1e-5 {4000 * second + second // 4} 1 1e-5 255",
    ]
    found = reading("\n".join(lines))
    assert values(found, "delay_mean") + values(found, "loss") == [0.25, 0.5]


def test_flows_of_a_simulation_are_samples_and_other_columns_are_refused():
    row = "0b000101 0b000201 10000 100 {} 2000000000 {} {}\n"
    found = reading(row.format(1000, 4000, 2000) + row.format(1000, 3000, 3000))
    assert values(found, "slowdown_mean") == [1.5]
    assert values(found, "fct_mean") == pytest.approx([3.5e-6])
    with pytest.raises(AnalysisError, match="line 1"):
        reading(row.format(1000, 2000, 4000))


def test_times_of_runs_give_their_order():
    local = datetime(2026, 1, 1, 12, 0, 5).timestamp()
    rows = [
        reading("# started on Thu Jan  1 12:00:05 2026\n\n1,,cycles,1000,100.00,,\n").rows[0],
        reading("20260101120007,10.0.0.1,5,10.0.0.2,6,1,0.0-2.0,100,30\n").rows[0],
        reading(fio({**job("a"), "elapsed": 2}, timestamp_ms=(local + 2) * 1000)).rows[0],
    ]
    assert [row.start for row in rows] == [local, local, local]


@pytest.mark.parametrize(
    ("line", "destination"),
    [
        ("PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.", "127.0.0.1"),
        ("PING ::1(::1) 56 data bytes", "::1"),
        ("PING example.org (192.0.2.1): 56 data bytes", "example.org"),
    ],
)
def test_ping_names_its_destination_in_several_ways(line, destination):
    found = reading(
        f"{line}\n{REPLY.format(1, 2, '')}\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\n"
    )
    assert {row.treatment["destination"] for row in found.rows} == {destination}
    assert values(found, "rtt_mean") == [0.002]


OML = """protocol: 4
domain: d
start-time: 1000
sender-id: node 7
app-name: app
schema: 0 _experiment_metadata subject:string key:string value:string
schema: 1 probe label:string delay:double
content: text

0.5\t1\t0\ta\t2.0
1.5\t1\t1\tb\t4.0
1.6\t0\t0\t.\tschema\t2 late count:uint32
2.0\t2\t0\t9
2.5\t1\t2\tc\t8"""


def test_tuples_of_oml_are_samples_of_one_sender():
    """The last row may be cut in its value, so it is left out."""
    found = reading(OML)
    delay, count = found.rows
    assert (delay.metric, delay.value, delay.samples.values) == ("probe.delay", 3.0, [2.0, 4.0])
    assert (delay.samples.times, delay.levels) == ([1000.5, 1001.5], {"host": "node 7"})
    assert (count.metric, count.value) == ("late.count", 9.0)
    assert {"partial", "unit_unknown", "direction_unknown", "one_unit"} <= codes(found)


@pytest.mark.parametrize("odd", [("1e999", "-1e999"), ("1e308", "1e308"), ("NaN", "1")])
def test_values_that_have_no_mean_give_none_and_no_percentile(odd):
    head = '{"type":"Metric","metric":"t","data":{"type":"trend","contains":"time"}}\n'
    point = '{{"type":"Point","metric":"t","data":{{"time":"2026-01-01T00:00:00Z","value":{}}}}}\n'
    found = reading(head + "".join(map(point.format, (*odd, *odd))))
    if odd[0] == "1e308":
        assert values(found, "t_mean") == [1e305]
    else:
        assert values(found, "t_mean") == [None]
        assert values(found, "t_p50") == []
        assert "not_finite" in codes(found)
    assert values(reading(OML.replace("2.0", odd[0]).replace("4.0", odd[1])), "probe.delay") == [None]


@pytest.mark.parametrize("end", range(0, len(OML), 7))
def test_text_of_oml_may_be_cut_or_damaged(end):
    for text in (OML[:end], OML[:end] + "\n\n" + OML[end:], OML[:end] + "\t" * 9 + OML[end + 9 :]):
        content = Content(Path("results"), text.encode())
        if (reader := recognised(content)) is not None:
            with suppress(AnalysisError):
                reader.reading(content)
    damaged = reading(
        OML.replace("schema: 0 _experiment_metadata subject:string key:string value:string", "schema: ")
    )
    assert values(damaged, "probe.delay") == [3.0]


def test_a_point_of_k6_without_its_time_counts():
    head = '{"type":"Metric","metric":"t","data":{"type":"trend","contains":"time"}}\n'
    timed = '{"type":"Point","metric":"t","data":{"time":"2026-01-01T00:00:00Z","value":4}}\n'
    found = reading(head + timed + timed.replace('"time":"2026-01-01T00:00:00Z",', ""))
    assert values(found, "t_mean") == [0.004]
    assert found.rows[0].samples.times is None
