"""What else of a machine may change results: read from planted files, beside other programs that read the same, and with junk."""

import itertools
import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from trialwise.measurement.details.collecting import LONGEST, MOST, details
from trialwise.measurement.details.interfaces import features
from trialwise.measurement.details.memory import modules_text
from trialwise.measurement.details.software import package_version
from trialwise.measurement.environment import capture
from trialwise.measurement.tree import Tree

CPU, NET = "sys/devices/system/cpu", "sys/class/net"
FILES = {
    f"{CPU}/cpu0/cpufreq/scaling_max_freq": "3400000",
    f"{CPU}/cpu1/cpufreq/scaling_max_freq": "2200000",
    f"{CPU}/cpu0/power/energy_perf_bias": "6",
    f"{CPU}/cpu0/cache/index0/level": "1",
    f"{CPU}/cpu0/cache/index0/type": "Data",
    f"{CPU}/cpu0/cache/index0/size": "32K",
    f"{CPU}/cpu0/cpuidle/state0/name": "POLL",
    f"{CPU}/cpu0/cpuidle/state1/name": "C6",
    f"{CPU}/cpu0/cpuidle/state1/disable": "1",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "0",
    f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "3",
    f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_location": "channel 0 slot 0",
    "sys/devices/system/edac/mc/mc0/dimm1/dimm_location": "channel 0 slot 1",
    "sys/devices/system/edac/mc/mc0/dimm3/dimm_location": "channel 1 slot 1",
    "sys/devices/system/node/node0/cpulist": "0-1",
    "sys/devices/system/node/node0/distance": "10 21",
    "sys/devices/system/node/node1/cpulist": "2-3",
    "sys/devices/system/node/node1/distance": "21 10",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "16",
    "proc/swaps": "Filename Type Size Used Priority\n/dev/zram0 partition 8 0 -2\n",
    "proc/stat": "cpu  100 0 100 798 0 0 0 2 0 0\n",
    "proc/self/mountinfo": (
        "1 0 8:2 / / rw,relatime - ext4 /dev/sda2 rw,data=ordered\n"
        "2 1 8:1 / /bench rw,noatime - xfs /dev/sda1 rw,logbsize=32k,username=ada,addr=10.1.2.3,upperdir=/home/ada\n"
    ),
    "proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/\n",
    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000",
    "sys/devices/disk/size": "2000",
    "sys/devices/disk/device/model": "Planted SSD",
    "sys/devices/disk/queue/scheduler": "none [mq-deadline]",
    "sys/devices/disk/sda1/partition": "1",
    "sys/devices/disk/sda1/size": "1000",
    "sys/class/drm/card0/device/vendor": "0x10de",
    "sys/class/drm/card0/device/device": "0x2204",
    "proc/net/route": "Iface Destination Gateway Flags RefCnt Use Metric Mask\nbond0 00000000 0100000A 3 0 0 0 00000000\n",
    f"{NET}/bond0/mtu": "9000",
    f"{NET}/eno1/operstate": "up",
    f"{NET}/eno1/speed": "25000",
    f"{NET}/eno1/device/vendor": "0x8086",
    f"{NET}/eno1/device/device": "0x159b",
    f"{NET}/eno1/queues/rx-0/rps_cpus": "ff",
    f"{NET}/eno2/operstate": "down",
    f"{NET}/eno2/device/vendor": "0x8086",
    "etc/os-release": 'NAME=x\nPRETTY_NAME="Planted Linux 3"\n',
}
EXPECTED = {
    "processor.frequency_max": "2200000, 3400000",
    "processor.energy_bias": "6",
    "processor.caches": "L1d 32K",
    "processor.idle_states": "POLL, C6 off",
    "processor.throttled": "since boot",
    "kernel.mitigations.meltdown": "Mitigation: PTI",
    "machine.memory_channels": "2",
    "machine.numa_nodes": "2",
    "machine.numa_cpus": "0-1; 2-3",
    "machine.numa_distances": "10 21; 21 10",
    "machine.huge_pages": "16 of 2048kB",
    "machine.swap_kinds": "zram",
    "machine.steal": "at most 1.0%",
    "limit.group_cpu.cfs_quota_us": "50000",
    "devices.file_system.type": "xfs",
    "devices.file_system.options": "logbsize=32k,noatime,rw",
    "devices.disk.model": "Planted SSD",
    "devices.disk.size": "1024000",
    "devices.disk.scheduler": "mq-deadline",
    "devices.disk.driver": "ahci",
    "devices.gpu.identifiers": "10de:2204",
    "devices.network.1.interface": "bond0",
    "devices.network.1.mtu": "9000",
    "devices.network.2.interface": "eno1",
    "devices.network.2.speed": "25000",
    "devices.network.2.driver": "ice",
    "devices.network.2.identifiers": "8086:159b",
    "devices.network.2.queues": "1 in, 0 out",
    "devices.network.2.receive_cpus": "ff",
    "distribution": "Planted Linux 3",
    "clock.time_zone": "Europe/Zurich",
    "layout.variables_bytes": str(len("A=1") + 1 + len("LANG=C") + 1),
    "layout.folder_length": str(len("/bench/a")),
}
LINKS = {
    "sys/dev/block/8:1": "../../devices/disk/sda1",
    "sys/devices/disk/device/driver": "/x/bus/drivers/ahci",
    f"{NET}/eno1/device/driver": "/x/bus/drivers/ice",
    "etc/localtime": "/usr/share/zoneinfo/Europe/Zurich",
}


def planted(root: Path, text=None):
    for name, own in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(own if text is None else text)
    for name, target in LINKS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    return Tree(root)


