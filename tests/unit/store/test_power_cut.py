"""A power cut loses at most the trial in flight: what has ended is on the disk before the runner goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from syncs import Disk, followed

BEGIN = """
from dataclasses import replace
from pathlib import Path
import numpy as np
from trialwise.store.ledger import Ledger
from trialwise.store.records import Amendment, Event, LateValues, Session, TrialEnd, TrialRow
from trialwise.store.files import write_together, write_whole, keep
from trialwise.store.samples import write_samples, write_segment

row = TrialRow(number=1, attempt=1, status="planned", treatment="x=1", factors={"x": 1}, series=1, round=1, position=1,
    order="random", seed=1, warmup=False, planned_start=None)
rows = [replace(row, number=number, round=number) for number in range(1, 4)]
path = Path.cwd() / "ledger.sqlite"
ledger = Ledger.create(path, {"name": "x"}, rows)
moment("created")
session = Session(1, 0.0, None, None, 1, "local", "boot", "0", "environments/001.json")
ledger.start_session(session)
moment("begun")
ledger.claim(row, session, 1.0)
moment("claimed")
"""
FINISH = 'ledger.finish(row, "{}", started=1.0, finished=2.0, exit_code=0, reason=None, values=[("m", 1.5, 1, None)])'
END = 'TrialEnd(rows[1], "finished", 1.0, 2.0, 0, None, [("m", 1.5, 1, None)], 1.0)'
DURABLE = {
    **{
        f"finish as {status}": FINISH.format(status)
        for status in ("finished", "failed", "invalid", "abandoned")
    },
    "record together": f"ledger.record_together([{END}], session)",
    "abandon": 'ledger.abandon_running("x")',
    "move": "ledger.move(replace(row, epoch=2))",
    "values": 'ledger.add_values(LateValues({(1, 1): [("late", 1.0, 1, None)]}, Amendment(1.0, "reread", "w"), {}))',
    "event": 'ledger.add_event(Event(1.0, "reset", "x"))',
    "fact": 'ledger.set_meta("plan", "x")',
    "extend": 'ledger.extend([replace(row, number=9)], {"plan": "x"})',
    "end of a session": 'ledger.end_session(1, 3.0, "done")',
}
FILES = {
    "file": 'write_whole(Path.cwd() / "f", lambda file: file.write(b"x"))',
    "files": 'write_together({Path.cwd() / name: b"x" for name in "abc"})',
    "samples": 'write_samples(Path.cwd() / "s", np.arange(9.0), None)',
    "segment": 'write_segment(Path.cwd() / "s", [(1, 1, "m", np.arange(9.0), None)])',
    "kept": 'Path("w").write_bytes(b"x"); keep(Path.cwd() / "w", Path.cwd() / "v")',
}  # fmt: skip


TURN = f"""
{FINISH.format("finished")}
moment("done 1")
for each in rows[1:]:
    ledger.claim(each, session, 1.0)
    {FINISH.format("finished").replace("(row", "(each")}
    moment(f"done {{each.number}}")
"""


@dataclass(frozen=True)
class Story:
    """What was on the disk while one of the programs ran in a folder of its own."""

    disk: Disk
    folder: Path

    @property
    def log(self) -> str:
        return str(self.folder / "ledger.sqlite-wal")

    def lost_at(self, moment: str) -> set[str]:
        lost = self.disk.lost_at(f"{self.folder.name} {moment}")
        return {path for path in lost if self.folder in (Path(path), Path(path).parent)}

    def syncs_between(self, first: str, second: str) -> int:
        return self.disk.syncs_between(f"{self.folder.name} {first}", f"{self.folder.name} {second}")


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    """All programs, one after the other in one process."""
    folder = (tmp_path_factory.mktemp("power") / "cut").resolve()
    folder.mkdir()
    programs = {
        name: f'{BEGIN}\n{end}\nmoment("done")\n' for name, end in {**DURABLE, **FILES, "turns": TURN}.items()
    }
    lines = [
        "tell = moment",
        f"for name, program in {programs!r}.items():",
        f"    os.mkdir({str(folder)!r} + '/' + name)",
        f"    os.chdir({str(folder)!r} + '/' + name)",
        "    exec(program, {'moment': lambda what: tell(f'{name} {what}')})",
    ]
    disk = followed("\n".join(lines), folder)
    return {name: Story(disk, folder / name) for name in programs}


@pytest.mark.parametrize("what", DURABLE)
def test_what_is_recorded_is_on_the_disk_before_the_call_returns(stories: dict[str, Story], what: str):
    story = stories[what]
    # Nothing but the zeros that are set aside for the log, and its name.
    assert story.lost_at("created") == {str(story.folder), story.log}
    assert story.lost_at("begun") == story.lost_at("done") == set()


@pytest.mark.parametrize("what", FILES)
def test_a_file_and_its_name_are_on_the_disk_before_the_call_returns(stories: dict[str, Story], what: str):
    assert stories[what].lost_at("done") == stories[what].lost_at("claimed")


def test_a_claim_costs_no_sync_and_is_all_that_can_be_lost(stories: dict[str, Story]):
    story = stories["turns"]
    assert story.lost_at("claimed") == {story.log}
    assert story.syncs_between("begun", "claimed") == 0
    assert story.syncs_between("claimed", "done 1") == 1


def test_trials_stay_durable_however_many_follow_each_other(stories: dict[str, Story]):
    assert [stories["turns"].lost_at(f"done {number}") for number in (1, 2, 3)] == [set()] * 3
