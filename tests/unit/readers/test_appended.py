"""Files to which a tool appended result after result: each is a trial of its own, and none is lost or added to another."""

import json
import re
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content, read_content
from trialwise.readers.register import recognised

DATA = Path(__file__).parents[2] / "golden/formats/data"


def reading(data):
    content = Content(Path("results"), data if isinstance(data, bytes) else data.encode())
    reader = recognised(content)
    assert reader is not None
    return reader.reading(content)


def values(found, metric):
    return [row.value for row in found.rows if row.metric == metric]


def units(found, metric):
    return [tuple(row.levels.items()) for row in found.rows if row.metric == metric]


def remarks(found):
    return " ".join(note.text for note in found.notes)


def hyperfine(*times):
    return json.dumps({"results": [{"command": "a", "mean": 1.0, "times": times}]})


def test_runs_that_perf_appended_are_not_added_up():
    """`perf stat --append` wrote both runs into one file here."""
    told = [
        float(each)
        for each in re.findall(r"^([\d.]+),msec", (DATA / "perf-stat/appended.csv").read_text(), re.MULTILINE)
    ]
    found = reading((DATA / "perf-stat/appended.csv").read_bytes())
    assert len(told) == 2
    assert values(found, "task-clock") == told
    assert len(set(units(found, "task-clock"))) == 2
    without = "\n".join(
        line
        for line in (DATA / "perf-stat/appended.csv").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert values(reading(without), "task-clock") == told


def test_lines_of_json_that_perf_appended():
    text = (DATA / "perf-stat/appended.jsonl").read_text()
    told = [float(each) for each in re.findall(r'"counter-value" : "([\d.]+)", "unit" : "msec"', text)]
    assert values(reading(text), "task-clock") == told
    bare = "\n".join(line for line in text.splitlines() if line.startswith("{"))
    assert values(reading(bare), "task-clock") == told


def test_a_further_test_of_iperf_is_no_further_stream():
    """Each connection has a port of its own; streams of one test have numbers of their own as well."""
    row = "{},10.0.0.1,{},10.0.0.2,5001,{},0.0-1.0,100,{}\n"
    unknown = "19700101000000"
    found = reading(row.format(unknown, 5000, 1, 30) + row.format(unknown, 5001, 1, 50))
    assert values(found, "sent_rate") == [30, 50]
    assert values(
        reading(row.format(unknown, 5000, 1, 30) + row.format(unknown, 5001, 2, 50)), "sent_rate"
    ) == [80]
    later = row.format("20260101000010", 5000, 4, 30) + row.format("20260101000020", 5001, 5, 50)
    assert values(reading(later), "sent_rate") == [30, 50]


def test_tests_of_iperf3_in_one_stream():
    def test(rate):
        start = {"version": "iperf 3.21", "timestamp": {"timesecs": 1e9}, "test_start": {"protocol": "TCP"}}
        interval = {"sum": {"start": 0, "end": 1, "bits_per_second": rate, "omitted": False}}
        end = {"sum_sent": {"bytes": 1}, "sum_received": {"bytes": 1, "bits_per_second": rate}}
        events = (("start", start), ("interval", interval), ("end", end))
        return "".join(json.dumps({"event": name, "data": data}) + "\n" for name, data in events)

    found = reading(test(30) + test(50))
    assert values(found, "goodput") == [30, 50]
    assert [row.samples.values for row in found.rows if row.metric == "goodput"] == [[30], [50]]


def test_documents_of_a_format_with_one_a_file():
    found = reading(hyperfine(1.0, 2.0) + "\n" + hyperfine(3.0))
    assert values(found, "time") == [1, 2, 3]
    assert len(set(units(found, "time"))) == 3
    assert "2 results one after another" in remarks(found)


def test_a_result_that_stands_twice_counts_once():
    found = reading(hyperfine(1.0, 2.0) + "\n" + hyperfine(1.0, 2.0))
    assert values(found, "time") == [1, 2]
    assert "it counts once" in remarks(found)


def test_a_result_that_was_cut_leaves_the_others():
    found = reading(hyperfine(1.0, 2.0) + "\n" + hyperfine(3.0, 4.0)[:-4])
    assert values(found, "time")[:2] == [1, 2]
    assert "partial" in {note.code for note in found.notes}


def test_settings_that_differ_between_results_tell_treatments_apart():
    found = reading(
        (DATA / "bombardier/answers.json").read_bytes() + (DATA / "bombardier/refused.json").read_bytes()
    )
    (answered, refused) = [row for row in found.rows if row.metric == "requests"]
    assert answered.treatment["url"] != refused.treatment["url"]
    assert (answered.status, refused.status) == ("finished", "failed")


def test_json_after_other_text_is_not_lost_without_a_word():
    text = (DATA / "fio/after_text.json").read_text()
    assert "follows after other text" in remarks(reading(text + text))
    assert "follows after other text" not in remarks(reading(text))


@pytest.mark.parametrize(
    ("name", "old", "new", "metric"),
    [
        ("hey/refused.txt", "[20]", "[10]", "errors"),
        ("k6/points.csv", "http_req_duration,", "http_req_duration,", "errors"),
        ("irtt/client.txt", "RTT", "RTT", "rtt_mean"),
        ("netperf/named.txt", "TCP_RR", "TCP_RR", "transactions"),
        ("google-benchmark/errors.csv", '"BM/8', '"BM/9', "real_time"),
    ],
)
def test_each_text_counts_by_itself(name, old, new, metric):
    """The second result is the first with a blank line, so that it is another one with the same numbers."""
    text = (DATA / name).read_text()
    once = values(reading(text), metric)
    found = reading(text + text.replace(old, new) + "\n")
    assert values(found, metric)[: len(once)] == once
    assert len(values(found, metric)) == 2 * len(once)


@pytest.mark.parametrize("name", ["k6/points.jsonl", "vegeta/answers.csv"])
def test_requests_of_two_runs_are_two_loads(name):
    data = (DATA / name).read_bytes()
    once, twice = reading(data), reading(data + b"\n" + data.replace(b"200", b"201"))
    assert values(twice, "errors") == 2 * values(once, "errors")
    rate = "throughput" if name.startswith("vegeta") else "requests"
    assert values(twice, rate) == 2 * values(once, rate)


def test_more_results_than_anybody_appends_are_refused():
    with pytest.raises(AnalysisError, match="more than 1000 results"):
        reading("\n".join(hyperfine(1.0 + number) for number in range(1001)))


def test_files_with_one_result_are_as_before():
    content = read_content(DATA / "bombardier/answers.json")
    found = recognised(content).reading(content)
    assert {tuple(row.levels) for row in found.rows} == {()}
    assert "url" in found.options


def test_what_the_program_printed_before_the_counters_of_perf():
    text = (DATA / "perf-stat/appended.csv").read_text().split("# started on")[1].partition("\n")[2]
    assert values(reading("sh: Killed\n" + text), "task-clock") == values(reading(text), "task-clock")


HEADER = "run_uuid,hostname,run_num,test_command,order_number,order_type,completion_status,result\n"


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (HEADER, ["u,n1,1,a,1,fixed,Success,5\n", "u,n2,1,a,1,fixed,Success,6\n"]),
        ("," + HEADER, ["0,u,n1,1,a,1,fixed,Success,5\n", "0,u,n2,1,a,1,fixed,Success,6\n"]),
        ("name,mean,rounds,iterations\n", ["a.py::b,5,9,1\n", "a.py::b,6,9,1\n"]),
        ("command,mean,stddev,median,user,system,min,max\n", ["a,5,0,0,0,0,0,0\n", "a,6,0,0,0,0,0,0\n"]),
    ],
)
def test_the_header_of_a_table_that_was_joined_to_another_is_no_row(header, rows):
    found = reading(header + rows[0] + header + rows[1])
    assert [row.value for row in found.rows] == [5, 6]
    assert not [row for row in found.rows if row.status == "failed"]
    assert len({row.levels.get("file") for row in found.rows}) == 2
    again = reading(2 * (header + rows[0]))
    assert [row.value for row in again.rows] == [5]
    assert "counts once" in remarks(again)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_table_of_ordersage_that_was_cut_in_its_last_number_says_so(end):
    """A quoted cell with two numbers was cut within the second."""
    found = reading(HEADER + 'u,n1,1,a,1,fixed,Success,"5.5,6.5"\nu,n1,1,a,2,fixed,Success,"7.5,8' + end)
    assert ("the last line has no end" in remarks(found)) == (not end)
