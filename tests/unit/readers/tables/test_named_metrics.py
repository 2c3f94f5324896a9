"""Tables with one row for each metric of a trial, whose names stand in a column: each metric is one of its own."""

from pathlib import Path

import pytest

import in_process
from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised_table

HEADER = "scheme,trial,metric,value,unit,better\n"
CELLS = [
    (scheme, f"t{trial}", metric, value)
    for scheme, shift in (("cubic", 0), ("bbr", 5))
    for trial in range(4)
    for metric, value in (("rate", 90 + shift + trial), ("delay", 30 - shift + 0.5 * trial))
]
KNOWN = {"rate": ("Mbit/s", "higher"), "delay": ("ms", "lower")}


def read(text):
    content = Content(Path("t.csv"), text.encode())
    reader = recognised_table(content)
    assert reader is not None
    return reader.reading(content)


def test_each_metric_has_its_values_its_unit_and_its_direction():
    lines = (",".join(map(str, (*cells, *KNOWN[cells[2]]))) for cells in CELLS)
    found = read(HEADER + "\n".join(lines) + "\n")
    rows = [(row.treatment["scheme"], row.metric, row.value, row.unit, row.better) for row in found.rows]
    assert sorted(rows) == sorted(
        (scheme, metric, float(value), *KNOWN[metric]) for scheme, _, metric, value in CELLS
    )
    assert {tuple(row.treatment) for row in found.rows} == {("scheme",)}, "a trial's name is no treatment"
    assert [row.where.split(",")[0] for row in found.rows][:2] == ["line 2", "line 4"]
    assert not {note.code for note in found.notes} & {"unit_unknown", "direction_unknown"}


def test_a_metric_in_two_units_is_refused():
    lines = [
        f"cubic,t{trial},delay,{5 + trial},{unit}," for trial, unit in enumerate(("ms", "ms", "s", "ms"))
    ]
    with pytest.raises(AnalysisError, match="delay has several texts in the column unit: ms, s") as caught:
        read(HEADER + "\n".join(lines) + "\n")
    assert "one unit" in caught.value.hint


def test_names_that_are_too_many_are_no_metrics():
    lines = (f"m{number},{number / 7}" for number in range(1001))
    assert {row.metric for row in read("metric,value\n" + "\n".join(lines) + "\n").rows} == {"value"}


def test_all_metrics_without_a_unit_are_told():
    lines = (",".join(map(str, cells)) for cells in CELLS)
    found = read("scheme,trial,metric,value\n" + "\n".join(lines) + "\n")
    (note,) = (note for note in found.notes if note.code == "unit_unknown")
    assert note.text.endswith("rate, delay")


@pytest.mark.parametrize("names", [["baseline", "tuned"], ["v1", "v2"]])
def test_few_names_below_run_are_treatments(names):
    lines = [f"{run},{cc},{number}" for cc in ("cubic", "bbr") for number, run in enumerate(names, 3)]
    found = read("run,cc,seconds\n" + "\n".join(lines) + "\n")
    assert {row.treatment["run"] for row in found.rows} == set(names)


def test_analyze_pools_no_metrics(tmp_path):
    """All values would count as trials of one metric; compare takes the names as names."""
    lines = (",".join(map(str, (*cells, *KNOWN[cells[2]]))) for cells in CELLS)
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(lines) + "\n")
    for verb in ("analyze", "report"):
        done = in_process.trialwise(verb, "t.csv", "--value", "value", "--group", "scheme", cwd=tmp_path)
        assert (done.returncode, "holds several" in done.stderr, "import FILE -o DIR" in done.stderr) == (
            7,
            True,
            True,
        )
    done = in_process.trialwise(
        "compare", "t.csv", "--value", "value", "--group", "scheme", "--rank", cwd=tmp_path
    )
    assert all(metric in done.stdout for metric in KNOWN), done.stderr


def test_analyze_pools_no_units(tmp_path):
    rows = "".join(f"a,{number}.5,{number},{unit}\n" for number, unit in enumerate(("ms", "s", "ms")))
    (tmp_path / "t.csv").write_text(f"scheme,value,other,unit\n{rows}{rows.replace('a,', 'b,')}")
    for values in (("value",), ("value", "other")):
        words = [word for name in values for word in ("--value", name)]
        done = in_process.trialwise("analyze", "t.csv", "--group", "scheme", *words, cwd=tmp_path)
        assert (done.returncode, "the column value stands there in ms and s" in done.stderr) == (7, True)


def test_the_table_that_import_writes_is_refused_since_its_samples_would_count_as_processes():
    names = "file,path,row,treatment,metric,value,unit,better,status,where,levels,factors,summary,samples"
    with pytest.raises(AnalysisError, match="a table that trialwise import wrote") as caught:
        read(
            names
            + "\n"
            + "\n".join(f"0,a,{row},x,time,{row}.5,s,lower,finished,/,{{}},{{}},," for row in range(4))
        )
    assert "-o DIR" in caught.value.hint
