"""Small sound files of the formats of `trialwise.readers`, and how one is read: a part of the table of `foreign_readers`.

Those that are made by tools lie in `tests/golden/formats/data`; the others are as short as their readers take them.
"""

# ruff: noqa: E501  the lines of other programs are as long as they are
from __future__ import annotations

import base64
import io
import json
import sqlite3
import struct
import zlib
from collections.abc import Callable
from contextlib import closing
from math import isfinite
from pathlib import Path

import numpy as np

from trialwise.errors import AnalysisError
from trialwise.readers.content import read_content
from trialwise.readers.register import recognised, recognised_folder, recognised_table
from trialwise.readers.unknown import unknown

DATA = Path(__file__).parent / "golden" / "formats" / "data"
GOOGLE = {
    "context": {"executable": "x"},
    "benchmarks": [
        {
            "name": f"BM/{at}/k:2",
            "run_name": f"BM/{at}/k:2",
            "run_type": "iteration",
            "repetition_index": run,
            "iterations": 10,
            "real_time": 2.0 + run,
            "cpu_time": 1.0,
            "time_unit": "us",
        }
        for at in (8, 64)
        for run in range(3)
    ],
}
JMH = [
    {
        "jmhVersion": "1.37",
        "benchmark": "a.B.c",
        "mode": "avgt",
        "forks": 2,
        "params": {"n": level},
        "primaryMetric": {
            "score": 1.0,
            "scoreError": "NaN",
            "scoreUnit": "us/op",
            "rawData": [[1.0, 3.0], [5.0]],
        },
        "secondaryMetrics": {"·gc": {"score": 8.0, "scoreUnit": "B/op", "rawData": [[8.0], [9.0]]}},
    }
    for level in ("1", "2")
]
BENCHMARK_DOTNET = {
    "HostEnvironmentInfo": {"BenchmarkDotNetVersion": "0.13.5"},
    "Benchmarks": [
        {
            "Namespace": "N",
            "Type": "T",
            "Method": "M",
            "Parameters": "N=10, K=a",
            "Statistics": {"OriginalValues": [5.0, 6.0]},
            "Measurements": [
                {
                    "IterationMode": "Workload",
                    "IterationStage": "Result",
                    "LaunchIndex": launch,
                    "Operations": 10,
                    "Nanoseconds": 50.0 + launch,
                }
                for launch in (1, 2)
            ],
        }
    ],
}
PAGE = {
    "lastUpdate": 1,
    "repoUrl": "",
    "entries": {
        "s": [
            {
                "commit": {"id": f"c{at}", "timestamp": "2026-01-01T00:00:00Z"},
                "date": 1000 * at,
                "tool": "cargo",
                "benches": [{"name": "a", "unit": "ns/iter", "value": 12, "range": "± 3"}],
            }
            for at in (1, 2)
        ]
    },
}
FLENT = {
    "x_values": [0, 1],
    "results": {"TCP upload": [9, 9]},
    "raw_values": {"TCP upload": [{"t": 1000.0, "val": 4.0}, {"t": 1001.0, "val": 6.0}]},
    "metadata": {
        "NAME": "tcp",
        "TITLE": "aqm:fq rep:01",
        "SERIES_META": {
            "TCP upload": {"MEAN_VALUE": 5.0, "UNITS": "Mbits/s"},
            "Ping (ms) UDP": {"UNITS": "ms"},
        },
    },
}
IRTT = {
    "version": {"irtt": "0.9"},
    "config": {"interval": 1000},
    "stats": {"rtt": {"n": 2, "mean": 5000}, "packet_loss_percent": 50},
    "round_trips": [{"lost": lost, "delay": {"rtt": 5000}} for lost in ("false", "true", "true_up", "false")],
}
VEGETA = b"".join(
    b'{"attack":"a","seq":%d,"code":%d,"timestamp":"2026-11-25T00:45:36.%03dZ","latency":%d,"bytes_out":0,"bytes_in":3,"error":""}\n'
    % (at, 200 if at % 5 else 500, at, 19_492_405 + at)
    for at in range(12)
)
GO_EVENTS = b"".join(
    json.dumps({"Action": "output", "Package": "p", "Output": text}).encode() + b"\n"
    for text in (
        "goos: linux\n",
        "BenchmarkA-2  \t",
        "100\t 60.51 ns/op\t 5 B/op\n",
        "BenchmarkA-2\t100\t61.5 ns/op\n",
        "ok\n",
    )
)


