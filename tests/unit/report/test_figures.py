"""What holds of every figure, on the page and in print: marks inside the view, ticks that tell, colours that are seen."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import altair as alt
import pytest
import vl_convert

from drawn_figures import Drawn, drawn_figures
from trialwise import schemes
from trialwise.report.document import Figure
from trialwise.report.figures import encodings, palette
from trialwise.report.figures.paint import pdf, png, specification, svg
from trialwise.report.figures.theme import NARROW, SCREEN, WIDTH

SVG = "{http://www.w3.org/2000/svg}"
_TOLERANCE = 2.0
"""Pixels that half a stroke or the edge of a letter may lie outside."""
_LETTER = 4.6
"""Pixels of a letter of 12 pixels, at the least on average."""
_DARK, _WHITE = "#14181d", "#ffffff"
"""The pages of report.css."""
_SCREEN_WIDTH = 560


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Drawn]:
    return drawn_figures(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def scenes(drawn: list[Drawn]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, vl_convert.vegalite_to_scenegraph(spec, show_warnings=False)) for name, spec in every(drawn)
    ]


def every(drawn: list[Drawn]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each figure with its name and its description in both themes."""
    for one in drawn:
        for figure in one.figures:
            printed = specification(figure, one.sheets)
            shown = copy.deepcopy(printed) | {"config": SCREEN.config}
            if shown.get("width") == NARROW:
                shown["width"] = _SCREEN_WIDTH
            yield f"{one.name} (print)", printed
            yield f"{one.name} (page)", shown


def groups(node: dict[str, Any], x: float = 0, y: float = 0) -> Iterator[tuple[dict[str, Any], float, float]]:
    """Every group of a scene with its place."""
    for item in node.get("items", ()):
        if node.get("marktype") == "group":
            at = x + (item.get("x") or 0), y + (item.get("y") or 0)
            yield item | {"role": node.get("role")}, *at
            for child in item.get("items", ()):
                yield from groups(child, *at)


def boxes(mark: dict[str, Any]) -> Iterator[tuple[float, float, float, float]]:
    """From where to where the items of a mark go: left, right, top, bottom."""
    for item in mark["items"]:
        x, y = item.get("x") or 0.0, item.get("y") or 0.0
        if mark["marktype"] == "symbol":
            half = (item.get("size") or 0) ** 0.5 / 2
            yield x - half, x + half, y - half, y + half
        elif mark["marktype"] == "text":
            width = 6.2 * len(str(item.get("text") or "")) * (item.get("fontSize") or 11) / 12
            x, y = x + (item.get("dx") or 0), y + (item.get("dy") or 0)
            left = {"right": x - width, "center": x - width / 2}.get(item.get("align") or "left", x)
            yield left, left + width, y, y
        else:
            ends_x = [x, item.get("x2", x + (item.get("width") or 0)) or 0.0]
            ends_y = [y, item.get("y2", y + (item.get("height") or 0)) or 0.0]
            yield min(ends_x), max(ends_x), min(ends_y), max(ends_y)


def test_every_mark_lies_inside_the_view(scenes: list[tuple[str, dict[str, Any]]]) -> None:
    for name, scene in scenes:
        views = 0
        for group, _, _ in groups(scene["scenegraph"]):
            width, height = group.get("width"), group.get("height")
            for mark in group.get("items", ()):
                if mark.get("role") != "mark" or mark["marktype"] == "group" or not width or not height:
                    continue
                views += 1
                for left, right, top, bottom in boxes(mark):
                    inside = left >= -_TOLERANCE and right <= width + _TOLERANCE
                    inside = inside and top >= -_TOLERANCE and bottom <= height + _TOLERANCE
                    assert inside, (name, mark["marktype"], (left, right, top, bottom), (width, height))
        assert views, name


def texts_of(node: dict[str, Any], x: float = 0) -> Iterator[tuple[float, float, str]]:
    """From where to where the level texts of a scene go at the least, and what they say."""
    for item in node.get("items", ()):
        at = x + (item.get("x") or 0)
        if node.get("marktype") == "group":
            for child in item.get("items", ()):
                yield from texts_of(child, at)
        elif node.get("marktype") == "text" and not item.get("angle") and item.get("opacity", 1):
            said = item.get("text") or ""
            lines = said if isinstance(said, list) else [str(said)]
            size, most = (item.get("fontSize") or 11) / 12, item.get("limit") or NARROW
            width = min(_LETTER * max(map(len, lines), default=0) * size, most)
            at += item.get("dx") or 0
            left = {"right": at - width, "center": at - width / 2}.get(item.get("align") or "left", at)
            yield left, left + width, str(said)


def test_no_text_leaves_the_figure(scenes: list[tuple[str, dict[str, Any]]]) -> None:
    for name, scene in scenes:
        for left, right, said in texts_of(scene["scenegraph"], scene["origin"][0]):
            assert left >= -_TOLERANCE, (name, said)
            assert right <= scene["width"] + _TOLERANCE, (name, said)


