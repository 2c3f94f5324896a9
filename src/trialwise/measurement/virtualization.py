"""Detect whether this is a virtual machine or a container, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialwise.measurement.tree import Tree

# The vendor or product in the DMI tables, in lower case, and the hypervisor it stands for.
HYPERVISORS = {
    "kvm": "kvm",
    "qemu": "qemu",
    "vmware": "vmware",
    "innotek": "virtualbox",
    "virtualbox": "virtualbox",
    "xen": "xen",
    "bochs": "bochs",
    "parallels": "parallels",
    "bhyve": "bhyve",
    "microsoft corporation virtual machine": "hyper-v",
    "google compute engine": "google",
    "amazon ec2": "amazon",
    "openstack": "openstack",
    "firecracker": "firecracker",
}
CGROUP_MARKS = {
    "docker": "docker",
    "kubepods": "kubernetes",
    "libpod": "podman",
    "lxc": "lxc",
    "containerd": "containerd",
    "machine.slice/systemd-nspawn": "systemd-nspawn",
}


def virtual_machine(tree: Tree) -> str | None:
    """Name the hypervisor, ``"unknown"`` if only the CPU reveals one; None on bare metal."""
    described = " ".join(
        tree.text(f"sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name", "bios_vendor")
    ).lower()
    for mark, name in HYPERVISORS.items():
        # Amazon's and Google's bare metal has the same vendor: only the CPU's flag tells them apart.
        if mark in described and (name not in {"amazon", "google"} or _has_hypervisor_flag(tree)):
            return name
    named = tree.text("sys/hypervisor/type")
    if named:
        return named
    return "unknown" if _has_hypervisor_flag(tree) else None


def _has_hypervisor_flag(tree: Tree) -> bool:
    # CPUID leaf 1, ECX bit 31: reserved for hypervisors to announce themselves.
    return "hypervisor" in tree.fields("proc/cpuinfo").get("flags", "").split()


def container(tree: Tree) -> str | None:
    """Name the kind of container; None outside one."""
    if tree.exists(".dockerenv"):
        return "docker"
    if tree.exists("run/.containerenv"):
        return "podman"
    named = tree.text("run/systemd/container")
    if named:
        return named
    groups = (tree.text("proc/1/cgroup") or "") + (tree.text("proc/self/cgroup") or "")
    return next((name for mark, name in CGROUP_MARKS.items() if mark in groups), None)
