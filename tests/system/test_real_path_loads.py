"""Loads over a real path: lists of flows, loads that end, and media, whose frames two clocks stamp."""

import csv

import pytest
from tests.system import worker_machines
from tests.system.real_path import RealPath

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


def with_metrics(real, *names):
    file = real.folder / "real.toml"
    file.write_text(file.read_text() + "".join(f"[metrics.{name}]\n" for name in names))


def test_a_list_of_flows_goes_along_and_every_flow_completes(real):
    sizes = [20_000, 1_000, 150_000, 5_000]
    with (real.folder / "some flows.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerows(
            [("start_ns", "size_bytes"), *((200_000_000 * n, size) for n, size in enumerate(sizes))]
        )
    flows = 'flows = [{ scheme = "udp-cubic", load = "flows:some flows.csv" }, '
    flows += '{ scheme = "cubic", load = "flows:poisson,rate=20/s,sizes=lognormal:mean=10kB,cv=1", direction = "downlink" }]'
    real.write(trial=flows)
    with_metrics(real, "completion_time")
    done = real.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(real.samples("completion_time")) > 20
    uplink = real.packets().of("uplink", 1)
    # Payload, and headers of IPv4, UDP and ours.
    assert sum(sizes) < uplink.size[uplink.delivered].sum() < 1.2 * sum(sizes) + 4 * 2000


def test_a_load_that_is_not_finished_in_time_fails_the_trial(real):
    real.write(runtime="1s", trial='scheme = "udp-cubic"\nload = "bytes:10MB"')
    assert real.run_inside("--rate", "5Mbit/s", "--delay", "5ms").returncode == 4
    assert "local: flow 1 (udp-cubic) did not finish its load bytes:10MB in time" in real.reason()


def test_frames_of_media_are_timed_by_both_clocks_joined(real):
    real.restart(
        command='exec unshare --fork --kill-child --time --monotonic 1000 sh -c "$SSH_ORIGINAL_COMMAND"'
    )
    media = 'scheme = "udp-gcc"\nload = "media:rate=150kbit/s..1.5Mbit/s"'
    real.write(trial=media, runtime="4s", more=', clocks = "10ms"')
    with_metrics(real, "frame_delay", "freeze_share", "late_frames")
    done = real.run_inside("--rate", "10Mbit/s", "--delay", "20ms")
    assert done.returncode == 0, done.stdout + done.stderr
    delays = real.samples("frame_delay")
    assert len(delays) > 60
    # A frame of some packets takes the delay of the path, and its serialisation.
    assert 18 < delays.min() < 25
    real.results = real.results.with_name("second")
    real.write(trial=media)
    with_metrics(real, "late_frames")
    done = real.run()
    assert done.returncode == 2
    assert "known up to a constant only" in done.stderr
