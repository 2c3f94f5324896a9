"""Arrays are read without executing what they hold, and columns of tables for what they are."""

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised, recognised_table


def read(data):
    content = Content(Path("results"), data if isinstance(data, bytes) else data.encode())
    reader = recognised(content) or recognised_table(content)
    assert reader is not None
    return reader.reading(content)


def saved(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def zipped(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def values(reading, metric, **treatment):
    return [row.value for row in reading.rows if row.metric == metric and dict(row.treatment) == treatment]


def codes(reading):
    return {note.code for note in reading.notes}


class Harm:
    """An object that makes a folder when it is loaded."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def test_objects_in_arrays_are_never_loaded(tmp_path):
    place = str(tmp_path / "made")
    array = np.empty(1, dtype=object)
    array[0] = Harm(place)
    for data in (saved(array), zipped(a=array)):
        assert pickle.dumps(Harm(place)) is not None
        reading = read(data)
        assert codes(reading) >= {"unsafe_refused"}
        assert not reading.rows
    assert not Path(place).exists()


@pytest.mark.parametrize("kind", [">f4", "<f8", "<i2", ">u8"])
def test_every_byte_order_is_read(kind):
    assert values(read(saved(np.array([3, 1, 2], dtype=kind))), "value") == [3.0, 1.0, 2.0]


def test_not_a_number_is_counted():
    reading = read(saved(np.array([1.0, np.nan, np.inf])))
    assert values(reading, "value") == [1.0, None, None]
    assert "not_finite" in codes(reading)


@pytest.mark.parametrize(
    "header", [b"{'descr': '<f8', 'fortran_order': False, 'shape': (10,)}", b"(" * 5000, b"{}", b"[1]"]
)
def test_a_header_that_describes_no_array_is_an_error(header):
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)
    with pytest.raises(AnalysisError):
        read(data)


def test_numbers_in_two_dimensions_are_asked_for():
    with pytest.raises(AnalysisError, match="either may be the trials"):
        read(saved(np.ones((3, 4))))


def test_a_zip_of_zeros_is_not_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", saved(np.zeros(4_000_000)))
    with pytest.raises(AnalysisError, match="unpacks to more"):
        read(out.getvalue())


ORDERSAGE = "run_uuid,hostname,run_num,test_command,order_number,order_type,completion_status,result\n"


def test_the_zero_of_a_failed_trial_of_ordersage_is_no_value():
    reading = read(
        ORDERSAGE
        + "u,h,0,./a,0,fixed,Success,5\nu,h,1,./a,0,random,Failure,0\nu,h,2,./a,0,fixed,Success,NA\n"
    )
    assert [(row.value, row.status) for row in reading.rows] == [
        (5.0, "finished"),
        (None, "failed"),
        (None, "finished"),
    ]


def test_numbers_of_one_trial_of_ordersage_are_metrics_in_a_cell_and_in_rows():
    cell = read(ORDERSAGE + 'u,h,0,./a,0,fixed,Success,"5,6"\nu,h,1,./a,0,fixed,Failure,0\n')
    rows = read(ORDERSAGE + "u,h,0,./a,0,fixed,Success,5\nu,h,0,./a,0,fixed,Success,6\n")
    for reading in (cell, rows):
        assert values(reading, "result 1", test_command="./a")[0] == 5.0
        assert values(reading, "result 2", test_command="./a")[0] == 6.0
    assert [row.metric for row in cell.rows if row.status == "failed"] == ["result 1", "result 2"]


def test_whole_numbers_that_are_crossed_with_treatments_are_a_factor():
    rows = [
        f"{cc},{rate},{rep},{9.5 + rep}" for cc in ("cubic", "bbr") for rate in (10, 100) for rep in (1, 2)
    ]
    reading = read("cc,bandwidth,rep,goodput\n" + "\n".join(rows) + "\n")
    assert {tuple(row.treatment.items()) for row in reading.rows} == {
        (("cc", cc), ("bandwidth", rate)) for cc in ("cubic", "bbr") for rate in ("10", "100")
    }
    assert values(reading, "goodput", cc="bbr", bandwidth="10") == [10.5, 11.5]


def test_rows_with_a_clock_are_samples_of_one_trial():
    reading = read("time(s),delay(ms)\n0,10\n0.5,20\n1,60\n")
    assert [(row.metric, row.value, row.unit, list(row.samples.values)) for row in reading.rows] == [
        ("delay", 30.0, "ms", [10.0, 20.0, 60.0])
    ]
    assert list(reading.rows[0].samples.times) == [0.0, 0.5, 1.0]
    assert "unit_of_replication_unknown" in codes(reading)


def test_a_status_fails_the_row():
    reading = read("scheme,status,value\ncubic,ok,1\nbbr,timeout,0\ncubic,ok,2\nbbr,ok,3\n")
    assert [(row.value, row.status, row.reason) for row in reading.rows if row.treatment == {"scheme": "bbr"}] == [
        (None, "failed", "timeout"), (3.0, "finished", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "header", ['scheme,"delay, ms"', "scheme;delay", "scheme,CPU: delay", "scheme\tdelay;ms"]
)
def test_a_header_may_have_punctuation(header: str):
    [mark] = {",", ";", "\t"} & {header[6]}
    reading = read(
        "".join(f"{line}\n" for line in (header, f"a{mark}1", f"b{mark}2", f"a{mark}3", f"b{mark}5"))
    )
    assert [row.value for row in reading.rows if row.treatment == {"scheme": "b"}] == [2.0, 5.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('scheme,v\na,"1,234"\nb,"2,345"\n', "thousands or decimals"),
        ("1,2\n3,4\n", "no header"),
        ("cubic,11.2\nbbr,12.5\ncubic,11.9\n", "no header"),
        ("real 0.13\nuser 0.00\nsys 0.00\n", "no header"),
        ("scheme,v\na,1 ms\nb,2 Mbit/s\n", "do not belong together"),
        ("a,b\nx,y\nz,w\n", "no column holds values"),
        (
            "old: 1.8; one host, 2 runs of 3 s, half failed\nnew: 1.9; two hosts, 8 runs, none failed\n",
            "like sentences",
        ),
        (
            "a.json: 1.37, Java 17; -f 3 -wi 1 -r 100ms -o json\nb.json: 1.37; one of two throws; -f 1 -i 0 -r 2\n",
            "like sentences",
        ),
    ],
)
def test_what_has_two_readings_is_asked_for(text, said):
    with pytest.raises(AnalysisError, match=said):
        read(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("scheme,v\na,1.25\nb,2.5", [1.25]),
        ("scheme,v\na,1.25\nb", [1.25]),
        ("scheme,v\na,1.25\nb,2.50", [1.25, 2.5]),
        ("scheme,v\na,1\nb,2", [1.0, 2.0]),
    ],
)
def test_a_last_line_that_was_cut_is_left_out(text, kept):
    reading = read(text)
    assert [row.value for row in reading.rows] == kept
    assert ("partial" in codes(reading)) == (len(kept) == 1)


@pytest.mark.parametrize("cell", ["٣", "١٢,٣٤٥", "٣ ms"])
def test_digits_of_other_scripts_are_no_number(cell):
    with pytest.raises(AnalysisError, match="column 'b'"):
        read(f'a,b\n0,5\n1,6\n2,"{cell}"\n3,7\n4,9\n'.encode())