def axes(scene: dict[str, Any]) -> Iterator[list[str]]:
    """The labels of each axis as they are drawn."""
    for group, _, _ in groups(scene["scenegraph"]):
        if group["role"] == "axis":
            for mark in group.get("items", ()):
                for inner in (mark, *(child for item in mark["items"] for child in item.get("items", ()))):
                    if inner.get("role") == "axis-label":
                        shown = [item for item in inner["items"] if item.get("opacity", 1)]
                        yield [str(item.get("text")) for item in shown]


def test_ticks_of_an_axis_are_different_texts_and_counts_whole(
    scenes: list[tuple[str, dict[str, Any]]],
) -> None:
    labels = 0
    for name, scene in scenes:
        for texts in axes(scene):
            labels += len(texts)
            assert len(set(texts)) == len(texts), (name, texts)
            assert not any(re.search(r"\de[+]", text) for text in texts), (name, texts)
    assert labels > 1000


@pytest.mark.parametrize("most", [1, 2, 3, 4, 11, 12, 13, 40, 1000])
def test_numbers_of_trials_have_whole_ticks(most: int) -> None:
    values = [float(value) for value in range(1, most + 1)]
    axis = encodings.count_axis(values).to_dict()
    spec = {
        "data": {"values": [{"n": value} for value in values]},
        "mark": "point",
        "width": 300,
        "encoding": {"x": {"field": "n", "type": "quantitative", "axis": axis, "scale": {"zero": False}}},
    }
    (texts,) = axes(vl_convert.vegalite_to_scenegraph(spec))
    assert all(re.fullmatch(r"[\d,]+", text) for text in texts), texts
    assert len(set(texts)) == len(texts)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_seen_on_white_and_on_the_dark_page() -> None:
    css = Path(palette.__file__).parents[1].joinpath("templates/report.css").read_text()
    assert all(f"--page: {page}" in css for page in ("#fff", _DARK))
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    meant = [colour for colour, _ in (*palette.COMPARED.values(), *palette.VERDICTS.values())]
    for colour in (*palette.COLOURS, *meant, palette.FAILED, palette.GREY):
        for page in (_WHITE, _DARK):
            assert contrast(colour, page) >= 3, (colour, page)


def test_a_given_colour_that_is_hardly_seen_is_made_so_that_it_is() -> None:
    library = Path(schemes.__file__).parent / "library"
    given = {
        found[1]
        for file in library.glob("*.toml")
        if (found := re.search(r'color = "(#\w+)"', file.read_text()))
    }
    assert len(given) > 10
    for colour in (*given, "#ffffff", "#000000", "#00ff00", "#0000ff"):
        for page in (_WHITE, _DARK):
            assert contrast(palette.legible(colour), page) >= 3, (colour, page)
    assert palette.legible("#0072b2") == "#0072b2"


def test_marks_of_figures_take_their_colours_from_the_palette(drawn: list[Drawn]) -> None:
    known = {
        *palette.COLOURS,
        *palette.DIVERGING,
        palette.FAILED,
        "#808080",
        "#888888",
        "#888",
        "#fff",
        "#111",
    }
    for one in drawn:
        for figure in one.figures:
            used = set(re.findall(r"#[0-9A-Fa-f]{3,6}\b", json.dumps(figure.spec)))
            assert used <= known, (one.name, used - known)


def test_better_and_worse_have_no_colour_in_common() -> None:
    good = {palette.COMPARED["better"][0], palette.VERDICTS["steady"][0]}
    bad = {palette.COMPARED["worse"][0], palette.VERDICTS["drifting"][0], palette.FAILED}
    assert not good & bad
    said_otherwise = {"faster": "better", "slower": "worse"}
    for word, verdict in said_otherwise.items():
        assert palette.COMPARED[word] == palette.COMPARED[verdict]
    assert len(set(palette.COMPARED.values())) == len(palette.COMPARED) - len(said_otherwise)


def test_an_interval_that_would_crush_the_others_is_compressed() -> None:
    rows: list[Any] = [{"low": -1.0, "high": 2.0}] * 5
    assert encodings.reach(rows, "low", "high").scale.to_dict().get("type") is None
    found = encodings.reach([*rows, {"low": -900.0, "high": 800.0}], "low", "high")
    scale = found.scale.to_dict()
    assert (scale["type"], scale["constant"]) == ("symlog", 2)
    assert found.note == "compressed beyond ±2"
    assert scale["domain"][0] < -900


def test_values_that_hardly_differ_do_not_fill_an_axis() -> None:
    low, high = encodings.span([1000.0, 1001.0]).to_dict()["domain"]
    assert high - low == pytest.approx(0.05 * 1001)
    low, high = encodings.span([10.0, 30.0]).to_dict()["domain"]
    assert (low, high) == (pytest.approx(8.4), pytest.approx(31.6))


