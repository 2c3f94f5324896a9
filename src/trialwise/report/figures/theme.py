"""How figures look: one theme for the page, whose ink is the page's, and one for paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIDTH = 239.76
"""Points of a printed figure, 3.33 inches: a column of a two-column paper."""
NARROW = 412
"""Pixels of a printed figure before it is scaled to `WIDTH`: those of a phone, on which letters of 12 pixels are read."""

_FLUSH = 14
"""Pixels from the end of an axis within which a number is set flush with it, so that it is not cut."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Letters, ink and ground of figures; `flatness` is the height of a plot as a share of that on a page."""

    font: str
    ink: str
    ground: str
    is_read_aloud: bool
    flatness: float

    @property
    def config(self) -> dict[str, Any]:
        """The theme as a configuration of Vega-Lite."""
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
