"""What others recorded of paths, read as recordings: small files in the exact form of each source."""

from __future__ import annotations

import numpy as np
import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.path_sources import SOURCES, filled
from trialwise.exchange.path_texts import Options, Source
from trialwise.exchange.recording_files import parse_recording, recording_text
from trialwise.measurement.recordings import DELAY, RATE, STATE, Way


def found(kind: str, *texts: str, **options):
    return SOURCES[kind](
        [Source(text, f"file{number}") for number, text in enumerate(texts)], Options(**options)
    )


def steps(way: Way, column: str) -> list[tuple[float, float]]:
    return list(zip(way.steps[column].times.tolist(), way.steps[column].values.tolist(), strict=True))


def refusal(kind: str, *texts: str, **options) -> str:
    with pytest.raises(AnalysisError) as caught:
        found(kind, *texts, **options)
    return f"{caught.value} {caught.value.hint or ''}"


def test_mahimahi_traces_are_opportunities_each_way():
    read = found("mahimahi", "0\n1\n4\n", "2\n2\n9\n")
    both = read.recording
    assert both.uplink.opportunities.tolist() == [0, 1, 4, 4, 5, 8, 8, 9]
    assert read.notes == ("file0 is shorter and repeated up to 9 ms",)
    assert both.downlink.opportunities.tolist() == [2, 2, 9]
    assert both.length == 9
    one = found("mahimahi", "1\n5\n", direction="uplink").recording
    assert (one.uplink.columns, one.downlink.columns) == (("opportunities",), ())
    assert "goes back in time" in refusal("mahimahi", "5\n1\n")


def test_a_line_of_leoreplayers_delays_holds_for_the_interval_both_ways():
    delays = [Source("20\n20\n31\n", "delay")]
    recording = found("leoreplayer", "22\n40\n", "1\n40\n", delays=delays).recording
    for way in recording.ways.values():
        assert steps(way, DELAY) == [(0, 20_000), (20, 31_000)]
    assert recording.length == 40
    halves = found("leoreplayer", "22\n40\n", "1\n", delays=delays, interval=100.0, round_trip=True)
    assert steps(halves.recording.uplink, DELAY) == [(0, 10_000), (200, 15_500)]
    assert halves.recording.length == 300
    assert "half a round trip" in halves.notes[1]


def test_half_of_hypatias_round_trip_is_each_way_and_none_is_an_outage():
    text = "0,76846048.72\n100000000,76846048.72\n200000000,0\n300000000,50000000\n"
    read = found("hypatia", text, rate=5e7)
    way = read.recording.uplink
    assert steps(way, DELAY) == [(0, pytest.approx(38_423.02436)), (300, 25_000)]
    assert steps(way, STATE) == [(0, 0), (200, 1), (300, 0)]
    assert steps(way, RATE) == [(0, 5e7)]
    assert read.recording.length == 400
    assert "--rate gives one" in found("hypatia", text).notes[-1]
    assert "no round trip is above 0" in refusal("hypatia", "0,0\n")


IRISH = (
    "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,DL_bitrate,UL_bitrate,State,"
    "PINGAVG,PINGMIN,PINGMAX,PINGSTDEV,PINGLOSS,CELLHEX,NODEHEX,LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ\n"
)


def irish_row(second: int, rate: str, state: str = "D") -> str:
    stamp = f"2019.12.16_13.40.{second:02d}"
    return f"{stamp},-8.4,51.9,0,B,11,5G,-94,-13,0,8,-72,{rate},138,{state},-,-,-,-,-,A,1,9,2,-,-\n"


def test_irish_rates_are_those_of_downloads_with_repeated_stamps_spread():
    rows = [(0, "8000"), (1, "1000"), (1, "3000"), (2, "-"), (3, "500", "I"), (4, "6000")]
    read = found("irish", IRISH + "".join(irish_row(*row) for row in rows))
    assert steps(read.recording.downlink, RATE) == [(0, 8e6), (1000, 1e6), (1500, 3e6), (4000, 6e6)]
    assert read.recording.uplink.columns == ()
    assert read.notes[0].startswith("rates are those of a program")
    assert read.notes[1:3] == (
        "1 stamp repeats: their lines are spread over the second",
        "1 line without a rate left out",
    )
    assert "does not name the columns" in refusal("irish", "a,b\n1,2\n")
    assert "2019.12.16_13.40.04" in refusal("irish", IRISH + irish_row(1, "1").replace("2019", "x"))


