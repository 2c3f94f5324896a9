"""Colours, shapes and dashes: Okabe and Ito's colour-blind safe set, always with a second mark beside the colour."""

from __future__ import annotations

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (10, 3))
FAILED = "#D55E00"
MOST = len(COLOURS)
"""Up to so many treatments have a colour each; more are told apart by rows and by choosing one."""
VERDICT_COLOURS = {"steady": COLOURS[2], "inconclusive": COLOURS[4], "drifting": COLOURS[1]}
VERDICT_SHAPES = {"steady": "circle", "inconclusive": "diamond", "drifting": "triangle-up"}
VERDICT_MARKERS = {"steady": "o", "inconclusive": "D", "drifting": "^"}
"""What a drift test says, with a shape beside each colour."""
DIVERGING = ("#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b")
"""From below to above 0, told apart by the colour-blind too (ColorBrewer's RdBu, reversed)."""
COMPARED = {
    "better": (COLOURS[2], "^"),
    "worse": (COLOURS[1], "v"),
    "different": (COLOURS[3], "D"),
    "equivalent": (COLOURS[0], "o"),
    "undecided": (COLOURS[4], "s"),
}
"""What a comparison says: a colour and a marker of matplotlib."""