def test_what_has_no_place_on_an_axis_does_not_break_it() -> None:
    rows: list[Any] = [{"value": value} for value in (1.0, math.nan, math.inf, None, "3", 2.0)]
    assert encodings.numbers(rows, "value") == [1.0, 2.0]
    assert encodings.logarithmic([-1.0, 0.0, 10.0, 100.0]).to_dict()["domain"][0] > 8
    for scale in (
        encodings.span([]),
        encodings.logarithmic([]),
        encodings.from_zero([]),
        encodings.reach([], "low").scale,
    ):
        low, high = scale.to_dict()["domain"]
        assert low < high


def test_the_title_of_an_axis_is_whole_however_long_it_is() -> None:
    across, up = (
        f"95th percentile of {name} of flow 1 [ms] – better to the right →" for name in ("delay", "x" * 30)
    )
    points = alt.Chart(alt.Data(values=[{"a": 1, "b": 2}])).mark_point()
    one = points.encode(alt.X("a:Q", title=across))
    chart = alt.layer(one, one.encode(alt.Y("b:Q", title=up)))
    drawn = ET.fromstring(vl_convert.vegalite_to_svg(encodings.finished(chart) | {"width": 560}))  # noqa: S314 – our own
    said = " ".join("".join(text.itertext()) for text in drawn.iter(f"{SVG}tspan"))
    assert "…" not in "".join(drawn.itertext())
    assert [words for words in (across, up) if words not in said] == []
    # A title that has room is one line, and an arrow does not stand alone.
    (short,) = encodings.finished(points.encode(alt.X("a:Q", title=f"{'x' * 30} – better to the right →")))[
        "encoding"
    ].values()
    assert short["title"] == f"{'x' * 30} – better to the right →"
    (long,) = encodings.finished(points.encode(alt.X("a:Q", title=f"{'x' * 31} – better to the right →")))[
        "encoding"
    ].values()
    assert long["title"] == ["x" * 31, "– better to the right →"]


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [
        ((1.5, 60), [2, 5, 10, 20, 50]),
        ((80, 3e7), [1e2, 1e3, 1e4, 1e5, 1e6, 1e7]),
        ((1.01, 5.9), [1.5, 2, 3, 4, 5]),
        ((1.02, 1.45), [1.1, 1.2, 1.3, 1.4]),
    ],
)
def test_a_logarithmic_axis_has_some_round_numbers(ends: tuple[float, float], wanted: list[float]) -> None:
    assert encodings.log_ticks(*ends) == pytest.approx(wanted)


# Files


def test_an_svg_says_what_it_shows_and_its_text_is_text(drawn: list[Drawn]) -> None:
    for one in drawn:
        root = ET.fromstring(one.svg)  # noqa: S314 our own
        assert (root.get("role"), root.get("width")) == ("img", f"{WIDTH:g}pt"), one.name
        titles = {element.tag: element.text or "" for element in list(root)[:2]}
        assert list(titles) == [f"{SVG}title", f"{SVG}desc"]
        assert all(titles.values()), one.name
        texts = list(root.iter(f"{SVG}text"))
        assert texts
        fonts = {element.get("font-family") for element in texts}
        assert fonts == {"Liberation Sans, Arial, Helvetica, sans-serif"}, (one.name, fonts)
        assert not re.search(r'(?:href|src)="https?:', one.svg)


_AGAIN = """
import pickle, sys
from trialwise.report.figures.paint import pdf, png, svg
from hashlib import sha256
for figures, sheets in reversed(pickle.load(sys.stdin.buffer)):
    svg(figures, sheets)
    whole = svg(figures, sheets).encode() + png(figures, sheets) + pdf(figures, sheets)
    print(sha256(whole).hexdigest())
"""


def test_another_process_draws_the_same_bytes(drawn: list[Drawn]) -> None:
    import pickle
    from hashlib import sha256

    chosen = [
        next(iter(members)) for _, members in itertools.groupby(drawn, lambda one: one.name.partition("-")[0])
    ]
    sent = pickle.dumps([(one.figures, one.sheets) for one in chosen])
    done = subprocess.run([sys.executable, "-c", _AGAIN], input=sent, capture_output=True, check=True)
    here = [
        sha256(svg(*known).encode() + png(*known) + pdf(*known)).hexdigest()
        for known in ((one.figures, one.sheets) for one in chosen)
    ]
    assert done.stdout.decode().split() == here[::-1]
    assert len(here) >= 8


def test_hostile_names_stay_text(drawn: list[Drawn]) -> None:
    figure = next(one.figures[0] for one in drawn if one.name.startswith("effects"))
    text = json.dumps(figure.spec).replace("flavour", "<b>\\u001b[31m&\\u202e")
    hostile = Figure("x", "<t>&\x1b", "c\x00", "a", json.loads(text))
    made = svg([hostile], next(dict(one.sheets) for one in drawn if one.name.startswith("effects")))
    ET.fromstring(made)  # noqa: S314 our own
    assert "<b>" not in made
    assert not re.search("[\x00-\x08\x1b\u202e]", made)
