"""Documents of all commands in every medium, short enough to be read: what a change of a renderer changes, this shows.

`python tests/golden/gallery/record.py` writes them anew, `tests/golden/test_gallery.py` compares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))

from made_documents import MADE, STATES, Made  # noqa: E402
from trialwise.report.document import (  # noqa: E402
    Code,
    Column,
    Details,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Table,
    Verdict,
)
from trialwise.report.numbers import Number, estimate, given  # noqa: E402
from trialwise.report.render.html import html  # noqa: E402
from trialwise.report.render.junit import junit  # noqa: E402
from trialwise.report.render.latex import latex  # noqa: E402
from trialwise.report.render.markdown import markdown  # noqa: E402
from trialwise.report.render.terminal import Span, terminal  # noqa: E402
from trialwise.report.render.typst import typst_data  # noqa: E402

MOMENT = datetime(2026, 11, 26, tzinfo=UTC)


def every_block() -> Document:
    """One of each block and piece, with names that would be markup somewhere."""
    change = estimate(
        16.31, 0.2534, 34.61, "%", sign=True, pointers=("/rows/0/percent", "/rows/0/low", "/rows/0/high")
    )
    rows = (
        (
            Name("time_of_<b>"),
            Number(12.3456, "/rows/0/mean", "ms"),
            change,
            Verdict("bad", ("different: worse",)),
        ),
        (
            Name("名前 @user"),
            Number(0.00123, "/rows/1/mean", "s"),
            estimate(0.1, None, None, "%", sign=True),
            Verdict("open", ("undecided",)),
        ),
        (
            Name("=1+1\x1b[31m"),
            Number(None, "", "s"),
            estimate(-2.0, -2.5, -1.4, "%", sign=True),
            Verdict("good", ("better",)),
        ),
        (Name("left out"), Number(1.0, "", "s"), estimate(None, None, None), "–"),
    )
    columns = (
        Column("metric"),
        Column("mean", is_numeric=True),
        Column("change", is_numeric=True),
        Column("verdict"),
    )
    table = Table(
        "rows",
        ("Head against base",),
        columns,
        rows,
        (("change: in percent of the mean at ", given(95.0)),),
        most=3,
    )
    lasted = Number(200.0, "/seconds", kind="duration")
    return Document(
        "every",
        Verdict("bad", ("Head is worse: ", Name("time_of_<b>"), " ", change, ".")),
        (
            Note(("A note of 1 & 2, which stands below the answer and is long enough to be broken at 80 columns.",), is_aside=True),
            table,
            Heading(("What holds",)),
            Note(("A claim with p ", Number(0.00001, "/p", kind="p_value"), ".",), "claim"),
            Note(("It lasted ", lasted, " for ", Number(12345, "/n", kind="count"), " trials.",), "descriptive"),
            Items((("first_item",), ("try ", Code("trialwise run a_b.toml --seed 1")), ("third",)), most=2),
            Listing(("[trial]", 'runtime = "1min 48s"'), ("In the experiment file",)),
            Details("Intervals", (Note(("Folded where a medium folds.",)),)),
        ),
        (Note(("Welch; ", given(95.0), "; seed 1")),),
    )  # fmt: skip


def _of(make: Callable[[Path], Made]) -> Document:
    """Make a document in a folder of its own, which it names nowhere."""
    with TemporaryDirectory() as folder, chdir(folder):
        return make(Path())[0]


DOCUMENTS: Mapping[str, Callable[[], Document]] = {
    "every": every_block,
    **{name: partial(_of, make) for name, make in {**MADE, **STATES}.items()},
}


def media(document: Document) -> Mapping[str, str]:
    """The document in each medium, by the end of its file's name."""
    return {
        "80.txt": _typed(document, 80),
        "120.txt": _typed(document, 120),
        "pipe.txt": _typed(document, None),
        "html": str(html(document)),
        "md": markdown(document),
        "tex": "".join(f"% {name}\n{text}" for name, text in latex(document).items()),
        "xml": junit(document, MOMENT),
        "paper.json": _on_paper(document),
    }


def _on_paper(document: Document) -> str:
    """What typst sets, a line for each block."""
    data = typst_data(document, {}, "a title")
    blocks = (json.dumps(block, ensure_ascii=False) for block in data.pop("blocks"))
    return "\n".join([json.dumps(data, ensure_ascii=False), *blocks]) + "\n"


def _typed(document: Document, width: int | None) -> str:
    """The lines of a terminal; on one with a width a style stands as «style:text»."""
    lines = terminal(document, width)
    return "".join(f"{''.join(map(_span if width else _plain, line))}\n" for line in lines)


def _span(span: Span) -> str:
    return f"«{span.style}:{span.text}»" if span.style else span.text


def _plain(span: Span) -> str:
    return span.text


def files() -> Iterator[tuple[Path, str]]:
    """Each file with what is to stand in it."""
    for name, made in DOCUMENTS.items():
        yield from ((HERE / f"{name}.{ending}", text) for ending, text in media(made()).items())


if __name__ == "__main__":
    for path, text in files():
        path.write_text(text)
