"""Writes the script that draws the figures of HTML pages: Vega, Vega-Lite and vega-embed, as the installed vl-convert bundles them.

It is part of the package because vl-convert itself (84 MB) is needed for print alone. Run again after a new version of vl-convert:
.venv/bin/python packaging/vega.py
"""

from __future__ import annotations

from pathlib import Path

import vl_convert

SCRIPT = Path(__file__).parents[1] / "src/trialwise/report/vega/vega.js"


def bundle() -> str:
    """Return the complete bundle of the installed version."""
    snippet = None  # what exports all three
    return str(vl_convert.javascript_bundle(snippet))  # pyright: ignore[reportArgumentType] its stub wants a text


if __name__ == "__main__":
    SCRIPT.write_text(bundle(), encoding="utf-8")
