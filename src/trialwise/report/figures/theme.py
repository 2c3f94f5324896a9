"""Themes of figures: one for the page, which uses the page's ink, and one for paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIDTH = 239.76
"""Width of a printed figure in points, 3.33 inches: a column of a two-column paper."""
NARROW = 412
"""Width of a printed figure in pixels before it is scaled to `WIDTH`: that of a phone, where 12-pixel letters are legible."""

_FLUSH = 14
"""Pixels from the end of an axis within which a label is aligned with the end, so that it is not cut off."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Font, ink and background of figures; `flatness` is the height of a plot relative to that on a page."""

    font: str
    ink: str
    ground: str
    is_read_aloud: bool
    flatness: float

    @property
    def config(self) -> dict[str, Any]:
        """Return the theme as a Vega-Lite configuration."""
        ink = {"labelColor": self.ink, "titleColor": self.ink, "labelFontSize": 12, "titleFontSize": 12}
        lines = {"gridColor": self.ink, "gridOpacity": 0.12, "domainColor": self.ink, "tickColor": self.ink}
        return {
            "font": self.font,
            "aria": self.is_read_aloud,
            "view": {"stroke": None},
            "axis": {**ink, **lines, "titleFontWeight": "normal", "labelSeparation": 6, "titleLimit": 350},
            "axisXQuantitative": {"labelFlush": _FLUSH},
            "axisXTemporal": {"labelFlush": _FLUSH},
            "legend": {**ink, "symbolStrokeWidth": 2, "symbolOpacity": 1, "titleFontWeight": "normal"},
            "header": {**ink, "titleFontWeight": "normal"},
            "title": {"color": self.ink, "fontSize": 12, "fontWeight": "normal", "anchor": "start"},
            "text": {"color": self.ink},
            "rule": {"color": self.ink},
        }


SCREEN = Theme(
    "system-ui, 'DejaVu Sans', sans-serif", "currentColor", "transparent", is_read_aloud=True, flatness=1
)
PRINT = Theme(
    "Liberation Sans, Arial, Helvetica, sans-serif", "#000000", "#ffffff", is_read_aloud=False, flatness=0.75
)
