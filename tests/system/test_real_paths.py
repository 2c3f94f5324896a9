"""Real paths: two ends in namespaces of their own, with ssh between them and an emulated path, whose own log says what is true."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.system import worker_machines
from tests.system.real_path import BETWEEN_BOTH, TOWARDS_HERE, TRIALWISE, RealPath, assert_same

from trialwise.measurement.packets import read_packet_log
from trialwise.store.ledger import Ledger

pytestmark = pytest.mark.skipif(bool(worker_machines.missing()), reason=str(worker_machines.missing()))


@pytest.fixture
def real(tmp_path):
    path = RealPath(tmp_path)
    yield path
    path.machines.close()


def test_the_joined_log_is_that_of_the_emulator_packet_by_packet(real):
    flows = 'flows = [{ scheme = "cubic" }, { scheme = "udp-cubic", direction = "downlink" }]'
    real.write(trial=flows)
    for _ in range(3):  # a kernel that is kept waiting repeats acknowledgements: the trial is then refused
        done = real.run_inside(
            "--rate", "10Mbit/s", "--delay", "10ms", "--loss", "1%", "--queue", "droptail:packets=50"
        )
        if "look like others" not in done.stdout + done.stderr:
            break
        shutil.rmtree(real.results)
    assert done.returncode == 0, done.stdout + done.stderr
    log = read_packet_log(real.log, {5201: 1, 5202: 2})
    assert log.where(log.flow > 0).dropped.sum() > 10
    for way in (0, 1):
        lowest = log.where((log.flow > 0) & log.delivered & (log.direction == way)).delay.min()
        for flow in (1, 2):
            ours, theirs, _ = assert_same(real.packets(), log, way, flow, flow)
            delivered = ours.delivered
            # The lowest round trip is that of the path, and half of it is taken for each way.
            waits = theirs.delay[delivered] - lowest + 0.010
            assert np.abs(np.median(ours.delay[delivered] - waits)) < 0.002


def test_clocks_that_are_a_thousand_seconds_and_50_ppm_apart_change_no_delay(real):
    real.machine.environment = "TRIALWISE_CLOCK=skew:50ppm,offset:1000s"
    real.write(runtime="8s")
    done = real.run_inside("--rate", "10Mbit/s", "--delay", "10ms")
    assert done.returncode == 0, done.stdout + done.stderr
    ours, theirs, groups = assert_same(real.packets(), read_packet_log(real.log, {5201: 1}), 0, 1, 1)
    # 50 ppm of the six seconds between are 0.3 ms.
    apart = np.minimum.reduceat(ours.delay, groups) - np.minimum.reduceat(theirs.delay, groups)
    when = theirs.arrival[groups] - theirs.arrival[0]
    early, late = apart[when < 2], apart[when > 6]
    assert min(len(early), len(late)) > 50
    assert abs(np.median(late) - np.median(early)) < 25e-6 * 6
    assert np.abs(np.median(apart)) < 0.002


def test_a_path_is_calibrated_to_what_two_ends_saw(real):
    real.write(trial='scheme = "{scheme}"', runtime="6s", rounds=2)
    file = real.folder / "real.toml"
    factors = '[factors]\nscheme = ["udp-cubic", "udp-newreno"]\n[trial]'
    file.write_text(file.read_text().replace("[trial]", factors))
    done = real.run_inside("--rate", "10Mbit/s", "--delay", "15ms", "--queue", "droptail:packets=60")
    assert done.returncode == 0, done.stdout + done.stderr
    out = real.folder / "real.path"
    words = ["calibrate", real.results, "--hold-out", "scheme=udp-newreno", "--budget", "10s", "-o", out]
    subprocess.run([*TRIALWISE, *map(str, words)], env=real.environment, check=True, timeout=300)
    certificate = json.loads(out.with_name("real.certificate.json").read_text())
    found = {one["name"]: (one["low"], one["high"]) for one in certificate["parameters"]}
    for name, planted in (("rate", 10e6), ("delay", 0.015), ("queue", 60)):
        assert found[name][0] <= planted <= found[name][1], (name, found[name])
    user = (
        '[experiment]\nname = "user"\nseed = 1\n[trial]\nkind = "path"\nengine = "simulated"\nscheme = "udp-copa"\nruntime = "3s"\n'
        'path = "file:real.path"\n[metrics.loss]\n[design]\nseries = 1\nrounds = 2\n'
    )
    (real.folder / "user.toml").write_text(user)
    subprocess.run([*TRIALWISE, "run", "user.toml", "--quiet"], cwd=real.folder, check=True, timeout=60)
    words = [*TRIALWISE, "analyze", "user.results", "--json"]
    told = subprocess.run(words, cwd=real.folder, check=True, timeout=60, capture_output=True, text=True)
    source = json.loads(told.stdout)["path"]["paths"][0]["source"]
    assert source.startswith("real.path: calibrated to ")
    assert "the delay of each way is half of the least round trip" in source


@pytest.mark.parametrize("scheme", ["cubic", "iperf3-cubic", "ngtcp2-cubic"])
def test_programs_run_between_two_machines(real, scheme):
    load = "bulk" if "ngtcp2" in scheme else "rate:20Mbit/s"
    caps = ', rate_cap = "20Gbit/s", bytes_cap = "5GB"'
    real.write(trial=f'scheme = "{scheme}"\nload = "{load}"', more=caps, runtime="1s")
    done = real.run()
    if "no program" in done.stderr:
        pytest.skip(done.stderr.strip())
    found = real.packets() if done.returncode == 0 else None
    # A machine that cannot capture so much says so, and the trial is invalid.
    assert done.returncode == 0 or "the capture" in real.reason(), done.stdout + done.stderr
    assert found is None or found.delivered.sum() > 1000
    assert not real.left()


@pytest.mark.parametrize("see", ["tunnel", "programs"])
def test_no_packet_of_a_flow_leaves_before_the_trial_begins(real, see):
    """The far end listens and is the first: it begins 60 ms after this one, which has sent all of its flow by then.

    Its clock is another one, by which its packets, its frames and its beginning are.
    """
    real.machine.environment = "TRIALWISE_CLOCK=skew:50ppm,offset:1000s"
    flow = '{ scheme = "udp-copa", load = "bytes:15kB", direction = "downlink" }'
    more = f', listens = "from", see = "{see}"'
    real.write(trial=f"flows = [{flow}]", runtime="1s", ends=TOWARDS_HERE, more=more)
    done = real.run_inside("--rate", "20Mbit/s", "--delay", "60ms")
    assert done.returncode == 0, done.stdout + done.stderr
    found = real.packets().of("downlink", 1)
    assert found.delivered.sum() >= 10
    assert found.arrival.min() >= 0
    assert found.arrival.max() < 0.5
    assert real.samples("throughput").mean() == pytest.approx(found.size.sum() * 8 / 1e6, rel=0.01)


def test_both_ends_may_be_other_machines_and_speak_ipv6(tmp_path):
    real = RealPath(tmp_path, machines=2)
    try:
        holders = [str(each.holder.pid) for each in real.machines.all]
        real.machine.run(
            "ip", "link", "add", "between", "type", "veth", "peer", "name", "between", "netns", holders[1]
        )
        for place, machine in enumerate(real.machines.all, 1):
            machine.run("ip", "address", "add", f"fd01:7269::{place}/64", "dev", "between", "nodad")
            machine.run("ip", "link", "set", "between", "up")
        real.write(ends=BETWEEN_BOTH, more=', address = "fd01:7269::2"')
        done = real.run()
        assert done.returncode == 0, done.stdout + done.stderr
        assert real.packets().delivered.sum() > 500
        assert not real.left()
    finally:
        real.machines.close()


def test_a_cap_ends_what_sends_too_fast(real):
    real.write(trial='scheme = "cubic"', more=', rate_cap = "5Mbit/s"')
    assert real.run().returncode == 4
    assert "more than the cap of 5 Mbit/s" in real.reason()
    real.results = real.results.with_name("second")
    real.write(more=', bytes_cap = "100kB"')
    assert real.run().returncode == 4
    assert "more than the cap of 100000 bytes" in real.reason()
    assert not real.left()


def test_a_run_says_its_caps_and_ends_before_a_trial_that_could_exceed_that_of_the_experiment(real):
    real.write(rounds=2, runtime="1s")
    refused = real.run("--allow-rate", "3Mbit/s")
    assert (refused.returncode, "above the cap of 3 Mbit/s" in refused.stderr) == (2, True)
    done = real.run("--allow-bytes", "600kB")  # a trial may send 4 Mbit/s for a second
    assert done.returncode == 3, done.stdout + done.stderr
    assert "2 trials to run, with at most 1 MB in about" in done.stderr
    said = " ".join(done.stderr.split())
    assert re.search(r"the cap of 600 kB for the experiment: [2-6]\d\d kB were sent, and trial 2", said), said
    with closing(Ledger.open(real.results / "ledger.sqlite", read_only=True)) as ledger:
        assert ledger.counts() == {"finished": 1, "planned": 1}
        ((_, _, _, sent, _, _),) = ledger.values(["ends:sent_bytes"])
    packets = real.packets()
    assert packets.size.sum() < sent < packets.size.sum() + 64 * 100 * 20, (
        "its packets, and probes of both ends"
    )
    done = real.run("--allow-bytes", "2MB")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_says_in_which_direction_nothing_arrives(real):
    real.machine.run("ip", "rule", "add", "priority", "1", "ipproto", "udp", "sport", "5200", "blackhole")
    real.write()
    assert real.run().returncode == 4
    assert "something drops UDP on the way from ssh://machine1 to local" in real.reason()
    real.machine.run("ip", "rule", "delete", "priority", "1")
    real.results = real.results.with_name("second")
    real.write(more=f', address = "{real.machine.ours.rsplit(".", 1)[0]}.250"')
    assert real.run().returncode == 4
    assert "none of 5 hellos from local reached ssh://machine1 at UDP port 5200" in real.reason()
    real.results = real.results.with_name("third")
    real.write(ends=TOWARDS_HERE)
    done = real.run()
    assert done.returncode == 2
    assert "local listens, and has no address" in done.stderr
    assert "address = " in done.stderr
    assert not real.results.exists()


def test_a_flow_whose_port_a_firewall_closes_fails(real):
    real.machine.run("ip", "rule", "add", "priority", "1", "ipproto", "udp", "sport", "5201", "blackhole")
    real.write(runtime="1s")
    assert real.run().returncode == 4
    assert "packets from local came to ssh://machine1, which answered none" in real.reason()
    assert "let port 5201 pass the firewall of ssh://machine1" in real.reason()


def test_a_port_that_is_taken_is_named(real):
    holder = real.machine.begin(
        sys.executable, "-c", "import socket,time;s=socket.socket(2,2);s.bind(('',5200));time.sleep(600)"
    )
    time.sleep(1)
    real.write()
    assert real.run().returncode == 4
    assert "ssh://machine1: UDP port 5200: Address already in use" in real.reason()
    holder.kill()
    holder.wait()


def test_a_metric_that_needs_a_common_clock_is_refused_unless_one_is_known(real):
    real.write()
    file = real.folder / "real.toml"
    file.write_text(file.read_text() + "[metrics.delay]\n")
    done = real.run()
    assert done.returncode == 2
    assert "known up to a constant only" in done.stderr
    real.write()
    file.write_text(file.read_text() + "[metrics.frame_delay]\n")
    done = real.run()
    assert done.returncode == 2
    assert (
        "metric frame_delay: one-way delays between two machines are known up to a constant only"
        in done.stderr
    )
    real.write(more=', clocks = "1ms"')
    file.write_text(file.read_text() + "[metrics.delay]\n")
    assert real.run().returncode == 0


def test_a_connection_that_is_cut_in_the_middle_costs_nothing(real):
    real.write(runtime="5s")
    with subprocess.Popen(
        real.words, env=real.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        deadline = time.monotonic() + 60
        while not real.machine.processes("5201") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert real.machine.end_connections()
        output = run.communicate(timeout=120)[0].decode()
    assert run.returncode == 0, output
    assert real.packets().delivered.sum() > 500


@pytest.mark.parametrize("who", ["runner", "far end", "near end", "agent"])
def test_whoever_is_killed_nothing_is_left_and_the_next_run_goes_on(real, who):
    real.write(runtime="3s", more=', lease = "3s"')
    draw = random.Random(who)
    with subprocess.Popen(
        real.words,
        env=real.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        deadline = time.monotonic() + 60
        while not real.machine.processes("agent.execution") and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 5))
        if who == "runner":
            run.kill()
        elif who == "agent":
            real.machine.signal("agent.attachment", signal.SIGKILL)
        else:
            there = set(real.machine.processes("agent.execution"))
            ends = [
                each
                for each in real.left()
                if b"agent.execution" in Path(f"/proc/{each}/cmdline").read_bytes()
            ]
            for process in ends:
                if (process in there) == (who == "far end"):
                    os.kill(process, signal.SIGKILL)
        run.wait(120)
    deadline = time.monotonic() + 30
    while real.left() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not real.left()
    done = subprocess.run(
        [*real.words, "--again"],
        env=real.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert real.packets().delivered.sum() > 500 if (real.results / "samples").exists() else True
    assert not real.left()


class Series(RealPath):
    """Round by round: the experiment grows by a round each time it runs, over a path that may have changed since."""

    rounds = 0

    def next_round(self, *path: str) -> subprocess.CompletedProcess[str]:
        self.rounds += 1
        self.log.unlink(missing_ok=True)
        self.write(runtime="1s", rounds=self.rounds)
        done = self.run_inside(*path) if path else self.run()
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    @property
    def words(self) -> list[str]:
        return [*super().words, "--extend"]

    def counts(self) -> dict[str, int]:
        with closing(Ledger.open(self.results / "ledger.sqlite", read_only=True)) as ledger:
            return ledger.counts()

    def labels(self) -> list[str]:
        report = [*TRIALWISE, "analyze", str(self.results), "--json"]
        done = subprocess.run(report, env=self.environment, capture_output=True, check=True, timeout=120)
        (throughput,) = [
            each for each in json.loads(done.stdout)["metrics"] if each["metric"]["name"] == "throughput"
        ]
        return [trial["series"] for trial in throughput["trials"]]

    def changes(self) -> list[str]:
        ledger = Ledger.open(self.results / "ledger.sqlite", read_only=True)
        try:
            return [event.text for event in ledger.events() if event.kind == "path changed"]
        finally:
            ledger.close()


@pytest.fixture
def growing(tmp_path):
    path = Series(tmp_path)
    yield path
    path.machines.close()


def test_another_delay_begins_another_series_and_so_does_the_way_back(growing):
    for delay in ("10ms", "14ms", "10ms"):
        growing.next_round("--rate", "10Mbit/s", "--delay", delay)
    assert growing.labels() == ["1a", "1b", "1c"]
    first, second = growing.changes()
    assert first.startswith("local → ssh://machine1: lowest round trip: 2")
    assert first.endswith("its trials from 2 on are another series")
    assert second.endswith("its trials from 3 on are another series")


def test_another_ttl_or_setting_of_an_end_begins_another_series_and_the_record_has_both_ends(growing):
    for ttl, size in ((64, 4096), (63, 4096), (63, 8192)):
        growing.machine.run("sysctl", "-qw", f"net.ipv4.ip_default_ttl={ttl}")
        growing.machine.run("sysctl", "-qw", f"net.ipv4.tcp_wmem=4096 16384 {size * 1024}")
        growing.next_round()
    assert growing.labels() == ["1a", "1b", "1c"]
    route, setting = growing.changes()
    assert route == "local → ssh://machine1: TTL at local: 64 → 63; its trials from 2 on are another series"
    assert "net.ipv4.tcp_wmem at ssh://machine1: 4096 16384 4194304 → 4096 16384 8388608" in setting
    files = sorted((growing.results / "environments").iterdir())
    ends = [found for file in files if (found := json.loads(file.read_text()).get("ends"))]
    assert {*ends[0]} == {"local", "ssh://machine1"}
    far = [each["ssh://machine1"] for each in ends]
    wmem = [each["kernel"]["sysctls"]["net.ipv4.tcp_wmem"].split()[-1] for each in far]
    assert wmem == ["4194304", "4194304", "8388608"]
    assert far[0]["kernel"]["release"] == os.uname().release
    assert far[0]["interface"]["name"] == "eth0"
    assert f"qdisc {far[0]['interface']['qdisc']} " in growing.machine.run("ip", "link", "show", "eth0")
    assert len(far[0]["programs"]["program trialwise-end"]) == 64


def test_of_two_paths_one_changes_and_a_killed_run_goes_on_where_it_was(tmp_path):
    real = Series(tmp_path, machines=2)
    real.rounds = 1

    def write():
        real.write(trial='scheme = "udp-copa"\nload = "rate:4Mbit/s"', runtime="1s", rounds=real.rounds)
        file = tmp_path / "real.toml"
        lines = file.read_text().splitlines()
        lines = ['path = "{path}"' if line.startswith("path =") else line for line in lines]
        ends = [
            f'[paths.{name}]\nfrom = "local"\nto = "ssh://machine{number}"\nquiet = "1s"'
            for number, name in enumerate(("one", "other"), 1)
        ]
        file.write_text("\n".join([*lines, '[factors]\npath = ["one", "other"]', *ends]))

    try:
        write()
        assert real.run().returncode == 0
        real.machine.run("sysctl", "-qw", "net.ipv4.ip_default_ttl=63")
        real.rounds = 2
        write()
        quiet = subprocess.DEVNULL
        with subprocess.Popen(real.words, env=real.environment, stdout=quiet, stderr=quiet) as run:
            deadline = time.monotonic() + 60
            while "running" not in real.counts() and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(2)
            run.kill()
        done = real.run()
        assert done.returncode == 0, done.stdout + done.stderr
        with closing(Ledger.open(real.results / "ledger.sqlite", read_only=True)) as ledger:
            epochs = {
                path: [row.epoch for row in ledger.trials("finished") if row.factors["path"] == path]
                for path in ("one", "other")
            }
        assert epochs == {"one": [1, 2], "other": [1, 1]}
        assert len(real.changes()) == 1
        assert not real.left()
    finally:
        real.machines.close()


def test_a_change_within_a_trial_is_told_and_the_trial_counts(growing):
    growing.write(runtime="3s")
    quiet = subprocess.DEVNULL
    with subprocess.Popen(growing.words, env=growing.environment, stdout=quiet, stderr=quiet) as run:
        deadline = time.monotonic() + 60
        while not growing.machine.processes("5201") and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(2)  # the flow waits for the quiet before it
        growing.machine.run("sysctl", "-qw", "net.ipv4.ip_default_ttl=63")
        assert run.wait(120) == 0
    assert growing.changes() == []
    with closing(Ledger.open(growing.results / "ledger.sqlite", read_only=True)) as ledger:
        (event,) = [each for each in ledger.events() if each.kind == "path changed within a trial"]
    assert event.text == "local → ssh://machine1: TTL at local changed (64 → 63), trial 1"
