"""What `trialwise look` says to type next can be typed: it succeeds on the same files."""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.study.looking import look

SAMPLES = Path(__file__).resolve().parents[2] / "golden" / "formats" / "data"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats"
SUCCESS = (0, 1, 3)


def proposed(*paths):
    """Return the words that a look proposes; none if it says why it proposes nothing, or nothing can be read."""
    try:
        found = look(paths).proposal
    except AnalysisError:
        return ()
    assert bool(found.words) != bool(found.why)
    return found.words


def files(folder):
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("NOTE.txt", "expected.json")
    )


def check(trialwise, folder, tmp_path, monkeypatch):
    """Run what is proposed for each file, for each folder, and for each file with the next; return the commands."""
    found = files(folder)
    groups = [(path,) for path in found]
    groups += [(each,) for each in sorted({path.parent for path in found})]
    groups += [pair for pair in pairwise(found) if pair[0].parent == pair[1].parent]
    commands = {words for paths in groups if (words := proposed(*paths))}
    for number, words in enumerate(sorted(commands)):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        code, _, said = trialwise(*words)
        assert code in SUCCESS, (shlex.join(words), said)
    return {words[0] for words in commands}


def test_what_is_proposed_for_our_samples_works(trialwise, tmp_path, monkeypatch):
    assert check(trialwise, SAMPLES, tmp_path, monkeypatch) >= {"analyze"}


def test_what_is_proposed_for_shared_samples_works(trialwise, tmp_path, monkeypatch):
    if not SHARED.is_dir():
        pytest.skip("needs ../shared")
    assert check(trialwise, SHARED, tmp_path, monkeypatch) >= {"analyze", "compare"}


LONG = "scheme,load,run,throughput (Mbit/s),delay\n" + "".join(
    f"{scheme},{load},{run},{9 + run / 10 + len(scheme)},{40 + run}\n"
    for scheme in ("bbr", "cubic")
    for load in "hl"
    for run in range(3)
)
NAMED = "scheme,run,metric,value\n" + "".join(
    f"{scheme},{run},{metric},{40 + run}\n"
    for scheme in ("bbr", "cubic")
    for metric in ("rate", "delay")
    for run in range(3)
)
WIDE = "run,bbr,cubic\n" + "".join(f"{run},{9.5 + run / 10},{9.1 - run / 10}\n" for run in range(4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LONG, "effects t.csv --group scheme --group load --value 'throughput (Mbit/s)' --value delay"),
        (NAMED, "effects t.csv --group scheme --value value --metric rate --metric delay"),
        (WIDE, "import t.csv -o t.imported"),
    ],
)
def test_a_table_alone_is_proposed_what_works(trialwise, tmp_path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text)
    found = look([Path("t.csv")]).proposal
    assert (shlex.join(found.words), found.why) == (expected, "")
    code, _, said = trialwise(*found.words)
    assert code in SUCCESS, said


def test_a_table_with_one_row_for_each_treatment_is_told_why_nothing_is(trialwise, tmp_path):
    (tmp_path / "t.csv").write_text("scheme,throughput,delay\nbbr,9.5,40\ncubic,9.1,64\nvegas,4.2,39\n")
    _, out, _ = trialwise("look", tmp_path / "t.csv")
    assert "each treatment has one value: measure each again" in " ".join(out.split())
