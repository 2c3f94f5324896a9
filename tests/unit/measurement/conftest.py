from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CPUINFO = """\
processor\t: 0
model name\t: Planted CPU 3000
flags\t\t: fpu vme sse2{flags}

processor\t: 1
model name\t: Planted CPU 3000
"""

FILES = {
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "proc/cpuinfo": CPUINFO.format(flags=""),
    "proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 2048 kB\nSwapFree:2048 kB\n",
    "proc/loadavg": "0.01 0.20 0.30 1/200 4242\n",
    "proc/cmdline": "root=/dev/sda1 isolcpus=3\n",
    "proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\n",
    "proc/sys/kernel/hostname": "planted\n",
    "proc/sys/kernel/osrelease": "6.1.0-planted\n",
    "proc/sys/kernel/version": "#1 SMP planted\n",
    "proc/sys/kernel/random/boot_id": "11111111-2222-3333-4444-555555555555\n",
    "proc/sys/kernel/randomize_va_space": "0\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
    "proc/sys/net/ipv4/tcp_fastopen_key": "secret\n",
    "sys/devices/system/cpu/online": "0-3\n",
    "sys/devices/system/cpu/isolated": "\n",
    "sys/devices/system/cpu/smt/active": "0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/dmi/id/sys_vendor": "Honest Metal Inc.\n",
} | {
    f"sys/devices/system/cpu/cpu{cpu}/topology/{name}": f"{value}\n"
    for cpu in range(4)
    for name, value in (("physical_package_id", 0), ("core_id", cpu // 2))
}


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Path]:
    """Plant a quiet machine's /proc and /sys, with changes: path → text, or None to leave it out."""
    trees = 0

    def make(changes: dict[str, str | None] | None = None) -> Path:
        nonlocal trees
        trees += 1
        root = tmp_path / f"root{trees}"
        for name, text in (FILES | (changes or {})).items():
            if text is not None:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return root

    return make