def text_of_histogram() -> bytes:
    """A log of HdrHistogram: an interval whose histogram counts values of 1 to 5."""
    payload = bytes([2, 4, 6, 1, 2])
    data = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 2, 1, 1 << 40, 1.0) + payload
    packed = zlib.compress(data)
    counts = base64.b64encode(struct.pack(">Ii", 0x1C849314, len(packed)) + packed)
    return (
        b"#[Histogram log format version 1.3]\n#[StartTime: 1000.0 (seconds since epoch), x]\n"
        b"0.0,1.0,5.0,%s\nTag=a,1.0,1.0,5.0,%s\n" % (counts, counts)
    )


def npy() -> bytes:
    packed = io.BytesIO()
    np.save(packed, np.arange(12.0))
    return packed.getvalue()


def npz() -> bytes:
    packed = io.BytesIO()
    np.savez(packed, a=np.arange(5.0), b=np.arange(6.0))
    return packed.getvalue()


def oml_database() -> bytes:
    """A database of OML's server with two senders."""
    head = "oml_tuple_id INTEGER PRIMARY KEY, oml_sender_id INTEGER, oml_seq INTEGER, oml_ts_client REAL, oml_ts_server REAL"
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(
            f"""CREATE TABLE _senders (name TEXT PRIMARY KEY, id INTEGER UNIQUE);
            INSERT INTO _senders VALUES ('a', 1), ('b', 2);
            CREATE TABLE _experiment_metadata ({head}, subject TEXT, key TEXT, value TEXT);
            INSERT INTO _experiment_metadata (key, value) VALUES ('start_time', '1000'), ('table_app_rtt', '1 app_rtt ms:double');
            CREATE TABLE app_rtt ({head}, ms REAL);
            INSERT INTO app_rtt VALUES (1, 1, 1, 0.5, 0.6, 4.0), (2, 2, 1, 0.5, 0.6, 7.0);"""  # noqa: S608  our own
        )
        return made.serialize()


