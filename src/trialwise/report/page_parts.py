"""Parts that every page has: the script that draws, the look, data inside the page."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from markupsafe import Markup


def script_json(value: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
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
