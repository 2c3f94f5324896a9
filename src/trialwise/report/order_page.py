"""The page of `trialwise order`: the section of the report by itself; it opens from disk without a network."""

from __future__ import annotations

from markupsafe import Markup

from trialwise import __version__
from trialwise.analysis.order_view import OrderView
from trialwise.report.figures.sheets import Sheet
from trialwise.report.html import environment
from trialwise.report.notes import order_notes
from trialwise.report.order_section import order_section
from trialwise.report.page_parts import asset, bundle, script_json


def order_page(view: OrderView) -> str:
    """The page as HTML; the same view gives the same text."""
    sheets: dict[str, Sheet] = {}
    section = order_section(view, sheets)
    return (
        environment()
        .get_template("order_page.html.j2")
        .render(
            order=section,
            source=view.found.source if view.found else "",
            version=__version__,
            notes=order_notes(view),
            specs=script_json({figure.key: figure.spec for figure in section.figures}),
            sheets=script_json(sheets),
            bundle=Markup(bundle()),  # noqa: S704 the bundle is Vega's
            script=Markup(asset("report.js")),  # noqa: S704 our own
            style=Markup(asset("report.css")),  # noqa: S704 our own
        )
    )