def test_each_fact_is_read_from_a_planted_machine_and_nothing_that_names_somebody(tmp_path):
    found = details(planted(tmp_path), "/bench/a", {"A": "1", "LANG": "C"})
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED
    assert "eno2" not in found.values()
    assert not [text for text in found.values() if "ada" in text or "10.1.2.3" in text]


@pytest.mark.parametrize(
    "junk",
    ["", "\0\0", "\xff junk [ (", "- - -\n - - - - - - - - - - - -\n", "x" * 100_000, "a:b:c\n" * 5000],
)
def test_junk_in_every_file_gives_no_error_and_bounded_texts(tmp_path, junk):
    found = details(planted(tmp_path, junk), "/bench/a", {})
    assert len(found) <= MOST
    assert all(0 < len(text) <= LONGEST for text in found.values())


def memory_device(size, *, extended=0, kind=0x1A, speed=3200):
    """A structure of type 17 by DSP0134, version 3.2 (40 bytes), with two texts."""
    words = struct.pack("<HHHHHBBBBBHH", 0x10, 0xFFFE, 64, 64, size, 9, 0, 1, 2, kind, 0x80, speed)
    rest = struct.pack("<BBBBBIH", 0, 0, 0, 0, 0, extended, speed)
    body = (words + rest).ljust(36, b"\0")
    return bytes([17, 4 + len(body)]) + b"\x01\x00" + body + b"DIMM A\0BANK 0\0\0"


TABLES = (
    bytes([0, 6, 0, 0, 1, 0])
    + b"Vendor\0\0"
    + memory_device(16384)
    + memory_device(16384)
    + memory_device(0)
    + memory_device(0x7FFF, extended=65536, kind=0x22, speed=4800)
    + bytes([127, 4, 9, 0])
    + b"\0\0"
)


def test_modules_of_memory_are_counted_by_what_they_are():
    assert modules_text(TABLES) == "2 x 16 GiB DDR4 3200 MT/s, 1 x 64 GiB DDR5 4800 MT/s"
    assert modules_text(b"") is None
    for cut in range(len(TABLES)):
        modules_text(TABLES[:cut])


@pytest.mark.skipif(shutil.which("dmidecode") is None, reason="not installed: dmidecode")
def test_dmidecode_reads_the_same_modules(tmp_path):
    entry = b"_SM3_\0\x18\x03\x02\x00\x01\x00" + struct.pack("<IQ", len(TABLES), 32)
    entry = entry[:5] + bytes([-sum(entry) % 256]) + entry[6:]
    (tmp_path / "dump").write_bytes(entry.ljust(32, b"\0") + TABLES)
    words = ["dmidecode", "--from-dump", tmp_path / "dump", "-t", "17"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = [line.strip() for line in shown.splitlines()]
    sizes = [line for line in lines if line.startswith("Size:")]
    assert sizes == ["Size: 16 GB", "Size: 16 GB", "Size: No Module Installed", "Size: 64 GB"]
    assert [line for line in lines if line.startswith("Type: ")] == ["Type: DDR4"] * 3 + ["Type: DDR5"]
    speeds = [line for line in lines if line.startswith("Configured Memory Speed:")]
    assert [speed.split()[3] for speed in speeds if "Unknown" not in speed][-1] == "4800"


NAMES = {
    "offload_receive_checksum": "rx-checksumming",
    "offload_transmit_checksum": "tx-checksumming",
    "offload_scatter_gather": "scatter-gather",
    "offload_tso": "tcp-segmentation-offload",
    "offload_gso": "generic-segmentation-offload",
    "offload_gro": "generic-receive-offload",
    "offload_lro": "large-receive-offload",
}


@pytest.mark.skipif(shutil.which("ethtool") is None, reason="not installed: ethtool")
def test_ethtool_names_the_same_offloads_and_rings():
    for _, name in socket.if_nameindex():
        shown = subprocess.run(["ethtool", "-k", name], check=True, capture_output=True, text=True).stdout
        lines = dict(line.split(": ", 1) for line in shown.splitlines() if ": " in line)
        found = features(name)
        assert {fact: found.get(fact) for fact in NAMES} == {
            fact: lines[word].split()[0] for fact, word in NAMES.items()
        }
        ring = subprocess.run(["ethtool", "-g", name], check=False, capture_output=True, text=True)
        now = ring.stdout.partition("Current hardware settings:")[2].split()
        told = f"{now[now.index('RX:') + 1]} in, {now[now.index('TX:') + 1]} out" if now else None
        assert found.get("ring") == told
    assert features("no such one") == {}


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="not installed: dpkg")
def test_versions_of_packages_are_those_of_dpkg():
    words = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\n"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    status = Path("/var/lib/dpkg/status").read_bytes()
    known = [line.split()[1:] for line in shown.splitlines() if line.startswith("ii")]
    alone = [name for name, _ in known]
    for name, version in itertools.islice(known, 0, None, 20):
        if alone.count(name) == 1:
            assert package_version(status, name) == version
    assert package_version(status, "no-such-package") is None


def test_this_machine_has_what_the_kernel_shows(tmp_path):
    found = capture(checkout=tmp_path, variables={"PATH": os.environ["PATH"]}).details
    shown = subprocess.run(
        ["stat", "-f", "-c", "%T", tmp_path], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert shown.startswith(found["devices.file_system.type"][:3])
    shown = subprocess.run(["getconf", "GNU_LIBC_VERSION"], check=True, capture_output=True, text=True).stdout
    assert found["libc"] == shown.strip()
    assert found["devices.network.loopback.mtu"] == Path("/sys/class/net/lo/mtu").read_text().strip()
    assert found["layout.folder_length"] == str(len(str(tmp_path)))