def test_lists_of_rates_have_the_units_of_their_source():
    read = found("pensieve", "0.0 1.5\n1.0 0\n3.5 2\n", direction="uplink").recording
    assert steps(read.uplink, RATE) == [(0, 1.5e6), (1000, 0), (3500, 2e6)]
    assert read.length == 3500 + 1750
    cooked = found("fcc-cooked", "125000\n250000\n").recording
    assert steps(cooked.downlink, RATE) == [(0, 1e6), (5000, 2e6)]
    assert cooked.length == 10_000
    norway = found("norway", "100 125000 1000\n1100 250000 500 7\n300 1 1\n")
    assert steps(norway.recording.downlink, RATE) == [(0, 1e6), (1000, 4e6)]
    assert norway.notes[0] == "line 3 goes back in time: what follows is left out"
    belgium = found("belgium", "9 1000 51.0 3.7 125000 1000\n9 2000 51.0 3.7 250000 1000\n").recording
    assert steps(belgium.downlink, RATE) == [(0, 1e6), (1000, 2e6)]


def test_fcc_needs_one_series_of_unit_and_target():
    row = "{unit},2016-01-01 00:00:0{second},{target},1.2.3.4,5000000,{size},{size},0\n".format
    text = row(unit=7, second=0, target="a.com", size=125000) + row(
        unit=7, second=5, target="a.com", size=250000
    )
    assert steps(found("fcc", text).recording.downlink, RATE) == [(0, 1e6), (5000, 2e6)]
    other = text + row(unit=8, second=0, target="b.com", size=1000)
    assert "choose one with --select: 7,a.com; 8,b.com" in refusal("fcc", other)
    assert steps(found("fcc", other, select="8,b.com").recording.downlink, RATE) == [(0, 8000)]


def test_a_table_needs_its_columns_and_their_units():
    text = "ts;iccid;dl\n10.0;x;4000\n11.0;x;8000\n"
    names = "time=ts,time_unit=s,rate=dl,unit=kbit/s"
    with pytest.raises(AnalysisError, match="kbit/s"):
        found("columns", text, columns=names.replace("kbit/s", "kbps"))
    assert steps(found("columns", text, columns=names).recording.downlink, RATE) == [(0, 4e6), (1000, 8e6)]
    numbered = found("columns", "5 1\n6 2\n", columns="time=1,time_unit=s,rate=2,unit=MB/s").recording
    assert steps(numbered.downlink, RATE) == [(0, 8e6), (1000, 16e6)]
    assert "unit is missing" in refusal("columns", text, columns="time=ts,time_unit=s,rate=dl")
    assert "does not say what is what in 'ts;iccid;dl'" in refusal("columns", text)
    assert "columns: ts, iccid, dl" in refusal("columns", text, columns=names.replace("=dl", "=ul"))


def test_gaps_and_silences_are_reported():
    rows = [*range(10), 30, 31]
    text = "".join(f"{time} {0 if time in (3, 4) else 2}\n" for time in rows)
    assert found("pensieve", text).notes == (
        "1 gap of more than 5 median steps (1000 ms), the first at 9 s",
        "downlink: nothing leaves for 2 s from 3 s on: senders time out there",
    )


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("pensieve", "", "has no line"),
        ("pensieve", "0 1 2\n", "line 1 has 3 fields, not 2"),
        ("pensieve", "0 nan\n", "line 1 has `nan`"),
        ("pensieve", "0 1\n0 2\n", "its time does not grow at value 2"),
        ("pensieve", "0 0\n1 0\n", "no rate is above 0"),
        ("pensieve", "0 1\n1e12 1\n", "longer than 115 days"),
        ("pensieve", "0 1e12\n", "check its unit"),
        ("norway", "1 2\n", "has 2 fields, not 3 or more"),
        ("norway", "1 2 0\n", "has a duration of 0 ms"),
        ("fcc", "1,2016-01-01 00:00:00,t\n", "has 3 fields"),
        ("fcc-cooked", "-1\n", "line 1 has `-1`"),
        ("hypatia", "0,1\n0,1\n", "does not grow"),
    ],
)
def test_what_is_no_such_file_is_refused(kind: str, text: str, message: str):
    assert message in refusal(kind, text)


@pytest.mark.parametrize("fill", ["poisson", "cellular"])
def test_filled_rates_are_those_of_the_steps_in_the_mean(fill: str):
    # 12 Mbit/s are a packet each millisecond; nothing in the second minute.
    recording = found("pensieve", "0 12\n60 0\n120 6\n180 6\n").recording
    full = filled(recording, fill, seed=3)
    times = full.downlink.opportunities
    counts = [int(((times > start) & (times <= start + 60_000)).sum()) for start in (0, 60_000, 120_000)]
    # Poisson: five standard errors of 60000 and 30000; cellular: a walk of 600 dwells has a relative error of about 8 %.
    bounds = {"poisson": (1225, 1, 866), "cellular": (24_000, 1, 12_000)}[fill]
    assert all(
        abs(count - mean) <= bound
        for count, mean, bound in zip(counts, (60_000, 0, 30_000), bounds, strict=True)
    )
    again, other = filled(recording, fill, seed=3), filled(recording, fill, seed=4)
    assert np.array_equal(again.downlink.opportunities, times)
    assert not np.array_equal(other.downlink.opportunities, times)
    assert parse_recording(recording_text(full), "made").downlink.opportunities.size == times.size
    assert filled(recording, "constant", 1) is recording
