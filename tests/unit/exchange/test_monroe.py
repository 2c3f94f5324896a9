"""What MONROE's nodes measured, read as recordings: tables and JSON lines in the form that the project's own programs write."""

from __future__ import annotations

import json

import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.monroe import monroe
from trialwise.exchange.path_texts import Options, Source
from trialwise.exchange.recording_files import parse_recording, recording_text
from trialwise.measurement.recordings import DELAY, RATE

BEGAN = 1463048694
# MONROE-PROJECT/Database, examples/dailyCassandra2CSV.py.
PINGS = "nodeid,iccid,timestamp,sequencenumber,bytes,dataid,dataversion,guid,host,operator,rtt\n"
DOWNLOADS = (
    "nodeid,iccid,timestamp,sequencenumber,bytes,dataid,dataversion,downloadtime,guid,host,operator,port,setuptime,speed,"
    "totaltime,errorcode,url\n"
)


def ping(second: float, rtt: object, node: int = 48) -> str:
    stamp = f"{BEGAN + second:.6f}"
    return f"{node},894707,{stamp},{second:g},84,MONROE.EXP.PING,2,a.b,8.8.8.8,Telenor,{rtt}\n"


def download(second: float, speed: float, error: object = 0) -> str:
    stamp = f"{BEGAN + second:.6f}"
    return (
        f"48,894707,{stamp},{second:g},102400,MONROE.EXP.HTTP.DOWNLOAD,2,0.033,a.b,213.80.98.3,Telenor,80,0.027,"
        f"{speed},0.06,{error},http://213.80.98.3/1000M.zip\n"
    )


def read(*texts: str, **options):
    return monroe([Source(text, f"file{number}") for number, text in enumerate(texts)], Options(**options))


def steps(way, column):
    return list(zip(way.steps[column].times.tolist(), way.steps[column].values.tolist(), strict=True))


def refusal(*texts: str, **options) -> str:
    with pytest.raises(AnalysisError) as caught:
        read(*texts, **options)
    return f"{caught.value} {caught.value.hint or ''}"


def test_half_a_round_trip_is_each_way_and_unanswered_pings_are_told():
    found = read(PINGS + ping(0, 30.5) + ping(1, "None") + ping(2, 42) + ping(3, 31) + ping(4, 31))
    for way in found.recording.ways.values():
        assert steps(way, DELAY) == [(0, 15_250), (2000, 21_000), (3000, 15_500)]
    assert found.recording.length == 5000  # the last one holds for a median step
    assert "1 ping of 5 had no answer: no loss is written for them" in found.notes
    assert parse_recording(recording_text(found.recording), "again").uplink.columns == (DELAY,)


def test_speeds_of_downloads_are_bytes_a_second_and_those_that_failed_are_none():
    # The sample of the readme: 102400 B in 0.06 s are a Speed of 1695251.
    found = read(DOWNLOADS + download(0, 1695251.0) + download(30, 0, 28) + download(60, 500000))
    assert steps(found.recording.downlink, RATE) == [(0, 13_562_008), (60_000, 4_000_000)]
    assert found.recording.uplink.columns == ()
    assert any("1 download that failed left out" in note for note in found.notes)


def test_pings_and_downloads_of_one_modem_are_one_recording_of_the_time_that_they_share():
    pings = PINGS + "".join(ping(second, 30 + second) for second in range(-10, 50))
    found = read(pings, DOWNLOADS + download(0, 125_000) + download(30, 250_000))
    assert found.recording.length == 50_000
    assert steps(found.recording.downlink, RATE) == [(0, 1_000_000), (30_000, 2_000_000)]
    assert steps(found.recording.downlink, DELAY)[:2] == [(0, 15_000), (1000, 15_500)]
    assert "not of the same time" in refusal(
        PINGS + ping(0, 30) + ping(1, 30), DOWNLOADS + download(99, 1) + download(100, 1)
    )


def test_lines_that_a_node_writes_are_read_as_its_tables_are():
    lines = [
        {
            "DataId": "MONROE.EXP.PING",
            "NodeId": "48",
            "ICCID": "894707",
            "TimeStamp": BEGAN + 0.5,
            "Rtt": 6.47,
        },
        {
            "DataId": "MONROE.EXP.PING",
            "NodeId": "48",
            "Iccid": "894707",
            "Timestamp": BEGAN + 1.5,
            "Host": "8.8.8.8",
        },
        {"DataId": "MONROE.META.DEVICE.GPS", "NodeId": "48", "Timestamp": BEGAN + 1, "Speed": 31.4},
        {"DataId": "MONROE.EXP.PING", "NodeId": "48", "Iccid": "894707", "Timestamp": BEGAN + 2.5, "Rtt": 7},
    ]
    found = read("".join(json.dumps(line) + "\n" for line in lines))
    assert steps(found.recording.uplink, DELAY) == [(0, 3235), (2000, 3500)]
    assert RATE not in found.recording.downlink.steps, "the speed of a train is no rate"


def test_one_of_several_modems_is_to_be_chosen():
    text = PINGS + ping(0, 30) + ping(1, 31) + ping(0.5, 90, node=49) + ping(1.5, 91, node=49)
    assert "2 series of node and SIM\n  try: choose one with --select: 48,894707; 49,894707" in refusal(text)
    assert steps(read(text, select="49,894707").recording.uplink, DELAY)[0] == (0, 45_000)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (PINGS, "has no ping and no download of MONROE, but nothing"),
        (PINGS + ping(0, "None"), "no ping was answered"),
        (PINGS + ping(0, 1).replace(".PING", ".META"), "but monroe.exp.meta"),
        (PINGS + ping(0, "-3"), "line 2 has `-3` where a number"),
        (PINGS + ping(0, "nan"), "line 2 has `nan` where a number"),
        (PINGS + ping(0, 1) + ping(0, 2), "its time does not grow"),
        (PINGS + ping(0, 1)[:40] + "\n", "line 2 has"),
        ("a,b\n1,2\n", "does not name the columns NodeId, Timestamp and DataId"),
        ('{"NodeId": 1}\n[1]\n', "line 2 is no JSON object"),
        ("{" + "[" * 100_000 + "\n", "line 1 is no JSON object"),
        ("", "does not name the columns"),
    ],
)
def test_what_is_not_monroes_is_refused(text, problem):
    assert problem in refusal(text)
