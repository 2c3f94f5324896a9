"""Colours, shapes and dashes: every colour is paired with a second mark.

Each colour has a contrast of at least 3 to 1 to white and to the dark page. The first three are Okabe and Ito's; all six stay distinct
for people who do not see red, green or blue.
"""

from __future__ import annotations

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B8639A", "#806633", "#815CE6")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (10, 3))
FAILED = "#D55E00"
GREY = "#808080"
CROSS = "M-.6,-.6L.6,.6M.6,-.6L-.6,.6"
"""The shape of a failed or invalid trial, a path in a square of two units."""
MOST = len(COLOURS)
"""Maximum number of treatments that have a colour each; more are told apart by rows and by selecting one."""
VERDICTS = {
    "steady": (COLOURS[2], "circle"),
    "inconclusive": (COLOURS[4], "diamond"),
    "drifting": (COLOURS[1], "triangle-up"),
}
"""Verdicts of a drift test: a colour and a shape."""
DIVERGING = ("#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b")
"""From below to above 0, distinct for colour-blind people too (ColorBrewer's RdBu, reversed)."""
COMPARED = {
    "better": (COLOURS[2], "triangle-up"),
    "worse": (COLOURS[1], "triangle-down"),
    "faster": (COLOURS[2], "triangle-up"),
    "slower": (COLOURS[1], "triangle-down"),
    "different": (COLOURS[3], "diamond"),
    "equivalent": (COLOURS[0], "circle"),
    "undecided": (COLOURS[4], "square"),
}
"""Verdicts of a comparison: a colour and a shape."""
_DARKEST, _LIGHTEST = 0.13, 0.295
"""Relative luminances (WCAG 2) between which a colour has a contrast of 3 to 1 to the dark page and to white."""


def legible(colour: str) -> str:
    """Darken or lighten a given colour (#rrggbb) that would hardly be visible on one of the pages."""
    light = [_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5)]
    luminance = sum(part * weight for part, weight in zip(light, (0.2126, 0.7152, 0.0722), strict=True))
    if _DARKEST <= luminance <= _LIGHTEST:
        return colour
    if luminance > _LIGHTEST:
        light = [part * _LIGHTEST / luminance for part in light]
    else:
        lacking = (_DARKEST - luminance) / (1 - luminance)
        light = [part + lacking * (1 - part) for part in light]
    return "#" + "".join(f"{round(255 * _encoded(part)):02x}" for part in light)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _encoded(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
