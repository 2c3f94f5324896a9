"""Requests that failed: a load of which all failed has no result, however fast the errors came."""

import json

import pytest

from trialwise.readers.content import Content
from trialwise.readers.records import ERRORS
from trialwise.readers.register import recognised
from trialwise.study.looking import look

WRK = """Running 2s test @ http://127.0.0.1:{port}/
  2 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.92ms    1.53ms  21.28ms   80.08%
    Req/Sec     1.03k   217.45     1.38k    62.50%
  {of} requests in 2.00s, 1.13MB read
{told}Requests/sec:   {rate}
Transfer/sec:    577.43KB
"""
AB = """This is ApacheBench, Version 2.3 <$Revision: 1903618 $>
Concurrency Level:      2
Complete requests:      {of}
Failed requests:        0
{told}Requests per second:    763.60 [#/sec] (mean)
Time per request:       2.619 [ms] (mean)
"""
HEY = """
Summary:
  Total:\t0.0300 secs
  Slowest:\t0.0085 secs
  Fastest:\t0.0011 secs
  Average:\t0.0019 secs
  Requests/sec:\t1999.2410

Details (average, fastest, slowest):
  DNS+dialup:\t0.0001 secs, 0.0000 secs, 0.0000 secs

Status code distribution:
{told}
"""
HEY_CSV = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"


def wrk(failed, of, sockets=0, rate="1849.32", port=1):
    told = f"  Non-2xx or 3xx responses: {failed}\n" if failed else ""
    told += f"  Socket errors: connect 0, read 0, write 0, timeout {sockets}\n" if sockets else ""
    return WRK.format(of=of, told=told, rate=rate, port=port)


def ab(failed, of):
    return AB.format(of=of, told=f"Non-2xx responses:      {failed}\n" if failed else "")


def hey(failed, of):
    fine = f"  [200]\t{of - failed} responses\n" if of > failed else ""
    return HEY.format(told=fine + f"  [503]\t{failed} responses")


def hey_csv(failed, of):
    rows = [f"0.0010,0,0,0,0,0,{503 if place < failed else 200},{place / 10}" for place in range(of)]
    return HEY_CSV + "\n".join(rows) + "\n"


def k6(failed, of):
    return json.dumps(
        {
            "root_group": {},
            "metrics": {
                "http_reqs": {"count": of, "rate": of / 2},
                "http_req_failed": {"passes": failed, "fails": of - failed, "value": failed / of},
                "http_req_duration": {"avg": 1.0, "min": 0.5, "med": 1.0, "max": 2.0, "p(90)": 1.5},
                "iterations": {"count": of, "rate": of / 2},
            },
        }
    )


def k6_points(failed, of):
    def point(metric, value, second):
        data = {"time": f"2026-11-27T10:00:{second:02}Z", "value": value, "tags": {}}
        return json.dumps({"metric": metric, "type": "Point", "data": data})

    kinds = {"http_reqs": "counter", "http_req_failed": "rate", "http_req_duration": "trend"}
    lines = [
        json.dumps({"metric": name, "type": "Metric", "data": {"type": kind}}) for name, kind in kinds.items()
    ]
    for place in range(of):
        lines += [
            point("http_reqs", 1, place),
            point("http_req_failed", float(place < failed), place),
            point("http_req_duration", 1.5, place),
        ]
    return "\n".join(lines) + "\n"


def vegeta(failed, of):
    latencies = {"mean": 5e5, "50th": 5e5, "90th": 6e5, "95th": 6e5, "99th": 7e5, "max": 8e5}
    codes = {code: count for code, count in (("200", of - failed), ("500", failed)) if count}
    report = {
        "latencies": latencies, "earliest": "2026-11-27T10:00:00Z", "end": "2026-11-27T10:00:01Z", "requests": of,
        "throughput": float(of - failed), "status_codes": codes, "errors": ["500"] if failed else [],
    }  # fmt: skip
    return json.dumps(report)


def vegeta_lines(failed, of):
    lines = [
        {
            "attack": "", "seq": place, "code": 500 if place < failed else 200, "latency": 500_000,
            "timestamp": f"2026-11-27T10:00:{place:02}Z", "error": "",
        }
        for place in range(of)
    ]  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


