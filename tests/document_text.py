"""Documents as a test reads them: what a pipe gets."""

from __future__ import annotations

from trialwise.report.document import Document
from trialwise.report.render.terminal import terminal


def piped(document: Document) -> str:
    """The lines of a document at full width, without marks."""
    return "\n".join("".join(span.text for span in line) for line in terminal(document, None))
