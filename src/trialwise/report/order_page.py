"""The page of an analysis of order: what the terminal says, and the figures; it opens from disk without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from trialwise import __version__
from trialwise.report.order_print import order_svgs
from trialwise.report.order_text import order_lines
from trialwise.report.page_parts import asset

if TYPE_CHECKING:
    import polars as pl

    from trialwise.analysis.order_results import OrderAnalysis

_CAPTIONS = {
    "p-values": "Kruskal-Wallis p-values (dashed: the corrected level; orange circles: below it after correction) and effect sizes.",
    "differences": "Difference of the means under fixed and random order, in percent of the fixed one.",
    "cases": "Cases of the intervals of medians.",
    "intervals": "Medians under both orders with their intervals, those that move most; in brackets the case.",
    "carry-over": "What each predecessor does to the treatment right after it; framed: the pairs that stand out.",
    "trials": "Trials over time, coloured by round.",
}


def order_page(found: OrderAnalysis, table: pl.DataFrame) -> str:
    """The page as HTML, with figures inside."""
    figures = Markup("").join(_figure(name, svg) for name, svg in order_svgs(found, table))
    return str(
        Markup(
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Order of {source}</title>\n<style>{style}\n'
            "figure svg {{ width: 100%; max-width: 46rem; height: auto; background: white; }}</style>\n<main>\n"
            "<h1>Does the order matter?</h1>\n<pre>{text}</pre>\n{figures}\n<footer>Trialwise {version}</footer>\n</main>\n</html>\n"
        ).format(
            source=found.source,
            style=Markup(asset("report.css")),  # noqa: S704 our own
            text="\n".join(order_lines(found)),
            figures=figures,
            version=__version__,
        )
    )


def _figure(name: str, svg: str) -> Markup:
    caption = next(text for key, text in _CAPTIONS.items() if name.startswith(key))
    picture = Markup(svg)  # noqa: S704 drawn from numbers; matplotlib escapes texts
    return Markup('<figure id="{}">{}<figcaption>{}</figcaption></figure>\n').format(
        name, picture, escape(caption)
    )