def bombardier(failed, of):
    result = {
        "req1xx": 0, "req2xx": of - failed, "req3xx": 0, "req4xx": 0, "req5xx": failed, "others": 0, "timeTakenSeconds": 1.0,
        "latency": {"mean": 700.0, "max": 900.0, "percentiles": {"50": 650.0}},
    }  # fmt: skip
    return json.dumps({"spec": {"numberOfConnections": 2}, "result": result})


def oha(failed, of):
    codes = {code: count for code, count in (("200", of - failed), ("500", failed)) if count}
    summary = {"successRate": 1.0, "total": 1.0, "slowest": 0.2, "average": 0.1, "requestsPerSec": float(of)}
    return json.dumps(
        {
            "summary": summary,
            "latencyPercentiles": {"p50": 0.1},
            "statusCodeDistribution": codes,
            "errorDistribution": {},
        }
    )


LOADS = (wrk, ab, hey, hey_csv, k6, k6_points, vegeta, vegeta_lines, bombardier, oha)


def read(text, path):
    content = Content(path, text.encode())
    return recognised(content).reading(content)


@pytest.mark.parametrize("load", LOADS)
def test_a_load_of_which_all_failed_has_the_count_of_its_errors_alone(load, tmp_path):
    found = read(load(40, 40), tmp_path)
    values = {row.metric: row.value for row in found.rows if row.value is not None}
    assert values == {ERRORS: 40}
    lost = [row for row in found.rows if row.metric != ERRORS]
    assert lost
    assert {(row.status, row.reason) for row in lost} == {("failed", "all 40 requests failed")}
    texts = {note.code: note.text for note in found.notes}
    assert texts["errors_in_load"] == "40 of 40 requests failed"
    assert texts["failed_units"] == "1 of 1 trial failed"


@pytest.mark.parametrize("load", LOADS)
def test_a_load_of_which_some_failed_keeps_its_values_and_says_so(load, tmp_path):
    found = read(load(39, 40), tmp_path)
    assert not [row for row in found.rows if row.status == "failed"]
    assert "39 of 40 requests failed" in {note.text for note in found.notes}


def test_timeouts_beside_answers_do_not_take_these_away(tmp_path):
    """wrk counts timeouts beside the requests that were answered: 100 answers of 200 attempts are a result."""
    found = read(wrk(0, 100, sockets=100), tmp_path)
    assert {row.metric: row.value for row in found.rows}["requests"] == 1849.32
    assert "100 of 200 requests failed" in {note.text for note in found.notes}


def test_runs_of_one_file_are_judged_each_by_itself(tmp_path):
    found = read(wrk(40, 40) + "\n" + wrk(1, 50), tmp_path)
    assert [row.status for row in found.rows if row.metric == "requests"] == ["failed", "finished"]
    assert "41 of 90 requests failed" in {note.text for note in found.notes}


def test_the_answer_is_that_all_failed(tmp_path, trialwise):
    (tmp_path / "a.txt").write_text(wrk(3699, 3699))
    code, out, _ = trialwise("look", tmp_path / "a.txt")
    assert code == 0
    assert out.splitlines()[0] == "No comparison: all 3699 requests failed."


def test_a_side_of_which_all_failed_is_counted_and_not_compared(tmp_path):
    for name, rate in (("1", "900.00"), ("2", "910.00"), ("3", "905.00")):
        (tmp_path / f"good_{name}.txt").write_text(wrk(0, 40, rate=rate))
        (tmp_path / f"bad_{name}.txt").write_text(wrk(40, 40, rate="9" + rate))
    (seen,) = look([tmp_path]).seen
    requests = next(metric for metric in seen.metrics if metric.metric == "requests")
    assert not requests.answers
    assert "has no value: all 40 requests failed" in requests.refusal
    assert sorted((each.n, each.failed) for each in requests.treatments) == [(0, 3), (3, 0)]


def test_requests_that_failed_belong_to_the_answer(tmp_path, trialwise):
    for name, rate in (("1", "900.00"), ("2", "910.00"), ("3", "905.00")):
        (tmp_path / f"fine_{name}.txt").write_text(wrk(0, 40, rate=rate))
        (tmp_path / f"fast_{name}.txt").write_text(wrk(20, 40, rate="1" + rate))
    _, out, _ = trialwise("look", tmp_path)
    first = out.split("\n\n")[0].replace("\n", " ")
    assert "has the highest requests" in first
    assert "fast_1.txt: 20 of 40 requests failed (and in 2 more files, below)" in first
