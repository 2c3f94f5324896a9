"""Containers of podman without root: an ordinary user with subordinate ids, as whom Trialwise runs too."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system import test_containers as of_root
from tests.system.conftest import Bench
from tests.system.test_containers import Room, room_with, stored_in


def user() -> pwd.struct_passwd | None:
    """Return the first user who has subordinate ids."""
    ids = Path("/etc/subuid")
    for line in ids.read_text().splitlines() if ids.exists() else ():
        try:
            return pwd.getpwnam(line.partition(":")[0])
        except KeyError:
            continue
    return None


USER = user()
RUN = """mknod -m 666 /dev/tty c 5 0
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/user/{0}
chown {0} /run/user/{0}
chmod 700 /run/user/{0}"""
pytestmark = [
    pytest.mark.soak,
    of_root.pytestmark,
    pytest.mark.skipif(
        USER is None or not all(map(shutil.which, ("newuidmap", "setpriv"))),
        reason="needs a user with subordinate ids, newuidmap and setpriv",
    ),
]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A home below /tmp itself: another user does not reach pytest's folders."""
    assert USER is not None
    with tempfile.TemporaryDirectory(prefix="rootless-") as name:
        yield Path(name)


@pytest.fixture(scope="module", params=[1, 2])
def room(home: Path, request: pytest.FixtureRequest) -> Iterator[Room]:
    assert USER is not None
    store = home / str(request.param)
    store.mkdir()
    environment = stored_in(store) | {"HOME": str(store), "XDG_RUNTIME_DIR": f"/run/user/{USER.pw_uid}"}
    given(home)
    words = ("setpriv", f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--clear-groups")
    with room_with(request.param, environment, more=RUN.format(USER.pw_uid), user=words) as found:
        yield found


@pytest.fixture
def bench(home: Path) -> Bench:
    folder = Path(tempfile.mkdtemp(dir=home))
    given(folder)
    return Bench(folder)


def given(folder: Path) -> None:
    """Give a folder to the user."""
    assert USER is not None
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER.pw_uid, USER.pw_gid, follow_symlinks=False)


test_values = of_root.test_trials_in_containers_finish_and_leave_none
test_killed_runner = of_root.test_the_container_of_a_killed_runner_does_not_outlive_the_next_run
test_timeout = of_root.test_the_container_of_a_trial_that_takes_too_long_is_ended
test_detached = of_root.test_a_detached_container_fails_the_trial_and_is_ended
test_service = of_root.test_a_service_in_a_container_is_there_for_its_trials_and_ends_with_the_run
test_reset = of_root.test_a_reset_restarts_a_container_that_goes_on_afterwards


def test_cpu_time_is_refused_with_what_lifts_it(room: Room, bench: Bench):
    bench.write(f"{of_root.BOX} true", 'resource = "user"', trial=of_root.PASSED)
    told = " ".join(room.run(bench).split())
    assert "root" in told
    assert not bench.directory.exists()
