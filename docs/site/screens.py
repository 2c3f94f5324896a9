"""The directive `screen`: what a command prints on a terminal of 80 columns, in its colours, as the golden gallery recorded it."""

from __future__ import annotations

import re
from html import escape
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from links import ROOT
from sphinx.application import Sphinx

RECORDED = ROOT / "tests/golden/gallery"
_STYLED = re.compile(r"«(\w+):(.*?)»")


class Screen(Directive):
    """One recorded screen by its name in the golden gallery."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Return the screen as preformatted text that can be scrolled with the keyboard."""
        text = (RECORDED / f"{self.arguments[0]}.80.txt").read_text(encoding="utf-8")
        coloured = _STYLED.sub(r'<span class="\1">\2</span>', escape(text.rstrip("\n"), quote=False))
        return [nodes.raw("", f'<pre class="screen" tabindex="0">{coloured}</pre>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("screen", Screen)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
