"""Write documents as pages: one HTML file each, with data, script and style inside, which opens from disk without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from trialwise import __version__
from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.order.summary import OrderSummary
from trialwise.analysis.results import Analysis
from trialwise.report.document import Document
from trialwise.report.documents import order_page as order_pages
from trialwise.report.documents import report as reports
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.plan_tables import trials_text
from trialwise.report.render.html import html
from trialwise.visible import visible_lines

_ACTS = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(007f|00[89][0-9a-f]|061c|200[ef]|202[89a-e]|206[6-9]|feff|fff[9ab])"
)
"""Escapes in JSON of characters that a page would act on: control, bidirectional, and line ends that end expressions."""
_NUMBERS = "The numbers are those of `{}`; each carries its place in that document (attribute {})."


def html_report(
    analysis: Analysis,
    version: str = __version__,
    order: OrderSummary | None = None,
    verdicts: VerdictSummary | None = None,
    pairs: str = "",
    planes: Sequence[tuple[str, str]] = (),
) -> str:
    """Write the report; the same arguments give the same text.

    `pairs` is a CSV table of all pairs of treatments that `verdicts` compares; the page includes it as a file. `planes` are pairs of
    metrics whose KPIs span a plane.
    """
    sheets: dict[str, ColumnData] = {}
    document = reports.document(analysis, sheets, order, verdicts, pairs, planes)
    methods = "as in the TriScale paper" if analysis.method == "paper" else "Trialwise's defaults"
    counts = {"treatment": len(analysis.treatments), "metric": len(analysis.metrics)}
    told = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items()]
    told += [f"{len(analysis.series)} series", trials_text(analysis), f"methods: {methods}"]
    return page(
        document,
        sheets,
        title=f"{analysis.name} – report",
        heading=analysis.name,
        lead=[*([analysis.description] if analysis.description else []), " · ".join(told)],
        numbers=_NUMBERS.format("trialwise analyze --json", "data-path"),
        version=version,
    )


def order_page(view: OrderSummary) -> str:
    """Return the page of `trialwise order`: the report's chapter by itself."""
    sheets: dict[str, ColumnData] = {}
    source = view.found.source if view.found else ""
    return page(
        order_pages.whole(view, sheets),
        sheets,
        title=f"{source} – order",
        heading="Does the order matter?",
        lead=[source] if source else [],
        numbers=_NUMBERS.format("trialwise order --json", order_pages.PLACE),
    )


def page(
    document: Document,
    sheets: Mapping[str, ColumnData],
    *,
    title: str,
    heading: str = "",
    lead: Sequence[str] = (),
    numbers: str = "",
    version: str = __version__,
) -> str:
    """Write a document as a page; `sheets` hold the data of its figures.

    `lead` are lines below the heading (default: the title), `numbers` names the document that contains the numbers.
    """
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            heading=heading or title,
            lead=lead,
            chapters=document.chapters,
            body=html(document),
            has_figures=bool(document.figures),
            numbers=numbers,
            version=version,
            specs=script_json({figure.key: figure.spec for figure in document.figures}),
            sheets=script_json(sheets),
            bundle=Markup(bundle()),  # noqa: S704 the bundle is Vega's, and a test sees that it closes no script
            script=Markup(asset("report.js")),  # noqa: S704 our own
            style=Markup(asset("report.css")),  # noqa: S704 our own
        )
    )


def section(document: Document) -> str:
    """Write a document for a notebook: its section with the style of pages, without figures and scripts."""
    return f'<div class="trialwise"><style>{asset("section.css")}</style>\n{html(document)}</div>'


def script_json(value: object) -> Markup:
    """Write JSON that cannot end the script element around it."""
    text = _ACTS.sub(r"\1\\\\u\2", json.dumps(value, allow_nan=False, separators=(",", ":")))
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))  # noqa: S704 no < is left


@cache
def bundle() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, which `packaging/vega.py` wrote."""
    return resources.files("trialwise.report").joinpath("vega", "vega.js").read_text(encoding="utf-8")


def asset(name: str) -> str:
    """Return the text of a file beside the template."""
    return resources.files("trialwise.report").joinpath("templates", name).read_text(encoding="utf-8")


def _harmless(value: object) -> object:
    """Escape foreign characters that a page would act on in a value of the template."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment() -> Environment:
    """Return the templates of pages, which escape what they are given."""
    return Environment(
        loader=PackageLoader("trialwise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
