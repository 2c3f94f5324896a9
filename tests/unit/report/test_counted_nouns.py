"""One of a thing is called by its singular, wherever a document counts."""

import re
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.codes import CODES, sentence
from trialwise.report.documents.look import document
from trialwise.report.render.markdown import markdown
from trialwise.study.looking import look

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
SAMPLES = GOLDEN / "formats" / "data"
VERBS = (
    "has|was|does|goes|says|gives|takes|needs|means|lets|matters|stands|comes|ends|begins|runs|less|series"
)
"""Words that follow a number 1 which is a name, as that of trial 1, and the plural that is a singular."""
WRONG = re.compile(
    rf"(?<![\w.,=/:+-])(?<!\+ )1 (?!(?:{VERBS})\b)((?:(?:more|further|fresh|shared|other) )?[a-z]{{3,}}s)\b"
)


def wrong(text):
    return [found[0] for found in WRONG.finditer(text)]


@pytest.mark.parametrize("path", sorted((GOLDEN / "gallery").glob("*.pipe.txt")), ids=lambda path: path.name)
def test_the_pages_of_the_gallery_count_in_english(path):
    assert not wrong(path.read_text())


def test_looks_at_small_files_count_in_english():
    texts = []
    for path in sorted(SAMPLES.rglob("*.*")):
        try:
            found = look([path])
        except AnalysisError as error:
            texts.append(error.message)
        else:
            texts.append(
                markdown(
                    document(
                        found.seen,
                        found.unread,
                        found.copies,
                        " ".join(found.proposal.words),
                        found.proposal.why,
                    )
                )
            )
    assert len(texts) > 20
    assert not [each for text in texts for each in wrong(text)]


@pytest.mark.parametrize("code", CODES)
def test_notes_on_files_count_in_english(code):
    words = dict.fromkeys(("what", "unit"), "it")
    assert not wrong(sentence(code, n=1, of=1, **words))
    assert not re.search(r"\b2 (?!of)\w+ (is|has|was)\b|\{|\|", sentence(code, n=2, of=2, **words))


def test_what_is_wrong_is_found():
    assert wrong("1 values are missing, of 1 more runs") == ["1 values", "1 more runs"]
    assert not wrong("11 values, 2 + 1 trials, trial 1 has, 1 series, 0.1 seconds")