MADE = {
    "google-benchmark-csv": "google-benchmark/errors.csv",
    "pytest-benchmark-json": "pytest-benchmark/suite.json",
    "iperf3-json": "iperf3/omitted.json",
    "fio-json": "fio/after_text.json",
    "fio-terse": "fio/terse.txt",
    "wrk-text": "wrk/refused.txt",
    "k6-summary-export": "k6/export.json",
    "k6-handle-summary": "k6/handled.json",
    "k6-json-lines": "k6/points.jsonl",
    "k6-csv": "k6/points.csv",
    "fping-text": "fping/quiet.txt",
    "perf-stat-csv": "perf-stat/semicolons.csv",
    "vegeta-report-json": "vegeta/answers.json",
    "vegeta-csv": "vegeta/refused.csv",
    "hdr-percentiles": "vegeta/percentiles.txt",
    "bombardier-json": "bombardier/answers.json",
    "hey-text": "hey/refused.txt",
    "oha-json": "oha/answers.json",
    "oha-text": "oha/printed.txt",
    "oha-csv": "oha/answers.csv",
    "ab-text": "ab/refused.txt",
    "sysbench-text": "sysbench/mutex.txt",
    "irtt-text": "irtt/client.txt",
    "iperf2-csv": "iperf2/udp_client.csv",
    "hyperfine-json": "hyperfine/runs.json",
    "pytest-benchmark-csv": "pytest-benchmark/compared.csv",
}
SHORT: dict[str, bytes] = {
    "hyperfine-csv": b"command,mean,stddev,median,user,system,min,max,parameter_n\na,0.5,0.1,0.5,0.1,0.1,0.4,0.6,1\nb,0.7,,0.7,0.1,0.1,0.6,0.8,2\n",
    "go-bench-text": b"goos: linux\ngoarch: amd64\npkg: p\ncpu: x\n"
    + b"BenchmarkFill/n=100-2 \t 100\t 60.51 ns/op\t13220.96 MB/s\t 53 B/op\t 0 allocs/op\n" * 3
    + b"PASS\nok  \tp\t1.2s\n",
    "go-bench-json": GO_EVENTS,
    "google-benchmark-json": json.dumps(GOOGLE).encode(),
    "jmh-json": json.dumps(JMH).encode(),
    "jmh-csv": b'"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit","Param: n"\n"a.b","thrpt",1,15,100.0,2.5,"ops/us",10\n',
    "iperf3-json-stream": b'{"event":"start","data":{"version":"iperf 3.16","timestamp":{"timesecs":1000},"test_start":{"protocol":"TCP","duration":1}}}\n'
    b'{"event":"interval","data":{"sum":{"start":0,"end":1,"bits_per_second":5e9,"omitted":false}}}\n'
    b'{"event":"end","data":{"sum_sent":{"bytes":10,"retransmits":3},"sum_received":{"bytes":10,"bits_per_second":5e9},"streams":[{"sender":{"mean_rtt":90}}]}}\n',
    "wrk2-text": b"Running 12s test @ http://h/\n  1 threads and 4 connections\n  Thread calibration: mean lat.: 1.264ms, rate sampling interval: 10ms\n"
    b"  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.36ms    1.36ms  16.51ms   90.91%\n    Req/Sec   419.56     93.59     1.10k    85.79%\n"
    b"  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    1.07ms\n 99.000%    6.92ms\n"
    b"  4801 requests in 12.00s, 0.95MB read\nRequests/sec:    399.96\nTransfer/sec:     80.85KB\n",
    "ping-text": b"PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n"
    + b"".join(b"64 bytes from 10.0.0.1: icmp_seq=%d ttl=64 time=0.0%d ms\n" % (at, at) for at in range(1, 6))
    + b"\n--- 10.0.0.1 ping statistics ---\n6 packets transmitted, 5 received, 16.6667% packet loss, time 5099ms\n"
    b"rtt min/avg/max/mdev = 0.011/0.013/0.015/0.001 ms\n",
    "perf-stat-json": b'# started on Wed Nov 25 00:41:17 2026\n\n{"counter-value" : "1.105804", "unit" : "msec", "event" : "task-clock", '
    b'"event-runtime" : 1105804, "pcnt-running" : 100.00, "metric-value" : 0.609176, "metric-unit" : "CPUs utilized"}\n'
    b'{"counter-value" : "<not supported>", "unit" : "", "event" : "cycles", "event-runtime" : 0, "pcnt-running" : 100.00}\n',
    "gnu-time-v": b'\tCommand being timed: "x"\n\tUser time (seconds): 0.01\n\tPercent of CPU this job got: 60%\n'
    b"\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02.03\n\tMaximum resident set size (kbytes): 2048\n\tExit status: 0\n",
    "vegeta-json-lines": VEGETA,
    "hey-csv": b"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
    + b"".join(b"0.00%d,0.0006,0.0000,0.0001,0.0003,0.0001,200,0.000%d\n" % (at, at) for at in range(1, 9)),
    "ab-tsv": b"starttime\tseconds\tctime\tdtime\tttime\twait\n"
    + b"".join(b"Wed Nov 25 00:45:35 2026\t1795567535\t0\t%d\t%d\t0\n" % (at, at) for at in range(8)),
    "ab-percentiles": b"Percentage served,Time in ms\n"
    + b"".join(b"%d,0.%d\n" % (at, 300 + at) for at in range(100)),
    "ycsb-text": b"[OVERALL], RunTime(ms), 296\n[OVERALL], Throughput(ops/sec), 6756.75\n[READ], Operations, 950\n"
    b"[READ], AverageLatency(us), 412.5\n[READ], 99thPercentileLatency(us), 900\n[READ], Return=OK, 940\n[READ], Return=ERROR, 10\n",
    "hdr-log": text_of_histogram(),
    "irtt-json": json.dumps(IRTT).encode(),
    "netperf-text": b"MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo\n"
    b"Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n"
    b"bytes  bytes   bytes    secs.    10^6bits/sec\n\n131072  16384  16384    1.00     7304.97\n",
    "netperf-keyval": b"MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo\n"
    b"MEAN_LATENCY=25.75\nP50_LATENCY=21\nP99_LATENCY=39\nTHROUGHPUT=38747.11\nTHROUGHPUT_UNITS=Trans/s\nELAPSED_TIME=1.00\nPROTOCOL=TCP\n",
    "flent": json.dumps(FLENT).encode(),
    "owping-text": b"--- owping statistics from [10.0.0.1]:5 to [10.0.0.2]:6 ---\nSID:\t00\n100 sent, 5 lost (5.000%), 0 duplicates\n"
    b"one-way delay min/median/max = 0.5/1.5/1.2 ms, (err=0.1 ms)\none-way jitter = 0.2 ms (P95-P50)\n",
    "owping-raw": b"0 3000000000 1 1e-5 0 1 0 255\n1 17179869184000 1 1e-5 17180943155200 1 1e-5 255\n",
    "hpcc-fct": b"0b000101 0b000201 10000 100 1000 2000000000 4000 2000\n0b000101 0b000201 10000 100 1000 2000000000 3000 3000\n",
    "benchmarkdotnet-json": json.dumps(BENCHMARK_DOTNET).encode(),
    "criterion-text": "fill/loop/100           time:   [68.921 ns 86.658 ns 102.13 ns]\n"
    "                        thrpt:  [979.17 Kelem/s 1.1540 Melem/s 1.4509 Melem/s]\n"
    "a long name\n                        time:   [1.0000 µs 2.0000 µs 3.0000 µs]\n".encode(),
    "libtest-bench-text": b"running 2 tests\ntest a::b     ... bench:   1,234,567.25 ns/iter (+/- 2,358) = 9768 MB/s\ntest c ... FAILED\n",
    "divan-text": "Timer precision: 18 ns\n"
    "a        fastest       │ slowest       │ median        │ mean          │ samples │ iters\n"
    "├─ b     12.19 ns      │ 24.47 ns      │ 12.48 ns      │ 12.59 ns      │ 100     │ 25600\n"
    "╰─ c                   │               │               │               │         │\n"
    "   ╰─ 8  16.59 ns      │ 55.81 ns      │ 17.89 ns      │ 18.72 ns      │ 100     │ 6400\n"
    "         481.9 MB/s    │ 143.3 MB/s    │ 447 MB/s      │ 427.2 MB/s    │         │\n".encode(),
    "asv-console": "· Running 2 total benchmarks\n[ 50.00%] ··· b.time_x        11.1±0.01μs\n[ 75.00%] ··· b.time_y   failed\n".encode(),
    "catch2-xml": b'<?xml version="1.0" encoding="UTF-8"?>\n<Catch name="c"><Group name="c"><TestCase name="s" filename="c.cc" line="7">'
    b'<BenchmarkResults name="sum 100" samples="20" resamples="100" iterations="207" clockResolution="57.2" estimatedDuration="1.1e+06">'
    b'<mean value="248.9" lowerBound="242.1" upperBound="268.7" ci="0.95"/><standardDeviation value="24.6" lowerBound="8.8" upperBound="46.9" ci="0.95"/>'
    b'<outliers variance="0.6" lowMild="0" lowSevere="0" highMild="0" highSevere="1"/></BenchmarkResults>'
    b'<OverallResult success="true"/></TestCase></Group></Catch>\n',
    "junit-xml": b'<testsuites><testsuite name="t" timestamp="2026-01-01T00:00:00" hostname="h" tests="2" failures="1">'
    b'<testcase classname="a" name="b" time="1,234.5"/><testcase classname="a" name="c" time="0.1"><failure message="x"/></testcase>'
    b"</testsuite></testsuites>\n",
    "customSmallerIsBetter": b'[{"name": "sort 1000", "unit": "ms", "value": 12.5, "range": "\xc2\xb1 0.4", "extra": "12 runs"}]\n',
    "github-action-benchmark": b"window.BENCHMARK_DATA = " + json.dumps(PAGE).encode(),
    "bencher-metric-format": b'{"a": {"latency": {"value": 5.0, "lower_value": 4.0, "upper_value": 6.0}, "own": {"value": 1}}}',
    "npy": npy(),
    "npz": npz(),
    "ordersage-csv": b"run_uuid,hostname,run_num,test_command,order_number,order_type,completion_status,result\n"
    b'u,h,0,./a,0,fixed,Success,"98.8,108.7"\nu,h,0,./b,1,fixed,Success,121.8\nu,h,1,./b,0,random,Failure,0\nu,h,1,./a,1,random,Success,"9,8"\n',
    "oml-sqlite": oml_database(),
    "oml-text": b"protocol: 4\ndomain: d\nstart-time: 1000\nsender-id: node 7\napp-name: app\nschema: 1 probe label:string delay:double\n"
    b"content: text\n\n0.5\t1\t0\ta\t2.0\n1.5\t1\t1\tb\t4.0\n2.5\t1\t2\tc\t8\n",
    "csv-long": b"scheme,run,rate_mbit,when\n"
    + b"".join(
        b"%s,%d,9.%d,2026-11-25 12:%02d:00\n" % (b"ab"[at % 2 : at % 2 + 1], at // 2, at, at)
        for at in range(12)
    ),
    "csv-wide": b"run,cubic,bbr,reno\n1,9.21,9.84,9.02\n2,9.33,9.90,9.11\n3,9.18,9.77,\n4,9.27,9.88,9.07\n",
    "csv-summary": b"scheme,mean,sd,n\ncubic,9.27,0.06,30\nbbr,9.85,0.05,30\n",
}


def read_format(path: Path) -> None:
    """Read a file as `trialwise look` does, and ask for what every row must hold.

    Raises
    ------
    AnalysisError
        No reader knows it, or what it holds is refused.
    """
    content = read_content(path)
    reader = recognised(content) or recognised_table(content)
    if reader is None:
        raise unknown(content)
    for row in reader.reading(content).rows:
        assert row.value is None or isfinite(row.value)
        assert (row.status == "failed") <= (row.value is None)
        assert (row.status == "failed") <= bool(row.reason)


CRITERION = b'{"sampling_mode": "Linear", "iters": [1.0, 2.0, 3.0], "times": [30.0, 40.0, 50.0]}'
ASV = b'{"commit_hash": "abc", "params": {"machine": "m"}, "results": {"f": [[1.0, null], [["1", "2"]], "1", 1000, 2.0]}}'


def in_criterion(path: Path) -> None:
    place = path.with_name("criterion") / "a" / "new"
    place.mkdir(parents=True, exist_ok=True)
    (place / "benchmark.json").write_text('{"group_id": "g", "function_id": null, "value_str": "7"}')
    (place / "estimates.json").write_text(
        '{"mean": {"point_estimate": 1.0}, "slope": {"point_estimate": 20.0}}'
    )
    (place / "sample.json").write_bytes(path.read_bytes())
    _read_folder(place.parents[1])


def in_asv(path: Path) -> None:
    machine = path.with_name("asv") / "m"
    machine.mkdir(parents=True, exist_ok=True)
    known = {"f": {"param_names": ["n"], "type": "time", "unit": "seconds", "version": "1"}, "version": 2}
    (machine.parent / "benchmarks.json").write_text(json.dumps(known))
    (machine / "machine.json").write_text("{}")
    (machine / "abc-env.json").write_bytes(path.read_bytes())
    _read_folder(machine.parent)


def _read_folder(folder: Path) -> None:
    found = recognised_folder(folder)
    if found is None:
        raise AnalysisError(f"{folder}: no format that is known")
    reader, content = found
    assert all(row.value is None or isfinite(row.value) for row in reader.reading(content).rows)


def _made(name: str) -> Callable[[Path], bytes]:
    return lambda _: (DATA / name).read_bytes()


def _short(content: bytes) -> Callable[[Path], bytes]:
    return lambda _: content


FORMATS: dict[str, tuple[Callable[[Path], bytes], Callable[[Path], object]]] = {
    **{name: (_made(file), read_format) for name, file in MADE.items()},
    **{name: (_short(content), read_format) for name, content in SHORT.items()},
    "criterion-directory": (_short(CRITERION), in_criterion),
    "asv-results": (_short(ASV), in_asv),
}
TOGETHER = {
    "documents of benchmarks": (
        *("google-benchmark-json", "pytest-benchmark-json", "jmh-json", "benchmarkdotnet-json"),
        *("asv-results", "criterion-directory", "hyperfine-json"),
    ),
    "documents of load": (
        *("iperf3-json", "fio-json", "k6-summary-export", "k6-handle-summary", "vegeta-report-json"),
        *("bombardier-json", "oha-json", "irtt-json", "flent"),
    ),
    "lines of JSON": (
        *("k6-json-lines", "vegeta-json-lines", "iperf3-json-stream", "go-bench-json", "perf-stat-json"),
    ),
    "summaries": ("customSmallerIsBetter", "github-action-benchmark", "bencher-metric-format"),
    "tables of benchmarks": (
        *("hyperfine-csv", "google-benchmark-csv", "jmh-csv", "ordersage-csv", "pytest-benchmark-csv"),
    ),
    "tables of load": (
        *("k6-csv", "vegeta-csv", "oha-csv", "hey-csv", "ab-tsv", "ab-percentiles", "iperf2-csv"),
        *("perf-stat-csv", "fio-terse"),
    ),
    "tables of anybody": ("csv-long", "csv-wide", "csv-summary"),
    "texts of benchmarks": (
        "go-bench-text",
        "criterion-text",
        "divan-text",
        "libtest-bench-text",
        "asv-console",
    ),
    "texts of load": (
        *("wrk-text", "wrk2-text", "hey-text", "oha-text", "ab-text", "sysbench-text", "ycsb-text"),
        "gnu-time-v",
    ),
    "texts of networks": (
        *("ping-text", "fping-text", "irtt-text", "netperf-text", "netperf-keyval", "owping-text"),
        *("owping-raw", "hpcc-fct"),
    ),
    "XML": ("catch2-xml", "junit-xml"),
    "arrays": ("npy", "npz"),
    "histograms": ("hdr-log", "hdr-percentiles"),
    "OML's results": ("oml-text", "oml-sqlite"),
}
"""By parser: the formats that are fuzzed together, as they share what takes the file apart."""
