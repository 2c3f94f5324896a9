"""Draw figures as files for print: SVG with real text, PDF with its fonts, PNG; the same bytes for the same figure.

Vega draws them through vl-convert, which includes the font used to measure text; typst produces the PDF. Neither uses the network or
the system's fonts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, cast
from xml.sax.saxutils import escape

from trialwise.extras import module_of
from trialwise.report.document import Figure
from trialwise.report.figures.encodings import ALL
from trialwise.report.figures.plot_data import ColumnData, unpacked
from trialwise.report.figures.theme import NARROW, PRINT, SCREEN, WIDTH
from trialwise.visible import visible_lines

Sheets = Mapping[str, ColumnData]
_PPI = 300
_NUMBERED = re.compile(r'(\bid="|url\(#|href="#)([A-Za-z]+)_?(\d+)')
_SVG = re.compile(r'<svg [^>]*? width="([\d.]+)" height="([\d.]+)"[^>]*>(.*)</svg>\s*', re.DOTALL)
_PAGE = """\
#let drawn = json(bytes(sys.inputs.data))
#set document(title: drawn.title, date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(drawn.svg), format: "svg", width: drawn.width * 1pt, alt: drawn.alternative)
"""


def specification(figure: Figure, sheets: Sheets, width: int = NARROW) -> dict[str, Any]:
    """Return a figure as Vega-Lite for print: with its data, black on white, without interaction.

    Each selection list shows its first entry, named at the top unless it selects everything.
    """
    text = json.dumps(figure.spec)
    spec: dict[str, Any] = _for_print(figure.spec)
    lists = [each for each in spec.pop("params", []) if "select" not in each]
    shown = [
        _named(each["name"].removeprefix("one_"), each["value"]) for each in lists if each["value"] != ALL
    ]
    spec |= {"params": [{"name": each["name"], "value": each["value"]} for each in lists]}
    spec |= {"title": {"text": ", ".join(shown), "limit": width}} if shown else {}
    spec |= {"background": PRINT.ground, "config": PRINT.config}
    if spec.get("width") == "container":
        spec |= {"width": width, "height": _height(spec)}
    used = {name: sheet for name, sheet in sheets.items() if f'"{name}"' in text}
    own = {name: _for_print(unpacked(sheet)) for name, sheet in used.items()}
    return spec | {"datasets": spec.get("datasets", {}) | own}


def _height(spec: dict[str, Any]) -> int:
    """Return the height of a plot in print; rows keep the height they need."""
    ups = (layer.get("encoding", {}).get("y", {}) for layer in spec.get("layer", [spec]))
    has_rows = any(up.get("type") == "nominal" for up in ups)
    return spec["height"] if has_rows else round(PRINT.flatness * spec["height"])


def _named(kind: str, value: str) -> str:
    return value if value.startswith(kind) else f"{kind} {value}"


def _for_print(value: Any) -> Any:  # noqa: ANN401 JSON
    """Convert parts of a figure to the ink of paper, and make foreign control characters visible."""
    if isinstance(value, dict):
        return {name: _for_print(part) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_for_print(part) for part in cast("list[Any]", value)]
    if isinstance(value, str):
        return PRINT.ink if value == SCREEN.ink else visible_lines(value)
    return value


# SVG


def svg(figures: Sequence[Figure], sheets: Sheets, pixels: int = NARROW) -> str:
    """Draw figures stacked, at `WIDTH` points per `NARROW` pixels, with the title and the description of all."""
    drawn = [_drawn(specification(figure, sheets, pixels), pixels) for figure in figures]
    width, height = max(part[0] for part in drawn), sum(part[1] for part in drawn)
    parts: list[str] = []
    top = 0.0
    for _, own, content in drawn:
        parts.append(f'<g transform="translate(0,{top:g})">{content}</g>' if len(drawn) > 1 else content)
        top += own
    scale = WIDTH / NARROW * pixels / width
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1" role="img" '
        f'width="{scale * width:.6g}pt" height="{scale * height:.6g}pt" viewBox="0 0 {width:g} {height:g}">'
        f"<title>{escape(_title(figures))}</title><desc>{escape(_description(figures))}</desc>"
        f"{_renumbered(''.join(parts))}</svg>\n"
    )


def _drawn(spec: dict[str, Any], pixels: int) -> tuple[float, float, str]:
    """Return the width, height and content of a drawing; one with several panels is drawn again to fill its width."""
    width, height, content = _painted(spec)
    if "facet" in spec and abs(width - pixels) > 1:
        spec["spec"]["width"] += (pixels - width) / spec["columns"]
        width, height, content = _painted(spec)
    return width, height, content


def _painted(spec: dict[str, Any]) -> tuple[float, float, str]:
    found = _SVG.fullmatch(_vl_convert().vegalite_to_svg(spec, show_warnings=False))
    if found is None:
        raise ValueError("vl-convert drew something that is no SVG")
    return float(found[1]), float(found[2]), found[3]


def _vl_convert() -> Any:  # noqa: ANN401 a foreign module
    return module_of("print", "vl_convert", "drawing files for print needs vl-convert")


def _renumbered(content: str) -> str:
    """Number clips and gradients in order of appearance: Vega keeps counting from figure to figure."""
    numbers: dict[str, int] = {}

    def renamed(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{numbers.setdefault(found[2] + found[3], len(numbers))}"

    return _NUMBERED.sub(renamed, content)


def _title(figures: Sequence[Figure]) -> str:
    return visible_lines("; ".join(dict.fromkeys(figure.title for figure in figures)))


def _description(figures: Sequence[Figure]) -> str:
    return visible_lines(
        " ".join(dict.fromkeys(f"{figure.alternative} {figure.caption}".strip() for figure in figures))
    )


# Other formats


def png(figures: Sequence[Figure], sheets: Sheets) -> bytes:
    """Draw figures stacked as pixels, 300 per inch."""
    return _vl_convert().svg_to_png(svg(figures, sheets), scale=0.75, ppi=_PPI)


def pdf(figures: Sequence[Figure], sheets: Sheets) -> bytes:
    """Draw figures stacked on a page of their size, with the fonts they need."""
    drawn = {
        "svg": svg(figures, sheets),
        "width": WIDTH,
        "title": _title(figures),
        "alternative": _description(figures),
    }
    return typeset(_PAGE, drawn)


def typeset(source: str, data: Mapping[str, object]) -> bytes:
    """Typeset a page of typst, which reads `data` as JSON from its input `data`; foreign text is never part of the source.

    The root is the folder of our fonts: typst can read nothing else, and cannot request any package.
    """
    typst = module_of("print", "typst", "printing needs typst")
    with resources.as_file(resources.files("trialwise.report").joinpath("fonts")) as fonts:
        return typst.compile(
            source.encode(),
            root=str(fonts),
            font_paths=[str(fonts)],
            ignore_system_fonts=True,
            format="pdf",
            sys_inputs={"data": json.dumps(data)},
        )


def write(figures: Sequence[Figure], sheets: Sheets, path: Path) -> None:
    """Write figures stacked; the path's ending (.pdf, .svg or .png) determines the format.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    match path.suffix[1:].lower():
        case "svg":
            path.write_text(svg(figures, sheets), encoding="utf-8")
        case "png":
            path.write_bytes(png(figures, sheets))
        case _:
            path.write_bytes(pdf(figures, sheets))


def write_all(figures: Iterable[Figure], sheets: Sheets, folder: Path, kind: str) -> list[Path]:
    """Write the figures that have a name in print into a folder, which is created; those of one name are stacked.

    Returns the paths written.

    Raises
    ------
    OSError
        The folder cannot be created or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.file:
            named.setdefault(figure.file, []).append(figure)
    written = [folder / f"{name}.{kind}" for name in named]
    for path, members in zip(written, named.values(), strict=True):
        write(members, sheets, path)
    return written
