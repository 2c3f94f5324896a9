"""Parts that every page has: the script that draws, the look, data inside the page."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

from markupsafe import Markup

_ACTS = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(007f|00[89][0-9a-f]|061c|200[ef]|202[89a-e]|206[6-9]|feff|fff[9ab])"
)
"""In JSON, the escape of a character that a page would act on: control, bidirectional, a line end that ends expressions."""


def script_json(value: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = _ACTS.sub(r"\1\\\\u\2", json.dumps(value, allow_nan=False, separators=(",", ":")))
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))  # noqa: S704 no < is left


def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return resources.files("trialwise.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script."""
    import vl_convert

    snippet = None  # the whole bundle
    return str(vl_convert.javascript_bundle(snippet))  # pyright: ignore[reportArgumentType] its stub wants a text
